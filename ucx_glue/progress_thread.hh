// Serves other processes while this one computes.
#pragma once

#include <chrono>
#include <memory>

#include "ucx_glue/worker.hh"

namespace rmalock::ucx {

/// Something beside the worker for which the thread wakes up.
struct Alarm {
    int descriptor = -1; ///< readable until look() has done what there was to do
    /// Called in every iteration, and when the descriptor wakes the thread, which it does not from
    /// a nap. May throw Error.
    void (*look)() = nullptr;
};

/// A thread that sleeps in the worker's event descriptor and runs its progress when something
/// arrives.
///
/// All signals are blocked in it. While a thread of the process is inside a wait of the worker, or
/// visits it often, it naps instead, since that thread serves; if it sleeps when that begins, it is
/// got out (relief.hh). It never calls MPI. The destructor ends and joins it. Where it runs is left
/// to the system, which finds it an idle core when it wakes: kept off the main thread's core it
/// would wait for another rank's (seen with 4 ranks on 2 cores: milliseconds, where tens of
/// microseconds are usual).
class ProgressThread {
  public:
    /// `peer_timeout`: see Worker::check_peers; 0: nothing is checked. Throws Error.
    explicit ProgressThread(Worker& worker, std::chrono::milliseconds peer_timeout = {},
                            Alarm alarm = {});
    ~ProgressThread();
    ProgressThread(const ProgressThread&) = delete;
    ProgressThread& operator=(const ProgressThread&) = delete;

    /// Ends and joins it; the worker is served by others' calls from then on. May be repeated.
    void stop();

    /// Times it has woken up and found work; for tests.
    std::uint64_t rounds() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace rmalock::ucx
