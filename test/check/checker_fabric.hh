// fabric::Fabric over the modelled machine: every verb that others can see is a point at which the
// search may let somebody else go first.
#pragma once

#include <optional>
#include <source_location>
#include <span>

#include "fabric/adapter.hh"
#include "world.hh"

namespace rmalock::check {

class ModelFabric : public fabric::FabricBase<ModelFabric> {
    using At = std::source_location;

  public:
    ModelFabric(World& world, Rank self) : world_(world), self_(self) {}

    Rank self() const { return self_; }
    Rank size() const { return world_.program().ranks; }
    bool same_node(Rank other) const { return world_.program().same_node(self_, other); }
    Domain domain() const { return world_.ask_domain(); }

    Value get(Word w) { return perform(Verb::get, w); }
    Value fetch_add(Word w, Value v) { return perform(Verb::fetch_add, w, v); }
    Value swap(Word w, Value v) { return perform(Verb::swap, w, v); }
    Value compare_swap(Word w, Value expected, Value desired) {
        return perform(Verb::compare_swap, w, desired, expected);
    }

    Value near_fetch_add(Word w, Value v) { return perform_near(Verb::fetch_add, w, v); }
    Value near_swap(Word w, Value v) { return perform_near(Verb::swap, w, v); }
    Value near_compare_swap(Word w, Value expected, Value desired) {
        return perform_near(Verb::compare_swap, w, desired, expected);
    }
    void near_add(Word w, Value v) { post(Verb::add, w, v, true); }

    Value fetch_add_after_data(Word w, Value v) { return perform(Verb::fetch_add, w, v, 0, true); }
    /// No step: nobody can tell when it happens.
    void deliver(Rank rank) { world_.deliver_data(self_, rank); }

    Value fetch_then_get(const fabric::Rmw& rmw, Slot first, std::span<Value> out) {
        const Value before = fabric::fetch_then_get_by(*this, rmw, first, {});
        get_behind([&](Word w) { return get(w); }, {rmw.word.rank, first}, out);
        return before;
    }
    /// First to last, or last to first, as the program says. Others may act between any two.
    template <class Get>
    void get_behind(Get get, Word first, std::span<Value> out) const {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::size_t next = world_.program().last_first ? out.size() - 1 - i : i;
            out[next] = get({first.rank, first.slot + static_cast<Slot>(next)});
        }
    }

    void put(Word w, Value v) { post(Verb::put, w, v); }
    void add(Word w, Value v) { post(Verb::add, w, v); }

    /// Unlike other posts a step of its own: a fence_node of another process may come before it.
    void put_own(Own own, Value v) {
        if (world_.lingers(Verb::put))
            perform(Verb::pass, own.word);
        put(own.word, v);
    }
    void fence_node() { perform(Verb::fence_node, {self_, 0}); }

    void add_single_writer(Word w, Value v) { perform(Verb::add_single_writer, w, v); }
    /// Others may act between any two of the reads.
    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out) {
        scan_by([&](Word w) { return get(w); }, ranks, first, stride, out);
    }
    /// The same with reads of the caller's own.
    template <class Get>
    static void scan_by(Get get, std::span<const Rank> ranks, Slot first, Slot stride,
                        std::span<Value> out) {
        const auto each = static_cast<Slot>(out.size() / ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r)
            for (Slot i = 0; i < each; ++i)
                out[r * each + i] = get({ranks[r], first + i * stride});
    }

    /// First to last, or last to first, as the program says. Others may act between any two.
    void add_each(std::span<const Rank> ranks, Slot slot, Value v) {
        add_each(ranks, slot, v, [](Word) { return false; });
    }
    /// The same without the words for which `skips` holds.
    template <class Skips>
    void add_each(std::span<const Rank> ranks, Slot slot, Value v, Skips skips) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const bool last_first = world_.program().last_first;
            const Word word{ranks[last_first ? ranks.size() - 1 - i : i], slot};
            if (!skips(word))
                world_.perform(self_, {.verb = Verb::fetch_add,
                                       .word = word,
                                       .operand = v,
                                       .blind = true,
                                       .at = at_});
        }
    }

    /// As add_each.
    void fetch_each(std::span<const fabric::Rmw> rmws, std::span<Value> out) {
        fabric::fetch_each_by(*this, rmws, out, world_.program().last_first);
    }
    /// The same by the verbs of `outer`, a fabric around this one.
    template <class Outer>
    void fetch_each_by(Outer& outer, std::span<const fabric::Rmw> rmws, std::span<Value> out,
                       At at) {
        fabric::fetch_each_by(outer, rmws, out, world_.program().last_first, at);
    }

    void flush(Rank home) { flush(home, false); }
    void flush_all() { flush(self_, true); }

    template <fabric::Predicate P>
    Value await(Word w, P pred) {
        return world_.perform(self_, waiting(Verb::await, w, pred));
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, fabric::Moment end) {
        if (!end.ever())
            return await(w, pred);
        const Value seen = world_.perform(self_, waiting(Verb::await_until, w, pred));
        return world_.gave_up(self_) ? std::nullopt : std::optional(seen);
    }
    /// Time is not part of the model: what may end does so at any moment.
    static constexpr bool kTimeless = true;
    fabric::Moment after(fabric::Duration time) const {
        return time.count() == 0 ? fabric::Moment{} : fabric::Moment{{}};
    }
    /// That an attempt is over is part of it: see World::back_off.
    void backoff(unsigned) { world_.back_off(self_, at_.line()); }
    std::uint64_t mark() { return world_.mark(self_); }
    void rewind(std::uint64_t mark, Value known = 0) {
        world_.rewind(self_, mark, at_.line(), known);
    }
    void from(const At& at) { at_ = at; }

  private:
    Value perform(Verb verb, Word w, Value operand = 0, Value expected = 0,
                  bool after_data = false) {
        return world_.perform(self_, {.verb = verb,
                                      .word = w,
                                      .operand = operand,
                                      .expected = expected,
                                      .after_data = after_data,
                                      .at = at_});
    }

    Value perform_near(Verb verb, Word w, Value operand, Value expected = 0) {
        return world_.perform(self_, {.verb = verb,
                                      .word = w,
                                      .operand = operand,
                                      .expected = expected,
                                      .near = true,
                                      .at = at_});
    }

    void post(Verb verb, Word w, Value v, bool near = false) {
        if (w.rank != self_ || world_.lingers(verb))
            world_.post({self_, verb, w, v, at_}, near);
        else if (near)
            perform_near(verb, w, v);
        else
            perform(verb, w, v);
    }

    void flush(Rank home, bool everybody) {
        NextVerb request;
        request.verb = Verb::flush;
        request.word = {home, 0};
        request.everybody = everybody;
        request.at = at_;
        world_.flush(self_, request);
    }

    template <class P>
    NextVerb waiting(Verb verb, Word w, const P& pred) const {
        NextVerb request;
        request.verb = verb;
        request.word = w;
        request.holds = [](const void* p, Value v) -> bool {
            return (*static_cast<const P*>(p))(v);
        };
        request.predicate = &pred;
        request.at = at_;
        return request;
    }

    World& world_;
    Rank self_;
    At at_ = At::current(); ///< of the next verb
};

/// The same, told by its callers which line of theirs makes a verb.
class CheckerFabric : public fabric::Adapter<CheckerFabric, ModelFabric> {
  public:
    CheckerFabric(World& world, Rank self) : Adapter(ModelFabric(world, self)) {}
};

static_assert(fabric::Fabric<CheckerFabric>);

} // namespace rmalock::check
