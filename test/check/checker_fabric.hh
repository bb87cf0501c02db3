// fabric::Fabric over the modelled machine: every verb that others can see is a point at which the
// search may let somebody else go first.
#pragma once

#include <optional>
#include <source_location>
#include <span>

#include "fabric/concept.hh"
#include "world.hh"

namespace rmalock::check {

class CheckerFabric {
    using At = std::source_location;

  public:
    CheckerFabric(World& world, Rank self) : world_(world), self_(self) {}

    Rank self() const { return self_; }
    Rank size() const { return world_.program().ranks; }
    bool same_node(Rank other) const { return world_.program().same_node(self_, other); }
    Domain domain() const { return world_.ask_domain(); }

    Value get(Word w, At at = At::current()) { return perform(Verb::get, w, 0, 0, at); }
    Value fetch_add(Word w, Value v, At at = At::current()) {
        return perform(Verb::fetch_add, w, v, 0, at);
    }
    Value swap(Word w, Value v, At at = At::current()) { return perform(Verb::swap, w, v, 0, at); }
    Value compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        return perform(Verb::compare_swap, w, desired, expected, at);
    }

    Value fetch_add_after_data(Word w, Value v, At at = At::current()) {
        return perform(Verb::fetch_add, w, v, 0, at, true);
    }
    /// No step: nobody can tell when it happens.
    void deliver(Rank rank) { world_.deliver_data(self_, rank); }

    void put(Word w, Value v, At at = At::current()) { post(Verb::put, w, v, at); }
    void add(Word w, Value v, At at = At::current()) { post(Verb::add, w, v, at); }

    void count(Word w, Value v, At at = At::current()) { perform(Verb::count, w, v, 0, at); }
    /// Others may act between any two of the reads.
    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out,
              At at = At::current()) {
        scan_by([&](Word w) { return get(w, at); }, ranks, first, stride, out);
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
    void add_each(std::span<const Rank> ranks, Slot slot, Value v, At at = At::current()) {
        add_each(ranks, slot, v, at, [](Word) { return false; });
    }
    /// The same without the words for which `skips` holds.
    template <class Skips>
    void add_each(std::span<const Rank> ranks, Slot slot, Value v, At at, Skips skips) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const bool last_first = world_.program().last_first;
            const Word word{ranks[last_first ? ranks.size() - 1 - i : i], slot};
            if (!skips(word))
                perform(
                    {.verb = Verb::fetch_add, .word = word, .operand = v, .blind = true, .at = at});
        }
    }

    void flush(Rank home, At at = At::current()) { flush(home, false, at); }
    void flush_all(At at = At::current()) { flush(self_, true, at); }

    template <fabric::Predicate P>
    Value await(Word w, P pred, At at = At::current()) {
        return world_.perform(self_, waiting(Verb::await, w, pred, at));
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, fabric::Moment end, At at = At::current()) {
        if (!end.ever())
            return await(w, pred, at);
        const Value seen = world_.perform(self_, waiting(Verb::await_until, w, pred, at));
        return world_.gave_up(self_) ? std::nullopt : std::optional(seen);
    }
    /// Time is not part of the model: what may end does so at any moment.
    static constexpr bool kTimeless = true;
    fabric::Moment after(fabric::Duration time) const {
        return time.count() == 0 ? fabric::Moment{} : fabric::Moment{{}};
    }
    /// That an attempt is over is part of it: see World::back_off.
    void backoff(unsigned, At at = At::current()) { world_.back_off(self_, at.line()); }
    std::uint64_t mark() { return world_.mark(self_); }
    void rewind(std::uint64_t mark, Value known, At at) {
        world_.rewind(self_, mark, at.line(), known);
    }

  private:
    Value perform(Verb verb, Word w, Value operand, Value expected, At at,
                  bool after_data = false) {
        return perform({.verb = verb,
                        .word = w,
                        .operand = operand,
                        .expected = expected,
                        .after_data = after_data,
                        .at = at});
    }
    Value perform(const Request& request) { return world_.perform(self_, request); }

    void post(Verb verb, Word w, Value v, At at) {
        if (w.rank == self_ && !world_.lingers(verb))
            perform(verb, w, v, 0, at);
        else
            world_.post({self_, verb, w, v, at});
    }

    void flush(Rank home, bool everybody, At at) {
        Request request;
        request.verb = Verb::flush;
        request.word = {home, 0};
        request.everybody = everybody;
        request.at = at;
        world_.flush(self_, request);
    }

    template <class P>
    static Request waiting(Verb verb, Word w, const P& pred, At at) {
        Request request;
        request.verb = verb;
        request.word = w;
        request.holds = [](const void* p, Value v) -> bool {
            return (*static_cast<const P*>(p))(v);
        };
        request.predicate = &pred;
        request.at = at;
        return request;
    }

    World& world_;
    Rank self_;
};

static_assert(fabric::Fabric<CheckerFabric>);

} // namespace rmalock::check
