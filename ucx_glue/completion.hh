// Local completion of operations: see class Completion.
#pragma once

#include <atomic>
#include <cstdint>

namespace rmalock::ucx {

/// Counts the parts of an operation that are still under way; it outlives them all.
///
/// done() becomes true when the origin's buffers are the caller's again (put) or hold the data
/// (get), in whichever thread runs Worker::progress; what that thread did before is then visible to
/// the caller.
class Completion {
  public:
    void expect(std::uint32_t parts = 1) { open_.fetch_add(parts, std::memory_order_relaxed); }
    void complete() { open_.fetch_sub(1, std::memory_order_release); }
    bool done() const { return open_.load(std::memory_order_acquire) == 0; }
    /// Instead of complete(): the part will never be done, as its peer has gone.
    void lose() {
        lost_.store(1, std::memory_order_relaxed);
        complete();
    }
    /// Of a done one: whether parts were lost, so that neither buffer holds what it should.
    bool lost() const { return lost_.load(std::memory_order_relaxed) != 0; }

  private:
    /// complete() releases what the thread did before, and done() acquires it. expect() is relaxed:
    /// the caller counts a part before it gives it to UCX, and brings nothing along.
    std::atomic<std::uint32_t> open_{0};
    std::atomic<std::uint32_t> lost_{0}; ///< relaxed: open_ carries it
};

} // namespace rmalock::ucx
