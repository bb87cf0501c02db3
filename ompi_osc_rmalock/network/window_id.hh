// How processes name a window of one of them in messages.
#pragma once

#include <compare>
#include <cstdint>

namespace rmalock::network {

/// A window, as its process counts them (Network::ClaimedId). Numbers are given again; each time
/// the generation is one more, so that a late message for a window that was freed is not taken for
/// one to the next. (It comes around after 2^32 windows.)
struct WindowId {
    std::uint32_t number, generation;
    auto operator<=>(const WindowId&) const = default;
};

} // namespace rmalock::network
