// Processes of a window that have failed, where the host and the program go on without them
// (User-Level Failure Mitigation: MPIX_ERR_PROC_FAILED).
//
// A process that fails leaves its locks held, its place in queues taken, and half of what it was
// doing undone. No lock of the window is repaired: every wait for a word of it ends with
// ProcessFailed, on all processes, and the window is only fit to be freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>

#include "fabric/concept.hh"
#include "rmalock_api.h"

namespace rmalock::window {

using fabric::Rank;

/// Ends a wait of a window one of whose processes has failed.
struct ProcessFailed : std::exception {
    const char* what() const noexcept override { return "a process of the window has failed"; }
};

/// What one window knows of it. Any thread.
class Failures {
  public:
    explicit Failures(const rmalock_comm_t& comm) : comm_(comm) {}

    /// Whether the program goes on when a process fails.
    bool tolerated() const { return comm_.failed != nullptr; }
    /// The rank that was seen first; -1: none.
    Rank first() const { return first_.load(std::memory_order_relaxed); }
    /// Whether there is one by now. The first caller that learns of it says so.
    bool seen(const char* window);

  private:
    const rmalock_comm_t& comm_;
    std::size_t looked_at_ = 0;   ///< rmalock_comm_t.failed's; a race costs a look
    std::atomic<Rank> first_{-1}; ///< relaxed: a number without data
};

} // namespace rmalock::window
