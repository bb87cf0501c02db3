// What a process has of UCX: one context, one worker, and an endpoint to each process it has talked to.
//
// Every function may be called by any thread, and locks the worker for as long as it takes; the functions
// whose names end in _locked are for handlers, which run with the worker locked. A call that waits
// (fetch, read_word, flush, wait_for) runs the worker's progress and the progress of `waiter` while it does,
// and is not called from a handler.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "fabric/waiter.hh"
#include "ucx_glue/completion.hh"
#include "ucx_glue/memory.hh"
#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// Another process. Owned by the worker, shared by all windows; lives until the worker closes.
class Peer {
  public:
    explicit Peer(PeerId id, Bytes address) : id_(id), address_(std::move(address)) {}
    PeerId id() const { return id_; }

  private:
    friend class Worker;
    friend class RemoteKey;
    PeerId id_;
    Bytes address_;
    ucp_ep* endpoint_ = nullptr;          ///< created on first use
    std::uint64_t outstanding_ = 0;       ///< puts, gets and posted atomics not complete at this side
    bool unflushed_ = false;              ///< something was posted since the last flush
};

/// The atomics that return what was there before.
enum class Fetch { add, swap, compare_swap };

/// What was sent over the worker, for tests and statistics.
struct Counters {
    std::uint64_t fetches = 0;  ///< atomics that return a value: a round trip each
    std::uint64_t reads = 0;    ///< read_word: a round trip each
    std::uint64_t posts = 0;    ///< atomics and words that return nothing
    std::uint64_t puts = 0, gets = 0;
    std::uint64_t flushes = 0;  ///< flushes that had something to wait for: a round trip each
    std::uint64_t messages = 0; ///< active messages sent
};

/// Handles an active message: who sent it, its header, its data. Runs with the worker locked, in any thread
/// that runs progress, the progress thread included; never calls MPI, never waits. Both ranges end with
/// the call.
using MessageHandler = void (*)(PeerId from, std::span<const std::byte> header,
                                std::span<const std::byte> data);

class Worker {
  public:
    struct Options {
        PeerId self = 0;
        /// Peers this process is expected to talk to (UCX chooses transports by it; equal on all ranks).
        std::size_t expected_peers = 2;
        /// Puts, gets and posted atomics that are given to UCX at a time; more wait in a queue.
        std::size_t most_outstanding = 1024;
        MessageHandler handler = nullptr;
        /// Called with the worker locked after every round of progress: work that a handler put off.
        void (*after_progress)() = nullptr;
    };

    /// Throws Error.
    explicit Worker(const Options& options);
    /// Closes the endpoints. Nothing may be outstanding, on either side; the caller has seen to that.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// The address by which other processes open endpoints to this one.
    const Bytes& address() const { return address_; }
    /// Bytes of a packed key; keys of other memory may be a little longer.
    std::size_t key_bytes() const { return key_bytes_; }

    /// The peer called `id`, or null if nobody has introduced it yet.
    Peer* find(PeerId id);
    /// Makes a peer known. Nothing is sent. If it is known already, the address is ignored.
    Peer& introduce(PeerId id, std::span<const std::byte> address);

    /// One round: serves what others sent, completes operations, issues queued ones. Returns at once
    /// if another thread is at it. Returns whether anything happened.
    bool progress();

    /// Until done() is true.
    template <class Done>
    void wait_for(const fabric::Waiter& waiter, Done&& done) {
        const Inside inside(*this);
        waiter.until([&] {
            if (done())
                return true;
            progress();
            return done();
        });
    }

    // ---- words: 64 bits, naturally aligned, atomic ----------------------------------------------
    /// compare_swap: `operand` is what is expected, `desired` what is stored then.
    std::uint64_t fetch(const fabric::Waiter& waiter, Peer& peer, Fetch what, RemoteAddress address,
                        const RemoteKey& key, std::uint64_t operand, std::uint64_t desired = 0);
    std::uint64_t read_word(const fabric::Waiter& waiter, Peer& peer, RemoteAddress address,
                            const RemoteKey& key);
    /// Posted: complete after the next flush of the peer.
    void post_add(Peer& peer, RemoteAddress address, const RemoteKey& key, std::uint64_t operand);
    /// Posted store of a word. `by_swap`: as an atomic, so that a transport whose puts are done by a CPU,
    /// byte by byte, cannot tear it; else as a put (words that no atomic touches).
    void post_store(Peer& peer, RemoteAddress address, const RemoteKey& key, std::uint64_t value,
                    bool by_swap);

    // ---- data -----------------------------------------------------------------------------------
    /// Both go out at once, or when there is room. `completion`, if given, expects one part more until the
    /// operation is complete at this side; the buffer must stay until then.
    void put(Peer& peer, const void* origin, std::size_t bytes, RemoteAddress address,
             const RemoteKey& key, Completion* completion = nullptr);
    void get(Peer& peer, void* origin, std::size_t bytes, RemoteAddress address,
             const RemoteKey& key, Completion* completion = nullptr);

    /// Every put, get and posted word of this process to the peer is complete at both sides.
    void flush(const fabric::Waiter& waiter, Peer& peer);
    /// The same of all peers, side by side.
    void flush_all(const fabric::Waiter& waiter);
    /// Complete at this side.
    void flush_local(const fabric::Waiter& waiter, Peer& peer);
    void flush_local_all(const fabric::Waiter& waiter);

    // ---- active messages -------------------------------------------------------------------------
    /// Sends header and data, both copied. Messages to one peer arrive in the order they were sent.
    /// At most most_message_bytes() in total.
    void send(Peer& peer, std::span<const std::byte> header, std::span<const std::byte> data);
    void send_locked(Peer& peer, std::span<const std::byte> header, std::span<const std::byte> data);
    std::size_t most_message_bytes() const { return most_message_bytes_; }

    Counters counters() const;

    /// The descriptor that becomes readable when something arrives (UCP_FEATURE_WAKEUP).
    int event_descriptor() const;
    /// To be called before sleeping on it; false: there is work, do not sleep.
    bool arm();

    /// Marks a thread that is inside a wait, so that the progress thread stands back.
    class Inside {
      public:
        explicit Inside(Worker& worker) : worker_(worker) { ++worker_.inside_; }
        ~Inside() { --worker_.inside_; }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

      private:
        Worker& worker_;
    };
    bool somebody_inside() const { return inside_.load(std::memory_order_relaxed) != 0; }

  private:
    friend class Registration;
    friend class RemoteKey;
    std::mutex mutex_;
    std::atomic<int> inside_{0};
    Bytes address_;
    std::size_t key_bytes_ = 0, most_message_bytes_ = 0;
    ucp_context* context_ = nullptr;
    ucp_worker* worker_ = nullptr;
    std::unordered_map<PeerId, std::unique_ptr<Peer>> peers_;
};

} // namespace rmalock::ucx
