// The marks of single elements, with one thing wrong each; the checker must say so.
#pragma once

#include "locks/parts/element_marks.hh"
#include "locks/parts/passing_ticket.hh"

namespace rmalock::check {

enum class ElementMutation {
    none,
    no_fence,    ///< an array raises the word, and looks at marks that linger
    no_look,     ///< it raises the word, and looks at none
    looks_first, ///< it looks at the marks, and raises the word then
    one_mark,    ///< it looks at the first mark of each process
    marks_late,  ///< a single element looks at the word, and marks itself then
    keeps_mark,  ///< it finds the word raised, and waits for the lock under its mark
    counts_late, ///< it lowers the word when it has released the lock
};

/// As ElementMarks.
template <fabric::Fabric F, ElementMutation M>
class ElementMarksMutant : public locks::ElementMarks<F> {
    using Base = locks::ElementMarks<F>;
    using W = locks::ElementsWord;
    using Mutation = ElementMutation;
    using Rank = locks::Rank;
    using Slot = locks::Slot;
    using Value = locks::Value;

  public:
    ElementMarksMutant(F& fabric, const locks::ElementMarkPlaces& places, Value limit)
        : Base(fabric, places, limit), fabric_(fabric), places_(places) {}

    typename Base::Mark begin(Rank target, Slot thread) {
        if (M != Mutation::marks_late && M != Mutation::keeps_mark)
            return Base::begin(target, thread);
        const typename Base::Mark mine = fabric_.own(places_.marks);
        if (M == Mutation::keeps_mark)
            fabric_.put_own(mine, W::mark_of(target));
        if (fabric_.get({target, places_.word}) != 0)
            return {};
        fabric_.put_own(mine, W::mark_of(target));
        return mine;
    }

    void exclude(Rank target) {
        const locks::Word word{target, places_.word};
        const Value seen = fabric_.get(word);
        if ((seen & W::kDrained) != 0)
            return;
        if (M == Mutation::looks_first)
            look(target);
        if (seen == 0) {
            fabric_.swap(word, W::kRaised);
            if (M != Mutation::no_fence && places_.node_fence)
                fabric_.fence_node();
        }
        if (M != Mutation::no_look && M != Mutation::looks_first)
            look(target);
        fabric_.swap(word, W::kRaised | W::kDrained);
    }

  private:
    void look(Rank target) {
        for (const Rank rank : places_.node)
            for (Slot i = 0; i < (M == Mutation::one_mark ? 1 : places_.lines); ++i)
                fabric_.await({rank, places_.marks + fabric::line(i)},
                              fabric::differs(W::mark_of(target)));
    }

    F& fabric_;
    locks::ElementMarkPlaces places_;
};

} // namespace rmalock::check
