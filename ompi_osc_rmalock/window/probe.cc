// Finds out who does atomics on words of other nodes: a network adapter, if an atomic completes
// while its target does nothing; else the target's CPU.
//
// The nodes' first ranks are paired. Each pair opens a connection between two workers that nothing
// else uses. Then one of the two posts an atomic, while the other one waits in barriers of MPI and
// does not serve its worker. All other communication goes on, so that threads may find out side by
// side, for several windows. An adapter answers in microseconds. One that did not answer in time
// would be taken for CPUs, and its atomics and theirs would not exclude each other: hence the
// generous time, which counts only while this process really polls. The parameter `domain` can say
// what holds, and nothing is tried.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "window/host.hh"
#include "window/remote.hh"

namespace rmalock::window {
namespace {

constexpr std::chrono::milliseconds kPatience{20};
constexpr unsigned kPolls = 1000; ///< at least: the system may have taken the core away meanwhile

/// This rank's partner, or itself without one; `asks` if this one posts the atomic.
struct Pair {
    Rank partner;
    bool asks;
};

Pair pair_of(const Plan& plan, Rank self) {
    std::vector<Rank> firsts;
    for (Rank r = 0; r < plan.size(); ++r)
        if (plan.share(r).node == r)
            firsts.push_back(r);
    for (std::size_t i = 0; i + 1 < firsts.size(); i += 2) {
        if (firsts[i] == self)
            return {firsts[i + 1], true};
        if (firsts[i + 1] == self)
            return {firsts[i], false};
    }
    return {self, false};
}

/// What both of a pair need to know of the other one's worker.
struct Offer {
    ucx::RemoteAddress words;
    std::uint32_t key_bytes, address_bytes; ///< which follow it, in this order
};

/// One side of a pair. Throws ucx::Error.
class Trial {
  public:
    explicit Trial(ucx::PeerId self)
        : worker_({.self = self}), registration_(worker_, &words_, sizeof words_) {}

    ucx::Bytes offer() const {
        const ucx::Bytes key = registration_.key();
        const Offer mine{reinterpret_cast<ucx::RemoteAddress>(&words_),
                         static_cast<std::uint32_t>(key.size()),
                         static_cast<std::uint32_t>(worker_.address().size())};
        const auto first = std::as_bytes(std::span(&mine, 1));
        ucx::Bytes all(first.begin(), first.end());
        all.insert(all.end(), key.begin(), key.end());
        all.insert(all.end(), worker_.address().begin(), worker_.address().end());
        return all;
    }

    /// From now on ask() and say() are to that partner.
    void connect(ucx::PeerId partner, std::span<const std::byte> offer) {
        Offer theirs;
        std::memcpy(&theirs, offer.data(), sizeof theirs);
        const auto rest = offer.subspan(sizeof theirs);
        there_ = theirs.words;
        peer_ = &worker_.introduce(partner, rest.subspan(theirs.key_bytes, theirs.address_bytes));
        key_ = ucx::RemoteKey(worker_, *peer_, rest.first(theirs.key_bytes));
    }

    /// Posts an atomic.
    void ask() { worker_.post_store(*peer_, there_ + offsetof(Words, asked), key_, 1); }
    bool answered() const { return ucx::Worker::complete_here(*peer_); }
    /// Whether the answer comes while this process does nothing but poll for it.
    bool is_answered_in_time() {
        const auto end = std::chrono::steady_clock::now() + kPatience;
        for (unsigned polls = 0;
             !answered() && (polls < kPolls || std::chrono::steady_clock::now() < end); ++polls)
            worker_.progress();
        return answered();
    }
    void await_answer() {
        await([this] { return answered(); });
    }

    /// One side tells the other one how far it has come.
    void say(std::uint64_t stage) {
        worker_.tell(*peer_, ucx::Tell::store, there_ + offsetof(Words, stage), stage);
    }
    void await_stage(std::uint64_t stage) {
        await(
            [&] { return std::atomic_ref(words_.stage).load(std::memory_order_acquire) == stage; });
    }

