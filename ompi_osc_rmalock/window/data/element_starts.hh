// Where the elements of a derived type lie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "rmalock_api.h"

namespace rmalock::window {

/// Finds the elements in runs of their data: a pair with gaps has several, one of elements without
/// gaps is of many. Calls use(address, elements that are an extent apart).
template <class Use>
class ElementStarts {
  public:
    ElementStarts(const rmalock_element_t& element, Use use) : element_(element), use_(use) {}

    void add(std::uintptr_t address, std::size_t bytes) {
        const std::size_t rest = std::min(bytes, missing_);
        missing_ -= rest;
        for (std::size_t at = rest; at < bytes;) {
            const std::size_t whole = (bytes - at) / element_.size;
            const std::size_t now =
                element_.size == element_.extent ? std::max<std::size_t>(whole, 1) : 1;
            use_(address + at, now);
            const std::size_t data = now * element_.size;
            missing_ = data - std::min(data, bytes - at);
            at += data;
        }
    }

  private:
    const rmalock_element_t& element_;
    Use use_;
    std::size_t missing_ = 0; ///< of the last element's data
};

} // namespace rmalock::window
