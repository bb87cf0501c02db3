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

  private:
    std::atomic<std::uint32_t> open_{0};
};

} // namespace rmalock::ucx
