// What a process has of UCX: one context, one worker, and an endpoint to each process it has talked
// to.
//
// Every function may be called by any thread, and locks the worker for as long as it takes; the
// functions whose names end in _locked are for handlers, which run with the worker locked; find and
// introduce are for both. A call that waits (fetch, read_word, flush, send, wait_for) runs the
// worker's progress and the progress of `waiter` while it does, and is not called from a handler.
//
// An operation that UCX accepted and then failed cannot be reported by the call that started it:
// the worker keeps the first such failure, and progress() throws it, so that every wait ends.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "fabric/waiter.hh"
#include "ucx_glue/atomic_requests.hh"
#include "ucx_glue/completion.hh"
#include "ucx_glue/descriptors.hh"
#include "ucx_glue/opening.hh"
#include "ucx_glue/operation.hh"
#include "ucx_glue/peer.hh"
#include "ucx_glue/peers.hh"
#include "ucx_glue/relief.hh"
#include "ucx_glue/types.hh"
#include "ucx_glue/worker_options.hh"

namespace rmalock::ucx {

/// What was sent over the worker, for tests and statistics.
struct Counters {
    std::uint64_t fetches = 0; ///< atomics that return a value: a round trip each
    std::uint64_t reads = 0;   ///< read_word: a round trip each
    std::uint64_t posts = 0;   ///< atomics and words that return nothing, sent ones included
    std::uint64_t puts = 0, gets = 0;
    std::uint64_t flushes = 0;  ///< flushes that had something to wait for: a round trip each
    std::uint64_t messages = 0; ///< active messages sent
    std::uint64_t elements = 0; ///< atomics on data
};

struct WordMessage;

/// To other processes: the first ones to each, and the second ones, for sent words. Over TCP each
/// is a descriptor, which UCX has both directions share.
struct Connections {
    std::size_t first = 0, second = 0;
};

class Worker {
  public:
    /// Messages that this side still keeps a copy of before send() waits.
    static constexpr std::size_t kMostMessages = 1024, kMostBytesOfMessages = 8U << 20;

    using Options = WorkerOptions;

    /// Throws Error.
    explicit Worker(const Options& options);
    /// Disconnects, if that has not been done and is wanted (Options). Nothing may be outstanding
    /// then, on either side; the caller has seen to that.
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// Closes the endpoints, in bounded time. The worker still answers others: when all processes
    /// have come back from this, they can go without one of them missing another's answer.
    void disconnect();
    /// For peers that may go before this process does: release closes, in bounded time, the
    /// endpoints of those that nobody holds any more. Nothing may be outstanding, on either side,
    /// and the peers do the same. The next use opens another endpoint. Returns what introduce() was told
    /// as the number of each of these.
    void hold(const std::vector<Peer*>& peers);
    std::vector<std::uint64_t> release(const std::vector<Peer*>& peers);

    /// The address by which other processes open endpoints to this one.
    const Bytes& address() const { return address_; }
    /// What does its atomics.
    const Atomics& atomics() const { return atomics_; }
    /// Bytes of a packed key; keys of other memory may be a little longer.
    std::size_t key_bytes() const { return key_bytes_; }

    /// The peer called `id`, or null if nobody has introduced it yet.
    Peer* find(PeerId id) const;
    /// Makes a peer known. Nothing is sent. `answers`: it has a progress thread, so that it answers
    /// whatever the program does. `number`: by which the host names it. If it is known already, the
    /// rest is ignored.
    Peer& introduce(PeerId id, std::span<const std::byte> address, bool answers = false,
                    std::uint64_t number = 0);
    /// Whether a connection takes a file descriptor: TCP links the nodes.
    bool takes_descriptors() const { return takes_descriptors_; }
    /// Whether an adapter may access memory, by keys. TCP takes no keys.
    bool needs_keys() const { return !takes_descriptors_; }
    Connections connections() const;
    /// Connects, unless that has been done, and waits until the peer has answered.
    void connect(const fabric::Waiter& waiter, Peer& peer);
    /// One connection to that peer has to do: words are sent without one of their own.
    void keep_together(Peer& peer);
    /// To be called often: looks now and then how many descriptors are left.
    void check_descriptors();
    /// To be called often: while a thread waits, asks the peers that answer now and then whether
    /// they are there. Once one has been silent for `timeout` that is a failure of the worker.
    void check_peers(std::chrono::steady_clock::duration timeout);
    /// How often within the timeout.
    static constexpr int kPulses = 4;

