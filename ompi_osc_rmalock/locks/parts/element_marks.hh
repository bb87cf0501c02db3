// Single elements by CPU atomics, arrays by plain loops, on the same memory: marks that are almost
// free for the former, and an exclusive lock for the latter.
//
// Our own, of the biased locks and BRAVO's readers (D. Dice and A. Kogan, USENIX ATC 2019): a
// process that changes one element marks its own line and looks at the target's word; a process
// with an array raises the word, and waits for the marks. What follows takes the lock of the target
// (passing_ticket.hh): arrays, one after the other, and single elements as long as the word is
// raised. So a program of single elements pays a store, a load, and a store; a program of arrays
// pays a lock each.
//
// The word of target t at t (atomic; the lock's holder alone changes it), and a process's marks
// (cohort), of which each thread that works on an element has one:
//
//     63     2 1       0
//    [ singles | drained | raised ]      0: single elements by marks
//    [ target + 1 ]                      0: none
//
//    begin     mark = t + 1;  if word(t) != 0: mark = 0, to be done under the lock
//    end       mark = 0
//    exclude   (under the lock)   if word(t).drained: return, singles = 0
//              if !word(t).raised: word(t) = [raised]; fence_node()
//              for all marks of the node: await mark != t + 1
//              word(t) = [raised | drained]
//    count     (under the lock, after a single element)   if word(t) != 0: ++singles
//              if singles == limit: word(t) = 0
//
// Why an array is alone: fence_node comes after the raise. A process whose mark came before it is
// waited for. One whose mark comes after it loads the word after it, too, finds it raised and takes
// the mark back. Where there is no fence_node, or several threads look for a free mark, the mark is
// a compare-and-swap: there is one order of it, the load, the raise and the look at the marks.
//
// Why an array gets in: as long as the word is raised, nobody sets a mark of t for longer than it
// takes to look at the word. Why a single element does: the lock is fair. Neither waits under a
// mark.
//
// `limit` is where single elements have paid as much for the lock as an array pays for raising the
// word again; to go back sooner or later costs at most twice the best choice. When an array raises
// the word, rather than be changed by atomics under a mark, is for the caller to say, by the same
// rule.
//
// Cost, on the node: a single element a store, a load, a store; an array the lock; raising the word
// 2 atomics, fence_node, and a look at all marks of the node. Memory: 1 word per target, a line per
// thread at work.
#pragma once

#include <span>

#include "fabric/layout.hh"
#include "locks/lock_env.hh"

namespace rmalock::locks {

/// The word of a target. Beside each part: what it promises, and the race that it settles.
struct ElementsWord {
    /// Single elements are under the lock. Set before the look at the marks: a process that marks
    /// itself later finds it.
    static constexpr Value kRaised = 1;
    /// All marks from before the raise have gone, so that the next array need not look. Apart from
    /// kRaised for a caller that may not wait, and leaves the rest of the look to the next one.
    static constexpr Value kDrained = 2;
    /// Single elements since the last array: a hint, after how many the word is lowered. Only the
    /// lock's holder counts.
    static constexpr Value kSingle = 4;

    /// A mark: a thread works on an element of that target. It is set before the look at the word,
    /// so either the look finds kRaised, or the process with the array finds the mark.
    static constexpr Value mark_of(Rank target) { return static_cast<Value>(target) + 1; }
};

/// Where the words are, and which processes have marks.
struct ElementMarkPlaces {
    Slot word;                  ///< of each target
    Slot marks;                 ///< the first mark of each process; a mark is a line
    Slot lines;                 ///< marks of a process
    Slot owned;                 ///< of the caller's, those that belong to one thread of it each
    bool node_fence;            ///< whether fence_node works for all of the node
    std::span<const Rank> node; ///< the processes; outlives the ElementMarks
};

template <fabric::Fabric F>
class ElementMarks {
    using W = ElementsWord;

  public:
    /// A mark that is set.
    using Mark = typename F::Own;
    /// 2 us to raise the word, and 30 ns more for an element under the lock than under a mark.
    static constexpr Value kDefaultLimit = 64;

