#include "network/messages.hh"

#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "ucx_glue/worker.hh"
#include "host.hh"
#include "network/message_check.hh"
#include "network/network.hh"
#include "network/waiting_requests.hh"

namespace rmalock::network {
namespace {

/// What waits for an answer. Its address is the ticket.
struct Awaited {
    std::atomic<std::uint64_t>* acknowledged;
    std::uint64_t number;
    std::byte* result = nullptr;
    std::size_t bytes = 0;
    ucx::Completion* results = nullptr;
    ucx::Completion* completion = nullptr;
};

std::span<const std::byte> bytes_of(const MessageHeader& header) {
    return std::as_bytes(std::span(&header, 1));
}

// ---- debug parameter check_messages

Tickets tickets;

bool checks_messages() {
    return Network::get()->checks_messages();
}

[[noreturn]] void end_the_job(ucx::PeerId from, const MessageHeader& header,
                              std::span<const std::byte> data, const std::string& flaw) {
    report(0, "check_messages: process %016" PRIx64 " sent this one: %s. Wrong: %s. The job ends",
           from, describe(header, data).c_str(), flaw.c_str());
    std::abort();
}

std::string flaw_of_request(ucx::PeerId from, const MessageHeader& header,
                            std::span<const std::byte> data) {
    const std::string flaw = flaw_of(header, data);
    if (!flaw.empty() || header.kind == MessageKind::flush)
        return flaw;
    const MessageSink* const window = Network::get()->window(header.window);
    return window == nullptr ? "there is no such window: it was freed, or never was"
                             : window->flaw_of(from, header, data);
}

bool is_answer(const MessageHeader& header) {
    return header.kind == MessageKind::result || header.kind == MessageKind::flushed;
}

void check(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data) {
    const std::string flaw = is_answer(header) ? tickets.take_back(header, from, data.size())
                                               : flaw_of_request(from, header, data);
    if (!flaw.empty())
        end_the_job(from, header, data, flaw);
}

/// The ticket that an answer of `peer` is to bring.
std::uint64_t ticket_for(std::unique_ptr<Awaited> awaited, const ucx::Peer& peer) {
    const auto ticket = reinterpret_cast<std::uint64_t>(awaited.get());
    if (checks_messages())
        tickets.give(ticket, peer.id(), awaited->bytes);
    (void)awaited.release();
    return ticket;
}

/// Of the process; with the worker locked.
WaitingRequests waiting;

} // namespace

bool Outbox::send(ucx::Worker& worker, ucx::Peer& peer, MessageHeader header,
                  std::span<const std::byte> data, std::byte* result, std::size_t result_bytes,
                  ucx::Completion* completion) {
    const std::lock_guard lock(mutex_);
    sent_ += kRequest + data.size() + result_bytes;
    used_.store(true, std::memory_order_release);
    header.window = window_;
    if (result != nullptr) {
        auto awaited = std::make_unique<Awaited>(&acknowledged_, sent_, result, result_bytes,
                                                 &results_, completion);
        results_.expect();
        if (completion != nullptr)
            completion->expect();
        header.ticket = ticket_for(std::move(awaited), peer);
        expected_ = sent_;
    }
    worker.send(peer, bytes_of(header), data);
    if (sent_ - expected_ >= kAskEach)
        send_flush(worker, peer);
    return has_room();
}

void Outbox::send_flush(ucx::Worker& worker, ucx::Peer& peer) {
    MessageHeader header{};
    header.kind = MessageKind::flush;
    header.window = window_;
    header.ticket = ticket_for(std::make_unique<Awaited>(&acknowledged_, sent_), peer);
    expected_ = sent_;
    worker.send(peer, bytes_of(header), {});
}

bool Outbox::ask(ucx::Worker& worker, ucx::Peer& peer) {
    if (all_applied())
        return false;
    const std::lock_guard lock(mutex_);
    asked_.store(sent_);
    if (expected_ < sent_)
        send_flush(worker, peer);
    return true;
}

bool Outbox::all_applied() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.load(std::memory_order_acquire) >= sent_;
}

void Messages::handle(ucx::PeerId from, std::span<const std::byte> header_bytes,
                      std::span<const std::byte> data) {
    MessageHeader header;
    if (header_bytes.size() != sizeof header)
        throw std::runtime_error("a message of another version of rmalock");
    std::memcpy(&header, header_bytes.data(), sizeof header);
    if (checks_messages())
        check(from, header, data);
    if (is_answer(header))
        return answered(header, data);
    if (waiting.are_before(from, header) || !serve(from, header, data))
        waiting.add(from, header, data);
}

bool Messages::retry() {
    return waiting.retry(serve);
}

bool Messages::serve(ucx::PeerId from, const MessageHeader& header,
                     std::span<const std::byte> data) {
    Network& network = *Network::get();
    MessageHeader answer = header;
    std::vector<std::byte> result;
    if (header.kind == MessageKind::flush) {
        answer.kind = MessageKind::flushed;
    } else {
        MessageSink* const window = network.window(header.window);
        if (window == nullptr)
            throw std::runtime_error("an accumulate for window " +
                                     std::to_string(header.window.number) + ", generation " +
                                     std::to_string(header.window.generation) +
                                     ", of this process: it was freed, or never was");
        if (!window->apply(header, data, result))
            return false;
        answer.kind = MessageKind::result;
    }
    if (header.ticket != 0)
        network.worker().send_locked(*network.worker().find(from), bytes_of(answer), result);
    return true;
}

void Messages::answered(const MessageHeader& header, std::span<const std::byte> data) {
    const std::unique_ptr<Awaited> awaited(reinterpret_cast<Awaited*>(header.ticket));
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
