// A fabric with a fault: a lock on it behaves as if one of its lines were missing or wrong. So a
// shipped header can be mutated without a copy of it.
//
// A Fault derives from Sound and hides what it wants to get wrong.
#pragma once

#include <span>

#include "../checker_fabric.hh"

namespace rmalock::check {

/// Nothing wrong. What the verbs ask before they act.
struct Sound {
    bool skips_flush(Rank) { return false; }
    bool skips_await(Word) { return false; }
    bool skips_put(Word, Value) { return false; }
    bool repeats_far_puts() { return false; }
    bool skips_count(Word, Value) { return false; }
    bool skips_add_each(Word, Value) { return false; } ///< of one word
    bool skips_deliver() { return false; }
    bool fetches_before_data(Word) { return false; }
    bool skips_swap(Word, Value) { return false; }      ///< reads instead
    bool skips_fetch_add(Word, Value) { return false; } ///< reads instead
    bool compares(Word) { return true; }      ///< else a compare_swap swaps, and says it did
    Value added(Word, Value v) { return v; }  ///< what a fetch_add adds of what it was told to
    Value posted(Word, Value v) { return v; } ///< the same of an add
    bool undoes(Word, Value, Value) { return false; } ///< a fetch_add, that found this, at once
    Value seen(Word, Value v) { return v; }           ///< what a get makes of what it read
    Value fetched(Word, Value, Value v) { return v; } ///< the same of a fetch_add, with its operand
    void done(Verb, Word, Value) {}                   ///< a verb has been made, and what it gave
};

template <class Fault>
class BrokenFabric {
    using At = std::source_location;

  public:
    explicit BrokenFabric(CheckerFabric& real) : real_(real) {}

    Rank self() const { return real_.self(); }
    Rank size() const { return real_.size(); }
    bool same_node(Rank other) const { return real_.same_node(other); }
    Domain domain() const { return real_.domain(); }

    Value get(Word w, At at = At::current()) {
        return did(Verb::get, w, fault_.seen(w, real_.get(w, at)));
    }
    Value fetch_add(Word w, Value v, At at = At::current()) { return fetch_add(w, v, false, at); }
    Value fetch_add_after_data(Word w, Value v, At at = At::current()) {
        return fetch_add(w, v, !fault_.fetches_before_data(w), at);
    }
    void deliver(Rank rank) {
        if (!fault_.skips_deliver())
            real_.deliver(rank);
    }
    Value swap(Word w, Value v, At at = At::current()) {
        return did(Verb::swap, w,
                   fault_.skips_swap(w, v) ? real_.get(w, at) : real_.swap(w, v, at));
    }
    Value compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        if (fault_.compares(w))
            return did(Verb::compare_swap, w, real_.compare_swap(w, expected, desired, at));
        real_.swap(w, desired, at);
        return did(Verb::compare_swap, w, expected);
    }
    void put(Word w, Value v, At at = At::current()) {
        if (!fault_.skips_put(w, v))
            real_.put(w, v, at);
        if (fault_.repeats_far_puts() && !real_.same_node(w.rank))
            real_.put(w, v, at);
        did(Verb::put, w, 0);
    }
    void add(Word w, Value v, At at = At::current()) {
        real_.add(w, fault_.posted(w, v), at);
        did(Verb::add, w, 0);
    }
    void count(Word w, Value v, At at = At::current()) {
        if (!fault_.skips_count(w, v))
            real_.count(w, v, at);
        did(Verb::count, w, 0);
    }
    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out,
              At at = At::current()) {
        real_.scan_by([&](Word w) { return get(w, at); }, ranks, first, stride, out);
    }
    void add_each(std::span<const Rank> ranks, Slot slot, Value v, At at = At::current()) {
        real_.add_each(ranks, slot, v, at,
                       [&](Word word) { return fault_.skips_add_each(word, v); });
    }
    void flush(Rank home, At at = At::current()) {
        if (!fault_.skips_flush(home))
            real_.flush(home, at);
    }
    void flush_all(At at = At::current()) {
        if (!fault_.skips_flush(-1))
            real_.flush_all(at);
    }
    template <fabric::Predicate P>
    Value await(Word w, P pred, At at = At::current()) {
        return did(Verb::await, w,
                   fault_.skips_await(w) ? real_.get(w, at) : real_.await(w, pred, at));
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, fabric::Moment end, At at = At::current()) {
        const std::optional<Value> seen =
            fault_.skips_await(w) ? real_.get(w, at) : real_.await_until(w, pred, end, at);
        did(Verb::await, w, seen.value_or(0));
        return seen;
    }
    fabric::Moment after(fabric::Duration time) const { return real_.after(time); }
    void backoff(unsigned attempt, At at = At::current()) { real_.backoff(attempt, at); }
    std::uint64_t mark() { return real_.mark(); }
    void rewind(std::uint64_t mark, Value known, At at) { real_.rewind(mark, known, at); }
    static constexpr bool kTimeless = CheckerFabric::kTimeless;

  private:
    Value fetch_add(Word w, Value v, bool after_data, At at) {
        if (fault_.skips_fetch_add(w, v))
            return did(Verb::fetch_add, w, real_.get(w, at));
        const Value add = fault_.added(w, v);
        const Value found =
            after_data ? real_.fetch_add_after_data(w, add, at) : real_.fetch_add(w, add, at);
        if (fault_.undoes(w, v, found))
            real_.fetch_add(w, Value{0} - v, at);
        return did(Verb::fetch_add, w, fault_.fetched(w, v, found));
    }
    Value did(Verb verb, Word w, Value v) {
        fault_.done(verb, w, v);
        return v;
    }

    CheckerFabric& real_;
    Fault fault_{};
};

static_assert(fabric::Fabric<BrokenFabric<Sound>>);

} // namespace rmalock::check
