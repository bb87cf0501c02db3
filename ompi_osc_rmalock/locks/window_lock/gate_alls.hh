// The gate's side of MPI_Win_lock_all: all_gate.hh has the protocol.
#pragma once

#include "locks/window_lock/gate_parts.hh"

namespace rmalock::locks {

/// One process's; a process is in one lock_all of a window at a time.
template <class Parts, class L, class Held>
class GateAlls {
    using G = GateWord;
    using Mode = GateWord::Mode;
    using Rules = typename Parts::Rules;
    static constexpr auto kBy = GateChange::By::lock_all;

  public:
    GateAlls(Parts& parts, L& lock, Held& holders)
        : parts_(parts), lock_(lock), holders_(holders) {}

    void enter() {
        in_by_node_ = enter_by_node();
        if (in_by_node_)
            return;
        departure_ = kDeparture;
        Value seen = arrive();
        if (!Rules::only_alls(seen)) [[unlikely]]
            seen = wait_for_room(seen);
        if (parts_.nodes.size() > 1 && G::row(seen) >= parts_.limits.alls)
            open();
    }
    void leave() {
        if (in_by_node_)
            leave_by_node();
        else
            leave_gate(departure_);
    }

  private:
    bool enter_by_node() {
        if (parts_.nodes.size() == 1)
            return false;
        for (Value seen = parts_.fabric.get(parts_.count); NodeCount::open(seen);) {
            const Value before =
                parts_.fabric.compare_swap(parts_.count, seen, seen + NodeCount::kOne);
            if (before == seen)
                return true;
            seen = before;
        }
        return false;
    }
    void leave_by_node() {
        const Value before = parts_.fabric.fetch_add(parts_.count, Value{0} - NodeCount::kOne);
        const Value closer = NodeCount::closer(before);
        if (closer == 0 || NodeCount::inside(before) != 1) [[likely]]
            return;
        parts_.fabric.fetch_add(parts_.count, Value{0} - closer); // before the closer goes on
        parts_.fabric.add({static_cast<Rank>(closer) - 1, parts_.gone.slot}, GateSlots::kGone1);
    }

    /// Returns G with this process in it.
    Value arrive() {
        const bool counts = (++arrivals_ & (parts_.limits.each_all - 1)) == 0;
        const Value me = G::kOneAll + (counts ? G::kOneInRow : 0);
        return parts_.fabric.fetch_add(parts_.gate, me) + me;
    }

    /// Returns what G was when this process arrived.
    [[gnu::noinline]] Value wait_for_room(Value seen) {
        if (Rules::sends_alls_back(seen)) {
            step_back(G::turn(seen));
            seen = arrive();
        } else {
            past_.reset();
        }
        const Value arrived = seen;
        while (!Rules::admits_alls(seen)) {
            if (G::alls(arrived) == 1) // one of those that wait together
                departure_ = kDepartureOfWaiter;
            if (Rules::mode(seen) == Mode::ungated &&
                parts_.template begin<kBy, Mode::ungated, Mode::revoking>(seen))
                seen = revoke();
            else
                seen = parts_.events.await([](Value g) {
                    return Rules::admits_alls(g) || Rules::mode(g) == Mode::ungated;
                });
        }
        return arrived;
    }

    void leave_gate(Value departure) {
        const Value before = parts_.fabric.fetch_add(parts_.gate, departure);
        if (G::alls(before) == 1 && G::waiting(before) != 0)
            parts_.events.advance();
    }

    /// Turns.
    void step_back(Value turn) {
        leave_gate(kDeparture);
        const auto is_over = [turn](Value g) { return Rules::turn_is_over(g, turn); };
        const auto end = parts_.fabric.after(past_.next(parts_.limits.patience, turn));
        past_.note(!parts_.events.await_until(is_over, end).has_value(), turn);
    }

    /// R1. Returns G.
    Value revoke() {
        parts_.fabric.add_each(parts_.nodes, parts_.mark.slot, GateSlots::kMarked);
        const auto visit = [&](Rank target) {
            parts_.fabric.mark();
            lock_.release_shared(target, lock_.acquire_shared(target));
        };
        const auto held = holders_.look();
        for (Rank target = 0; held.all() && target < parts_.fabric.size(); ++target)
            visit(target);
        for (std::size_t i = 0; !held.all() && i < held.named().size(); ++i)
            visit(held.named()[i]);
        return parts_.template end<kBy, Mode::revoking, Mode::gated>(G::kOneAll);
    }

    /// R6. If it does not work out, another one will try.
    void open() {
        const Value seen = parts_.fabric.get(parts_.gate);
        if (!Rules::may_open_for_alls(seen) ||
            !parts_.template begin<kBy, Mode::gated, Mode::opening>(seen))
            return;
        parts_.fabric.add_each(parts_.nodes, parts_.count.slot, NodeCount::kOpen);
        parts_.template end<kBy, Mode::opening, Mode::alls>(G::kOneAll);
    }

    Parts& parts_;
    L& lock_;
    Held& holders_;
    /// What G counts less when a lock_all leaves it. Only rounds that grow need to know visits.
    static constexpr Value kDeparture = Value{0} - G::kOneAll,
                           kDepartureOfWaiter =
                               kDeparture + (Parts::Past::kGrows ? G::kOneVisit : 0);

    bool in_by_node_ = false;
    Value departure_ = kDeparture; ///< of this process, if it is inside G
    Value arrivals_ = 0;           ///< of this process at G
    typename Parts::Past past_;
};

} // namespace rmalock::locks
