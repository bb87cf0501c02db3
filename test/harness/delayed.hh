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

#include "fabric/adapter.hh"
#include "fabric/waiter.hh"

namespace rmalock::test {

template <fabric::Fabric F>
class Delayed : public fabric::Adapter<Delayed<F>, F> {
    using Base = fabric::Adapter<Delayed<F>, F>;

  public:
    Delayed(F prompt, unsigned seed) : Base(prompt), random_(seed) {}
    /// A network completes what was posted even if the process does nothing more.
    ~Delayed() { land_all(); }
    Delayed(const Delayed&) = delete;
    Delayed& operator=(const Delayed&) = delete;

    void before(fabric::Use use, fabric::Rank) {
        if (use == fabric::Use::get || use == fabric::Use::atomic)
            land_some();
        else if (use == fabric::Use::flush)
            land_all();
    }

    void put(fabric::Word w, fabric::Value v) { post({w, v, false}); }
    void add(fabric::Word w, fabric::Value v) { post({w, v, true}); }
    void near_add(fabric::Word w, fabric::Value v) { add(w, v); }
    void add_each(std::span<const fabric::Rank> ranks, fabric::Slot slot, fabric::Value v) {
        for (const fabric::Rank rank : ranks)
            add({rank, slot}, v);
        this->flush_all();
    }

    template <fabric::Predicate P>
    fabric::Value await(fabric::Word w, P pred) {
        // The process that could make the condition true may be waiting for what this process has
        // posted.
        for (;;) {
            if (const fabric::Value seen = inner().get(w); pred(seen))
                return seen;
            land_one();
            inner().backoff(fabric::Waiter::kBackoffsOnCore);
        }
    }
    template <fabric::Predicate P>
    std::optional<fabric::Value> await_until(fabric::Word w, P pred, fabric::Moment end) {
        land_all();
        return inner().await_until(w, pred, end);
    }
    void backoff(unsigned attempt) {
        land_all();
        inner().backoff(attempt);
    }

    /// Lets everything posted take effect, as time would.
    void land_all() {
        while (!pending_.empty())
            land_one();
    }

  private:
    using Base::inner;
    struct Posted {
        fabric::Word word;
        fabric::Value value;
        bool is_add;
    };

    void post(Posted posted) {
        pending_.push_back(posted);
        if (posted.word.rank ==
            this->self()) { // a posted verb on one's own words has happened on return
            std::swap(pending_.front(), pending_.back());
            land(0);
        }
    }
    void land(std::size_t i) {
        std::swap(pending_[i], pending_.back());
        const Posted posted = pending_.back();
        pending_.pop_back();
        posted.is_add ? inner().add(posted.word, posted.value)
                      : inner().put(posted.word, posted.value);
    }
    void land_one() {
        if (!pending_.empty())
            land(random_() % pending_.size());
    }
    void land_some() {
        while (!pending_.empty() && random_() % 2 == 0)
            land_one();
    }

    std::minstd_rand random_;
    std::vector<Posted> pending_;
};

} // namespace rmalock::test
