// Small puts and gets on memory that only the kernel reaches, many in one system call.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <mutex>

#include "network/reach.hh"
#include "window/create/held_batches.hh"

namespace rmalock::window {

using network::Direction;

/// A system call for each takes as long as some thirty runs of one that has many. The bytes of puts
/// are copied at the call.
class HeldCopies {
  public:
    /// Of one put or get, in bytes.
    static constexpr std::size_t kMost = 2048;

    HeldCopies(std::atomic<std::size_t>& of_all, HeldFailure& failure);
    ~HeldCopies();
    HeldCopies(const HeldCopies&) = delete;
    HeldCopies& operator=(const HeldCopies&) = delete;

    /// At most kMost bytes, on memory of the process `pid`, which is the target's.
    void hold(Direction direction, Rank target, pid_t pid, std::uintptr_t address, void* origin,
              std::size_t bytes);
    bool any() const { return held_.any(); }
    void send(Rank target);
    void send_all();
    /// Does nothing if another thread is at them.
    void try_to_send_all();
    void drop();

  private:
    struct Batch;
    void send(Batch& batch);
    void empty(Batch& batch);

    HeldFailure& failure_;
    std::mutex mutex_;
    HeldBatches<Batch> batches_;
    HeldCount held_; ///< changed under mutex_
};

} // namespace rmalock::window
