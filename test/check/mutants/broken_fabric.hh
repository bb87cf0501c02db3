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
    bool skips_add_single_writer(Word, Value) { return false; }
    bool skips_add_each(Word, Value) { return false; } ///< of one word
    bool skips_deliver() { return false; }
    bool fetches_before_data(Word) { return false; }
    bool skips_swap(Word, Value) { return false; }      ///< reads instead
    bool skips_fetch_add(Word, Value) { return false; } ///< reads instead
    bool swaps_by_adapter(Word) { return false; }       ///< a near_swap
    bool compares(Word) { return true; }      ///< else a compare_swap swaps, and says it did
    Value added(Word, Value v) { return v; }  ///< what a fetch_add adds of what it was told to
    Value posted(Word, Value v) { return v; } ///< the same of an add
    bool leaves_to_adapter(Word, Value) { return false; } ///< a near_fetch_add
    bool undoes(Word, Value, Value) { return false; }     ///< a fetch_add, that found this, at once
    Value seen(Word, Value v) { return v; }               ///< what a get makes of what it read
    Value fetched(Word, Value, Value v) { return v; } ///< the same of a fetch_add, with its operand
    void done(Verb, Word, Value) {}                   ///< a verb has been made, and what it gave
};

template <class Fault>
class BrokenFabric : public fabric::Adapter<BrokenFabric<Fault>, ModelFabric&> {
    using Base = fabric::Adapter<BrokenFabric<Fault>, ModelFabric&>;
    using At = std::source_location;
    using Base::inner;

  public:
    using Base::from;
    explicit BrokenFabric(CheckerFabric& real) : Base(real.inner()) {}

    Value get(Word w, At at = At::current()) {
        return did(Verb::get, w, fault_.seen(w, from(at).get(w)));
    }
    Value fetch_add(Word w, Value v, At at = At::current()) {
        from(at);
        return added(w, v, [&](Value add) { return inner().fetch_add(w, add); });
    }
    Value near_fetch_add(Word w, Value v, At at = At::current()) {
        from(at);
        return added(w, v, [&](Value add) {
            return fault_.leaves_to_adapter(w, v) ? inner().fetch_add(w, add)
                                                  : inner().near_fetch_add(w, add);
        });
    }
    Value fetch_add_after_data(Word w, Value v, At at = At::current()) {
        if (fault_.fetches_before_data(w))
            return fetch_add(w, v, at);
        from(at);
        return added(w, v, [&](Value add) { return inner().fetch_add_after_data(w, add); });
    }
    void deliver(Rank rank) {
        if (!fault_.skips_deliver())
            inner().deliver(rank);
    }
    Value swap(Word w, Value v, At at = At::current()) {
        from(at);
        return did(Verb::swap, w, fault_.skips_swap(w, v) ? inner().get(w) : inner().swap(w, v));
    }
    Value near_swap(Word w, Value v, At at = At::current()) {
        from(at);
        return did(Verb::swap, w,
                   fault_.skips_swap(w, v)      ? inner().get(w)
                   : fault_.swaps_by_adapter(w) ? inner().swap(w, v)
                                                : inner().near_swap(w, v));
    }
    Value compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        from(at);
        if (fault_.compares(w))
            return did(Verb::compare_swap, w, inner().compare_swap(w, expected, desired));
        inner().swap(w, desired);
        return did(Verb::compare_swap, w, expected);
    }
    Value near_compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        from(at);
        if (fault_.compares(w))
            return did(Verb::compare_swap, w, inner().near_compare_swap(w, expected, desired));
        inner().near_swap(w, desired);
        return did(Verb::compare_swap, w, expected);
    }
    Value fetch_then_get(const fabric::Rmw& rmw, Slot first, std::span<Value> out,
                         At at = At::current()) {
        const Value before = fabric::fetch_then_get_by(*this, rmw, first, {}, at);
        inner().get_behind([&](Word w) { return get(w, at); }, {rmw.word.rank, first}, out);
        return before;
    }
    void fetch_each(std::span<const fabric::Rmw> rmws, std::span<Value> out,
                    At at = At::current()) {
        inner().fetch_each_by(*this, rmws, out, at);
    }
    void put(Word w, Value v, At at = At::current()) {
        from(at);
        if (!fault_.skips_put(w, v))
            inner().put(w, v);
        if (fault_.repeats_far_puts() && !inner().same_node(w.rank))
            inner().put(w, v);
        did(Verb::put, w, 0);
    }
    void add(Word w, Value v, At at = At::current()) {
        from(at).add(w, fault_.posted(w, v));
        did(Verb::add, w, 0);
    }
    void near_add(Word w, Value v, At at = At::current()) {
        from(at).near_add(w, fault_.posted(w, v));
        did(Verb::add, w, 0);
    }
    void add_single_writer(Word w, Value v, At at = At::current()) {
        from(at);
        if (!fault_.skips_add_single_writer(w, v))
            inner().add_single_writer(w, v);
        did(Verb::add_single_writer, w, 0);
    }
    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out,
              At at = At::current()) {
        ModelFabric::scan_by([&](Word w) { return get(w, at); }, ranks, first, stride, out);
    }
    void add_each(std::span<const Rank> ranks, Slot slot, Value v, At at = At::current()) {
        from(at).add_each(ranks, slot, v,
                          [&](Word word) { return fault_.skips_add_each(word, v); });
    }
    void flush(Rank home, At at = At::current()) {
        if (!fault_.skips_flush(home))
            from(at).flush(home);
    }
    void flush_all(At at = At::current()) {
        if (!fault_.skips_flush(-1))
            from(at).flush_all();
    }
    template <fabric::Predicate P>
    Value await(Word w, P pred, At at = At::current()) {
        from(at);
        return did(Verb::await, w, fault_.skips_await(w) ? inner().get(w) : inner().await(w, pred));
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, fabric::Moment end, At at = At::current()) {
        from(at);
        const std::optional<Value> seen =
            fault_.skips_await(w) ? inner().get(w) : inner().await_until(w, pred, end);
        did(Verb::await, w, seen.value_or(0));
        return seen;
    }

  private:
    template <class Add>
    Value added(Word w, Value v, Add add) {
        if (fault_.skips_fetch_add(w, v))
            return did(Verb::fetch_add, w, inner().get(w));
        const Value found = add(fault_.added(w, v));
        if (fault_.undoes(w, v, found))
            add(Value{0} - v);
        return did(Verb::fetch_add, w, fault_.fetched(w, v, found));
    }
    Value did(Verb verb, Word w, Value v) {
        fault_.done(verb, w, v);
        return v;
    }

    Fault fault_{};
};

static_assert(fabric::Fabric<BrokenFabric<Sound>>);

} // namespace rmalock::check
