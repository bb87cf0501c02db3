#include "network/inbox.hh"

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "host.hh"
#include "network/message_check.hh"

namespace rmalock::network {
namespace {

bool is_answer(const MessageHeader& header) {
    return header.kind == MessageKind::result || header.kind == MessageKind::flushed;
}

} // namespace

std::string Inbox::flaw_of_request(ucx::PeerId from, const MessageHeader& header,
                                   std::span<const std::byte> data) const {
    const std::string flaw = flaw_of(header, data);
    if (!flaw.empty() || header.kind == MessageKind::flush)
        return flaw;
    const MessageSink* const window = windows_.find(header.window);
    if (window == nullptr && host().each_failed != nullptr)
        return flaw; // as in serve()
    return window == nullptr ? "there is no such window: it was freed, or never was"
                             : window->flaw_of(from, header, data);
}

void Inbox::check(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data) {
    const std::string flaw = is_answer(header) ? answers_.flaw_of(from, header, data.size())
                                               : flaw_of_request(from, header, data);
    if (flaw.empty())
        return;
    report(0, "check_messages: process %016" PRIx64 " sent this one: %s. Wrong: %s. The job ends",
           from, describe(header, data).c_str(), flaw.c_str());
    std::abort();
}

void Inbox::handle(ucx::PeerId from, std::span<const std::byte> header_bytes,
                   std::span<const std::byte> data) {
    MessageHeader header;
    if (header_bytes.size() != sizeof header)
        throw std::runtime_error("a message of another version of rmalock");
    std::memcpy(&header, header_bytes.data(), sizeof header);
    if (checks_)
        check(from, header, data);
    if (is_answer(header))
        return answers_.take(from, header, data);
    if (header.kind == MessageKind::section)
        return handle_section(from, header, data);
    // A put waits for no accumulate: an atomic of the origin may come right behind it (Outbox).
    const bool waits = header.kind != MessageKind::put && waiting_.are_before(from, header);
    if (waits || !serve(from, header, data))
        waiting_.add(from, header, data);
}

void Inbox::handle_section(ucx::PeerId from, const MessageHeader& header,
                           std::span<const std::byte> data) {
    const bool begins = (header.op & SectionFlags::held) == 0;
    if ((begins && sections_.are_before(header.window)) || !serve(from, header, data, true))
        sections_.add(from, header, data);
}

bool Inbox::retry() {
    const auto serve_again = [this](auto&&... request) { return serve(request...); };
    const bool sections = sections_.retry(serve_again), others = waiting_.retry(serve_again);
    return sections || others;
}

bool Inbox::serve(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data,
                  bool may_wait) {
    MessageHeader answer = header;
    std::vector<std::byte> result;
    if (header.kind == MessageKind::flush) {
        answer.kind = MessageKind::flushed;
    } else {
        MessageSink* const window = windows_.find(header.window);
        if (window == nullptr && host().each_failed != nullptr)
            return true; // sent by a process that has failed, and nobody waits for it (Window::abandon)
        if (window == nullptr)
            throw std::runtime_error("a request for window " +
                                     std::to_string(header.window.number) + ", generation " +
                                     std::to_string(header.window.generation) +
                                     ", of this process: it was freed, or never was");
        if (!window->apply(from, header, data, may_wait, result))
            return false;
        answer.kind = asks_for_word(header.kind) ? MessageKind::flushed : MessageKind::result;
    }
    if (header.ticket != 0)
        worker_.send_locked(*worker_.find(from), bytes_of(answer), result);
    return true;
}

} // namespace rmalock::network
