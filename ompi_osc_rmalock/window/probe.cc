// Finds out who does atomics on words of other nodes: a network adapter, if an atomic completes
// while its target does nothing; else the target's CPU.
//
// The nodes' first ranks are paired. One of a pair posts an atomic that changes nothing, while the
// other waits in barriers of MPI without serving the network; before that, another one has opened
// the connection, which takes both. An adapter answers in microseconds. One that did not answer in
// time would be taken for CPUs, and its atomics and theirs would not exclude each other: hence the
// generous time, which counts only while this process really polls. The parameter `domain` can say
// what holds, and nothing is tried.
#include <chrono>
#include <optional>
#include <vector>

#include "fabric/layout.hh"
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

} // namespace

bool Remote::atomic_completes(Rank target, std::chrono::milliseconds patience) {
    Reachable& there = reachable(target);
    const auto end = std::chrono::steady_clock::now() + patience;
    worker().post_store(*there.peer, address(there, fabric::WindowSlots::accumulate), there.state,
                        0);
    for (unsigned polls = 0; !ucx::Worker::complete_here(*there.peer) &&
                             (polls < kPolls || std::chrono::steady_clock::now() < end);
         ++polls)
        worker().progress();
    return ucx::Worker::complete_here(*there.peer);
}

rmalock_status_t Remote::probe(const rmalock_comm_t& comm, Plan& plan) {
    const Pair mine = pair_of(plan, comm.rank);
    const bool waits = mine.partner != comm.rank && !mine.asks;
    if (mine.asks)
        fetch({mine.partner, fabric::WindowSlots::accumulate}, ucx::Fetch::add, 0);
    if (comm.barrier(comm.handle) != 0) // the connections are open
        return RMALOCK_ERR_COMM;
    std::int32_t by_cpu = 0;
    {
        std::optional<Network::Silence> silence;
        if (waits)
            silence.emplace(network_);
        if (comm.barrier(comm.handle) != 0) // those who wait are silent
            return RMALOCK_ERR_COMM;
        if (mine.asks)
            by_cpu = atomic_completes(mine.partner, kPatience) ? 0 : 1;
        if (comm.barrier(comm.handle) != 0) // and were until all have asked
            return RMALOCK_ERR_COMM;
    }
    std::vector<std::int32_t> all(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &by_cpu, all.data(), sizeof by_cpu) != 0)
        return RMALOCK_ERR_COMM;
    bool nic = true;
    for (const std::int32_t slow : all)
        nic = nic && slow == 0;
    plan.set_domain(nic ? fabric::Domain::nic : fabric::Domain::cpu);
    if (mine.asks)
        flush(mine.partner);
    report(2, "probe: atomics on words of other nodes are done by %s",
           nic ? "network adapters" : "CPUs");
    return RMALOCK_OK;
}

} // namespace rmalock::window