    /// One round: serves what others sent, completes operations, issues queued ones. Returns at
    /// once if another thread is at it. Returns whether anything happened. Throws Error once an
    /// operation has failed.
    bool progress();
    /// The same for the progress thread, whose calls visits() does not count.
    bool serve();
    /// The progress thread has to give up, for this reason: calls throw it, unless an operation has
    /// failed before.
    void fail(const std::string& why);
    /// How often progress() was called: a thread that calls it often serves the worker.
    std::uint32_t visits() const { return visits_.load(std::memory_order_relaxed); }
    /// For a thread that sleeps in the event descriptor.
    Relief& relief() { return relief_; }

    /// Until done() is true. The waiter's progress, if it has one, is to run this worker's.
    template <class Done>
    void wait_for(const fabric::Waiter& waiter, Done&& done) {
        const Inside inside(*this);
        // Each round asks the system what has arrived: not twice between two looks.
        unsigned own_rounds = waiter.quiet_polls();
        waiter.until([&] {
            if (done())
                return true;
            throw_failure(); // the waiter's progress keeps it to itself
            if (waiter.progress != nullptr && own_rounds == 0)
                return false;
            own_rounds -= own_rounds != 0;
            progress();
            return done();
        });
    }

    /// The same for something that the peer is to do. Throws PeerLost if it has gone.
    template <class Done>
    void wait_for(const fabric::Waiter& waiter, const Peer& peer, Done&& done) {
        // Asked once: another thread's next operation may undo what was done.
        bool was_done = false;
        wait_for(waiter, [&] {
            was_done = done();
            return was_done || peer.lost();
        });
        if (was_done)
            return;
        await_loss();
        throw PeerLost("UCX: " + name_of(peer) + " has gone");
    }
    /// Behind Peer::lost(): until nothing that was under way to it refers to its callers' memory.
    void await_loss() { const Lock lock = locked(); }

    bool goes_on_without_peers() const { return options_.goes_on_without_peers; }
    /// The host says that the peer that was introduced with this number has gone.
    void lose(std::uint64_t number, const std::string& why);

    // ---- words: 64 bits, naturally aligned, atomic ----------------------------------------------
    /// compare_swap: `operand` is what is expected, `desired` what is stored then.
    std::uint64_t fetch(const fabric::Waiter& waiter, Peer& peer, Fetch what, RemoteAddress address,
                        const RemoteKey& key, std::uint64_t operand, std::uint64_t desired = 0);
    /// Of several peers, side by side: all in one round trip, in no order.
    void fetch_each(const fabric::Waiter& waiter, std::span<const FetchOfPeer> all);
    std::uint64_t read_word(const fabric::Waiter& waiter, Peer& peer, RemoteAddress address,
                            const RemoteKey& key);
    /// What is read was there once the atomic had taken effect. `together`: all in one round trip,
    /// which takes that all to the peer goes one way, in order.
    std::uint64_t fetch_then_read(const fabric::Waiter& waiter, Peer& peer,
                                  const FetchThenRead& both, RemoteAddress address,
                                  const RemoteKey& key, bool& together);
    /// Whether FetchThenRead::behind_puts is for the peer now: puts are under way, no gets, and
    /// everything to it takes one way. A get could read what the atomic let others write.
    bool orders_behind_puts(Peer& peer);
    /// The same of puts and messages, whether there are any or not.
    bool orders_all(Peer& peer);
    /// Words that are posted to the peer from here on take effect after all puts to it so far.
    /// False: they may not.
    bool put_words_behind_puts(Peer& peer);
    /// Posted: complete after the next flush of the peer, and done as fetch() is done.
    void post_add(Peer& peer, RemoteAddress address, const RemoteKey& key, std::uint64_t operand);
    /// Posted store of a word: an atomic as well, which swaps. A put is a memcpy where a CPU does
    /// it (TCP, shared memory). That may tear the word, or store it twice, as glibc's does with 8
    /// bytes: a process that has seen it, and stored something else, finds it there again.
    void post_store(Peer& peer, RemoteAddress address, const RemoteKey& key, std::uint64_t value);
    /// Posted as well, but done by the peer's CPU: for words that only CPUs modify. One message,
    /// where a transport without atomics of its own would send an answer to each post_add.
    ///
    /// Words have an endpoint of their own, over TCP a connection. On one that carries answers
    /// too, Linux holds its acknowledgements back for the next answer, but sends one as soon as
    /// somebody reads the second small packet that came without an answer between: when a release
    /// is sent as a word and a fetch follows, just before that is served. It took 4 of 26 us. It is
    /// a descriptor more for the peer, so they go without where those are scarce (room.cc).
    void send_word(Peer& peer, WordOp what, RemoteAddress address, std::uint64_t value);

