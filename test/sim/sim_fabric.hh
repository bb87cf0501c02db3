// fabric::Fabric over the simulated machine.
#pragma once

#include <algorithm>
#include <optional>
#include <source_location>
#include <span>
#include <vector>

#include "fabric/adapter.hh"
#include "fabric/waiter.hh"
#include "sim/cluster.hh"

namespace rmalock::sim {

using fabric::Domain;
using fabric::Duration;
using fabric::Moment;

class EventFabric : public fabric::FabricBase<EventFabric> {
    using At = std::source_location;

  public:
    /// `first`: of each rank's words, the first of the window.
    EventFabric(Cluster& cluster, Rank self, Slot first)
        : cluster_(cluster), self_(self), first_(first) {}

    Rank self() const { return self_; }
    Rank size() const { return cluster_.layout().ranks; }
    bool same_node(Rank other) const {
        return cluster_.layout().node(self_) == cluster_.layout().node(other);
    }
    Domain domain() const { return cluster_.costs().domain; }

    Value get(Word w) { return perform(on(Verb::get, w)); }
    Value fetch_add(Word w, Value v) { return perform(on(Verb::fetch_add, w, v)); }
    Value swap(Word w, Value v) { return perform(on(Verb::swap, w, v)); }
    Value compare_swap(Word w, Value expected, Value desired) {
        return perform(on(Verb::compare_swap, w, desired, expected));
    }

    Value fetch_then_get(const fabric::Rmw& rmw, Slot first, std::span<Value> out) {
        if (same_node(rmw.word.rank))
            return fabric::fetch_then_get_by(*this, rmw, first, out);
        const VerbCall operation = of(rmw);
        if (domain() == Domain::nic)
            return cluster_.fetch_then_get(self_, operation, first_ + first, out);
        // As the component, which has no order between a CPU's atomic and an adapter's read.
        const Value before = perform(operation);
        scan(std::span(&rmw.word.rank, 1), first, 1, out);
        return before;
    }

    void put(Word w, Value v) { post(on(Verb::put, w, v)); }
    void add(Word w, Value v) { post(on(Verb::fetch_add, w, v)); }
    Value near_fetch_add(Word w, Value v) { return cluster_.cpu(self_, on(Verb::fetch_add, w, v)); }
    Value near_swap(Word w, Value v) { return cluster_.cpu(self_, on(Verb::swap, w, v)); }
    Value near_compare_swap(Word w, Value expected, Value desired) {
        return cluster_.cpu(self_, on(Verb::compare_swap, w, desired, expected));
    }
    void near_add(Word w, Value v) { cluster_.cpu(self_, on(Verb::fetch_add, w, v)); }
    /// The CPU's, whatever the domain; far words as in fabric/hybrid.hh.
    void add_single_writer(Word w, Value v) {
        const VerbCall add = on(Verb::fetch_add, w, v);
        same_node(w.rank) ? cluster_.cpu(self_, add) : cluster_.fetch(self_, add);
    }
    void fence_node() { cluster_.pass(self_, cluster_.costs().fence); }

    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out) {
        const auto each = static_cast<Slot>(out.size() / ranks.size());
        std::size_t i = 0;
        while (i < ranks.size()) {
            std::size_t end = i; // of a row of ranks that are near, or of those that are not
            while (end < ranks.size() && same_node(ranks[end]) == same_node(ranks[i]))
                ++end;
            const std::span<Value> part = out.subspan(i * each, (end - i) * each);
            if (same_node(ranks[i]))
                read(ranks.subspan(i, end - i), first, stride, part);
            else
                cluster_.scan(self_, ranks.subspan(i, end - i), first_ + first, stride, part);
            i = end;
        }
    }
    void add_each(std::span<const Rank> ranks, Slot slot, Value v) {
        for (const Rank rank : ranks)
            add({rank, slot}, v);
        flush_all();
    }

    void fetch_each(std::span<const fabric::Rmw> rmws, std::span<Value> out) {
        std::vector<VerbCall> far;
        std::vector<Value*> answers;
        for (std::size_t i = 0; i < rmws.size(); ++i) {
            const VerbCall operation = of(rmws[i]);
            if (by_cpu(operation)) {
                out[i] = perform(operation);
            } else {
                far.push_back(operation);
                answers.push_back(&out[i]);
            }
        }
        if (!far.empty())
            cluster_.fetch_each(self_, far, answers);
    }

