// How a worker begins: context, handlers of messages, its address, how long keys are.
#include <utility>

#include "ucx_glue/callbacks.hh"
#include "ucx_glue/memory.hh"

namespace rmalock::ucx {

namespace {

Bytes read_address(ucp_worker* worker) {
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    check("get the worker's address", ucp_worker_get_address(worker, &address, &bytes));
    const auto* first = reinterpret_cast<const std::byte*>(address);
    Bytes copy(first, first + bytes);
    ucp_worker_release_address(worker, address);
    return copy;
}

} // namespace

Worker::Worker(const Options& options)
    : Worker(options, ucx::open({.expected_peers = options.expected_peers,
                                 .connects_in_progress = options.connects_in_progress,
                                 .narrow_atomics = options.narrow_atomics})) {}

Worker::Worker(const Options& options, Opened&& opened)
    : options_(options), atomics_(std::move(opened.atomics)),
      most_message_bytes_(kMostMessageBytes), takes_descriptors_(opened.links_by_tcp),
      context_(std::move(opened.context)), worker_(std::move(opened.worker)) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kMessageId;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = Callbacks::received;
    handler.arg = this;
    check("set the message handler", ucp_worker_set_am_recv_handler(worker_.get(), &handler));
    handler.id = kWordId;
    handler.cb = Callbacks::word_received;
    check("set the handler of words", ucp_worker_set_am_recv_handler(worker_.get(), &handler));
    address_ = read_address(worker_.get());
    measure_key();
}

void Worker::measure_key() {
    alignas(64) std::byte memory[64]{};
    key_bytes_ = Registration(*this, memory, sizeof memory).key().size();
}

} // namespace rmalock::ucx
