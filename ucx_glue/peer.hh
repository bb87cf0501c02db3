// Another process, as the worker knows it: how far they have come with each other, and what is
// under way between them.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include "ucx_glue/operation.hh"
#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// Over how many connections of the transports' an endpoint sends. Over one, all arrives in the
/// order in which it was sent; over several ucp_worker_fence is not relied on, which in UCX's weak
/// mode (UCX_FENCE_MODE) has no lane wait for another.
enum class Lanes : std::uint8_t { unknown, one, several };

/// How far this process has come with a peer. Puts wait until something has come back: while both
/// sides connect at once, UCX 1.13 can lose what a put over TCP waits for, and crash.
///
///     none -> greeted -> met    (an answer to a fetch is as good as one to a greeting)
enum class Contact : std::uint8_t { none, greeted, met };

/// Which way sent words go (Worker::send_word). Another endpoint, for them alone, is opened for
/// peers that are sent words often while descriptors are plenty. Words take it once it has brought
/// something back and all that went over the first one are stored. So a release does not wait for a
/// connection while the next lock overtakes it.
///
///     shared -> greeted -> met -> apart    (and shared again when the endpoints are closed)
enum class WordsWay : std::uint8_t {
    shared,  ///< over the endpoint for all else; there is no other one
    greeted, ///< the same; the words' own was greeted and has brought nothing back: flushes wait
             ///< for that, so that no peer is asked that may have gone
    met,     ///< the same; it has, and words take it once all that were sent are stored
    apart,   ///< over their own endpoint
};

/// Another process. Owned by the worker, shared by all windows; lives until the worker closes.
class Peer {
  public:
    Peer(PeerId id, Bytes address, bool answers, std::uint64_t number)
        : id_(id), number_(number), address_(std::move(address)), answers_(answers) {}
    PeerId id() const { return id_; }
    /// See PeerLost. It stays so.
    bool lost() const { return lost_.load(std::memory_order_acquire); }

  private:
    friend class Worker;
    friend class RemoteKey;
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
            return pulse_.reset();
        if (words == kTogether) {
            together_ = true;
            return;
        }
        if (words == kWordsGreeting) {
            if (words_way() == WordsWay::greeted) // else it is late: the endpoints were closed
                go(WordsWay::met);
            return;
        }
        if (words == 0)
            contact_ = Contact::met;
        words_acked_.store(std::max(words, words_acked_.load(std::memory_order_relaxed)),
                           std::memory_order_release);
    }

    bool met() const { return contact_ == Contact::met; }
    /// Whether the caller is to greet it.
    bool begins_contact() {
        const bool begins = contact_ == Contact::none;
        if (begins)
            contact_ = Contact::greeted;
        return begins;
    }
    WordsWay words_way() const { return words_way_.load(std::memory_order_acquire); }
    void go(WordsWay way) { words_way_.store(way, std::memory_order_release); }

    /// The endpoints are closed; the next use opens others.
    void parted() {
        contact_ = Contact::none;
        go(WordsWay::shared);
        sends_words_apart_ = false;
        pulse_.reset();
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

    PeerId id_;
    std::atomic<bool> lost_{false};
    std::uint64_t number_; ///< see Worker::introduce
    Bytes address_;
    bool answers_;                                               ///< see Worker::introduce
    std::optional<std::chrono::steady_clock::time_point> pulse_; ///< since when one is unanswered
    ucp_ep* endpoint_ = nullptr;                                 ///< created on first use
    ucp_ep* words_endpoint_ = nullptr;                           ///< see WordsWay
    std::atomic<WordsWay> words_way_{WordsWay::shared};
    bool together_ = false;          ///< no endpoint is to be opened for words
    bool sends_words_apart_ = false; ///< the peer has such an endpoint to this process
    std::size_t held_ = 0;           ///< see Worker::hold
    Contact contact_ = Contact::none;
    Lanes lanes_ = Lanes::unknown;
    // Puts, gets, posted words and atomics on data, counted in the order in which they were posted.
    // A flush covers what had been issued when it began; counts, not a flag, since other threads post while it is
    // under way.
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
    Count words_sent_{0};  ///< sent
    Count asked_{0};       ///< of them: the peer was asked to say when it has stored them
    Count words_acked_{0}; ///< and has said so
    bool listed_ = false;  ///< is in the worker's list of peers to flush
    std::unique_ptr<std::deque<QueuedTransfer>>
        queue_; ///< posted, not issued; null while there is none
};

} // namespace rmalock::ucx