    /// Whether an atomic of that kind is answered while this thread polls for so long. One that is
    /// not may be later: its answer was lost, or the peer has to do it.
    bool answers(Peer& peer, Atomic kind, RemoteAddress address, const RemoteKey& key,
                 std::chrono::milliseconds patience);

    // ---- data -----------------------------------------------------------------------------------
    /// Both go out at once, or when there is room. `completion`, if given, expects one part more
    /// until the operation is complete at this side; the buffer must stay until then.
    void put(Peer& peer, const void* origin, std::size_t bytes, RemoteAddress address,
             const RemoteKey& key, Completion* completion = nullptr);
    void get(Peer& peer, void* origin, std::size_t bytes, RemoteAddress address,
             const RemoteKey& key, Completion* completion = nullptr);

    /// An atomic by what does the words' atomics; complete as a get is, or as a put where it leaves
    /// nothing here. Elements of 4 bytes: only with Atomics::narrow. A read is a get, in the order of the
    /// atomics.
    void element(Peer& peer, const ElementAtomic& what, RemoteAddress address, const RemoteKey& key,
                 Completion* completion = nullptr);
    /// Elements' atomics and gets from here on come behind the elements' atomics to the peer so far.
    /// False: the origin has to wait for those.
    bool put_elements_in_order(Peer& peer);
    /// Whether there are any that the next one has to come behind. `add`: one that fetches nothing.
    static bool has_elements(const Peer& peer, bool add) { return peer.elements_unflushed(add); }

    // These return whether there was anything to wait for.
    /// Every put, get and posted word of this process to the peer is complete at both sides.
    bool flush(const fabric::Waiter& waiter, Peer& peer);
    /// Every put and get is; posted words may not be yet.
    bool flush_data(const fabric::Waiter& waiter, Peer& peer);
    /// The same of several, side by side.
    bool flush_data(const fabric::Waiter& waiter, std::span<Peer* const> peers);
    /// Everything to all peers, side by side.
    bool flush_all(const fabric::Waiter& waiter);
    /// Every posted word to all peers is; puts and gets to those that were sent no word may not be.
    bool flush_words(const fabric::Waiter& waiter);
    /// Complete at this side.
    void flush_local(const fabric::Waiter& waiter, Peer& peer);
    void flush_local_all(const fabric::Waiter& waiter);

    // ---- active messages ------------------------------------------------------------------------
    /// Sends header and data, both copied. Messages to one peer arrive in the order they were sent;
    /// one to oneself may arrive before the call returns.
    /// At most most_message_bytes() in total. While kMostMessages are under way, or as many bytes
    /// as kMostBytesOfMessages, send() waits for one to leave; send_locked never waits.
    void send(Peer& peer, std::span<const std::byte> header, std::span<const std::byte> data);
    void send_locked(Peer& peer, std::span<const std::byte> header,
                     std::span<const std::byte> data);
    std::size_t most_message_bytes() const { return most_message_bytes_; }
    /// Whether UCX has given all messages to a transport, so that they arrive without progress
    /// here.
    bool all_messages_left() const {
        return messages_in_flight_.load(std::memory_order_acquire) == 0;
    }

