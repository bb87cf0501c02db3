// Active messages between the processes of a window: accumulates that the target's CPU applies, and
// their acknowledgement. Everything else that windows do across the network needs no code at the
// target.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "network/window_id.hh"
#include "rmalock_api.h"
#include "ucx_glue/completion.hh"
#include "ucx_glue/types.hh"

namespace rmalock::ucx {
class Peer;
class Worker;
} // namespace rmalock::ucx

namespace rmalock::network {

enum class MessageKind : std::uint8_t {
    accumulate,   ///< runs, operands -> result, if it has a ticket
    compare_swap, ///< one run, what is expected, what is desired -> result
    flush,        ///< -> flushed, when everything sent before has been applied
    result,       ///< an answer, with data
    flushed,      ///< an answer
};

struct MessageHeader {
    MessageKind kind;
    std::uint8_t op;           ///< rmalock_op_t
    std::uint8_t element_kind; ///< rmalock_kind_t
    std::uint8_t has_operand;
    std::uint32_t element_size;
    WindowId window;    ///< at the target
    std::uint64_t runs; ///< how many Runs the data begin with
    /// Names, at the sender of a request, what waits for the answer; 0: no answer is wanted.
    std::uint64_t ticket;
};

/// Neighbouring elements of the target: bytes from the start of its memory (an address in DYNAMIC
/// windows).
struct MessageRun {
    std::uint64_t offset, count;
};

/// What the C side keeps room for.
inline ucx::Completion* as_completion(rmalock_completion_t* completion) {
    static_assert(sizeof(ucx::Completion) == sizeof(rmalock_completion_t));
    static_assert(alignof(ucx::Completion) == alignof(rmalock_completion_t));
    return reinterpret_cast<ucx::Completion*>(completion);
}

/// The messages of a window to one target, as the origin counts them: by the bytes that they and
/// their answers take at a target.
///
/// A target that cannot apply a message at once has taken it from UCX (WaitingRequests), which then
/// lets the origin send more. So the origin bounds them: of each origin and window kMost bytes wait
/// at a target, and one message more for each thread of the origin.
class Outbox {
  public:
    /// What the target is not known to have applied, at most; more than a network holds.
    static constexpr std::uint64_t kMost = 8U << 20;
    /// After so much the target is asked for word of it, so that room comes back before there is
    /// none.
    static constexpr std::uint64_t kAskEach = kMost / 4;
    static_assert(kAskEach < kMost, "without room, word of some request is under way");
    /// What a waiting request takes beside its data.
    static constexpr std::uint64_t kRequest = 2 * sizeof(MessageHeader);

    /// The window at the target that they are for; before the first.
    void address(WindowId window) { window_ = window; }
    /// Sends a request. `result`, if not null, receives `result_bytes` from the answer;
    /// `completion` (may be null) then expects a part more until it has. False: the next one has to
    /// wait until has_room().
    [[nodiscard]] bool send(ucx::Worker& worker, ucx::Peer& peer, MessageHeader header,
                            std::span<const std::byte> data, std::byte* result,
                            std::size_t result_bytes, ucx::Completion* completion);
    bool has_room() const {
        const std::uint64_t acknowledged = acknowledged_.load(std::memory_order_acquire);
        return sent_.load(std::memory_order_relaxed) - acknowledged < kMost;
    }
    /// Asks for word that all have been applied, unless that is under way; false: all have.
    bool ask(ucx::Worker& worker, ucx::Peer& peer);
    /// Whether all that were sent before the last ask() have been applied.
    bool applied() const { return acknowledged_.load(std::memory_order_acquire) >= asked_.load(); }
    /// Whether all have been, as far as this side has heard.
    bool all_applied();
    bool used() const { return used_.load(std::memory_order_acquire); }
    /// Whether all results are there.
    bool results_done() const { return results_.done(); }

  private:
    friend class Messages;
    void send_flush(ucx::Worker& worker, ucx::Peer& peer);

    std::mutex mutex_; ///< keeps the order of the counts that of the messages
    WindowId window_{};
    std::atomic<std::uint64_t> sent_{0};
    std::uint64_t expected_ = 0; ///< so much of it an answer is under way for, or has come
    std::atomic<bool> used_{false};
    std::atomic<std::uint64_t> asked_{0}, acknowledged_{0};
    ucx::Completion results_;
};

/// The receiving end. With the worker locked, in whichever thread runs progress.
class Messages {
  public:
    static void handle(ucx::PeerId from, std::span<const std::byte> header,
                       std::span<const std::byte> data);
    /// Tries again what could not be applied. True: some of it still waits.
    static bool retry();

  private:
    static bool serve(ucx::PeerId from, const MessageHeader& header,
                      std::span<const std::byte> data);
    static void answered(const MessageHeader& header, std::span<const std::byte> data);
};

} // namespace rmalock::network
