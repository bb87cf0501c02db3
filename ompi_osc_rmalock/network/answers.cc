#include "network/answers.hh"

#include <cstring>
#include <memory>
#include <stdexcept>

namespace rmalock::network {

/// The ticket is the address of what is awaited.
std::uint64_t Answers::expect(ucx::PeerId peer, const Awaited& awaited) {
    const auto ticket = reinterpret_cast<std::uint64_t>(new Awaited(awaited));
    if (checks_)
        tickets_.give(ticket, peer, awaited.bytes);
    return ticket;
}

void Answers::take(const MessageHeader& answer, std::span<const std::byte> data) {
    const std::unique_ptr<Awaited> awaited(reinterpret_cast<Awaited*>(answer.ticket));
    if (awaited->bytes != data.size())
        throw std::runtime_error("an answer of another length than asked for");
    if (awaited->bytes != 0)
        std::memcpy(awaited->result, data.data(), data.size());
    // Answers of a peer come in the order of the requests.
    awaited->acknowledged->store(awaited->number, std::memory_order_release);
    if (awaited->completion != nullptr)
        awaited->completion->complete();
    if (awaited->results != nullptr)
        awaited->results->complete();
}

} // namespace rmalock::network
