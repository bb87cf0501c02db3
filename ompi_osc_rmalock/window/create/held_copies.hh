// Small puts and gets on memory that only the kernel reaches, many in one system call.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "fabric/concept.hh"
#include "network/reach.hh"

namespace rmalock::window {

using fabric::Rank;
using network::Direction;

/// What a window's puts and gets on memory of the node have put off. A system call for each takes as
/// long as some thirty runs of one that has many. So small ones wait for others to the same target:
/// until as many are held as go in one call, until what completes them, and until MPI runs progress.
/// The bytes of puts are copied at the call.
///
/// What fails shows in the call that completes it.
class HeldCopies {
  public:
    /// Of one put or get, in bytes.
    static constexpr std::size_t kMost = 2048;
    /// How many targets copies are held for at a time.
    static constexpr std::size_t kTargets = 32;

    struct Failure {
        int error = 0; ///< an errno value; 0: none
        Direction direction{};
        Rank target = -1;
        std::uintptr_t address = 0; ///< of the first, in the target's process
    };

    HeldCopies();
    ~HeldCopies();
    HeldCopies(const HeldCopies&) = delete;
    HeldCopies& operator=(const HeldCopies&) = delete;

    /// At most kMost bytes, on memory of the process `pid`, which is the target's.
    void hold(Direction direction, Rank target, pid_t pid, std::uintptr_t address, void* origin,
              std::size_t bytes);
    /// False: what this thread has held has been copied, by another one perhaps.
    bool any() const { return held_ != 0; }
    /// Copies what is held for a target, or for all.
    void send(Rank target) {
        if (any()) [[unlikely]]
            send_now(target);
    }
    void send_all() {
        if (any()) [[unlikely]]
            send_all_now();
    }
    /// Forgets it.
    void drop();
    bool failed() const { return failed_.load(std::memory_order_relaxed); }
    /// The first one since the last call.
    Failure failure();
    /// Of all windows of the process, but for those that another thread is at.
    static void send_of_all_windows();

  private:
    struct Batch;
    class Windows;
    static Windows windows;
    void send_now(Rank target);
    void send_all_now();
    Batch& batch_for(Rank target);
    void send(Batch& batch);
    void empty(Batch& batch);

    HeldCopies* next_ = nullptr; ///< of the process; under the mutex of Windows
    bool listed_ = false;        ///< among them; under mutex_
    std::mutex mutex_;
    std::vector<std::unique_ptr<Batch>> batches_;
    std::size_t next_victim_ = 0;
    std::atomic<std::size_t> held_{0}; ///< batches that are not empty; changed under mutex_
    /// Likewise. Relaxed: what another thread has sent may show in a later call.
    std::atomic<bool> failed_{false};
    Failure failure_;
};

} // namespace rmalock::window
