// A fabric that is another one, and something beside: it counts, delays, or gets verbs wrong.
#pragma once

#include <optional>
#include <source_location>
#include <span>
#include <type_traits>

#include "fabric/base.hh"

namespace rmalock::fabric {

/// What an adapter is told of a verb that is about to be done.
enum class Use {
    get,    ///< also each rank of a scan
    atomic, ///< a fetching read-modify-write, also each of a fetch_each
    along,  ///< the gets of a fetch_then_get, behind its atomic
    posted, ///< put, add, and each rank of an add_each
    add_single_writer,
    flush,
    wait,
};

/// Passes every verb on to `inner()`, and calls Self::before(use, home) first; a flush of all has
/// the home -1. `Self` derives from it, and hides what it does otherwise. F may be a reference.
template <class Self, class F>
class Adapter {
    using Inner = std::remove_reference_t<F>;

  public:
    using At = std::source_location;
    using Resolved = typename Inner::Resolved;
    using Own = typename Inner::Own;
    static constexpr bool kOneNode = Inner::kOneNode;
    static constexpr bool kTimeless = Inner::kTimeless;

    explicit Adapter(F inner) : inner_(inner) {}

    Inner& inner() { return inner_; }
    const Inner& inner() const { return inner_; }
    void before(Use, Rank) {}

    Rank self() const { return inner().self(); }
    Rank size() const { return inner().size(); }
    bool same_node(Rank rank) const { return inner().same_node(rank); }
    Domain domain() const { return inner().domain(); }

    Resolved resolve(Word w) const { return inner().resolve(w); }
    Value get(Word w, At at = At::current()) { return begin(Use::get, w.rank, at).get(w); }
    /// Of a name that is no word: nobody asks where that is.
    template <class R>
    requires std::is_same_v<R, Resolved> &&(!std::is_same_v<R, Word>)Value
        get(R w, At at = At::current()) {
        return begin(Use::get, self(), at).get(w);
    }
    Value fetch_add(Word w, Value v, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).fetch_add(w, v);
    }
    Value swap(Word w, Value v, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).swap(w, v);
    }
    Value compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).compare_swap(w, expected, desired);
    }
    Value fetch_then_get(const Rmw& rmw, Slot first, std::span<Value> out, At at = At::current()) {
        derived().before(Use::atomic, rmw.word.rank);
        return begin(Use::along, rmw.word.rank, at).fetch_then_get(rmw, first, out);
    }

    void put(Word w, Value v, At at = At::current()) { begin(Use::posted, w.rank, at).put(w, v); }
    void add(Word w, Value v, At at = At::current()) { begin(Use::posted, w.rank, at).add(w, v); }

    Value near_fetch_add(Word w, Value v, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).near_fetch_add(w, v);
    }
    Value near_swap(Word w, Value v, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).near_swap(w, v);
    }
    Value near_compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).near_compare_swap(w, expected, desired);
    }
    void near_add(Word w, Value v, At at = At::current()) {
        begin(Use::posted, w.rank, at).near_add(w, v);
    }

    void add_single_writer(Word w, Value v, At at = At::current()) {
        begin(Use::add_single_writer, w.rank, at).add_single_writer(w, v);
    }

    Own own(Slot slot) const { return inner().own(slot); }
    void put_own(Own own, Value v, At at = At::current()) {
        begin(Use::posted, self(), at).put_own(own, v);
    }
    void fence_node(At at = At::current()) { begin(Use::flush, -1, at).fence_node(); }

    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out,
              At at = At::current()) {
        for (const Rank rank : ranks)
            derived().before(Use::get, rank);
        from(at).scan(ranks, first, stride, out);
    }
    void add_each(std::span<const Rank> ranks, Slot slot, Value v, At at = At::current()) {
        for (const Rank rank : ranks)
            derived().before(Use::posted, rank);
        begin(Use::flush, -1, at).add_each(ranks, slot, v);
    }

    void fetch_each(std::span<const Rmw> rmws, std::span<Value> out, At at = At::current()) {
        for (const Rmw& rmw : rmws)
            derived().before(Use::atomic, rmw.word.rank);
        from(at).fetch_each(rmws, out);
    }

    Value fetch_add_after_data(Word w, Value v, At at = At::current()) {
        return begin(Use::atomic, w.rank, at).fetch_add_after_data(w, v);
    }
    void deliver(Rank rank, At at = At::current()) { from(at).deliver(rank); }

    void flush(Rank rank, At at = At::current()) { begin(Use::flush, rank, at).flush(rank); }
    void flush_all(At at = At::current()) { begin(Use::flush, -1, at).flush_all(); }

    template <Predicate P>
    Value await(Word w, P pred, At at = At::current()) {
        return begin(Use::wait, w.rank, at).await(w, pred);
    }
    template <Predicate P>
    std::optional<Value> await_until(Word w, P pred, Moment end, At at = At::current()) {
        return begin(Use::wait, w.rank, at).await_until(w, pred, end);
    }
    Moment after(Duration time) const { return inner().after(time); }
    void backoff(unsigned attempt, At at = At::current()) { from(at).backoff(attempt); }

    std::uint64_t mark() { return inner().mark(); }
    void rewind(std::uint64_t mark, Value known = 0, At at = At::current()) {
        from(at).rewind(mark, known);
    }

    void handed_over(Rank other) { inner().handed_over(other); }
    void mode_changed() { inner().mode_changed(); }
    Inner& from(const At& at) {
        inner().from(at);
        return inner();
    }

  private:
    Self& derived() { return static_cast<Self&>(*this); }
    [[gnu::always_inline]] Inner& begin(Use use, Rank home, const At& at) {
        derived().before(use, home);
        return from(at);
    }

    F inner_;
};

} // namespace rmalock::fabric
