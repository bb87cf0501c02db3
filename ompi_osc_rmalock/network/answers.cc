#include "network/answers.hh"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace rmalock::network {

std::size_t AwaitedAnswer::bytes() const {
    std::size_t all = 0;
    for (const Awaited& part : parts)
        all += part.bytes;
    return all;
}

/// The ticket is the address of what is awaited.
std::uint64_t Answers::expect(ucx::PeerId peer, AwaitedAnswer&& awaited) {
    const std::size_t bytes = awaited.bytes();
    const auto ticket = reinterpret_cast<std::uint64_t>(new AwaitedAnswer(std::move(awaited)));
    if (checks_)
        tickets_.give(ticket, peer, bytes);
    return ticket;
}

void Answers::take(const MessageHeader& answer, std::span<const std::byte> data) {
    const std::unique_ptr<AwaitedAnswer> awaited(reinterpret_cast<AwaitedAnswer*>(answer.ticket));
    if (awaited->bytes() != data.size())
        throw std::runtime_error("an answer of another length than asked for");
    for (const Awaited& part : awaited->parts) {
        std::memcpy(part.result, data.data(), part.bytes);
        data = data.subspan(part.bytes);
    }
    // Answers of a peer come in the order of the requests.
    acknowledge(*awaited->acknowledged, awaited->number);
    for (const Awaited& part : awaited->parts)
        if (part.completion != nullptr)
            part.completion->complete();
    if (awaited->results != nullptr)
        awaited->results->complete();
}

} // namespace rmalock::network
