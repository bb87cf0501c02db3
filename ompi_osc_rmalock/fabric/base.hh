// The parts of the fabric contract (concept.hh) that are nothing special on most fabrics.
//
// The contract is required as a whole. A fabric that leaves these as they are says so by deriving
// from FabricBase; an adapter to another fabric derives from Adapter (adapter.hh), which passes all
// on.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>

#include "fabric/concept.hh"

namespace rmalock::fabric {

/// What `rmw` says by the verb of `fabric` for it, which is told `at`, if it wants to know.
template <class F, class... At>
Value fetch_by(F& fabric, const Rmw& rmw, At... at) {
    return rmw.after_data ? fabric.fetch_add_after_data(rmw.word, rmw.operand, at...)
           : rmw.kind == Rmw::Kind::fetch_add ? fabric.fetch_add(rmw.word, rmw.operand, at...)
           : rmw.kind == Rmw::Kind::swap
               ? fabric.swap(rmw.word, rmw.operand, at...)
               : fabric.compare_swap(rmw.word, rmw.expected, rmw.operand, at...);
}

/// fetch_then_get by other verbs of `fabric`.
template <class F, class... At>
Value fetch_then_get_by(F& fabric, const Rmw& rmw, Slot first, std::span<Value> out, At... at) {
    const Value before = fetch_by(fabric, rmw, at...);
    for (Slot i = 0; i < out.size(); ++i)
        out[i] = fabric.get(Word{rmw.word.rank, first + i}, at...);
    return before;
}

/// The same of fetch_each: first to last, or last to first.
template <class F, class... At>
void fetch_each_by(F& fabric, std::span<const Rmw> rmws, std::span<Value> out, bool last_first,
                   At... at) {
    for (std::size_t i = 0; i < rmws.size(); ++i) {
        const std::size_t next = last_first ? rmws.size() - 1 - i : i;
        out[next] = fetch_by(fabric, rmws[next], at...);
    }
}

/// `Self` derives from it.
template <class Self>
class FabricBase {
  public:
    /// Windows are known to be on one node before they exist.
    static constexpr bool kOneNode = false;
    /// Time is not part of the fabric: what may end at a moment does so at any.
    static constexpr bool kTimeless = false;

    /// No name of a word is quicker than the word itself.
    using Resolved = Word;
    Word resolve(Word w) const { return w; }

    /// A round trip is nothing to be saved.
    Value fetch_then_get(const Rmw& rmw, Slot first, std::span<Value> out) {
        return fetch_then_get_by(static_cast<Self&>(*this), rmw, first, out);
    }

    void fetch_each(std::span<const Rmw> rmws, std::span<Value> out) {
        fetch_each_by(static_cast<Self&>(*this), rmws, out, false);
    }

    /// A put that wakes nobody costs what a put costs.
    struct Own {
        Word word{-1, 0};
        friend bool operator==(const Own&, const Own&) = default;
    };
    Own own(Slot slot) const { return {{static_cast<const Self&>(*this).self(), slot}}; }
    void put_own(Own own, Value v) { static_cast<Self&>(*this).put(own.word, v); }

    /// CPUs do all atomics.
    Value near_fetch_add(Word w, Value v) { return static_cast<Self&>(*this).fetch_add(w, v); }
    Value near_swap(Word w, Value v) { return static_cast<Self&>(*this).swap(w, v); }
    Value near_compare_swap(Word w, Value expected, Value desired) {
        return static_cast<Self&>(*this).compare_swap(w, expected, desired);
    }
    void near_add(Word w, Value v) { static_cast<Self&>(*this).add(w, v); }

    /// Data are there when the call that puts them returns.
    Value fetch_add_after_data(Word w, Value v) {
        return static_cast<Self&>(*this).fetch_add(w, v);
    }
    void deliver(Rank) {}

    /// Nobody asks whether a loop has come round.
    std::uint64_t mark() { return 0; }
    void rewind(std::uint64_t, Value = 0) {}

    /// Nobody counts.
    void handed_over(Rank) {}
    void mode_changed() {}

    /// Nobody asks which line calls.
    void from(const std::source_location&) {}
};

} // namespace rmalock::fabric
