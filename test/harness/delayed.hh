// A fabric whose posted verbs really are late: they wait in a bag, take effect one by one in random
// order while the process goes on, and all of them at a flush. On one machine stores become visible
// at once, and an algorithm that forgot a flush would never be caught.
#pragma once

#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "fabric/waiter.hh"

namespace rmalock::test {

template <fabric::Fabric F>
class Delayed {
  public:
    Delayed(F inner, unsigned seed) : inner_(inner), random_(seed) {}
    /// A network completes what was posted even if the process does nothing more.
    ~Delayed() { land_all(); }
    Delayed(const Delayed&) = delete;
    Delayed& operator=(const Delayed&) = delete;

    fabric::Rank self() { return inner_.self(); }
    fabric::Rank size() { return inner_.size(); }
    bool same_node(fabric::Rank r) { return inner_.same_node(r); }
    fabric::Domain domain() { return inner_.domain(); }

    fabric::Value get(fabric::Word w) { return land_some(), inner_.get(w); }
    fabric::Value fetch_add(fabric::Word w, fabric::Value v) {
        return land_some(), inner_.fetch_add(w, v);
    }
    fabric::Value swap(fabric::Word w, fabric::Value v) { return land_some(), inner_.swap(w, v); }
    fabric::Value compare_swap(fabric::Word w, fabric::Value expected, fabric::Value desired) {
        return land_some(), inner_.compare_swap(w, expected, desired);
    }
    void put(fabric::Word w, fabric::Value v) { post({w, v, false}); }
    void add(fabric::Word w, fabric::Value v) { post({w, v, true}); }
    void count(fabric::Word w, fabric::Value v) { inner_.count(w, v); }
    void scan(std::span<const fabric::Rank> ranks, fabric::Slot first, fabric::Slot stride,
              std::span<fabric::Value> out) {
        land_some(), inner_.scan(ranks, first, stride, out);
    }
    void add_each(std::span<const fabric::Rank> ranks, fabric::Slot slot, fabric::Value v) {
        for (const fabric::Rank rank : ranks)
            add({rank, slot}, v);
        flush_all();
    }
    void flush(fabric::Rank) { flush_all(); }
    void flush_all() {
        land_all();
        inner_.flush_all();
    }

    template <fabric::Predicate P>
    fabric::Value await(fabric::Word w, P pred) {
        // The process that could make the condition true may be waiting for what this process has
        // posted.
        for (;;) {
            if (const fabric::Value seen = inner_.get(w); pred(seen))
                return seen;
            land_one();
            inner_.backoff(fabric::Waiter::kBackoffsOnCore);
        }
    }
    template <fabric::Predicate P>
    std::optional<fabric::Value> await_until(fabric::Word w, P pred, fabric::Moment end) {
        land_all();
        return inner_.await_until(w, pred, end);
    }
    fabric::Moment after(fabric::Duration time) const { return inner_.after(time); }
    void backoff(unsigned attempt) {
        land_all();
        inner_.backoff(attempt);
    }

    /// Lets everything posted take effect, as time would.
    void land_all() {
        while (!pending_.empty())
            land_one();
    }

  private:
    struct Posted {
        fabric::Word word;
        fabric::Value value;
        bool is_add;
    };

    void post(Posted posted) {
        pending_.push_back(posted);
        if (posted.word.rank == self()) { // a posted verb on one's own words has happened on return
            std::swap(pending_.front(), pending_.back());
            land(0);
        }
    }
    void land(std::size_t i) {
        std::swap(pending_[i], pending_.back());
        const Posted posted = pending_.back();
        pending_.pop_back();
        posted.is_add ? inner_.add(posted.word, posted.value)
                      : inner_.put(posted.word, posted.value);
    }
    void land_one() {
        if (!pending_.empty())
            land(random_() % pending_.size());
    }
    void land_some() {
        while (!pending_.empty() && random_() % 2 == 0)
            land_one();
    }

    F inner_;
    std::minstd_rand random_;
    std::vector<Posted> pending_;
};

} // namespace rmalock::test
