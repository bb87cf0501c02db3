// A critical section that comes in one message (locks/parts/section.hh), where no network lies between
// the origin and the target: the origin does the target's part as well, at some moment while it waits.
#pragma once

#include <concepts>

#include "locks/parts/section.hh"

namespace rmalock::test {

/// What the origin knows when it has been answered.
struct SectionAnswer {
    bool done; ///< the operations
    bool over; ///< the origin has no lock; else it has one, and is to release it
    locks::Hold hold = {};
};

/// A process's lock, with what a window does for sections.
template <class Parts>
concept SendsSections = requires(Parts& parts, locks::Rank target, bool exclusive,
                                 const locks::SectionEnd& end) {
    { parts.section(target).enter(exclusive) } -> std::same_as<locks::SectionEntry>;
    { parts.section(target).leave(exclusive) } -> std::same_as<locks::SectionEnd>;
    parts.sections().announce(target, exclusive);
    parts.sections().strike(target, exclusive);
    parts.sections().notify(end);
    { parts.sections().hold(exclusive) } -> std::same_as<locks::Hold>;
    { parts.sections().take_over(target, exclusive) } -> std::same_as<locks::Hold>;
};

template <SendsSections Parts, class Operations>
SectionAnswer send_section(Parts& parts, locks::Rank target, bool exclusive,
                           Operations operations) {
    using locks::SectionEntry;
    auto home = parts.section(target);
    auto origin = parts.sections();
    origin.announce(target, exclusive);
    const SectionEntry entry = home.enter(exclusive);
    const bool done = entry == SectionEntry::entered;
    if (done)
        operations();
    const locks::SectionEnd end =
        entry == SectionEntry::busy ? locks::SectionEnd{.over = true} : home.leave(exclusive);
    if (end.over)
        origin.strike(target, exclusive);
    if (end.next != 0)
        origin.notify(end);
    if (end.over)
        return {done, true};
    return {done, false, done ? origin.hold(exclusive) : origin.take_over(target, exclusive)};
}

} // namespace rmalock::test
