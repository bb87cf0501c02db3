// Direct-passive with one thing wrong each; the checker must say so.
#pragma once

#include "locks/algorithms/direct_passive.hh"

namespace rmalock::check {

enum class DirectPassiveMutation {
    release_by_put,     ///< unlock writes "free" over the counts of readers that arrived meanwhile
    reader_barges,      ///< a reader does not look at the owner
    reader_takes_back,  ///< a reader that met an owner takes its count back and enters without
    reader_forgets,     ///< a release of shared that leaves its count in the word
    writer_over_readers ///< a writer's CAS accepts a word with readers in it
};

template <fabric::Fabric F, DirectPassiveMutation M>
class DirectPassiveMutant {
    using W = locks::DirectPassiveWord;
    using Mutation = DirectPassiveMutation;

  public:
    static constexpr locks::LockTraits kTraits = locks::DirectPassive<F>::kTraits;

    static locks::Footprint footprint(const locks::MachineView&) { return {.home = 1}; }

    explicit DirectPassiveMutant(const locks::LockEnv<F>& env)
        : fabric_(env.fabric), home_(env.home) {}

    locks::Hold acquire_exclusive(locks::Rank target) {
        const locks::Word word{target, home_};
        for (;;) {
            locks::Value expected = 0;
            if (M == Mutation::writer_over_readers)
                expected = W::readers(fabric_.get(word));
            if (fabric_.compare_swap(word, expected, expected + kOwner) == expected)
                return {};
            fabric_.await(word, fabric::equals(0));
        }
    }

    void release_exclusive(locks::Rank target, locks::Hold) {
        if (M == Mutation::release_by_put)
            fabric_.put({target, home_}, 0);
        else
            fabric_.add({target, home_}, locks::Value{0} - kOwner);
    }

    locks::Hold acquire_shared(locks::Rank target) {
        const locks::Word word{target, home_};
        if (W::owner(fabric_.fetch_add(word, W::kReader)) == 0 || M == Mutation::reader_barges)
            return {};
        fabric_.await(word, [](locks::Value v) { return W::owner(v) == 0; });
        if (M == Mutation::reader_takes_back)
            fabric_.fetch_add(word, locks::Value{0} - W::kReader);
        return {M == Mutation::reader_takes_back ? locks::Value{1} : 0};
    }

    void release_shared(locks::Rank target, locks::Hold hold) {
        if (hold.opaque == 0 && M != Mutation::reader_forgets)
            fabric_.add({target, home_}, locks::Value{0} - W::kReader);
    }

  private:
    static constexpr locks::Value kOwner = W::owned_by(0); // whatever process it is

    F& fabric_;
    locks::Slot home_;
};

} // namespace rmalock::check
