// The functions that UCX calls: all run inside ucp_worker_progress or a post, with the worker
// locked, below C code that no exception may cross.
#pragma once

#include "ucx_glue/status.hh"
#include "ucx_glue/worker.hh"

namespace rmalock::ucx {

constexpr unsigned kMessageId = 17, kWordId = 18;
/// With our prefix and UCX's own headers it stays within the 64 KiB pieces of TCP that Worker asks
/// for: one system call for each. Other transports send it in several fragments.
constexpr std::size_t kMostMessageBytes = (64U << 10) - 256;

struct Callbacks {
    /// A put, get or posted word is complete at this side.
    static void posted(void* request, ucs_status_t status, void* operation);
    /// A fetch has its reply.
    static void fetched(void* request, ucs_status_t status, void* operation);
    /// A flush is complete at the peer.
    static void flushed(void* request, ucs_status_t status, void* operation);
    /// A message has left, or UCX has a copy.
    static void sent(void* request, ucs_status_t status, void* message);
    /// A message has come in.
    static ucs_status_t received(void* worker, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* param);
    /// A sent word, or what goes to and fro in a flush of such words.
    static ucs_status_t word_received(void* worker, const void* header, std::size_t header_bytes,
                                      void* data, std::size_t bytes,
                                      const ucp_am_recv_param_t* param);

    static void take_word(Worker& worker, PeerId from, const WordMessage& message);

    // The same for what UCX completed at once, without a callback.
    static void finish_posted(Operation& operation);
    static void finish_fetch(Operation& operation);
    static void finish_flush(Operation& operation);
    static void finish_message(Message& message);
};

/// The attributes of an operation that tells `callback` about its end.
inline ucp_request_param_t telling(ucp_send_nbx_callback_t callback, void* object) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.cb.send = callback;
    param.user_data = object;
    return param;
}

} // namespace rmalock::ucx
