// What a process publishes about its locks in the state of a window: words that only it writes and
// anybody reads, in the segment on its node, through the network from others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/concept.hh"

namespace rmalock::window {

/// What is acquired; and, for the watchdog, what is only waited for: MPI_Win_fence, the post of a
/// target, the completes of all origins.
enum class Mode : unsigned { exclusive, shared, all, fence, post, completes };
constexpr bool is_lock(Mode mode) {
    return mode <= Mode::all;
}

using fabric::Rank;

/// What can be held or awaited in a window; `target` is 0 where it is not of one target.
struct Lock {
    Mode mode = Mode::exclusive;
    Rank target = 0;
    friend bool operator==(const Lock&, const Lock&) = default;
};

/// A lock as a word, which is not 0.
constexpr std::uint64_t packed(Lock lock) {
    return (static_cast<std::uint64_t>(lock.mode) + 1) << 32 |
           static_cast<std::uint32_t>(lock.target);
}
constexpr Lock unpacked(std::uint64_t word) {
    return {static_cast<Mode>((word >> 32) - 1), static_cast<Rank>(word & 0xffffffff)};
}
static_assert(unpacked(packed({Mode::all, 0})) == Lock{Mode::all, 0});
static_assert(unpacked(packed({Mode::shared, 70000})) == Lock{Mode::shared, 70000});

/// A lock that somebody holds or awaits. Times are of the owner's node.
struct SeenLock {
    Lock lock;
    std::uint64_t since = 0; ///< nanoseconds
};

/// What was read of a record.
struct Seen {
    bool answered = false; ///< otherwise nothing else was read
    std::uint64_t process = 0;
    bool near = false; ///< on the reader's node: times can be compared
    std::vector<SeenLock> held;
    std::uint64_t more_held = 0; ///< that found no place
    /// What the process waits for, in whatever window.
    std::optional<SeenLock> awaits;
    std::uint64_t awaits_window = 0;
    std::uint64_t awaits_number = 0; ///< tells one wait from another
};

class Record {
  public:
    /// Sequentially consistent, where a release of awaits_ and its acquire in see() would do, and relaxed
    /// for all else: only windows with a watchdog come here. A reader may still see a lock with the time
    /// of the one that had its place before, and a copy from another node has no order.
    using Word = std::atomic<std::uint64_t>;

    void open(std::uint64_t process) { process_ = process; }

    /// Several threads of the owner may be at it.
    void hold(Lock lock, std::uint64_t now) {
        for (Held& place : held_) {
            std::uint64_t none = 0;
            if (place.what.compare_exchange_strong(none, packed(lock))) {
                place.since = now;
                return;
            }
        }
        ++more_;
    }
    void drop(Lock lock) {
        for (Held& place : held_) {
            std::uint64_t what = packed(lock);
            if (place.what.compare_exchange_strong(what, 0))
                return;
        }
        --more_;
    }

    /// One at a time; of several threads that wait one publishes.
    void await(std::uint64_t window, Lock lock, std::uint64_t now, std::uint64_t number) {
        window_ = window;
        since_ = now;
        number_ = number;
        awaits_ = packed(lock);
    }
    void await_nothing() { awaits_ = 0; }

    /// Reads a record, or a copy of one.
    Seen see(bool near) const {
        Seen seen{.answered = true,
                  .process = process_,
                  .near = near,
                  .held = {},
                  .more_held = more_,
                  .awaits = {}};
        for (const Held& place : held_)
            if (const std::uint64_t what = place.what; what != 0)
                seen.held.push_back({unpacked(what), place.since});
        if (const std::uint64_t what = awaits_; what != 0)
            seen.awaits = {unpacked(what), since_};
        seen.awaits_window = window_;
        seen.awaits_number = number_;
        return seen;
    }

    // Without memory, for a handler of signals.
    void each_held(auto visit) const {
        for (const Held& place : held_)
            if (const std::uint64_t what = place.what; what != 0)
                visit(unpacked(what));
    }
    /// In `window`.
    std::optional<Lock> awaited(std::uint64_t window) const {
        const std::uint64_t what = awaits_;
        return what != 0 && window_ == window ? std::optional(unpacked(what)) : std::nullopt;
    }
    bool holds_anything() const {
        bool any = more_held() != 0;
        each_held([&](Lock) { any = true; });
        return any;
    }
    std::uint64_t more_held() const { return more_; }
    /// True for one of all that ask.
    bool first_to_print() { return printed_.exchange(1) == 0; }

  private:
    /// A process that holds more locks of one window at a time is listed with these, and a number.
    static constexpr std::size_t kMost = 28;
    struct Held {
        Word what, since;
    };

    Word process_, more_, awaits_, window_, since_, number_, printed_, unused_;
    Held held_[kMost];
};
static_assert(sizeof(Record) == 512);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// The records of a window: `offset` bytes into the states, `stride` bytes apart, of the node's
/// ranks.
struct Records {
    std::byte* states = nullptr;
    std::size_t stride = 0, offset = 0;
    const std::int32_t* places = nullptr; ///< by rank: place on the node, or -1; null: rank = place

    bool near(Rank rank) const { return places == nullptr || places[rank] >= 0; }
    /// Of a rank of this node.
    Record& of(Rank rank) const {
        const Rank place = places == nullptr ? rank : places[rank];
        return *reinterpret_cast<Record*>(states + static_cast<std::size_t>(place) * stride +
                                          offset);
    }
};

} // namespace rmalock::window
