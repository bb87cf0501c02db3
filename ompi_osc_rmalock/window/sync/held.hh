// The per-target locks a process holds on a window: one that is at hand, because it is mostly the
// only one, and a small hash table, because a window can have 65,536 targets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "locks/lock.hh"

namespace rmalock::window {

using fabric::Rank;

/// A lock held, or being acquired, on one target.
struct alignas(32) HeldLock {
    Rank target = -1; ///< -1: the place is free
    bool exclusive = false;
    bool nocheck = false; ///< MPI_MODE_NOCHECK: nothing was acquired
    locks::Hold hold;
};

/// The table: open addressing, linear probing, at most half full. Pointers are good until the next
/// claim or erase.
class HeldLocks {
  public:
    HeldLocks() : places_(new HeldLock[kFirst]) {}

    std::size_t size() const { return in_table_ + (sole_.target >= 0 ? 1 : 0); }

    HeldLock* find(Rank target) {
        if (sole_.target == target)
            return &sole_;
        if (in_table_ == 0)
            return nullptr;
        HeldLock& place = places_[search(target)];
        return place.target == target ? &place : nullptr;
    }

    /// A place for `target`, or null if it has one already.
    HeldLock* claim(Rank target, bool exclusive, bool nocheck) {
        if (find(target) != nullptr)
            return nullptr;
        HeldLock& place = sole_.target < 0 ? sole_ : claim_in_table(target);
        place = {target, exclusive, nocheck, {}};
        return &place;
    }

    void erase(HeldLock& place) {
        if (&place == &sole_)
            sole_.target = -1;
        else
            erase_in_table(place);
    }

  private:
    static constexpr std::size_t kFirst = 8; ///< places; a power of two, like every later size

    HeldLock& claim_in_table(Rank target) {
        if ((in_table_ + 1) * 2 > mask_ + 1)
            grow();
        ++in_table_;
        return places_[search(target)];
    }

    /// Entries behind the place that probed past it move up, so that no search ends early.
    void erase_in_table(HeldLock& place) {
        auto hole = static_cast<std::size_t>(&place - places_.get());
        for (std::size_t i = next(hole); places_[i].target >= 0; i = next(i)) {
            const std::size_t distance = (i - home(places_[i].target)) & mask_;
            if (distance >= ((i - hole) & mask_)) {
                places_[hole] = places_[i];
                hole = i;
            }
        }
        places_[hole].target = -1;
        --in_table_;
    }

    std::size_t next(std::size_t i) const { return (i + 1) & mask_; }
    std::size_t home(Rank target) const {
        // Fibonacci hashing: neighbouring ranks spread.
        return (static_cast<std::uint32_t>(target) * 2654435769U >> 7) & mask_;
    }
    /// Where `target` is, or else the first free place behind its home.
    std::size_t search(Rank target) const {
        std::size_t i = home(target);
        while (places_[i].target != target && places_[i].target >= 0)
            i = next(i);
        return i;
    }

    [[gnu::noinline]] void grow() {
        const std::size_t before = mask_ + 1;
        std::unique_ptr<HeldLock[]> old(new HeldLock[2 * before]);
        old.swap(places_);
        mask_ = 2 * before - 1;
        for (std::size_t i = 0; i < before; ++i)
            if (old[i].target >= 0)
                places_[search(old[i].target)] = old[i];
    }

    HeldLock sole_;
    std::unique_ptr<HeldLock[]> places_;
    std::size_t mask_ = kFirst - 1;
    std::size_t in_table_ = 0;
};

} // namespace rmalock::window
