// Active messages between the processes of a window: accumulates, and small puts and gets that were
// collected, which the target's CPU applies, and their acknowledgement; the end of an epoch. Everything else that windows
// do across the network needs no code at the target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>

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
    section,          ///< a critical section (section.hh) -> result: its outcome, the results
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

/// What `op` of a section says, added up.
struct SectionFlags {
    static constexpr std::uint8_t exclusive = 1; ///< the lock
    static constexpr std::uint8_t held = 2;      ///< the origin has it already
    static constexpr std::uint8_t keeps = 4;     ///< and has it on when the operations are done
    static constexpr std::uint8_t all = 7;
};

struct MessageHeader {
    MessageKind kind;
    /// rmalock_op_t; puts and gets have no operation, and elements of 1 byte; of a section its flags.
    std::uint8_t op;
    std::uint8_t element_kind; ///< rmalock_kind_t
    std::uint8_t has_operand;
    std::uint16_t element_size, element_extent; ///< neighbours are an extent apart
    WindowId window;                            ///< at the target
    std::uint64_t runs; ///< how many runs the data begin with; requests of a section
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

/// The answer to a section begins with it: what the target has done. Behind it is room for all results,
/// filled as far as requests were applied.
struct SectionOutcome {
    std::uint32_t applied = 0; ///< so many of the requests, from the first on
    bool over = false;         ///< all of them
    bool held = false;         ///< the origin has the lock, and has to release it
    std::uint64_t next = 0; ///< queue node of a process that has the lock, and is to be told; or 0
    std::uint64_t message = 0; ///< in these words
};

/// What the C side keeps room for.
inline ucx::Completion* as_completion(rmalock_completion_t* completion) {
    static_assert(sizeof(ucx::Completion) == sizeof(rmalock_completion_t));
    static_assert(alignof(ucx::Completion) == alignof(rmalock_completion_t));
    return reinterpret_cast<ucx::Completion*>(completion);
}

/// Takes `bytes` from the front of a message's data.
inline std::span<const std::byte> take(std::span<const std::byte>& data, std::size_t bytes) {
    if (bytes > data.size())
        throw std::runtime_error("a message that is too short");
    const auto front = data.first(bytes);
    data = data.subspan(bytes);
    return front;
}
template <class T>
T take_value(std::span<const std::byte>& data) {
    T value;
    std::memcpy(&value, take(data, sizeof value).data(), sizeof value);
    return value;
}

/// A request of a section. The data of a section are 8 bytes, how many bytes of results its requests
/// have, and the requests, one behind the other: header, 8 bytes: how many bytes of data, the data.
struct SectionRequest {
    MessageHeader header;
    std::span<const std::byte> data;

    /// The first of what is left of a section's data.
    static SectionRequest take_from(std::span<const std::byte>& data) {
        const auto header = take_value<MessageHeader>(data);
        return {header, take(data, take_value<std::uint64_t>(data))};
    }
};

inline std::span<const std::byte> bytes_of(const MessageHeader& header) {
    return std::as_bytes(std::span(&header, 1));
}

} // namespace rmalock::network