    /// The transports that this process may take, each with its device ("tcp/eth0"), by name.
    std::vector<std::string> transports() const;

    Counters counters() const;
    /// Whether everything posted to the peer is complete at this side.
    static bool complete_here(const Peer& peer) { return peer.outstanding() == 0; }
    /// Whether a put or get was posted to the peer that no flush has covered.
    static bool has_unflushed_data(const Peer& peer) { return peer.data_unflushed(); }
    /// Keeps all other threads out of the worker while the lock lives. Every lock but that of
    /// progress(), which lets those go first that wait here: a thread that serves a steady stream
    /// unlocks only to lock again, long before a sleeper at the mutex has woken up.
    std::unique_lock<std::mutex> locked() const;

    /// The descriptor that becomes readable when something arrives (UCP_FEATURE_WAKEUP).
    int event_descriptor() const;
    /// To be called before sleeping on it; false: there is work, do not sleep.
    bool arm();

    /// Marks a thread that is inside a wait, so that the progress thread stands back.
    class Inside {
      public:
        explicit Inside(Worker& worker) : worker_(worker) {
            worker_.inside_.fetch_add(1, std::memory_order_relaxed);
        }
        ~Inside() { worker_.inside_.fetch_sub(1, std::memory_order_relaxed); }
        Inside(const Inside&) = delete;
        Inside& operator=(const Inside&) = delete;

      private:
        Worker& worker_;
    };
    /// The same for fabric::Waiter.
    std::atomic<int>* waiting() { return &inside_; }
    bool somebody_inside() const { return inside_.load(std::memory_order_relaxed) != 0; }

  private:
    friend class Registration;
    friend class RemoteKey;
    friend struct Callbacks;
    using Lock = std::unique_lock<std::mutex>;
    using Clock = std::chrono::steady_clock;
    /// What a flush waits for: that peer.flushed_ reaches `posted`, and peer.words_acked_ `words`.
    struct Goal {
        Peer* peer;
        std::uint64_t posted;
        std::uint64_t words;
        mutable unsigned looks = 0; ///< for a moment without gets, so far
        bool reached() const;
    };

    /// What a handler sends to a peer without an endpoint. It goes out when UCX has returned, so
    /// that no endpoint is opened while UCX hands out what came over the peer's own connection: a
    /// precaution, nothing was seen to go wrong.
    struct Deferred {
        Peer* peer;
        unsigned id;
        Bytes header, data;
    };

    Worker(const Options& options, Opened&& opened);

    // All of these are called with the worker locked.
    void open(ucp_ep*& endpoint, Peer& peer);
    ucp_ep* endpoint(Peer& peer);
    void take_descriptor();
    void look_at_descriptors();
    bool has_room_for_words();
    void part_words(Peer& peer);
    void transmit_word(Peer& peer, const WordMessage& message);
    Operation& begin_fetch(Peer& peer, const FetchOfWord& fetch, RemoteAddress address,
                           const RemoteKey& key);
    void begun(std::string_view tried, Operation& operation, void* given);
    Operation& begin_read(Peer& peer, RemoteAddress address, const RemoteKey& key,
                          std::span<std::uint64_t> words);
    void post(const QueuedTransfer& request);
    void issue(const QueuedTransfer& request);
    bool has_room(const Peer& peer) const;
    void close(const std::vector<Peer*>& peers);
    void post_pieces(QueuedTransfer all);
    bool issue_queued();
    bool rounds();
    void take_failure(const std::string& text);
    void lose(Peer& peer, const std::string& why);
    void forget(Operation& operation);
    void give_room_back(Message& message);
    std::string name_of(const Peer& peer) const;
    /// What was tried, with the peer's name behind it, for describe.
    std::string about(std::string_view tried, const Peer& peer) const;
    void transmit_deferred();
    void greet(Peer& peer, std::uint64_t greeting);
    void answer(Peer& peer, std::uint64_t greeting_or_words);
    void meet(Peer& peer, std::uint64_t greeting);
    void ask_for_pulse(Peer& peer, Clock::time_point now);
    static Lanes lanes(Peer& peer);
    static bool all_is_ordered(Peer& peer);
    static bool puts_are_ordered(Peer& peer);
    void fence();
    bool begin_flush(const Goal& goal);
    static constexpr unsigned kMostLooks = 1000; ///< for a moment without gets
    void flush_early(Peer& peer);
    bool finish_reads(Peer& peer, std::uint64_t posted);
    bool all_answered(Peer& peer);
    void ask(const Goal& goal);
    void list(Peer& peer);
    void transmit(Peer& peer, unsigned id, std::span<const std::byte> header,
                  std::span<const std::byte> data);
    void transmit_by(Peer& peer, ucp_ep* endpoint, unsigned id, std::span<const std::byte> header,
                     std::span<const std::byte> data);

