// A fabric that counts the verbs used through it: what a path costs is asserted, not measured.
#pragma once

#include <optional>
#include <span>

#include "fabric/concept.hh"

namespace rmalock::test {

struct VerbCounts {
    unsigned gets = 0;
    unsigned atomics = 0; ///< fetching read-modify-writes: one round trip each off node
    unsigned posted = 0;  ///< puts and adds: no round trip
    unsigned counts = 0;  ///< in a ledger of one's own
    unsigned flushes = 0;
    unsigned polls_elsewhere = 0; ///< waits on a word whose home is another rank
    friend bool operator==(const VerbCounts&, const VerbCounts&) = default;
};

template <fabric::Fabric F>
class Counting {
  public:
    explicit Counting(F inner) : inner_(inner) {}

    /// What was counted since the last call.
    VerbCounts take() {
        const VerbCounts counted = counts_;
        counts_ = {};
        return counted;
    }

    /// Of these, the ones on words of another node.
    VerbCounts take_off_node() {
        const VerbCounts counted = off_node_;
        off_node_ = {};
        return counted;
    }

    fabric::Rank self() { return inner_.self(); }
    fabric::Rank size() { return inner_.size(); }
    bool same_node(fabric::Rank r) { return inner_.same_node(r); }
    fabric::Domain domain() { return inner_.domain(); }

    fabric::Value get(fabric::Word w) { return count(w.rank, &VerbCounts::gets), inner_.get(w); }
    fabric::Value fetch_add(fabric::Word w, fabric::Value v) {
        return count(w.rank, &VerbCounts::atomics), inner_.fetch_add(w, v);
    }
    fabric::Value swap(fabric::Word w, fabric::Value v) {
        return count(w.rank, &VerbCounts::atomics), inner_.swap(w, v);
    }
    fabric::Value compare_swap(fabric::Word w, fabric::Value expected, fabric::Value desired) {
        return count(w.rank, &VerbCounts::atomics), inner_.compare_swap(w, expected, desired);
    }
    void put(fabric::Word w, fabric::Value v) {
        count(w.rank, &VerbCounts::posted), inner_.put(w, v);
    }
    void add(fabric::Word w, fabric::Value v) {
        count(w.rank, &VerbCounts::posted), inner_.add(w, v);
    }
    void count(fabric::Word w, fabric::Value v) {
        count(w.rank, &VerbCounts::counts), inner_.count(w, v);
    }
    void scan(std::span<const fabric::Rank> ranks, fabric::Slot first, fabric::Slot stride,
              std::span<fabric::Value> out) {
        for (const fabric::Rank rank : ranks)
            count(rank, &VerbCounts::gets);
        inner_.scan(ranks, first, stride, out);
    }
    void add_each(std::span<const fabric::Rank> ranks, fabric::Slot slot, fabric::Value v) {
        for (const fabric::Rank rank : ranks)
            count(rank, &VerbCounts::posted);
        ++counts_.flushes;
        inner_.add_each(ranks, slot, v);
    }
    void flush(fabric::Rank r) { count(r, &VerbCounts::flushes), inner_.flush(r); }
    void flush_all() { ++counts_.flushes, inner_.flush_all(); }

    template <fabric::Predicate P>
    fabric::Value await(fabric::Word w, P pred) {
        note_wait(w.rank);
        return inner_.await(w, pred);
    }
    template <fabric::Predicate P>
    std::optional<fabric::Value> await_until(fabric::Word w, P pred, fabric::Moment end) {
        note_wait(w.rank);
        return inner_.await_until(w, pred, end);
    }
    fabric::Moment after(fabric::Duration time) const { return inner_.after(time); }
    void backoff(unsigned attempt) { inner_.backoff(attempt); }

  private:
    void count(fabric::Rank home, unsigned VerbCounts::*verb) {
        ++(counts_.*verb);
        if (!same_node(home))
            ++(off_node_.*verb);
    }
    void note_wait(fabric::Rank home) {
        if (home != self())
            count(home, &VerbCounts::polls_elsewhere);
    }

    F inner_;
    VerbCounts counts_, off_node_;
};

} // namespace rmalock::test
