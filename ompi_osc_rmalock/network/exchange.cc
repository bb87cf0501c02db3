#include "network/exchange.hh"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "host.hh"
#include "network/or_end_the_job.hh"

namespace rmalock::network {
namespace {

/// What a rank tells first. The bytes of its two keys follow it, in as much room as the node's table
/// has for them.
struct Outcome {
    ucx::RemoteAddress state, memory;
    std::int32_t error;
    std::uint16_t state_key, memory_key; ///< bytes
    std::uint32_t address;               ///< bytes of the worker's address
    bool answers;                        ///< see ucx::Worker::introduce
    bool needs_addresses;                ///< this rank meets a process for the first time
    bool has_room;                       ///< for two connections to each process

    std::size_t keys() const { return std::size_t{state_key} + memory_key; }
};

/// The steps of an exchange, in one process. Each is collective.
class Exchange {
  public:
    Exchange(Network& network, const rmalock_comm_t& comm, const Endpoints& ranks, ReachTable table)
        : network_(network), worker_(network.worker()), comm_(comm), ranks_(ranks), table_(table) {}

    rmalock_status_t tell_outcomes(const Exposed& mine);
    int first_error() const;
    void note_keys();
    rmalock_status_t exchange_addresses();
    bool all_have_room() const {
        return std::all_of(outcomes_.begin(), outcomes_.end(),
                           [](const Outcome& each) { return each.has_room; });
    }
    rmalock_status_t connect_two_by_two();

  private:
    bool has_room();
    bool knows_all() const {
        return std::all_of(ranks_.all.begin(), ranks_.all.end(), [this](const Endpoint& rank) {
            return worker_.find(rank.peer) != nullptr;
        });
    }
    Outcome outcome_of(const Exposed& exposed);
    std::size_t key_room() const { return table_.stride() - sizeof(Reach); }
    std::span<const std::byte> keys_of(Rank rank) const {
        const std::size_t at = static_cast<std::size_t>(rank) * (sizeof(Outcome) + key_room());
        return std::span(told_).subspan(at + sizeof(Outcome), of(rank).keys());
    }
    void note(Rank rank);
    /// `mine`, which gets `room` bytes, of all ranks, one behind the other.
    rmalock_status_t gather(ucx::Bytes mine, std::size_t room, ucx::Bytes& all) const {
        mine.resize(room);
        all.resize(room * ranks_.all.size());
        return status(comm_.allgather(comm_.handle, mine.data(), all.data(), room) == 0);
    }
    static rmalock_status_t status(bool worked) { return worked ? RMALOCK_OK : RMALOCK_ERR_COMM; }
    const Outcome& of(Rank rank) const { return outcomes_[static_cast<std::size_t>(rank)]; }