    void flush(Rank home) { cluster_.flush(self_, home); }
    void flush_all() { cluster_.flush(self_, Cluster::kAll); }

    template <fabric::Predicate P>
    Value await(Word w, P pred) {
        return *await_until(w, pred, Moment{});
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(Word w, P pred, Moment end) {
        if (const Value seen = get(w); pred(seen))
            return seen;
        return same_node(w.rank) ? await_near(w, pred, virtual_time(end))
                                 : await_far(w, pred, virtual_time(end));
    }
    /// A time of the virtual clock.
    Moment after(Duration time) const {
        using Clock = std::chrono::steady_clock;
        if (time.count() == 0)
            return {};
        return {
            Clock::time_point(std::chrono::duration_cast<Clock::duration>(cluster_.now()) + time)};
    }
    /// As many pauses as the shipped waits make (fabric/waiter.hh).
    void backoff(unsigned attempt) {
        using fabric::Waiter;
        const unsigned pauses = std::min(Waiter::kMaxBackoffPauses, 8U << std::min(attempt, 16U));
        cluster_.pass(self_, pauses * cluster_.costs().pause);
    }

    void from(const At& at) { cluster_.from(self_, at); }

  private:
    VerbCall on(Verb verb, Word w, Value operand = 0, Value expected = 0) const {
        return {verb, {w.rank, first_ + w.slot}, operand, expected};
    }
    VerbCall of(const fabric::Rmw& rmw) const {
        using Kind = fabric::Rmw::Kind;
        const Verb verb = rmw.kind == Kind::fetch_add ? Verb::fetch_add
                          : rmw.kind == Kind::swap    ? Verb::swap
                                                      : Verb::compare_swap;
        return on(verb, rmw.word, rmw.operand, rmw.expected);
    }
    bool by_cpu(const VerbCall& operation) const {
        return same_node(operation.word.rank) &&
               (domain() == Domain::cpu || !is_atomic(operation.verb));
    }
    Value perform(const VerbCall& operation) {
        return by_cpu(operation) ? cluster_.cpu(self_, operation)
                                 : cluster_.fetch(self_, operation);
    }
    void post(const VerbCall& operation) {
        if (by_cpu(operation))
            cluster_.cpu(self_, operation);
        else if (operation.word.rank == self_)
            cluster_.fetch(self_, operation); // the network does not order it before the next one
        else
            cluster_.post(self_, operation);
    }
    void read(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out) {
        const auto each = static_cast<Slot>(out.size() / ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r)
            for (Slot i = 0; i < each; ++i)
                out[r * each + i] = get({ranks[r], first + i * stride});
    }

    template <class P>
    std::optional<Value> await_near(Word w, const P& pred, Time end) {
        const auto holds = [](const void* p, Value v) -> bool {
            return (*static_cast<const P*>(p))(v);
        };
        if (cluster_.sleep_until(self_, {w.rank, first_ + w.slot}, holds, &pred, end))
            return cluster_.seen(self_);
        return std::nullopt;
    }
    template <class P>
    std::optional<Value> await_far(Word w, const P& pred, Time end) {
        for (unsigned attempt = 0; cluster_.now() < end; ++attempt) {
            backoff(attempt);
            if (const Value seen = get(w); pred(seen))
                return seen;
        }
        return std::nullopt;
    }
    static Time virtual_time(Moment end) {
        return end.ever() ? Time(end.time.time_since_epoch()) : Cluster::kNever;
    }

    Cluster& cluster_;
    Rank self_;
    Slot first_;
};

/// The same, told by its callers which line of theirs makes a verb.
class SimFabric : public fabric::Adapter<SimFabric, EventFabric> {
  public:
    SimFabric(Cluster& cluster, Rank self, Slot first = 0)
        : Adapter(EventFabric(cluster, self, first)) {}
};

static_assert(fabric::Fabric<SimFabric>);

} // namespace rmalock::sim
