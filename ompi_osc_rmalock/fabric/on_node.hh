// A fabric for words that only processes of one node use: CPUs do its atomics, in both domains.
#pragma once

#include "fabric/adapter.hh"

namespace rmalock::fabric {

/// The near_ verbs of F under the names of the others; all else is F's.
template <class F>
class OnNode : public Adapter<OnNode<F>, F&> {
    using Base = Adapter<OnNode<F>, F&>;
    using At = std::source_location;

  public:
    using Base::Base, Base::from;

    Value fetch_add(Word w, Value v, At at = At::current()) {
        return from(at).near_fetch_add(w, v);
    }
    Value swap(Word w, Value v, At at = At::current()) { return from(at).near_swap(w, v); }
    Value compare_swap(Word w, Value expected, Value desired, At at = At::current()) {
        return from(at).near_compare_swap(w, expected, desired);
    }
    Value fetch_then_get(const Rmw& rmw, Slot first, std::span<Value> out, At at = At::current()) {
        return fetch_then_get_by(*this, rmw, first, out, at);
    }
    void fetch_each(std::span<const Rmw> rmws, std::span<Value> out, At at = At::current()) {
        fetch_each_by(*this, rmws, out, false, at);
    }
    void add(Word w, Value v, At at = At::current()) { from(at).near_add(w, v); }
};

} // namespace rmalock::fabric
