// What a window sends to one target, until it is known to be applied.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "network/answers.hh"
#include "network/message.hh"
#include "ucx_glue/completion.hh"

namespace rmalock::ucx {
class Peer;
class Worker;
} // namespace rmalock::ucx

namespace rmalock::network {

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

    /// The window at the target that they are for, and where this process takes answers; before the
    /// first.
    void address(WindowId window, Answers& answers) {
        window_ = window;
        answers_ = &answers;
    }
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
    void send_flush(ucx::Worker& worker, ucx::Peer& peer);

    std::mutex mutex_; ///< keeps the order of the counts that of the messages
    WindowId window_{};
    Answers* answers_ = nullptr;
    std::atomic<std::uint64_t> sent_{0};
    std::uint64_t expected_ = 0; ///< so much of it an answer is under way for, or has come
    std::atomic<bool> used_{false};
    std::atomic<std::uint64_t> asked_{0}, acknowledged_{0};
    ucx::Completion results_;
};

} // namespace rmalock::network
