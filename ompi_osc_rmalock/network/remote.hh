// How a window reaches the ranks of other nodes: their words, their memory, and messages to them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/remote.hh"
#include "fabric/tally.hh"
#include "ucx_glue/memory.hh"
#include "ucx_glue/worker.hh"
#include "network/exchange.hh"
#include "network/network.hh"
#include "network/or_end_the_job.hh"
#include "network/outbox.hh"
#include "network/reach.hh"

namespace rmalock::network {

/// The network's half of a window. Any thread may call; operations may throw ucx::Error.
class Remote final : public fabric::RemoteWords {
  public:
    /// threads: several of the program's may call.
    Remote(Network& network, bool threads);

    /// Makes this process's state and memory accessible, and returns what the other ranks have to
    /// know of it; an error, after a report.
    Exposed expose(std::byte* state, std::size_t state_bytes, void* memory,
                   std::size_t memory_bytes);

    /// From here on ranks can be reached.
    void open(const Endpoints& ranks, ReachTable reaches, const fabric::Waiter& waiter);
    /// Closes the connections to processes of other jobs, which may end before this one, if no
    /// other window needs them. Collective, when nothing is under way any more. False: all
    /// processes are of one job, and nothing was done.
    bool part_from_other_jobs();
    /// Messages for the window are dropped from here on, and none is being applied.
    void withdraw();
    /// A thread of this library's makes verbs as well.
    void share_with_threads() { threads_ = true; }
    /// Whether adapters access memory, by keys; as on TCP where somebody else says that they do.
    bool needs_keys() { return !by_cpu_ || worker().needs_keys(); }
    /// Once the domain is known.
    void set_domain(fabric::Domain domain);

    // ---- words ----------------------------------------------------------------------------------
    fabric::Value get(fabric::Word word) override;
    fabric::Value fetch_add(fabric::Word word, fabric::Value operand) override;
    fabric::Value swap(fabric::Word word, fabric::Value desired) override;
    fabric::Value compare_swap(fabric::Word word, fabric::Value expected,
                               fabric::Value desired) override;
    fabric::Value fetch_then_get(const fabric::Rmw& rmw, fabric::Slot first,
                                 std::span<fabric::Value> out) override;
    void put(fabric::Word word, fabric::Value value) override;
    void add(fabric::Word word, fabric::Value operand) override;
    fabric::Value fetch_add_after_data(fabric::Word word, fabric::Value operand) override;
    void deliver(Rank rank) override;
    void scan(std::span<const Scan> scans, fabric::Slot first, fabric::Slot stride) override;
    void fetch_each(std::span<const Fetch> fetches) override;
    void flush(Rank rank) override;
    void flush_all() override;

    // ---- data -----------------------------------------------------------------------------------
    /// `bytes` between `origin` and `offset` bytes into the memory of `target`; complete after a
    /// flush.
    void move(Direction direction, Rank target, void* origin, std::size_t bytes,
              std::uint64_t offset, ucx::Completion* completion);
    /// Where the memory of `target` begins, in its own address space.
    ucx::RemoteAddress memory_of(Rank target) { return reachable(target).memory_address; }
    /// Changes an element `offset` bytes into the memory of `target` by what changes words. Complete
    /// after a flush.
    void element(Rank target, const ucx::ElementAtomic& what, std::uint64_t offset,
                 ucx::Completion* completion);
    /// Complete at this side, results of messages included. Nothing is held back any more.
    void flush_local(Rank target);
    void flush_local_all();
    /// Complete at the target as well. (flush() is for words and moves only.)
    void complete(Rank target);
    /// Has the target's window know that this process's epoch is complete, once all that it was sent
    /// has been applied. What is complete at this side flush_local() says. False: it cannot come
    /// behind all of that, and nothing was sent.
    bool send_complete(Rank target);
    /// Of several targets, side by side.
    void complete_each(std::span<const Rank> targets);
    /// The same at all. Throws ucx::PeerLost, if one has gone, when it is so at the others.
    void complete_all();
    /// Whether fetch_add_after_data can take along what is under way to the target.
    bool orders_behind_data(Rank target);

    void wait_for(const ucx::Completion& completion);

    /// A message to the target's window; see Outbox.
    void send(Rank target, MessageHeader header, std::span<const std::byte> data,
              const Awaited& awaited);

    /// Whether a small accumulate may be held back for more of its kind.
    bool holds(std::size_t bytes) const {
        return bytes <= Outbox::kMostHeldAtOnce && network_.may_hold();
    }
    /// Does so; see Outbox.
    void hold(Rank target, const MessageHeader& header, std::span<const MessageRun> runs,
              std::span<const std::byte> operands);
    /// Whether a put or get of so many bytes is held back for others: over TCP, which would take a
    /// message for each, small puts, and small gets behind something that is under way; where
    /// nothing may be held, `of_many` of one call for each other, until depart().
    bool collects(Direction direction, Rank target, std::size_t bytes, bool of_many);
    /// Holds such back; `completion` as for move().
    void collect(Direction direction, Rank target, std::span<const Copy> copies,
                 ucx::Completion* completion);
    /// Sends what the call has collected, where nothing may be held behind it.
    void depart(Rank target);

