// Critical sections that come in a message (locks/parts/section.hh) to a lock behind its gate: what
// their origin does.
#pragma once

#include "locks/parts/qnodes.hh"
#include "locks/parts/section.hh"

namespace rmalock::locks {

template <fabric::Fabric F, TakesSections L, class Gate>
class GatedSections {
  public:
    GatedSections(F& fabric, Gate& gate) : fabric_(fabric), gate_(gate) {}

    /// Before a section goes.
    void announce(Rank target, bool exclusive) {
        if (exclusive)
            gate_.announce_exclusive(target);
    }
    /// When it is over, or was refused.
    void strike(Rank target, bool exclusive) {
        if (exclusive)
            gate_.strike_exclusive(target);
    }
    /// When another process has the lock next, and waits to be told.
    void notify(const SectionEnd& end) {
        fabric_.put(L::granted_word(end.next), end.message);
        fabric_.handed_over(qnode_of(end.next).rank);
    }
    /// The lock that was left to this process, with its operations done.
    static Hold hold(bool exclusive) { return L::section_hold(exclusive); }
    /// The same, with nothing done: a lock_all may be inside.
    Hold take_over(Rank target, bool exclusive) {
        return exclusive ? gate_.take_over_exclusive(target) : hold(false);
    }

  private:
    F& fabric_;
    Gate& gate_;
};

} // namespace rmalock::locks
