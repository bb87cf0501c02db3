// The gate's side of exclusive locks: all_gate.hh has the protocol.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>

#include "locks/parts/batch.hh"
#include "locks/window_lock/gate_parts.hh"

namespace rmalock::locks {

/// One process's, whose threads may lock several targets at a time.
template <class Parts, class L, class Held>
class GateExclusives {
    using G = GateWord;
    using Mode = GateWord::Mode;
    using Rules = typename Parts::Rules;
    static constexpr auto kBy = GateChange::By::exclusive;
    static constexpr bool kGatedAlways = Parts::kGatedAlways;
    static_assert(L::kTraits.offers.two_steps == InTwoSteps<L>);

  public:
    GateExclusives(Parts& parts, L& lock, Held& holders)
        : parts_(parts), lock_(lock), holders_(holders) {}

    Hold acquire(Rank target) {
        if constexpr (L::kTraits.offers.two_steps && !kGatedAlways) {
            Value seen;
            return begin(target, seen) ? L::kAlone : finish(target, seen);
        } else {
            record_holder(target);
            return look(target, lock_.acquire_exclusive(target));
        }
    }
    /// The same in two steps (lock.hh).
    bool begin(Rank target, Value& seen) {
        record_holder(target);
        return lock_.begin_exclusive(target, seen) && !parts_.marked();
    }
    Hold finish(Rank target, Value seen) {
        return look(target, lock_.finish_exclusive(target, seen));
    }

    void release(Rank target, Hold hold) {
        lock_.release_exclusive(target, hold);
        // Not sooner: the release may be what brings the holder's data to the target.
        if constexpr (!kGatedAlways)
            holders_.leave(target);
        if (hold.in_room) [[unlikely]]
            leave_room();
    }

    // Sections (section.hh), at the origin: before one goes; when it is over; when it was left to
    // the origin, and nothing was done.
    void announce(Rank target) { record_holder(target); }
    void strike(Rank target) { holders_.leave(target); }
    Hold take_over(Rank target) { return look(target, L::section_hold(true)); }

  private:
    void record_holder(Rank target) {
        if constexpr (!kGatedAlways)
            holders_.enter(target);
    }

    /// R1: an exclusive that has its target looks whether there is a lock_all, and then enters the
    /// room, or gives the target back, since the lock_all may be waiting for it (R4).
    Hold look(Rank target, Hold hold) {
        if (!parts_.marked())
            return hold;
        parts_.fabric.mark();
        hold.in_room = enter_room(false, [](Value g) { return g; }).has_value();
        if (hold.in_room) {
            past_.reset();
            return hold;
        }
        lock_.release_exclusive(target, hold);
        return wait_and_acquire(target);
    }

    /// Counted in n_W until it is in.
    [[gnu::noinline]] Hold wait_and_acquire(Rank target) {
        const Value before = parts_.fabric.fetch_add(parts_.gate, G::kOneWaiting);
        const auto end = parts_.fabric.after(past_.next(parts_.limits.patience, G::visit(before)));
        const auto mark = parts_.fabric.mark();
        for (bool past_waiting = false;;) {
            await_room(past_waiting, end);
            Hold hold = lock_.acquire_exclusive(target);
            if (!parts_.marked()) {
                end_turn_after(parts_.fabric.fetch_add(parts_.gate, Value{0} - G::kOneWaiting));
                return hold;
            }
            if (const auto found = enter_room(past_waiting, G::without_waiting)) {
                past_.note(!Rules::admits_exclusive(*found, false), G::visit(*found));
                hold.in_room = true;
                return hold;
            }
            lock_.release_exclusive(target, hold);
            parts_.fabric.rewind(mark, past_waiting);
        }
    }

    /// Until the room is open, or the gate is not for lock_alls any more. From `end` on the room
    /// may be taken past lock_alls that only wait.
    void await_room(bool& past_waiting, fabric::Moment end) {
        const auto mark = parts_.fabric.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const auto is_for_me = [past_waiting](Value g) {
                return Rules::mode(g) == Mode::ungated || Rules::mode(g) == Mode::alls ||
                       Rules::admits_exclusive(g, past_waiting);
            };
            const std::optional<Value> seen = past_waiting
                                                  ? parts_.events.await(is_for_me)
                                                  : parts_.events.await_until(is_for_me, end);
            past_waiting = past_waiting || !seen;
            if (seen && Rules::mode(*seen) != Mode::alls)
                return;
            if (seen && parts_.template begin<kBy, Mode::alls, Mode::closing>(*seen))
                close_for_alls();
            else if (seen)
                parts_.fabric.backoff(attempt);
            parts_.fabric.rewind(mark, past_waiting);
        }
    }

