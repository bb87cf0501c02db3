// A fabric that counts the verbs used through it: what a path costs is asserted, not measured.
#pragma once

#include <utility>

#include "fabric/adapter.hh"

namespace rmalock::test {

struct VerbCounts {
    unsigned gets = 0;
    unsigned atomics = 0; ///< fetching read-modify-writes: one round trip each off node
    unsigned along = 0;   ///< gets behind one of these, in its round trip
    unsigned posted = 0;  ///< puts and adds: no round trip
    unsigned counts = 0;  ///< in a holder record of one's own
    unsigned flushes = 0;
    unsigned polls_elsewhere = 0; ///< waits on a word whose home is another rank
    friend bool operator==(const VerbCounts&, const VerbCounts&) = default;
};

template <fabric::Fabric F>
class Counting : public fabric::Adapter<Counting<F>, F> {
    using Base = fabric::Adapter<Counting<F>, F>;
    using At = std::source_location;

  public:
    using Base::Base;

    fabric::Value near_fetch_add(fabric::Word w, fabric::Value v, At at = At::current()) {
        return by_cpu([&] { return Base::near_fetch_add(w, v, at); });
    }
    fabric::Value near_swap(fabric::Word w, fabric::Value v, At at = At::current()) {
        return by_cpu([&] { return Base::near_swap(w, v, at); });
    }
    fabric::Value near_compare_swap(fabric::Word w, fabric::Value expected, fabric::Value desired,
                                    At at = At::current()) {
        return by_cpu([&] { return Base::near_compare_swap(w, expected, desired, at); });
    }

    void before(fabric::Use use, fabric::Rank home) {
        adapters_ += use == fabric::Use::atomic && !near_;
        switch (use) {
        case fabric::Use::get:
            return note(home, &VerbCounts::gets);
        case fabric::Use::atomic:
            return note(home, &VerbCounts::atomics);
        case fabric::Use::along:
            return note(home, &VerbCounts::along);
        case fabric::Use::posted:
            return note(home, &VerbCounts::posted);
        case fabric::Use::add_single_writer:
            return note(home, &VerbCounts::counts);
        case fabric::Use::flush:
            return note(home, &VerbCounts::flushes);
        case fabric::Use::wait:
            return home != this->self() ? note(home, &VerbCounts::polls_elsewhere) : void();
        }
    }

    /// What was counted since the last call.
    VerbCounts take() { return std::exchange(counts_, {}); }
    /// Of these, the ones on words of another node.
    VerbCounts take_off_node() { return std::exchange(off_node_, {}); }

    /// Of these, the atomics that adapters do where they do any.
    unsigned take_of_adapters() { return std::exchange(adapters_, 0U); }

  private:
    template <class Do>
    fabric::Value by_cpu(Do act) {
        near_ = true;
        const fabric::Value found = act();
        near_ = false;
        return found;
    }
    void note(fabric::Rank home, unsigned VerbCounts::*verb) {
        ++(counts_.*verb);
        if (home >= 0 && !this->same_node(home))
            ++(off_node_.*verb);
    }

    VerbCounts counts_, off_node_;
    unsigned adapters_ = 0;
    bool near_ = false;
};

} // namespace rmalock::test
