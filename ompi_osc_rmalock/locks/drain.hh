// The readers that a writer waits for before it goes in, and those that may join them.
//
// Our own; the drain of pfx.hh, with the count in the top bits.
//
// Words: RO of a target (atomic); DRN of the drainer's node of the pool (mailbox).
//
//    RO     [ inside:24 | drainer:40 ]   readers it still waits for, maybe < 0; the drainer's node
//
//    leave  o = FADD(RO, -1);  if o.inside == 1 and o.drainer: PUT(o.drainer.DRN, 1)
//    join   o = FADD(RO, 1)
//           if o.drainer: if the phase it came in is over: leave; joined
//           else: leave; not joined
//    drain  DRN = 0;  if FADD(RO, [r | me]).inside + r: await DRN
//           close
//    open   FADD(RO, [0 | me])
//    close  until FADD(RO, [0 | -me]).inside == 0:
//               DRN = 0;  if FADD(RO, [0 | me]).inside: await DRN            // somebody joined
//
// Who leaves counts down, whether the drainer has added its r yet or not: a count below 0 says that
// they were faster. DRN is a hint, which may be about an earlier drain; the truth is the count that
// `close` finds in the step in which it takes the name out. So who found the name there when it
// added itself is waited for. Only at the end of `close` nobody is inside.
#pragma once

#include "locks/pool.hh"

namespace rmalock::locks {

/// A count of readers and the node of who waits for it to become 0. The count is in the top bits,
/// so that it disturbs nothing when it runs below 0 or wraps.
struct DrainWord {
    static constexpr Value kReader = Value{1} << kNameBits;
    static constexpr std::int64_t inside(Value v) {
        return static_cast<std::int64_t>(v) >> kNameBits;
    }
    static constexpr Value drainer(Value v) { return v & kNameMask; }
};

template <fabric::Fabric F>
class Drain {
  public:
    static constexpr Slot kDrn = 2; ///< of a pool node

    explicit Drain(F& fabric) : fabric_(fabric) {}

    bool is_open(Word ro) { return DrainWord::drainer(fabric_.get(ro)) != 0; }

    void leave(Word ro) {
        const Value o = fabric_.fetch_add(ro, Value{0} - DrainWord::kReader);
        if (DrainWord::inside(o) != 1 || DrainWord::drainer(o) == 0)
            return;
        const Word drainer = node_of(DrainWord::drainer(o));
        fabric_.put(field(drainer, kDrn), 1);
        fabric::handed_over(fabric_, drainer.rank);
    }

    /// Returns whether the caller is inside, or was admitted meanwhile: `is_over` says so.
    template <class IsOver>
    bool join(Word ro, IsOver&& is_over) {
        if (DrainWord::drainer(fabric_.fetch_add(ro, DrainWord::kReader)) == 0) {
            leave(ro);
            return false;
        }
        if (is_over()) // it is not the drain of the caller's phase
            leave(ro);
        return true;
    }

    /// Waits until the `r` readers that were inside when the writer took over have left, and those
    /// that joined them.
    void drain(Word ro, Word own, Value r) {
        await_hint(ro, own, r);
        close(ro, own);
    }

    /// Lets readers join, and `own` be told when they have left.
    void open(Word ro, Word own) { fabric_.fetch_add(ro, name_of(own)); }

    void close(Word ro, Word own) {
        const Value gone = Value{0} - name_of(own);
        while (DrainWord::inside(fabric_.fetch_add(ro, gone)) != 0)
            await_hint(ro, own, 0);
    }

  private:
    void await_hint(Word ro, Word own, Value r) {
        const Word drn = field(own, kDrn);
        const Value more = r * DrainWord::kReader;
        // Late hints of an earlier drain are erased before anybody can send one of this.
        fabric_.put(drn, 0);
        if (DrainWord::inside(fabric_.fetch_add(ro, more + name_of(own)) + more) != 0)
            fabric_.await(drn, fabric::equals(1));
    }

    F& fabric_;
};

} // namespace rmalock::locks