    /// Enters the room if it is open, with the target in hand: nothing here may wait. `and_then`:
    /// what else becomes of G. The back-off is for the word's home, where all exclusives meet.
    /// Returns what G was if it is in.
    template <class AndThen>
    std::optional<Value> enter_room(bool past_waiting, AndThen and_then) {
        Value seen = parts_.fabric.get(parts_.gate);
        for (unsigned attempt = 0; Rules::admits_exclusive(seen, past_waiting); ++attempt) {
            const Value inside = and_then(G::with_exclusive(seen, counts()));
            const Value before = parts_.fabric.compare_swap(parts_.gate, seen, inside);
            if (before == seen) {
                entered_.fetch_add(1, std::memory_order_relaxed); // a number without data
                if (G::waiting(inside) != G::waiting(seen))
                    end_turn_after(seen);
                open(inside);
                return seen;
            }
            parts_.fabric.backoff(attempt);
            seen = parts_.fabric.get(parts_.gate);
        }
        return std::nullopt;
    }

    /// One less waits than in `before`.
    void end_turn_after(Value before) {
        if (G::waiting(before) == 1)
            parts_.events.advance();
    }

    void leave_room() {
        const Value before = parts_.fabric.fetch_add(parts_.gate, Value{0} - G::kOneExclusive);
        if (G::exclusives(before) == 1 && G::alls(before) != 0)
            parts_.events.advance();
    }

    /// Whether the next exclusive counts in the row. Several threads may ask.
    bool counts() const {
        const Value next = entered_.load(std::memory_order_relaxed) + 1;
        return (next & (parts_.limits.each_exclusive - 1)) == 0;
    }

    void close_for_alls() {
        parts_.fabric.add_each(parts_.nodes, parts_.count.slot, Value{0} - NodeCount::kOpen);
        await_nobody_counted();
        parts_.template end<kBy, Mode::closing, Mode::gated>(G::kOneWaiting);
    }

    /// Until nobody is inside by any L, all of which are closed: no count grows any more.
    void await_nobody_counted() {
        std::array<Value, Batch::kMost> memory;
        Value to_come = 0;
        for (std::size_t node = 0; node < parts_.nodes.size(); node += Batch::kMost) {
            const auto some = parts_.nodes.subspan(node).first(
                std::min(Batch::kMost, parts_.nodes.size() - node));
            const std::span counts = std::span(memory).first(some.size());
            parts_.fabric.scan(some, parts_.count.slot, 1, counts);
            to_come += leave_name(some, counts);
        }
        if (to_come == 0)
            return;
        parts_.fabric.await(parts_.gone, fabric::equals(to_come));
        parts_.fabric.fetch_add(parts_.gone, Value{0} - to_come);
    }
    /// In the L of those nodes whose `counts` were not 0. Returns at how many of them the last
    /// lock_all is still to leave, which then adds to GONE. All names go in one round trip, and so
    /// do those that are taken back.
    Value leave_name(std::span<const Rank> some, std::span<const Value> counts) {
        const Value me = NodeCount::named(parts_.fabric.self());
        Batch names, taken_back;
        std::array<Rank, Batch::kMost> named;
        std::size_t asked = 0;
        for (std::size_t i = 0; i < some.size(); ++i)
            if (NodeCount::inside(counts[i]) != 0) {
                names.add(fabric::Rmw::fetch_add({some[i], parts_.count.slot}, me));
                named[asked++] = some[i];
            }
        const Value* const found = names.done(parts_.fabric);
        Value to_come = 0;
        for (std::size_t i = 0; i < asked; ++i)
            if (NodeCount::inside(found[i]) != 0)
                ++to_come;
            else
                taken_back.add(
                    fabric::Rmw::fetch_add({named[i], parts_.count.slot}, Value{0} - me));
        taken_back.done(parts_.fabric);
        return to_come;
    }

    /// R5, if enough came in a row. `seen` is what G was when this exclusive entered.
    void open(Value seen) {
        if (!Rules::may_open_for_exclusives(seen, parts_.limits.exclusives) ||
            !parts_.template begin<kBy, Mode::gated, Mode::opening>(seen))
            return;
        parts_.fabric.add_each(parts_.nodes, parts_.mark.slot, Value{0} - GateSlots::kMarked);
        parts_.template end<kBy, Mode::opening, Mode::ungated>(0);
    }

    Parts& parts_;
    L& lock_;
    Held& holders_;
    std::atomic<Value> entered_{0}; ///< exclusives of this process, through the room
    typename Parts::Past past_;
};

} // namespace rmalock::locks
