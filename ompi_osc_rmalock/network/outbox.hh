// What a window sends to one target, until it is known to be applied.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "network/answers.hh"
#include "network/departures.hh"
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
///
/// Small accumulates may be held back, for Departures::kHold at most: those of one operation and
/// type that follow each other go in one message, and word that all have been applied comes back
/// for the same message. Nothing that is sent to the target overtakes them.
class Outbox final : public Departing {
  public:
    /// What the target is not known to have applied, at most; more than a network holds.
    static constexpr std::uint64_t kMost = 8U << 20;
    /// After so much the target is asked for word of it, so that room comes back before there is
    /// none.
    static constexpr std::uint64_t kAskEach = kMost / 4;
    static_assert(kAskEach < kMost, "without room, word of some request is under way");
    /// What a waiting request takes beside its data.
    static constexpr std::uint64_t kRequest = 2 * sizeof(MessageHeader);
    /// What goes in one message of accumulates that were held back, and of that, what one may add.
    static constexpr std::size_t kMostHeld = 16U << 10, kMostHeldAtOnce = 4U << 10;

    /// What an outbox uses of its process.
    struct Office {
        ucx::Worker& worker;
        Answers& answers;
        Departures& departures;
    };

    ~Outbox();
    /// The window at the target that they are for; before the first.
    void address(const Office& office, ucx::Peer& peer, WindowId window) {
        worker_ = &office.worker;
        answers_ = &office.answers;
        departures_ = &office.departures;
        peer_ = &peer;
        window_ = window;
    }
    /// Sends a request. `result`, if not null, receives `result_bytes` from the answer;
    /// `completion` (may be null) then expects a part more until it has. False: the next one has to
    /// wait until has_room().
    [[nodiscard]] bool send(MessageHeader header, std::span<const std::byte> data,
                            std::byte* result, std::size_t result_bytes,
                            ucx::Completion* completion);
    /// Holds an accumulate back that fetches nothing. The return value is as above.
    [[nodiscard]] bool hold(const MessageHeader& header, std::span<const MessageRun> runs,
                            std::span<const std::byte> operands);
    bool try_to_depart() override;
    bool has_room() const {
        const std::uint64_t acknowledged = acknowledged_.load(std::memory_order_acquire);
        return sent_.load(std::memory_order_relaxed) - acknowledged < kMost;
    }
    /// Asks for word that all have been applied, unless that is under way; false: all have.
    bool ask();
    /// Whether all that were sent before the last ask() have been applied.
    bool applied() const { return acknowledged_.load(std::memory_order_acquire) >= asked_.load(); }
    /// Whether all have been, as far as this side has heard.
    bool all_applied();
    bool used() const { return used_.load(std::memory_order_acquire); }
    /// Whether all results are there.
    bool results_done() const { return results_.done(); }

  private:
    /// Accumulates of one operation and type.
    struct Held {
        MessageHeader header{};
        std::vector<MessageRun> runs;
        std::vector<std::byte> operands;

        std::size_t bytes() const { return runs.size() * sizeof(MessageRun) + operands.size(); }
        bool takes(const MessageHeader& more, std::size_t more_bytes) const;
    };

    /// The message of what is held; `asks` for word of it.
    std::vector<std::byte> pack(MessageHeader& header, bool asks);
    void send_held(bool asks);
    void send_flush();
    std::uint64_t expect_word();

    std::mutex mutex_; ///< keeps the order of the counts that of the messages
    ucx::Worker* worker_ = nullptr;
    ucx::Peer* peer_ = nullptr;
    Answers* answers_ = nullptr;
    Departures* departures_ = nullptr;
    WindowId window_{};
    Held held_;
    std::atomic<std::uint64_t> sent_{0};
    std::uint64_t expected_ = 0; ///< so much of it an answer is under way for, or has come
    std::atomic<bool> used_{false};
    std::atomic<std::uint64_t> asked_{0}, acknowledged_{0};
    ucx::Completion results_;
};

} // namespace rmalock::network