    /// A critical section in one message (section.hh): what is sent to the target from here on is kept
    /// for it. Of one target at a time, when nothing is under way to it, by a process of one thread.
    /// Called again when one is over, the next one begins.
    void begin_section(Rank target);
    /// Whether an operation of so many bytes, there and back, still fits.
    bool section_takes(Rank target, std::size_t bytes) {
        return reachable(target).outbox.section_takes(bytes);
    }
    bool section_is_empty(Rank target) { return reachable(target).outbox.section_is_empty(); }
    bool section_fetches(Rank target) { return reachable(target).outbox.section_fetches(); }
    /// Sends it, with SectionFlags, and waits for what the target says; a section that is over has its
    /// results then.
    SectionOutcome send_section(Rank target, std::uint8_t flags);
    /// There is no section any more: what was not applied goes as always, and now.
    void end_section(Rank target, std::size_t applied = 0);

    /// Operations on words, and answers that a call has waited for.
    fabric::Value verbs() const { return verbs_.value(); }
    fabric::Value round_trips() const { return round_trips_.value(); }

    /// Whether the process is one of the first `ranks` ranks.
    bool reaches(ucx::PeerId process, Rank ranks) const;

    Network& network() { return network_; }
    ucx::Worker& worker() { return network_.worker(); }
    WindowDirectory::ClaimedId& id() { return id_; }

    /// A region of a DYNAMIC window's target, reached by a key of its own.
    void move_by_key(Direction direction, Rank target, void* origin, std::size_t bytes,
                     ucx::RemoteAddress address, const ucx::RemoteKey& key,
                     ucx::Completion* completion);
    /// Whether words that are posted to the target from here on come behind all puts to it so far,
    /// which nobody has to wait for then.
    bool put_words_behind_data(Rank target);
    /// Elements' atomics and gets from here on come behind the elements' atomics to the target so far.
    /// `adds`: only adds are to come, that fetch nothing, which may overtake each other.
    void order_elements(Rank target, bool adds);
    void element_by_key(Rank target, const ucx::ElementAtomic& what, ucx::RemoteAddress address,
                        const ucx::RemoteKey& key, ucx::Completion* completion);
    ucx::RemoteKey unpack(Rank target, std::span<const std::byte> key);
    /// Reads `bytes` at `offset` of the target's state; waits for them.
    void read_state(Rank target, std::size_t offset, void* into, std::size_t bytes);
    /// The same of several ranks, side by side. Of those that do not answer in time: nothing.
    std::vector<std::vector<std::byte>> read_states(const std::vector<Rank>& ranks,
                                                    std::size_t offset, std::size_t bytes,
                                                    std::chrono::milliseconds patience);
    void read(Rank target, ucx::RemoteAddress address, const ucx::RemoteKey& key, void* into,
              std::size_t bytes);

  private:
    /// A rank that was reached before.
    struct Reachable {
        ucx::Peer* peer = nullptr;
        ucx::RemoteKey state, memory;
        ucx::RemoteAddress state_address = 0, memory_address = 0;
        Outbox outbox;
    };

    Reachable& reachable(Rank target);
    std::optional<std::uint64_t> sent_before_atomic(Rank rank, Reachable& there);
    ucx::RemoteAddress address(const Reachable& target, fabric::Slot slot) const {
        return target.state_address + slot * sizeof(fabric::Value);
    }
    std::uint64_t fetch(fabric::Word word, ucx::Fetch what, std::uint64_t operand,
                        std::uint64_t desired = 0);

    void must_be_there(const Reachable& target);
    void all_must_be_there();
    ucx::Peer& peer(Rank target) { return *reachable(target).peer; }
    /// Those that a message was sent to.
    std::vector<Reachable*> recipients();

    /// Before a word goes to another process.
    void begin_verb() {
        count_verb();
        or_end_the_job([&] { network_.departures().send_all(); });
    }
    // Also the network's thread comes here (Window::apply).
    void count_verb() { verbs_.add(true); }
    void count_round_trip(bool was = true) {
        if (was)
            round_trips_.add(true);
    }

    Network& network_;
    WindowDirectory::ClaimedId id_;
    fabric::Waiter waiter_;
    bool threads_;
    fabric::Count verbs_, round_trips_;
    bool by_cpu_ = true;
    ucx::Registration state_, memory_;
    ReachTable reaches_;
    std::vector<ucx::Peer*> of_other_jobs_; ///< the processes of other jobs
    bool one_job_ = true;
    Rank section_of_ = -1; ///< the target of one that is collected

    std::mutex mutex_; ///< of the map; what is in it stays where it is
    std::unordered_map<Rank, Reachable> reached_;
};

} // namespace rmalock::network
