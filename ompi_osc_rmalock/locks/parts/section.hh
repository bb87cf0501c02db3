// A critical section that comes in one message: the target's CPU takes the lock, does the operations
// and gives it back. In front of a lock whose home is one word, S.
//
//    origin   record(t);  send the operations;  await what home says
//    home     if exclusive and M: busy
//             s = S until CAS(S, s -> s + its registration) == s;  not free for it: busy
//             if exclusive and M: nothing is done
//             else do the operations
//             if CAS(S, s + its registration -> s) == s: over
//             if only exclusives came meanwhile, and the phase is changed by a CAS of S:
//                 next = SWAP(HW, PHASE);  if next: it is told, by home or by the origin;  over
//             else the origin holds the lock
//    origin   busy: strike(t); acquire as always
//             it holds the lock, nothing was done: look at the gate as always, do them, release
//             it holds the lock: release
//             over: strike(t);  if home could not tell next: tell it
//
// Why it excludes: the registration is the one that an origin's own atomic makes, and it is made
// only where that would have been admitted at once. Until it is taken back all others see it.
//
// In parts. The origin may have the operations of a first part done, and keep the lock: it then holds
// what section_hold() says, as if nobody had been alone at the end. A later message does more
// operations, and the last one ends with the second CAS. Or the origin releases the lock itself.
//
// Races. Another process that registers meanwhile finds a holder, and waits to be told by it. The
// home is in the handler of a message, where nothing may wait. So it takes its registration back by
// a CAS that fails then. An exclusive that waits is handed the lock as by a release: that takes two
// atomics of the home's words, and a put to the first of the queue. Home puts it if that one is on
// its host, else the origin does. Readers that wait are on a list that leads over other nodes: their
// release is left to the origin, which does what it does for a lock that it has acquired itself.
// Where readers are admitted one after another, others of them may come and go: a CAS that fails is
// tried again.
//
// R1 of all_gate.hh: the origin is in its holder record before the message goes, so a lock_all
// either finds it there, and looks at the target, or has set every M before the home reads its own.
//
// Fairness: nothing is overtaken that is registered. A reader that finds no exclusive is admitted by
// every lock here.
//
// Cost: one message each way; at home 2 atomics and 1 get, for an exclusive 2 gets more. Handed on, 1
// atomic more, and 1 posted put: none off the node from home to a process of its host.
#pragma once

#include <optional>

#include "fabric/concept.hh"
#include "locks/lock.hh"

namespace rmalock::locks {

/// The home's words that a section is about: S, and HW, where the lock is handed to the first that
/// waits.
struct SectionHome {
    Word s, handed;
};

/// A lock whose critical sections may come in a message. Its words say when one may begin, how it is
/// registered, and whether nobody waits for its end, or exclusives alone; what S is then, and what
/// the first of those is told. section_hold() is what the origin has whose section was left to it.
template <class L>
concept TakesSections = requires(const L& lock, L& reads, Rank target, Value s, bool exclusive) {
    { L::SectionWords::admits_section(s, exclusive) } -> std::same_as<bool>;
    { L::SectionWords::section1(exclusive) } -> std::same_as<Value>;
    { L::SectionWords::section_alone(s, exclusive) } -> std::same_as<bool>;
    { L::SectionWords::section_passes(s, exclusive) } -> std::same_as<bool>;
    { L::SectionWords::kPassed } -> std::convertible_to<Value>;
    { L::SectionWords::phase_message(s) } -> std::same_as<Value>;
    { lock.section_home(target) } -> std::same_as<SectionHome>;
    { L::granted_word(s) } -> std::same_as<Word>;
    { reads.is_member(target) } -> std::same_as<bool>;
    { L::section_hold(exclusive) } -> std::same_as<Hold>;
};

/// How a section begins.
enum class SectionEntry {
    busy,    ///< nothing has happened
    closed,  ///< the lock is taken, but a lock_all may be inside: the origin has to see to that
    entered, ///< the operations may be done
};

/// How it ends.
struct SectionEnd {
    bool over = false; ///< else the lock is the origin's
    Value next = 0;    ///< qnode of a process that has the lock now, and is to be told; or 0
    Value message = 0; ///< what it is told
};

template <class Words, fabric::Fabric F>
class SectionAtHome {
  public:
    /// `mark`: M of all_gate.hh, as a process of this node reads it.
    SectionAtHome(F& fabric, SectionHome home, Word mark)
        : fabric_(fabric), s_(home.s), handed_(home.handed), mark_(mark) {}

    SectionEntry enter(bool exclusive) {
        if ((exclusive && marked()) || !change([exclusive](Value s) {
                return Change{Words::admits_section(s, exclusive), Words::section1(exclusive)};
            }))
            return SectionEntry::busy;
        return exclusive && marked() ? SectionEntry::closed : SectionEntry::entered;
    }
    SectionEnd leave(bool exclusive) {
        const std::optional<Value> seen = change([exclusive](Value s) {
            const bool alone = Words::section_alone(s, exclusive);
            return Change{alone || Words::section_passes(s, exclusive),
                          alone ? Value{0} - Words::section1(exclusive) : Words::kPassed};
        });
        if (!seen)
            return {};
        if (Words::section_alone(*seen, exclusive))
            return {.over = true};
        const Value message = Words::phase_message(*seen + Words::kPassed);
        return {.over = true, .next = fabric_.swap(handed_, message), .message = message};
    }

  private:
    /// What becomes of S, if it may.
    struct Change {
        bool allowed;
        Value operand;
    };

    bool marked() { return fabric_.get(mark_) != 0; }
    /// Returns what S was if it has changed.
    template <class May>
    std::optional<Value> change(May may) {
        const auto mark = fabric_.mark();
        for (;;) {
            const Value seen = fabric_.get(s_);
            const auto [allowed, operand] = may(seen);
            if (!allowed)
                return std::nullopt;
            if (fabric_.compare_swap(s_, seen, seen + operand) == seen)
                return seen;
            fabric_.rewind(mark); // others came and went: no wait, each try follows their progress
        }
    }

    F& fabric_;
    Word s_, handed_, mark_;
};

} // namespace rmalock::locks
