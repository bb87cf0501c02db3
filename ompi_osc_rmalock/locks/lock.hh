// What every lock of this folder offers to the window.
#pragma once

#include <concepts>

#include "fabric/concept.hh"
#include "fabric/tally.hh"

namespace rmalock::locks {

using fabric::Duration;
using fabric::Rank;
using fabric::Rmw;
using fabric::Slot;
using fabric::Value;
using fabric::Word;

/// The largest T_L, T_R, T_W, passes and batch of readers that the parameters allow: what a word
/// counts of them has room for.
inline constexpr Value kLargestThreshold = 1'000'000;

/// What an acquire hands to its release, e.g. the queue node it used. Opaque to the caller,
/// which keeps it as long as it holds the lock.
struct Hold {
    Value opaque = 0;
    bool in_room = false; ///< for the gate (all_gate.hh): this exclusive is counted in its room
};

/// A reader-writer lock per target. Any number of targets may be held and awaited at once; one
/// process acquires one target at most once at a time. A release makes visible what the holder
/// completed before; it waits for nobody's critical section, at most for a successor to show
/// itself.
template <class L>
concept ReaderWriterLock = requires(L& lock, Rank target, Hold hold) {
    { lock.acquire_shared(target) } -> std::same_as<Hold>;
    { lock.release_shared(target, hold) } -> std::same_as<void>;
    { lock.acquire_exclusive(target) } -> std::same_as<Hold>;
    { lock.release_exclusive(target, hold) } -> std::same_as<void>;
};

/// A lock may offer its acquires in two steps: begin_…() does what there is to do when nobody is
/// met and returns whether that was all, with kAlone as an exclusive's hold and none as a reader's.
/// It hands out what it saw, and finish_…() goes on from there. So that a caller can inline the
/// first.
template <class L>
concept InTwoSteps = requires(L& lock, Rank target, Value& seen) {
    { lock.begin_shared(target, seen) } -> std::same_as<bool>;
    { lock.finish_shared(target, seen) } -> std::same_as<Hold>;
    { lock.begin_exclusive(target, seen) } -> std::same_as<bool>;
    { lock.finish_exclusive(target, seen) } -> std::same_as<Hold>;
    { L::kAlone } -> std::convertible_to<Hold>;
};

/// A lock may have a server at each home, which grants what others have asked for. await_and_serve
/// first waits until the word that requests change is not `seen` any more, and returns what it is.
template <class L>
concept HasServer = requires(L& lock, Rank home, Value seen) {
    { lock.serve(home) } -> std::same_as<void>;
    { lock.await_and_serve(home, seen) } -> std::same_as<Value>;
};

/// A lock may bring its own lock_all (LockTraits::own_lock_all).
template <class L>
concept HasLockAll = requires(L& lock, Hold hold) {
    { lock.acquire_all() } -> std::same_as<Hold>;
    { lock.release_all(hold) } -> std::same_as<void>;
};

/// A lock may let exclusives of a node have it in a row while those of other nodes wait: so many at
/// most.
template <class L>
concept PrefersItsNode = requires(const L& lock) {
    { lock.most_in_a_row() } -> std::same_as<Value>;
};

} // namespace rmalock::locks
