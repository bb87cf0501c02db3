// In which order other processes of the node see the puts and gets of this one.
#pragma once

#include <atomic>

#include "fabric/cpu.hh"

namespace rmalock::window {

/// Puts to memory of this node are plain stores. A flush completes them (MPI 4.0, 12.5.4): what
/// this process does afterwards must not be seen before them.
///
/// On x86 only a load can be: it overtakes stores that the processor has not written yet. So a
/// flush leaves the fence, which is as expensive as a lock, to the first get that follows, of
/// whatever window; put and flush by turns need none. Atomics are not overtaken and overtake
/// nothing. A program that reads its own window's memory itself, and needs what it reads to be
/// later than its flush, calls MPI_Win_sync (12.7), which is a fence.
///
/// One per process, for processes in which one thread at a time calls MPI. If they are several that
/// take turns, what lets the next one go on has it see the puts.
class StoreOrder {
  public:
    void begun() { begun_ = true; }

    void flushed() {
#if defined(__x86_64__)
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (begun_) [[unlikely]] {
            begun_ = false;
            owed_ = true;
        }
#else
        settle();
#endif
    }

    void before_load() {
        if (owed_) [[unlikely]]
            settle();
    }

    void settle() {
        fabric::full_fence();
        owed_ = begun_ = false;
    }

  private:
    bool begun_ = false; ///< there are stores that no flush has completed
    bool owed_ = false;  ///< there are stores that one has, on a promise
};

inline StoreOrder stores;

} // namespace rmalock::window
