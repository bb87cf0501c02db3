// Active messages.
//
// A message is one contiguous payload: a prefix, the header, the data. UCX's own header argument is
// not used; its limit differs by transport, and a payload without it takes the shortest path.
#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>

#include "ucx_glue/callbacks.hh"

namespace rmalock::ucx {

namespace {

struct Prefix {
    PeerId sender;
    std::uint64_t header_bytes;
};

/// The prefix, if the message is one of this library's: then header and data are within `bytes`.
std::optional<Prefix> prefix_of(const void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* param) {
    Prefix prefix{};
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0 || bytes < sizeof prefix)
        return std::nullopt;
    std::memcpy(&prefix, data, sizeof prefix);
    if (prefix.header_bytes > bytes - sizeof prefix)
        return std::nullopt;
    return prefix;
}

} // namespace

void Callbacks::finish_message(Message& message) {
    message.long_room.reset();
    message.worker->give_room_back(message);
    message.worker->messages_.give_back(message);
}

void Callbacks::sent(void* request, ucs_status_t status, void* message) {
    auto& sent = *static_cast<Message*>(message);
    if (status != UCS_OK)
        sent.worker->lose(*sent.peer, describe("send a message", status));
    finish_message(sent);
    ucp_request_free(request);
}

ucs_status_t Callbacks::received(void* arg, const void*, std::size_t, void* data, std::size_t bytes,
                                 const ucp_am_recv_param_t* param) {
    auto& worker = *static_cast<Worker*>(arg);
    if (worker.closing_)
        return UCS_OK;
    const std::optional<Prefix> prefix = prefix_of(data, bytes, param);
    if (!prefix) {
        worker.take_failure("UCX: receive a message: it is not whole, or not of this library");
        return UCS_OK;
    }
    if (worker.options_.handler == nullptr) {
        worker.take_failure("UCX: receive a message: there is no handler");
        return UCS_OK;
    }
    const std::span rest(static_cast<const std::byte*>(data) + sizeof(Prefix),
                         bytes - sizeof(Prefix));
    if (Peer* const sender = worker.find(prefix->sender); sender != nullptr) {
        if (sender->lost())
            return UCS_OK; // what it is for may be gone
        sender->gave_a_sign_ = true;
    }
    try {
        worker.options_.handler(prefix->sender, rest.first(prefix->header_bytes),
                                rest.subspan(prefix->header_bytes));
    } catch (const std::exception& error) {
        worker.take_failure(std::string("UCX: handle a message: ") + error.what());
    }
    return UCS_OK;
}

/// Once: UCX may keep what goes to a peer that was lost.
void Worker::give_room_back(Message& message) {
    if (!std::exchange(message.counts, false))
        return;
    message_bytes_in_flight_.fetch_sub(message.bytes, std::memory_order_relaxed);
    messages_in_flight_.fetch_sub(1, std::memory_order_release);
}

/// The worker, locked, when one message more may go.
Worker::Lock Worker::locked_for_message() {
    for (;;) {
        Lock lock = locked();
        if (has_room_for_message())
            return lock;
        lock.unlock();
        wait_for(fabric::Waiter(), [this] { return has_room_for_message(); });
    }
}

void Worker::send(Peer& peer, std::span<const std::byte> header, std::span<const std::byte> data) {
    const Lock lock = locked_for_message();
    ++counters_.messages;
    transmit(peer, kMessageId, header, data);
    if (peer.begins_contact())
        greet(peer, 0); // else nobody would ask whether a peer is there that is sent messages alone
}

void Worker::send_locked(Peer& peer, std::span<const std::byte> header,
                         std::span<const std::byte> data) {
    ++counters_.messages;
    transmit(peer, kMessageId, header, data);
}

void Worker::transmit_deferred() {
    const std::vector<Deferred> now = std::exchange(deferred_, {});
    for (const Deferred& message : now)
        transmit(*message.peer, message.id, message.header, message.data);
}

// ---- sent words --------------------------------------------------------------------------------

/// `ask` comes back as `acked` with the same number: what goes over an endpoint arrives in the
/// order in which it was sent, so all words sent before it are stored by then.
struct WordMessage {
    enum class Kind : std::uint64_t { add, store, ask, acked } kind;
    RemoteAddress address;
    std::uint64_t value; ///< what to add or to store; how many words were sent
};

namespace {

std::span<const std::byte> bytes_of(const WordMessage& message) {
    return std::as_bytes(std::span(&message, 1));
}

/// Sequentially consistent, as all changes of such words are (fabric/cpu.hh): an origin that has
/// flushed its word reads another one, maybe by this thread, whose load must not pass the store. For
/// what was written before the word, and is seen with it, a release would do.
void carry_out(const WordMessage& message) {
    const std::atomic_ref word(*reinterpret_cast<std::uint64_t*>(message.address));
    if (message.kind == WordMessage::Kind::add)
        word.fetch_add(message.value);
    else
        word.store(message.value);
}

} // namespace

void Worker::send_word(Peer& peer, WordOp what, RemoteAddress address, std::uint64_t value) {
    const WordMessage message{
        what == WordOp::add ? WordMessage::Kind::add : WordMessage::Kind::store, address, value};
    const Lock lock = locked_for_message();
    ++counters_.posts;
    if (peer.words_way() != WordsWay::apart)
        part_words(peer);
    peer.words_sent_.fetch_add(1, std::memory_order_relaxed);
    list(peer);
    transmit_word(peer, message);
    if (peer.begins_contact())
        greet(peer, 0); // as send() does
    // One question at a time: an origin that sends many words at once goes on as it began. Relaxed:
    // all three change with the worker locked.
    if (peer.words_way() == WordsWay::met && peer.asked_.load(std::memory_order_relaxed) ==
                                                 peer.words_acked_.load(std::memory_order_relaxed))
        ask({&peer, 0, peer.words_sent_.load(std::memory_order_relaxed)});
}

