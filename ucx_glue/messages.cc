// Active messages.
//
// A message is one contiguous payload: a prefix, the header, the data. UCX's own header argument is
// not used; its limit differs by transport, and a payload without it takes the shortest path.
#include <algorithm>
#include <cstring>
#include <exception>

#include "ucx_glue/callbacks.hh"

namespace rmalock::ucx {

namespace {

struct Prefix {
    PeerId sender;
    std::uint64_t header_bytes;
};

} // namespace

void Callbacks::finish_message(Message& message) {
    message.worker->messages_in_flight_.fetch_sub(1, std::memory_order_release);
    message.worker->messages_.give_back(message);
}

void Callbacks::sent(void* request, ucs_status_t status, void* message) {
    auto& sent = *static_cast<Message*>(message);
    if (status != UCS_OK)
        sent.worker->take_failure(describe("send a message", status));
    finish_message(sent);
    ucp_request_free(request);
}

ucs_status_t Callbacks::received(void* arg, const void*, std::size_t, void* data, std::size_t bytes,
                                 const ucp_am_recv_param_t* param) {
    auto& worker = *static_cast<Worker*>(arg);
    if (worker.closing_)
        return UCS_OK;
    Prefix prefix{};
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0 && bytes >= sizeof prefix)
        std::memcpy(&prefix, data, sizeof prefix);
    else
        prefix.header_bytes = bytes;
    if (prefix.header_bytes > bytes - std::min(bytes, sizeof prefix)) {
        worker.take_failure("UCX: receive a message: it is not whole, or not of this library");
        return UCS_OK;
    }
    if (worker.options_.handler == nullptr) {
        worker.take_failure("UCX: receive a message: there is no handler");
        return UCS_OK;
    }
    const std::span rest(static_cast<const std::byte*>(data) + sizeof prefix,
                         bytes - sizeof prefix);
    try {
        worker.options_.handler(prefix.sender, rest.first(prefix.header_bytes),
                                rest.subspan(prefix.header_bytes));
    } catch (const std::exception& error) {
        worker.take_failure(std::string("UCX: handle a message: ") + error.what());
    }
    return UCS_OK;
}

void Worker::send(Peer& peer, std::span<const std::byte> header, std::span<const std::byte> data) {
    for (;;) {
        {
            const Lock lock = locked();
            if (messages_in_flight_.load(std::memory_order_relaxed) < kMostMessages)
                return transmit(peer, header, data);
        }
        wait_for(fabric::Waiter(), [this] { return messages_in_flight_.load() < kMostMessages; });
    }
}

void Worker::send_locked(Peer& peer, std::span<const std::byte> header,
                         std::span<const std::byte> data) {
    transmit(peer, header, data);
}

void Worker::transmit(Peer& peer, std::span<const std::byte> header,
                      std::span<const std::byte> data) {
    if (header.size() + data.size() > most_message_bytes_)
        raise("send a message longer than most_message_bytes", UCS_ERR_EXCEEDS_LIMIT);
    ucp_ep* const to = endpoint(peer);
    Message& message = messages_.take();
    message.worker = this;
    if (message.bytes == nullptr)
        message.bytes.reset(new std::byte[sizeof(Prefix) + most_message_bytes_]);
    const Prefix prefix{options_.self, header.size()};
    std::byte* end = message.bytes.get();
    std::memcpy(end, &prefix, sizeof prefix);
    end += sizeof prefix;
    end = std::copy(header.begin(), header.end(), end);
    end = std::copy(data.begin(), data.end(), end);
    ucp_request_param_t param = told_to(Callbacks::sent, &message);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    ++counters_.messages;
    messages_in_flight_.fetch_add(1, std::memory_order_relaxed);
    const auto bytes = static_cast<std::size_t>(end - message.bytes.get());
    const ucs_status_ptr_t given =
        ucp_am_send_nbx(to, kMessageId, nullptr, 0, message.bytes.get(), bytes, &param);
    if (!UCS_PTR_IS_PTR(given))
        Callbacks::finish_message(message);
    completed_at_once("send a message", given);
}

} // namespace rmalock::ucx
