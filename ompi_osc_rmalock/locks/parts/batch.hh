// Read-modify-writes of words of several nodes, up to 64 in one round trip.
//
// What they do to their words happens in no order (fetch_each of fabric/concept.hh).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "fabric/base.hh"

namespace rmalock::locks {

class Batch {
  public:
    static constexpr std::size_t kMost = 64;

    /// Each of a word of its own.
    void add(const fabric::Rmw& rmw) { rmws_[size_++] = rmw; }

    /// Does them, and returns what they returned, in the order in which they were added.
    template <class F>
    const fabric::Value* done(F& fabric) {
        if (size_ != 0)
            fabric.fetch_each({rmws_.data(), size_}, {found_.data(), size_});
        return found_.data();
    }

  private:
    // Not cleared: they are large.
    std::array<fabric::Rmw, kMost> rmws_;
    std::array<fabric::Value, kMost> found_;
    std::size_t size_ = 0;
};

/// `rmw_of(i)` for each i of `first` ... `end` - 1, in batches; `found(i, value)` learns what it
/// returned. On one node there is no round trip to be saved, and of one word none: no batch then.
template <class F, class RmwOf, class Found>
void fetch_in_batches(F& fabric, std::size_t first, std::size_t end, RmwOf rmw_of, Found found) {
    if (F::kOneNode || end - first == 1) {
        for (std::size_t i = first; i < end; ++i)
            found(i, fabric::fetch_by(fabric, rmw_of(i)));
    } else {
        while (first < end) {
            const std::size_t stop = std::min(end, first + Batch::kMost);
            Batch batch;
            for (std::size_t i = first; i < stop; ++i)
                batch.add(rmw_of(i));
            for (const fabric::Value* value = batch.done(fabric); first < stop; ++first)
                found(first, *value++);
        }
    }
}

} // namespace rmalock::locks