/// Has words take their own endpoint, if that can be; else sees to it that it soon can.
void Worker::part_words(Peer& peer) {
    constexpr std::uint64_t kFew = 16;
    if (peer.lost() || peer.words_sent_.load(std::memory_order_relaxed) < kFew)
        return;
    if (peer.words_may_part() && has_room_for_words()) {
        open(peer.words_endpoint_, peer);
        if (peer.lost())
            return;
        peer.words_greeted();
        transmit_by(peer, peer.words_endpoint_, kWordId,
                    bytes_of({WordMessage::Kind::ask, 0, Peer::kWordsGreeting}), {});
    }
    if (peer.words_way() == WordsWay::met && peer.all_words_stored())
        peer.words_stored();
}

void Worker::transmit_word(Peer& peer, const WordMessage& message) {
    if (peer.words_way() == WordsWay::apart)
        transmit_by(peer, peer.words_endpoint_, kWordId, bytes_of(message), {});
    else
        transmit(peer, kWordId, bytes_of(message), {});
}

/// Asks for an answer that says the same.
void Worker::greet(Peer& peer, std::uint64_t greeting) {
    transmit(peer, kWordId, bytes_of({WordMessage::Kind::ask, 0, greeting}), {});
}

void Worker::answer(Peer& peer, std::uint64_t greeting_or_words) {
    transmit(peer, kWordId, bytes_of({WordMessage::Kind::acked, 0, greeting_or_words}), {});
}

/// Has the peer say when it has stored the words so far, unless it is to say so already.
void Worker::ask(const Goal& goal) {
    Peer& peer = *goal.peer;
    if (peer.asked_.load(std::memory_order_relaxed) >= goal.words)
        return;
    const std::uint64_t words = peer.words_sent_.load(std::memory_order_relaxed);
    peer.asked_.store(words, std::memory_order_relaxed);
    transmit_word(peer, {WordMessage::Kind::ask, 0, words});
}

/// The answer to the words of a peer: nothing, or that it is stored.
void Callbacks::take_word(Worker& worker, PeerId from, const WordMessage& message) {
    Peer* const sender =
        worker.options_.goes_on_without_peers || message.kind >= WordMessage::Kind::ask
            ? worker.find(from)
            : nullptr;
    if (sender != nullptr && sender->lost())
        return; // the word may be gone
    if (message.kind != WordMessage::Kind::ask && message.kind != WordMessage::Kind::acked)
        return carry_out(message);
    if (sender == nullptr)
        raise("find the sender of a word", UCS_ERR_NO_ELEM);
    if (message.kind == WordMessage::Kind::acked)
        return sender->acked(message.value);
    worker.meet(*sender, message.value);
    worker.answer(*sender, message.value);
}

ucs_status_t Callbacks::word_received(void* arg, const void*, std::size_t, void* data,
                                      std::size_t bytes, const ucp_am_recv_param_t* param) {
    auto& worker = *static_cast<Worker*>(arg);
    const std::optional<Prefix> prefix = prefix_of(data, bytes, param);
    WordMessage message{};
    if (worker.closing_)
        return UCS_OK;
    if (!prefix || bytes != sizeof *prefix + sizeof message) {
        worker.take_failure("UCX: receive a word: it is not whole, or not of this library");
        return UCS_OK;
    }
    std::memcpy(&message, static_cast<const std::byte*>(data) + sizeof *prefix, sizeof message);
    try {
        take_word(worker, prefix->sender, message);
    } catch (const std::exception& error) {
        worker.take_failure(error.what());
    }
    return UCS_OK;
}

void Worker::transmit(Peer& peer, unsigned id, std::span<const std::byte> header,
                      std::span<const std::byte> data) {
    if (header.size() + data.size() > most_message_bytes_)
        raise("send a message longer than most_message_bytes", UCS_ERR_EXCEEDS_LIMIT);
    if (serving_ && peer.endpoint_ == nullptr)
        deferred_.push_back(
            {&peer, id, Bytes(header.begin(), header.end()), Bytes(data.begin(), data.end())});
    else
        transmit_by(peer, endpoint(peer), id, header, data);
}

void Worker::transmit_by(Peer& peer, ucp_ep* endpoint, unsigned id,
                         std::span<const std::byte> header, std::span<const std::byte> data) {
    if (peer.lost())
        return;
    Message& message = messages_.take();
    message.worker = this;
    message.peer = &peer;
    const std::size_t bytes = sizeof(Prefix) + header.size() + data.size();
    std::byte* const room = message.room_for(bytes);
    const Prefix prefix{options_.self, header.size()};
    std::byte* end = room;
    std::memcpy(end, &prefix, sizeof prefix);
    end += sizeof prefix;
    end = std::copy(header.begin(), header.end(), end);
    std::copy(data.begin(), data.end(), end);
    ucp_request_param_t param = telling(Callbacks::sent, &message);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    message.counts = true;
    messages_in_flight_.fetch_add(1, std::memory_order_relaxed);
    message_bytes_in_flight_.fetch_add(bytes, std::memory_order_relaxed);
    const ucs_status_ptr_t given = ucp_am_send_nbx(endpoint, id, nullptr, 0, room, bytes, &param);
    if (!UCS_PTR_IS_PTR(given))
        Callbacks::finish_message(message);
    if (UCS_PTR_IS_ERR(given) && options_.goes_on_without_peers)
        return lose(peer, describe("send a message", UCS_PTR_STATUS(given)));
    completed_at_once("send a message", given);
}

} // namespace rmalock::ucx
