// Critical sections that come in one message: what goes along at the origin, and what the target
// does.
#include <cstring>

#include "network/message.hh"
#include "window/data/access.hh"

namespace rmalock::window {

using locks::SectionEntry;

void Accesses::go_along(Rank target, std::size_t bytes, bool somebody_waits) {
    if (!is_deferred(target)) [[likely]]
        return;
    if (somebody_waits || !remote_->section_takes(target, bytes))
        acquire_deferred();
}

/// In the handler of its message: nothing here waits. A request that cannot be applied at once is left
/// to the origin, with the lock.
bool Accesses::do_section(ucx::PeerId from, const network::MessageHeader& header,
                          std::span<const std::byte> data, bool may_wait,
                          std::vector<std::byte>& result) {
    using Flags = network::SectionFlags;
    const bool exclusive = (header.op & Flags::exclusive) != 0;
    const bool keeps = (header.op & Flags::keeps) != 0;
    const std::size_t results = network::take_value<std::uint64_t>(data);
    network::SectionOutcome outcome;
    result.resize(sizeof outcome);
    const SectionEntry entry =
        (header.op & Flags::held) != 0 ? SectionEntry::entered : enter_section(exclusive);
    if (entry == SectionEntry::busy && may_wait)
        return false;
    if (entry == SectionEntry::entered) {
        const auto apply_next = [&] {
            const auto request = network::SectionRequest::take_from(data);
            return apply_message(request.header, request.data, result);
        };
        while (outcome.applied < header.runs && apply_next())
            ++outcome.applied;
        outcome.over = outcome.applied == header.runs;
    }
    // One that could not begin, or is over, may leave the lock to nobody.
    const bool ends = (outcome.over && !keeps) || entry == SectionEntry::closed;
    if (entry != SectionEntry::busy) {
        const locks::SectionEnd end = ends ? leave_section(exclusive) : locks::SectionEnd{};
        outcome.held = !end.over;
        outcome.next = end.next;
        outcome.message = end.message;
    }
    if (outcome.over && !keeps)
        note_section(from);
    result.resize(sizeof outcome + results);
    std::memcpy(result.data(), &outcome, sizeof outcome);
    return true;
}

std::string Accesses::flaw_of_section(ucx::PeerId from, const network::MessageHeader& header,
                                      std::span<const std::byte> data) const {
    network::take(data, sizeof(std::uint64_t));
    std::string flaw;
    for (std::uint64_t n = 0; n < header.runs && flaw.empty(); ++n) {
        const auto request = network::SectionRequest::take_from(data);
        flaw = flaw_of_message(from, request.header, request.data);
    }
    return flaw;
}

} // namespace rmalock::window
