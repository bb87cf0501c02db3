// Active messages between the processes of a window: accumulates, and small puts and gets that were
// collected, which the target's CPU applies, and their acknowledgement; the end of an epoch. Everything else that windows
// do across the network needs no code at the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "network/window_id.hh"
#include "rmalock_api.h"
#include "ucx_glue/completion.hh"

namespace rmalock::network {

enum class MessageKind : std::uint8_t {
    accumulate,       ///< runs, operands -> result, if it has a ticket
    accumulate_flush, ///< runs, operands -> flushed, when it and all sent before have been applied
    compare_swap,     ///< one run, what is expected, what is desired -> result
    put,              ///< CopyRuns, the bytes
    put_flush,        ///< the same -> flushed, when it and all sent before have been applied
    get,              ///< CopyRuns -> result, the bytes
    complete,         ///< the sender's epoch is, for this target; no data
    flush,            ///< -> flushed, when everything sent before has been applied
    result,           ///< an answer, with data
    flushed,          ///< an answer
};

/// Of the requests with data: whether the answer is word that they have been applied.
constexpr bool asks_for_word(MessageKind kind) {
    return kind == MessageKind::accumulate_flush || kind == MessageKind::put_flush;
}

constexpr bool is_accumulate(MessageKind kind) {
    return kind == MessageKind::accumulate || kind == MessageKind::accumulate_flush;
}

constexpr bool is_put(MessageKind kind) {
    return kind == MessageKind::put || kind == MessageKind::put_flush;
}

constexpr bool is_copy(MessageKind kind) {
    return is_put(kind) || kind == MessageKind::get;
}

struct MessageHeader {
    MessageKind kind;
    std::uint8_t op; ///< rmalock_op_t; puts and gets have no operation, and elements of 1 byte
    std::uint8_t element_kind; ///< rmalock_kind_t
    std::uint8_t has_operand;
    std::uint16_t element_size, element_extent; ///< neighbours are an extent apart
    WindowId window;                            ///< at the target
    std::uint64_t runs;                         ///< how many runs the data begin with
    /// Names, at the sender of a request, what waits for the answer; 0: no answer is wanted.
    std::uint64_t ticket;
};

/// Neighbouring elements of the target: bytes from the start of its memory (an address in DYNAMIC
/// windows).
struct MessageRun {
    std::uint64_t offset, count;
};

/// `times` pieces of `bytes` at the target, each `stride` behind the one before.
struct CopyRun {
    std::uint64_t offset, bytes, stride, times;
};

/// What the C side keeps room for.
inline ucx::Completion* as_completion(rmalock_completion_t* completion) {
    static_assert(sizeof(ucx::Completion) == sizeof(rmalock_completion_t));
    static_assert(alignof(ucx::Completion) == alignof(rmalock_completion_t));
    return reinterpret_cast<ucx::Completion*>(completion);
}

inline std::span<const std::byte> bytes_of(const MessageHeader& header) {
    return std::as_bytes(std::span(&header, 1));
}

} // namespace rmalock::network
