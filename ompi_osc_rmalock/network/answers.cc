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
    auto* const kept = new AwaitedAnswer(std::move(awaited));
    const auto ticket = reinterpret_cast<std::uint64_t>(kept);
    if (checks_)
        tickets_.give(ticket, peer, bytes);
    if (may_lose_) {
        const std::lock_guard lock(mutex_);
        by_peer_[peer].insert(kept);
    }
    return ticket;
}

void Answers::lose(ucx::PeerId peer) {
    const std::lock_guard lock(mutex_);
    const auto lost = by_peer_.extract(peer);
    if (lost.empty())
        return;
    for (AwaitedAnswer* const awaited : lost.mapped()) {
        for (const Awaited& part : awaited->parts)
            if (part.completion != nullptr)
                part.completion->lose();
        if (awaited->results != nullptr)
            awaited->results->lose();
        delete awaited;
    }
}

void Answers::take(ucx::PeerId peer, const MessageHeader& answer, std::span<const std::byte> data) {
    const std::unique_ptr<AwaitedAnswer> awaited(reinterpret_cast<AwaitedAnswer*>(answer.ticket));
    if (may_lose_) {
        const std::lock_guard lock(mutex_);
        by_peer_[peer].erase(awaited.get());
    }
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