    ElementMarks(F& fabric, const ElementMarkPlaces& places, Value limit = kDefaultLimit)
        : fabric_(fabric), places_(places), limit_(limit), first_(fabric.own(places.marks)) {}

    /// The mark under which thread `thread` of the program may change an element of `target` by an
    /// atomic, until end. Mark{}: it has to take the lock.
    Mark begin(Rank target, Slot thread = 0) {
        if (!places_.node_fence || thread >= places_.owned)
            return claim(target, thread);
        return begin_owned(target, fabric_.own(places_.marks + fabric::line(thread)));
    }
    /// The same for thread 0, where there is fence_node.
    [[gnu::always_inline]] Mark begin_first(Rank target) { return begin_owned(target, first_); }
    /// The same for a thread without a number.
    Mark begin_beside(Rank target) { return claim(target, places_.owned); }
    [[gnu::always_inline]] void end(Mark mark) { fabric_.put_own(mark, 0); }

    // The caller of these holds the target's lock.

    /// On return, and until the caller releases the lock, nobody else changes elements.
    void exclude(Rank target) {
        if (raised_and_drained(target))
            return;
        for (const Rank rank : places_.node)
            for (Slot i = 0; i < places_.lines; ++i)
                fabric_.await(mark(i, rank), fabric::differs(W::mark_of(target)));
        fabric_.swap(word(target), W::kRaised | W::kDrained);
    }
    /// The same where nobody may wait (the handler of a message): false if somebody is at work.
    bool try_exclude(Rank target) {
        if (raised_and_drained(target))
            return true;
        for (const Rank rank : places_.node)
            for (Slot i = 0; i < places_.lines; ++i)
                if (fabric_.get(mark(i, rank)) == W::mark_of(target))
                    return false;
        fabric_.swap(word(target), W::kRaised | W::kDrained);
        return true;
    }
    /// Whether the word is raised already: then exclude costs little.
    bool raised(Rank target) { return fabric_.get(word(target)) != 0; }
    /// The caller has changed a single element.
    void count_single(Rank target) {
        const Value seen = fabric_.get(word(target));
        if (seen == 0)
            return;
        const Value then = seen + W::kSingle;
        fabric_.swap(word(target), then / W::kSingle >= limit_ ? 0 : then);
    }

  private:
    Word word(Rank target) const { return {target, places_.word}; }
    Word mark(Slot i, Rank rank) const { return {rank, places_.marks + fabric::line(i)}; }

    [[gnu::always_inline]] Mark begin_owned(Rank target, Mark mine) {
        fabric_.put_own(mine, W::mark_of(target));
        if (fabric_.get(word(target)) == 0) [[likely]]
            return mine;
        fabric_.put_own(mine, 0);
        return Mark{};
    }

    /// A mark that no thread owns; where there is no fence_node, none does. `hint`: threads with
    /// several of them begin with several marks.
    [[gnu::noinline]] Mark claim(Rank target, Slot hint) {
        const Slot first = places_.node_fence ? places_.owned : 0;
        const Slot free_ones = places_.lines - first;
        for (Slot i = 0; i < free_ones; ++i) {
            const Word free = this->mark(first + (hint + i) % free_ones, fabric_.self());
            if (fabric_.compare_swap(free, 0, W::mark_of(target)) != 0)
                continue; // another thread's
            const Mark mark = fabric_.own(free.slot);
            if (fabric_.get(word(target)) == 0)
                return mark;
            fabric_.put_own(mark, 0);
            break;
        }
        return Mark{};
    }

    /// False: the word is raised now, and marks may be left.
    bool raised_and_drained(Rank target) {
        const Value seen = fabric_.get(word(target));
        if ((seen & W::kDrained) != 0) {
            if (seen >= W::kSingle)
                fabric_.swap(word(target), W::kRaised | W::kDrained);
            return true;
        }
        if (seen == 0) {
            fabric_.swap(word(target), W::kRaised);
            if (places_.node_fence)
                fabric_.fence_node();
        }
        return false;
    }

    F& fabric_;
    const ElementMarkPlaces places_;
    Value limit_;
    const Mark first_;
};

} // namespace rmalock::locks