  private:
    struct alignas(64) Words {
        std::uint64_t asked = 0, stage = 0;
    };

    /// Meanwhile both serve each other, and MPI.
    template <class Done>
    void await(Done done) {
        while (!done()) {
            if (!worker_.progress())
                host().progress();
        }
    }

    Words words_;
    ucx::Worker worker_;
    ucx::Registration registration_;
    ucx::Peer* peer_ = nullptr;
    ucx::RemoteAddress there_ = 0;
    ucx::RemoteKey key_;
};

/// All ranks' bytes, by rank; empty: the communicator failed.
std::vector<ucx::Bytes> gather(const rmalock_comm_t& comm, const ucx::Bytes& mine) {
    const auto ranks = static_cast<std::size_t>(comm.size);
    std::vector<std::size_t> bytes(ranks);
    const std::size_t size = mine.size();
    if (comm.allgather(comm.handle, &size, bytes.data(), sizeof size) != 0)
        return {};
    const std::size_t room =
        std::max<std::size_t>(1, *std::max_element(bytes.begin(), bytes.end()));
    ucx::Bytes padded = mine, all(room * ranks);
    padded.resize(room);
    if (comm.allgather(comm.handle, padded.data(), all.data(), room) != 0)
        return {};
    std::vector<ucx::Bytes> each;
    for (std::size_t r = 0; r < ranks; ++r)
        each.emplace_back(all.data() + r * room, all.data() + r * room + bytes[r]);
    return each;
}

/// Whether all pairs' atomics completed. Two barriers: those that wait are idle between them.
rmalock_status_t try_out(const rmalock_comm_t& comm, Trial* trial, bool asks, bool& nic) {
    if (trial != nullptr && asks) {
        trial->ask(); // opens the connection, which takes both
        trial->await_answer();
        trial->say(1);
    } else if (trial != nullptr) {
        trial->await_stage(1);
    }
    if (comm.barrier(comm.handle) != 0)
        return RMALOCK_ERR_COMM;
    std::int32_t by_cpu = 0;
    if (trial != nullptr && asks) {
        trial->ask();
        by_cpu = trial->is_answered_in_time() ? 0 : 1;
    }
    std::vector<std::int32_t> all(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &by_cpu, all.data(), sizeof by_cpu) != 0)
        return RMALOCK_ERR_COMM;
    nic = std::all_of(all.begin(), all.end(), [](std::int32_t slow) { return slow == 0; });
    if (trial != nullptr && asks) {
        trial->await_answer();
        trial->say(2);
    } else if (trial != nullptr) {
        trial->await_stage(2);
    }
    return RMALOCK_OK;
}

} // namespace

rmalock_status_t Remote::probe(const rmalock_comm_t& comm, Plan& plan) {
    const Pair mine = pair_of(plan, comm.rank);
    bool nic = false;
    try {
        std::unique_ptr<Trial> trial;
        if (mine.partner != comm.rank)
            trial = std::make_unique<Trial>(network_.self());
        const std::vector<ucx::Bytes> offers =
            gather(comm, trial != nullptr ? trial->offer() : ucx::Bytes());
        if (offers.empty())
            return RMALOCK_ERR_COMM;
        if (trial != nullptr)
            trial->connect(plan.share(mine.partner).peer,
                           offers[static_cast<std::size_t>(mine.partner)]);
        if (const auto status = try_out(comm, trial.get(), mine.asks, nic); status != RMALOCK_OK)
            return status;
    } catch (const ucx::Error& error) { // the others wait for this one
        report(0, "%s, while the domain of atomics is found out: the job ends", error.what());
        std::abort();
    }
    plan.set_domain(nic ? fabric::Domain::nic : fabric::Domain::cpu);
    report(2, "probe: atomics on words of other nodes are done by %s",
           nic ? "network adapters" : "CPUs");
    return RMALOCK_OK;
}

} // namespace rmalock::window