    Network& network_;
    ucx::Worker& worker_;
    const rmalock_comm_t& comm_;
    const Endpoints& ranks_;
    const ReachTable table_;
    ucx::Bytes told_; ///< outcomes and keys, as they came
    std::vector<Outcome> outcomes_;
};

Outcome Exchange::outcome_of(const Exposed& exposed) {
    Outcome mine{};
    mine.state = exposed.state;
    mine.memory = exposed.memory;
    mine.address = static_cast<std::uint32_t>(worker_.address().size());
    mine.answers = network_.has_thread();
    mine.needs_addresses = !knows_all();
    mine.has_room = has_room();
    mine.error = exposed.error;
    if (mine.error == 0) {
        mine.state_key = static_cast<std::uint16_t>(exposed.state_key.size());
        mine.memory_key = static_cast<std::uint16_t>(exposed.memory_key.size());
        if (mine.keys() > key_room())
            mine.error = EMSGSIZE;
    }
    return mine;
}

rmalock_status_t Exchange::tell_outcomes(const Exposed& exposed) {
    const Outcome mine = outcome_of(exposed);
    ucx::Bytes bytes(sizeof mine);
    std::memcpy(bytes.data(), &mine, sizeof mine);
    if (mine.error == 0) {
        bytes.insert(bytes.end(), exposed.state_key.begin(), exposed.state_key.end());
        bytes.insert(bytes.end(), exposed.memory_key.begin(), exposed.memory_key.end());
    }
    const std::size_t room = sizeof mine + key_room();
    if (const rmalock_status_t status = gather(std::move(bytes), room, told_); status != RMALOCK_OK)
        return status;
    outcomes_.resize(ranks_.all.size());
    for (std::size_t r = 0; r < outcomes_.size(); ++r)
        std::memcpy(&outcomes_[r], told_.data() + r * room, sizeof(Outcome));
    return RMALOCK_OK;
}

int Exchange::first_error() const {
    const auto failed = std::find_if(outcomes_.begin(), outcomes_.end(),
                                     [](const Outcome& outcome) { return outcome.error != 0; });
    return failed == outcomes_.end() ? 0 : failed->error;
}

/// Adds the window's processes to those that the network is to have room for.
bool Exchange::has_room() {
    std::vector<std::uint64_t> far;
    for (Rank r = 0; r < ranks_.size(); ++r)
        if (ranks_.is_far(r))
            far.push_back(ranks_.of(r).process);
    network_.reaches(far);
    ucx::Descriptors::Count now;
    const bool has = network_.room(far, now) == Network::Room::two;
    if (!has)
        Network::descriptors_near(now);
    return has;
}

void Exchange::note_keys() {
    for (Rank r = 0; ranks_.is_first_of_node() && r < ranks_.size(); ++r)
        note(r);
}

void Exchange::note(Rank rank) {
    const Outcome& outcome = of(rank);
    const std::span<const std::byte> keys = keys_of(rank);
    Reach& reach = table_[rank];
    reach = {.peer = ranks_.of(rank).peer,
             .state = outcome.state,
             .memory = outcome.memory,
             .window = ranks_.of(rank).window,
             .state_key = outcome.state_key,
             .memory_key = outcome.memory_key};
    std::memcpy(&reach + 1, keys.data(), keys.size());
}

rmalock_status_t Exchange::exchange_addresses() {
    std::size_t room = 0;
    bool needed = false;
    for (const Outcome& outcome : outcomes_) {
        room = std::max<std::size_t>(room, outcome.address);
        needed = needed || outcome.needs_addresses;
    }
    if (!needed)
        return RMALOCK_OK;
    ucx::Bytes all;
    if (const rmalock_status_t status = gather(worker_.address(), room, all); status != RMALOCK_OK)
        return status;
    for (Rank r = 0; r < ranks_.size(); ++r)
        worker_.introduce(ranks_.of(r).peer,
                          std::span(all).subspan(static_cast<std::size_t>(r) * room, of(r).address),
                          of(r).answers, ranks_.of(r).process);
    return RMALOCK_OK;
}

/// Where some process has room for one connection to each other one, and no more. While two
/// processes connect to each other at once there are two connections for a moment; UCX fails where
/// there are none left, and from then on lets nobody in. So they connect by turns, two by two: in
/// each round a process meets one other, and the one of the lower rank opens the connection, which
/// the other one takes as well. Words do without one of their own.
rmalock_status_t Exchange::connect_two_by_two() {
    fabric::Waiter waiter;
    waiter.progress = host().progress;
    waiter.yield = true;
    // Nobody is greeted before it knows the others' addresses.
    bool together = comm_.barrier(comm_.handle) == 0;
    for (Rank round = 0; together && round < ranks_.size(); ++round) {
        const Rank other = (round + ranks_.size() - ranks_.self) % ranks_.size();
        if (ranks_.is_far(other)) {
            ucx::Peer& peer = *worker_.find(ranks_.of(other).peer);
            worker_.keep_together(peer);
            if (ranks_.self < other)
                or_end_the_job([&] { worker_.connect(waiter, peer); });
        }
        together = comm_.barrier(comm_.handle) == 0;
    }
    return status(together);
}

} // namespace

rmalock_status_t exchange(Network& network, const rmalock_comm_t& comm, const Endpoints& ranks,
                          ReachTable table, const Exposed& mine, int* first) {
    Exchange exchange(network, comm, ranks, table);
    rmalock_status_t status = exchange.tell_outcomes(mine);
    *first = status == RMALOCK_OK ? exchange.first_error() : 0;
    if (status != RMALOCK_OK || *first != 0)
        return status;
    exchange.note_keys();
    status = exchange.exchange_addresses();
    return status != RMALOCK_OK || exchange.all_have_room() ? status
                                                            : exchange.connect_two_by_two();
}

} // namespace rmalock::network
