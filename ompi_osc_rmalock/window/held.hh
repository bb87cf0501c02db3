// The per-target locks a process holds on a window: a small hash table, because a window can have
// 65,536 targets and a process mostly holds a few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "locks/lock.hh"

namespace rmalock::window {

using fabric::Rank;

/// A lock held, or being acquired, on one target.
struct HeldLock {
    Rank target = -1; ///< -1: the place is free
    bool exclusive = false;
    bool nocheck = false; ///< MPI_MODE_NOCHECK: nothing was acquired
    locks::Hold hold;
};

/// Open addressing, linear probing, at most half full. Pointers are good until the next insert or
/// erase.
class HeldLocks {
  public:
    std::size_t size() const { return size_; }

    HeldLock* find(Rank target) {
        if (size_ == 0)
            return nullptr;
        for (std::size_t i = home(target);; i = next(i)) {
            if (places_[i].target == target)
                return &places_[i];
            if (places_[i].target < 0)
                return nullptr;
        }
    }

    /// `target` is not in the table.
    HeldLock& insert(HeldLock lock) {
        if ((size_ + 1) * 2 > places_.size())
            grow();
        ++size_;
        return place(lock);
    }

    /// `target` is in the table. Entries behind it that probed past its place move up, so that no
    /// search ends early.
    void erase(Rank target) {
        std::size_t hole = home(target);
        while (places_[hole].target != target)
            hole = next(hole);
        for (std::size_t i = next(hole); places_[i].target >= 0; i = next(i)) {
            const std::size_t distance = (i - home(places_[i].target)) & mask();
            if (distance >= ((i - hole) & mask())) {
                places_[hole] = places_[i];
                hole = i;
            }
        }
        places_[hole] = HeldLock{};
        --size_;
    }

  private:
    std::size_t mask() const { return places_.size() - 1; }
    std::size_t next(std::size_t i) const { return (i + 1) & mask(); }
    std::size_t home(Rank target) const {
        // Fibonacci hashing: neighbouring ranks spread.
        return (static_cast<std::uint32_t>(target) * 2654435769U >> 7) & mask();
    }

    HeldLock& place(HeldLock lock) {
        std::size_t i = home(lock.target);
        while (places_[i].target >= 0)
            i = next(i);
        return places_[i] = lock;
    }

    void grow() {
        std::vector<HeldLock> old(places_.empty() ? 8 : places_.size() * 2);
        old.swap(places_);
        for (const HeldLock& lock : old)
            if (lock.target >= 0)
                place(lock);
    }

    std::vector<HeldLock> places_;
    std::size_t size_ = 0;
};

} // namespace rmalock::window