    void throw_failure();
    bool has_room_for_message() const {
        return messages_in_flight_.load(std::memory_order_relaxed) < kMostMessages &&
               message_bytes_in_flight_.load(std::memory_order_relaxed) < kMostBytesOfMessages;
    }
    Lock locked_for_message();
    std::uint64_t fetched(const fabric::Waiter& waiter, Operation& operation);
    void flush_until(const fabric::Waiter& waiter, std::vector<Goal> goals);
    void measure_key();

    /// While the last endpoints close, and the worker behind them, peers of this node may have ended: UCX
    /// finds out over shared memory, and would print an error for each flush. Nothing is lost, as all
    /// windows were freed.
    class QuietFlushes {
      public:
        QuietFlushes();
        ~QuietFlushes();
        QuietFlushes(const QuietFlushes&) = delete;
        QuietFlushes& operator=(const QuietFlushes&) = delete;
    };

    std::optional<QuietFlushes> quiet_; ///< behind worker_, which goes first
    mutable std::mutex mutex_;          ///< UCX, and all below that says nothing else
    // Relaxed: hints by which threads stand back for each other. The mutex orders what they do.
    mutable std::atomic<int> wanted_{0};   ///< threads that sleep at mutex_
    std::atomic<int> inside_{0};           ///< threads that wait
    std::atomic<std::uint32_t> visits_{0}; ///< may miss some where threads call at once
    Relief relief_;
    /// When check_peers looked. Relaxed: of two threads that look at once both ask, which is harmless.
    std::atomic<Clock::time_point> checked_{};
    Clock::time_point looked_; ///< when check_descriptors did
    Options options_;
    Bytes address_;
    Atomics atomics_;
    std::size_t key_bytes_ = 0, most_message_bytes_ = 0;
    Counters counters_;
    bool closing_ = false;
    bool work_left_ = false; ///< what after_progress said last
    bool serving_ = false;   ///< UCX is handing out what has arrived
    std::vector<Deferred> deferred_;
    std::string failure_;
    /// Releases failure_ to threads that acquire it without the mutex. Relaxed under the mutex.
    std::atomic<bool> failed_{false};

    Peers peers_;
    std::size_t connected_ = 0; ///< peers with an endpoint
    std::size_t parted_ = 0;    ///< those that were released, and may be gone
    Descriptors descriptors_;
    bool takes_descriptors_ = false;
    bool near_ = false; ///< the limit of descriptors was near when looked at last
    bool warned_ = false;
    std::vector<Peer*> unflushed_peers_; ///< every peer that is unflushed, and some that were
    std::deque<Peer*> queued_peers_;     ///< those with a queue, in turn
    std::size_t in_flight_ = 0;          ///< issued requests that are not complete
    FreeList<Operation> operations_;
    FreeList<Message> messages_;
    /// Changed with the worker locked. Relaxed in the look for room, which the caller repeats with the
    /// worker locked. all_messages_left() acquires what the end of a message releases: the transport
    /// has taken it.
    std::atomic<std::size_t> messages_in_flight_{0}, message_bytes_in_flight_{0};

    // UCX lets go of everything above when these close, in this order.
    std::unique_ptr<ucp_context, ContextCloser> context_;
    std::unique_ptr<ucp_worker, WorkerCloser> worker_;
};

} // namespace rmalock::ucx
