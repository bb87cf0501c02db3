// Another process, as the worker knows it: how to reach it, how things stand with it (the worker
// only tells what happened: peer_state.hh), and what is under way to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "ucx_glue/operation.hh"
#include "ucx_glue/peer_state.hh"
#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// Another process. Owned by the worker, shared by all windows; lives until the worker closes.
class Peer : private PeerState {
  public:
    Peer(PeerId id, Bytes address, bool answers, std::uint64_t number)
        : id_(id), number_(number), address_(std::move(address)), answers_(answers) {}
    PeerId id() const { return id_; }
    using PeerState::lost;

  private:
    friend class Worker;
    friend struct Callbacks;
    /// Changed with the worker locked, read by waits without it.
    using Count = std::atomic<std::uint64_t>;

    /// Whether something may not have arrived at the peer yet.
    bool unflushed() const {
        if (lost())
            return false;
        return flushed_.load(std::memory_order_acquire) !=
                   posted_.load(std::memory_order_acquire) ||
               words_acked_.load(std::memory_order_acquire) !=
                   words_sent_.load(std::memory_order_acquire) ||
               words_way() == WordsWay::greeted;
    }

    /// All up to number `posted` is complete at the peer.
    void covered(std::uint64_t posted) {
        flushed_.store(std::max(posted, flushed_.load(std::memory_order_relaxed)),
                       std::memory_order_release);
    }

    /// What a greeting over the words' own endpoint says; over the other one it says 0.
    static constexpr std::uint64_t kWordsGreeting = ~std::uint64_t{0};
    /// What a pulse says (Worker::check_peers).
    static constexpr std::uint64_t kPulse = kWordsGreeting - 1;
    /// Comes as an answer, unasked: the peer is short of descriptors, and words are to go without
    /// an endpoint of their own.
    static constexpr std::uint64_t kTogether = kWordsGreeting - 2;

    /// All words up to number `sent` are stored; or a greeting or a pulse is answered.
    void acked(std::uint64_t words) {
        if (words == kPulse)
            return pulse_answered();
        if (words == kTogether)
            return refuse_second();
        if (words == kWordsGreeting)
            return words_answered();
        if (words == 0)
            answered();
        words_acked_.store(std::max(words, words_acked_.load(std::memory_order_relaxed)),
                           std::memory_order_release);
    }

    /// All words that were sent are stored: the next ones may take another way.
    bool all_words_stored() const {
        return words_acked_.load(std::memory_order_acquire) ==
               words_sent_.load(std::memory_order_relaxed);
    }

    /// Whether all that were posted since the last flush are answered: they are complete at the peer
    /// when they are at this side.
    bool has_only_read() const {
        return written_.load(std::memory_order_acquire) <= flushed_.load(std::memory_order_acquire);
    }

    /// Whether a put or get may not have arrived; words that were posted since do not count.
    bool data_unflushed() const {
        return flushed_.load(std::memory_order_acquire) < data_.load(std::memory_order_acquire);
    }

    /// Whether a posted word may not have arrived; puts and gets that were posted since do not
    /// count.
    bool words_unflushed() const {
        return flushed_.load(std::memory_order_acquire) < words_.load(std::memory_order_acquire) ||
               words_acked_.load(std::memory_order_acquire) !=
                   words_sent_.load(std::memory_order_acquire) ||
               words_way() == WordsWay::greeted;
    }

    /// Whether atomics on data may not have been done that another one has to come behind. Adds
    /// may overtake each other.
    bool elements_unflushed(bool before_add) const {
        const std::uint64_t flushed = flushed_.load(std::memory_order_acquire);
        return flushed < others_.load(std::memory_order_acquire) ||
               (!before_add && flushed < adds_.load(std::memory_order_acquire));
    }

    /// Operations do not complete in the order in which they were posted, so only 0 says which
    /// have. What has been completed is read first: it cannot overtake what was posted by then.
    std::uint64_t outstanding() const {
        const std::uint64_t completed = completed_.load(std::memory_order_acquire);
        return posted_.load(std::memory_order_acquire) - completed;
    }

    // As the peer was introduced (Worker::introduce).
    const PeerId id_;
    const std::uint64_t number_;
    const Bytes address_;
    const bool answers_;

    ucp_ep* endpoint_ = nullptr;       ///< created on first use
    ucp_ep* words_endpoint_ = nullptr; ///< see WordsWay
    std::size_t held_ = 0;             ///< see Worker::hold
    bool parted_ = false;              ///< was held, and is not any more
    // Puts, gets, posted words and atomics on data, counted in the order in which they were posted.
    // A flush covers what had been issued when it began; counts, not a flag, since other threads post while it is
    // under way.
    //
    // Callbacks release what they did by completed_, flushed_ and words_acked_, and threads that wait
    // acquire it. The others bring nothing along, and relaxed would do: the worker's lock orders
    // those that change them, and a thread sees at least what it has posted itself. outstanding()
    // reads posted_ behind completed_, which carries it.
    Count posted_{0};    ///< asked for
    Count data_{0};      ///< of posted_: up to the last that is no word
    Count words_{0};     ///< of posted_: up to the last word
    Count written_{0};   ///< of posted_: up to the last without such an answer (read_)
    Count read_{0};      ///< of posted_: up to the last whose answer says that it is done
    Count adds_{0};      ///< of posted_: up to the last element_add
    Count others_{0};    ///< of posted_: up to the last of the other atomics on data
    Count issued_{0};    ///< given to UCX
    Count completed_{0}; ///< complete at this side
    Count flushing_{0};  ///< complete at the peer when the last flush that began is
    Count flushed_{0};   ///< complete at the peer
    // Words that were sent, counted apart: they wait in no queue, and UCX's flush does not cover
    // them.
    Count words_sent_{0};      ///< sent
    Count asked_{0};           ///< of them: the peer was asked to say when it has stored them
    Count words_acked_{0};     ///< and has said so
    bool listed_ = false;      ///< is in the worker's list of peers to flush
    bool gave_a_sign_ = false; ///< something came of it since the worker looked (check_peers)
    std::unique_ptr<std::deque<QueuedTransfer>>
        queue_; ///< posted, not issued; null while there is none
};

} // namespace rmalock::ucx
