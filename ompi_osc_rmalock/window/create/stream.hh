// The bytes of one side of a transfer, run by run.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "rmalock_api.h"

namespace rmalock::window {

/// Hands out the bytes of a layout, run by run.
class Stream {
  public:
    explicit Stream(const rmalock_layout_t& layout) : layout_(layout) {
        if (layout.contiguous)
            run_ = {reinterpret_cast<void*>(layout.base), layout.bytes};
        else
            layout.rewind(layout.state);
    }

    /// Makes sure that a run is at hand. False: the end.
    bool more() {
        while (run_.iov_len == 0) {
            if (at_ == filled_ && !refill())
                return false;
            run_ = segments_[at_++];
        }
        return true;
    }

    std::uintptr_t address() const { return reinterpret_cast<std::uintptr_t>(run_.iov_base); }
    std::size_t length() const { return run_.iov_len; }
    void advance(std::size_t bytes) {
        run_.iov_base = reinterpret_cast<void*>(address() + bytes);
        run_.iov_len -= bytes;
    }

  private:
    bool refill() {
        if (layout_.contiguous)
            return false;
        filled_ = layout_.next(layout_.state, segments_.data(), segments_.size());
        at_ = 0;
        return filled_ != 0;
    }

    const rmalock_layout_t& layout_;
    iovec run_{};
    std::array<iovec, 32> segments_;
    std::size_t at_ = 0, filled_ = 0;
};

/// Calls use(origin address, target offset, bytes) for every run that is one run on both sides,
/// until it returns non-zero; returns what it returned last.
template <class Use>
int for_each_run(const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                 Use use) {
    Stream origin(origin_side), target(target_side);
    while (origin.more() && target.more()) {
        const std::size_t bytes = std::min(origin.length(), target.length());
        if (const int error = use(origin.address(), target.address(), bytes))
            return error;
        origin.advance(bytes);
        target.advance(bytes);
    }
    return 0;
}

} // namespace rmalock::window
