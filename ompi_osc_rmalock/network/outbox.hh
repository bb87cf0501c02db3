// What a window sends to one target, until it is known to be applied.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "network/answers.hh"
#include "network/departures.hh"
#include "network/message.hh"
#include "network/section.hh"
#include "ucx_glue/completion.hh"

namespace rmalock::ucx {
class Peer;
class Worker;
} // namespace rmalock::ucx

namespace rmalock::network {

/// A small put or get.
struct Copy {
    std::byte* origin;
    std::size_t bytes;
    std::uint64_t offset; ///< as in CopyRun
};

/// The messages of a window to one target, as the origin counts them: by the bytes that they and
/// their answers take at a target.
///
/// A target that cannot apply a message at once has taken it from UCX (WaitingRequests), which then
/// lets the origin send more. So the origin bounds them: of each origin and window kMost bytes wait
/// at a target, and one message more for each thread of the origin.
///
/// Small accumulates, puts and gets may be held back, for Departures::kHold at most: accumulates of
/// one operation and type that follow each other go in one message, puts do, and gets, and word that
/// all have been applied comes back for the same message. Nothing that is sent to the target
/// overtakes them.
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
    /// What goes in one message of what was held back, or comes back for it, and of that, what one
    /// call may add.
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
    /// Sends a request. If `awaited` has a result, that receives its bytes from the answer, and the
    /// completion expects a part more until it has. False: the next one has to wait until
    /// has_room().
    [[nodiscard]] bool send(MessageHeader header, std::span<const std::byte> data,
                            const Awaited& awaited);
    /// Holds back an accumulate that fetches nothing. The return value is as above.
    [[nodiscard]] bool hold(const MessageHeader& header, std::span<const MessageRun> runs,
                            std::span<const std::byte> operands);
    /// Holds back puts, whose bytes are copied, or gets. The completion, if given, expects a part
    /// more for each get. The return value is as above.
    [[nodiscard]] bool collect(MessageKind kind, std::span<const Copy> copies,
                               ucx::Completion* completion);
    /// What is sent, held or collected from here on goes into a critical section of one message.
    void begin_section();
    /// Whether one is being collected that is empty.
    bool section_is_empty() const { return section_->empty(); }
    /// Whether the program wants something back from it.
    bool section_fetches() const { return section_->results() != 0; }
    /// Whether a call of so many bytes fits.
    bool section_takes(std::size_t bytes) const { return section_->takes(bytes); }
    /// Sends it, with SectionFlags. `outcome` is there once results_done(); if not all was applied, the
    /// rest is to be sent by end_section().
    void send_section(std::uint8_t flags, SectionOutcome& outcome);
    /// From here on all goes as always, beginning with the section's requests but for so many.
    void end_section(std::size_t applied);
    bool try_to_depart() override;
    /// Sends what is held.
    void depart();
    /// Sends what is held, so that an atomic that goes the same way in order comes behind all puts.
    /// Returns the number to acknowledge once it is answered. Nothing: something else may still
    /// wait at the target.
    std::optional<std::uint64_t> depart_before_atomic();
    void acknowledge(std::uint64_t number) { network::acknowledge(acknowledged_, number); }
    bool has_room() const {
        const std::uint64_t acknowledged = acknowledged_.load(std::memory_order_acquire);
        return sent() - acknowledged < kMost;
    }
    /// Asks for word that all have been applied, unless that is under way; false: all have.
    bool ask();
    /// Whether all that were sent before the last ask() have been applied.
    bool applied() const { return applied_up_to(asked_); }
    /// Whether all have been, as far as this side has heard.
    bool all_applied() const { return applied_up_to(sent_); }
    /// Whether all but puts have been.
    bool all_but_puts_applied() const { return applied_up_to(behind_others_); }
    bool used() const { return used_.load(std::memory_order_relaxed); }
    /// Whether all results are there.
    bool results_done() const { return results_.done(); }
    /// What has_results_of() takes for those that were asked for so far: other threads go on asking.
    std::uint64_t asked_so_far() {
        const std::lock_guard lock(mutex_);
        return expected_;
    }
    bool has_results_of(std::uint64_t asked) const {
        return results_.done() || applied_up_to(asked);
    }

  private:
    /// Whether a message asks for word that it has been applied.
    enum class Asks { never, when_due, now };

    /// Accumulates of one operation and type, puts, or gets.
    struct Held {
        MessageHeader header{};
        std::vector<MessageRun> runs; ///< of accumulates
        std::vector<CopyRun> copies;  ///< of puts and gets
        std::vector<std::byte> operands;
        std::vector<Awaited> awaited;
        std::size_t awaited_bytes = 0;

        bool empty() const { return runs.empty() && copies.empty(); }
        std::size_t bytes() const {
            return runs.size() * sizeof(MessageRun) + copies.size() * sizeof(CopyRun) +
                   operands.size();
        }
        bool takes(const MessageHeader& more, std::size_t more_bytes,
                   std::size_t more_awaited) const;
        /// What a copy adds, at most; it may go into the run before it.
        static std::size_t bytes_of(MessageKind kind, const Copy& copy) {
            return sizeof(CopyRun) + (kind == MessageKind::put ? copy.bytes : 0);
        }
        void add(const Copy& copy, ucx::Completion* completion);
        std::vector<std::byte> data() const;
    };

    bool applied_up_to(const std::atomic<std::uint64_t>& number) const {
        return acknowledged_.load(std::memory_order_acquire) >=
               number.load(std::memory_order_relaxed);
    }
    std::uint64_t sent() const { return sent_.load(std::memory_order_relaxed); }
    /// Makes room in what is held, and begins it. Of what an addition and its answer take.
    void make_room(const MessageHeader& header, std::size_t more, std::size_t more_awaited);
    /// The message of what is held.
    std::vector<std::byte> pack(MessageHeader& header, Asks asks);
    void send_held(Asks asks);
    /// A request, and the answers that belong to it.
    void send_now(MessageHeader header, std::span<const std::byte> data,
                  std::vector<Awaited>&& awaited);
    void add_to_section(Held&& held);
    void transmit(const MessageHeader& header, std::span<const std::byte> data);
    void send_flush();
    void count(const MessageHeader& header, std::uint64_t bytes);
    std::uint64_t expect_word();
    std::uint64_t expect_results(std::vector<Awaited>&& parts);

    std::mutex mutex_; ///< keeps the order of the counts that of the messages
    ucx::Worker* worker_ = nullptr;
    ucx::Peer* peer_ = nullptr;
    Answers* answers_ = nullptr;
    Departures* departures_ = nullptr;
    WindowId window_{};
    Held held_;
    std::optional<Section> section_;
    // Changed under mutex_, but for acknowledged_. Relaxed, also for looks without it: a thread sees
    // what it has sent and asked for itself, and what others had before in the order of the program.
    std::atomic<std::uint64_t> sent_{0}, behind_others_{0}; ///< the latter: up to the last but puts
    std::uint64_t expected_ = 0; ///< so much of it an answer is under way for, or has come
    std::atomic<bool> used_{false};
    std::atomic<std::uint64_t> asked_{0}; ///< of sent_, at the last ask()
    /// Released with the results (acknowledge), acquired by threads that take them for there. In
    /// has_room() it is read first, and brings a sent_ that is no less.
    std::atomic<std::uint64_t> acknowledged_{0};
    ucx::Completion results_;
};

} // namespace rmalock::network
