#include "window/remote.hh"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include "window/host.hh"

namespace rmalock::window {

using fabric::Value;
using fabric::Word;

namespace {

/// A verb does not fail (fabric/concept.hh): no lock algorithm could go on, or leave, half way.
template <class Verb>
auto or_end_the_job(Verb verb) {
    try {
        return verb();
    } catch (const ucx::Error& error) {
        report(0, "%s, in the middle of a lock or an epoch: the job ends", error.what());
        std::abort();
    }
}

bool is_far(const Plan& plan, Rank rank) {
    return plan.share(rank).node != plan.share(plan.rank()).node;
}

} // namespace

Remote::Remote(Network& network) : network_(network), seat_(network), threads_(host().threads) {}

int Remote::expose(std::byte* state, std::size_t state_bytes, void* memory,
                   std::size_t memory_bytes) {
    state_base_ = state;
    memory_base_ = memory;
    try {
        state_ = ucx::Registration(worker(), state, state_bytes);
        memory_ = ucx::Registration(worker(), memory, memory_bytes);
    } catch (const ucx::Error& error) {
        report(0, "%s", error.what());
        return EIO;
    }
    return 0;
}

void Remote::open(const Plan& plan, std::byte* base, const fabric::Waiter& waiter) {
    reaches_ = reinterpret_cast<const std::byte*>(plan.reach(base, 0));
    reach_stride_ = plan.reach_stride();
    waiter_ = waiter;
    // Here answers of the network are waited for, never words of the node.
    waiter_.park = Network::park;
    const auto job = [&plan](Rank r) { return plan.share(r).process >> 32; };
    Groups::Group own_job;
    for (Rank r = 0; r < plan.size(); ++r) {
        if (job(r) != job(plan.rank()))
            strangers_.push_back(worker().find(plan.share(r).peer));
        else
            own_job.push_back(plan.share(r).process);
    }
    network_.link(std::move(own_job));
    one_job_ = strangers_.empty(); // on every rank alike
    worker().hold(strangers_);
}

bool Remote::part_from_strangers() {
    worker().release(std::exchange(strangers_, {}));
    return !one_job_;
}

void Remote::set_domain(fabric::Domain domain) {
    by_cpu_ = domain == fabric::Domain::cpu;
    network_.settle(by_cpu_ ? AtomicsBy::cpu : AtomicsBy::nic);
}

// ---- the exchange
// ------------------------------------------------------------------------------------

/// What a rank tells first.
struct Remote::Outcome {
    std::uint64_t state, memory;
    std::int32_t error;
    std::uint16_t state_key, memory_key; ///< bytes
    std::uint32_t address;               ///< bytes of the worker's address
    bool answers;                        ///< see ucx::Worker::introduce
    bool needs_addresses;                ///< this rank meets a process for the first time
    bool has_room;                       ///< for two connections to each process
};

bool Remote::knows_all(const Plan& plan) {
    for (Rank r = 0; r < plan.size(); ++r)
        if (worker().find(plan.share(r).peer) == nullptr)
            return false;
    return true;
}

rmalock_status_t Remote::exchange(const rmalock_comm_t& comm, const Plan& plan, std::byte* base,
                                  int error, int* first) {
    ucx::Bytes keys;
    Outcome mine{};
    mine.state = reinterpret_cast<std::uint64_t>(state_base_);
    mine.memory = reinterpret_cast<std::uint64_t>(memory_base_);
    mine.address = static_cast<std::uint32_t>(worker().address().size());
    mine.answers = network_.has_thread();
    mine.needs_addresses = !knows_all(plan);
    mine.has_room = has_room(plan);
    if (error == 0) {
        keys = state_.key();
        mine.state_key = static_cast<std::uint16_t>(keys.size());
        const ucx::Bytes memory = memory_.key();
        mine.memory_key = static_cast<std::uint16_t>(memory.size());
        keys.insert(keys.end(), memory.begin(), memory.end());
        if (sizeof(Reach) + keys.size() > plan.reach_stride())
            error = EMSGSIZE;
    }
    mine.error = error;
    std::vector<Outcome> outcomes(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, outcomes.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    const auto failed = std::find_if(outcomes.begin(), outcomes.end(),
                                     [](const Outcome& outcome) { return outcome.error != 0; });
    *first = failed == outcomes.end() ? 0 : failed->error;
    if (*first != 0)
        return RMALOCK_OK;
    rmalock_status_t status = exchange_keys(comm, plan, base, outcomes, keys);
    if (status == RMALOCK_OK)
        status = exchange_addresses(comm, plan, outcomes);
    const bool all_have_room = std::all_of(outcomes.begin(), outcomes.end(),
                                           [](const Outcome& each) { return each.has_room; });
    return status != RMALOCK_OK || all_have_room ? status : connect_in_turn(comm, plan);
}

/// Adds the window's processes to those that the network is to have room for.
bool Remote::has_room(const Plan& plan) {
    std::vector<std::uint64_t> far;
    for (Rank r = 0; r < plan.size(); ++r)
        if (is_far(plan, r))
            far.push_back(plan.share(r).process);
    network_.reaches(far);
    ucx::Descriptors::Count now;
    const bool has = network_.room(far, now) == Network::Room::two;
    if (!has)
        Network::descriptors_near(now);
    return has;
}

/// Where some process has room for one connection to each other one, and no more. While two
/// processes connect to each other at once there are two connections for a moment; UCX fails where
/// there are none left, and from then on lets nobody in. So they connect by turns, two by two: in
/// each round a process meets one other, and the one of the lower rank opens the connection, which
/// the other one takes as well. Words do without one of their own.
rmalock_status_t Remote::connect_in_turn(const rmalock_comm_t& comm, const Plan& plan) {
    fabric::Waiter waiter;
    waiter.progress = host().progress;
    waiter.yield = true;
    // Nobody is greeted before it knows the others' addresses.
    bool together = comm.barrier(comm.handle) == 0;
    for (Rank round = 0; together && round < plan.size(); ++round) {
        const Rank other = (round + plan.size() - plan.rank()) % plan.size();
        if (is_far(plan, other)) {
            ucx::Peer& peer = *worker().find(plan.share(other).peer);
            worker().keep_together(peer);
            if (plan.rank() < other)
                or_end_the_job([&] { worker().connect(waiter, peer); });
        }
        together = comm.barrier(comm.handle) == 0;
    }
    return together ? RMALOCK_OK : RMALOCK_ERR_COMM;
}

rmalock_status_t Remote::exchange_keys(const rmalock_comm_t& comm, const Plan& plan,
                                       std::byte* base, const std::vector<Outcome>& outcomes,
                                       const ucx::Bytes& mine) {
    std::size_t room = 1;
    for (const Outcome& outcome : outcomes)
        room = std::max<std::size_t>(room, outcome.state_key + outcome.memory_key);
    ucx::Bytes padded = mine, all(room * outcomes.size());
    padded.resize(room);
    if (comm.allgather(comm.handle, padded.data(), all.data(), room) != 0)
        return RMALOCK_ERR_COMM;
    for (Rank r = 0; plan.first_of_node() && r < plan.size(); ++r) {
        const Outcome& outcome = outcomes[static_cast<std::size_t>(r)];
        Reach* const reach = plan.reach(base, r);
        *reach = {.peer = plan.share(r).peer,
                  .state = outcome.state,
                  .memory = outcome.memory,
                  .seat = plan.share(r).seat,
                  .generation = plan.share(r).generation,
                  .state_key = outcome.state_key,
                  .memory_key = outcome.memory_key};
        std::memcpy(reach + 1, all.data() + static_cast<std::size_t>(r) * room,
                    static_cast<std::size_t>(outcome.state_key) + outcome.memory_key);
    }
    return RMALOCK_OK;
}

rmalock_status_t Remote::exchange_addresses(const rmalock_comm_t& comm, const Plan& plan,
                                            const std::vector<Outcome>& outcomes) {
    std::size_t room = 0;
    bool needed = false;
    for (const Outcome& outcome : outcomes) {
        room = std::max<std::size_t>(room, outcome.address);
        needed = needed || outcome.needs_addresses;
    }
    if (!needed)
        return RMALOCK_OK;
    ucx::Bytes padded = worker().address(), all(room * outcomes.size());
    padded.resize(room);
    if (comm.allgather(comm.handle, padded.data(), all.data(), room) != 0)
        return RMALOCK_ERR_COMM;
    for (Rank r = 0; r < plan.size(); ++r) {
        const Outcome& outcome = outcomes[static_cast<std::size_t>(r)];
        worker().introduce(
            plan.share(r).peer,
            std::span(all).subspan(static_cast<std::size_t>(r) * room, outcome.address),
            outcome.answers);
    }
    return RMALOCK_OK;
}

bool Remote::reaches(ucx::PeerId process, Rank ranks) const {
    Rank r = 0;
    while (r < ranks && reach(r).peer != process)
        ++r;
    return r < ranks;
}

Remote::Reachable& Remote::reachable(Rank target) {
    std::unique_lock lock(mutex_, std::defer_lock);
    if (threads_)
        lock.lock();
    Reachable& found = reached_[target];
    if (found.peer != nullptr)
        return found;
    const Reach& reach = this->reach(target);
    ucx::Peer* const peer = worker().find(reach.peer);
    const std::span keys(reinterpret_cast<const std::byte*>(&reach + 1),
                         static_cast<std::size_t>(reach.state_key) + reach.memory_key);
    found.state_address = reach.state;
    found.memory_address = reach.memory;
    found.state = ucx::RemoteKey(worker(), *peer, keys.first(reach.state_key));
    if (reach.memory_key != 0)
        found.memory = ucx::RemoteKey(worker(), *peer, keys.subspan(reach.state_key));
    found.outbox.address(reach.seat, reach.generation);
    found.peer = peer;
    return found;
}

// ---- words
// ----------------------------------------------------------------------------------------------

std::uint64_t Remote::fetch(Word word, ucx::Fetch what, std::uint64_t operand,
                            std::uint64_t desired) {
    count_verb();
    count_round_trip();
    return or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        return worker().fetch(waiter_, *target.peer, what, address(target, word.slot), target.state,
                              operand, desired);
    });
}

Value Remote::get(Word word) {
    count_verb();
    count_round_trip();
    return or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        return worker().read_word(waiter_, *target.peer, address(target, word.slot), target.state);
    });
}
Value Remote::fetch_add(Word word, Value operand) {
    return fetch(word, ucx::Fetch::add, operand);
}
Value Remote::swap(Word word, Value desired) {
    return fetch(word, ucx::Fetch::swap, desired);
}
Value Remote::compare_swap(Word word, Value expected, Value desired) {
    return fetch(word, ucx::Fetch::compare_swap, expected, desired);
}

void Remote::put(Word word, Value value) {
    count_verb();
    or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        if (by_cpu_)
            worker().tell(*target.peer, ucx::Tell::store, address(target, word.slot), value);
        else
            worker().post_store(*target.peer, address(target, word.slot), target.state, value);
    });
}
void Remote::add(Word word, Value operand) {
    count_verb();
    or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        if (by_cpu_)
            worker().tell(*target.peer, ucx::Tell::add, address(target, word.slot), operand);
        else
            worker().post_add(*target.peer, address(target, word.slot), target.state, operand);
    });
}

Value Remote::fetch_add_after_data(Word word, Value operand) {
    if (!orders_behind_data(word.rank)) {
        deliver(word.rank);
        return fetch_add(word, operand);
    }
    count_verb();
    count_round_trip();
    return or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        return worker().fetch_add_after_puts(waiter_, *target.peer, address(target, word.slot),
                                             target.state, operand);
    });
}
void Remote::deliver(Rank rank) {
    or_end_the_job([&] { complete(rank); });
}

/// What lies between the words comes along.
void Remote::scan(std::span<const Scan> scans, fabric::Slot first, fabric::Slot stride) {
    std::vector<std::vector<Value>> all(scans.size());
    or_end_the_job([&] {
        ucx::Completion completion;
        for (std::size_t i = 0; i < scans.size(); ++i) {
            count_verb();
            all[i].resize((scans[i].out.size() - 1) * stride + 1);
            Reachable& target = reachable(scans[i].rank);
            worker().get(*target.peer, all[i].data(), all[i].size() * sizeof(Value),
                         address(target, first), target.state, &completion);
        }
        wait_for(completion);
    });
    for (std::size_t i = 0; i < scans.size(); ++i)
        for (std::size_t word = 0; word < scans[i].out.size(); ++word)
            scans[i].out[word] = all[i][word * stride];
}

void Remote::flush(Rank rank) {
    or_end_the_job([&] { count_round_trip(worker().flush(waiter_, peer(rank))); });
}
void Remote::flush_all() {
    or_end_the_job([&] { count_round_trip(worker().flush_words(waiter_)); });
}

// ---- data
// -----------------------------------------------------------------------------------------------

void Remote::move(Direction direction, Rank target, void* origin, std::size_t bytes,
                  std::uint64_t offset, ucx::Completion* completion) {
    Reachable& there = reachable(target);
    const ucx::RemoteAddress address = there.memory_address + offset;
    if (direction == Direction::put)
        worker().put(*there.peer, origin, bytes, address, there.memory, completion);
    else
        worker().get(*there.peer, origin, bytes, address, there.memory, completion);
}

void Remote::flush_local(Rank target) {
    Reachable& there = reachable(target);
    worker().flush_local(waiter_, *there.peer);
    worker().wait_for(waiter_, [&] { return there.outbox.results_done(); });
}

std::vector<Remote::Reachable*> Remote::recipients() {
    const std::lock_guard lock(mutex_);
    std::vector<Reachable*> all;
    for (auto& [rank, there] : reached_)
        if (there.outbox.used())
            all.push_back(&there);
    return all;
}

void Remote::flush_local_all() {
    worker().flush_local_all(waiter_);
    for (Reachable* there : recipients())
        worker().wait_for(waiter_, [&] { return there->outbox.results_done(); });
}

void Remote::complete(Rank target) {
    Reachable& there = reachable(target);
    const bool asked = there.outbox.ask(worker(), *there.peer);
    // Not for the last release's posted word.
    count_round_trip(worker().flush_data(waiter_, *there.peer) || asked);
    if (asked)
        worker().wait_for(waiter_, [&] { return there.outbox.applied(); });
}

void Remote::complete_each(std::span<const Rank> targets) {
    std::vector<Reachable*> asked;
    std::vector<ucx::Peer*> peers;
    for (const Rank target : targets) {
        Reachable& there = reachable(target);
        peers.push_back(there.peer);
        if (there.outbox.ask(worker(), *there.peer))
            asked.push_back(&there);
    }
    count_round_trip(worker().flush_data(waiter_, peers) || !asked.empty());
    for (Reachable* const there : asked)
        worker().wait_for(waiter_, [&] { return there->outbox.applied(); });
}

bool Remote::orders_behind_data(Rank target) {
    Reachable& there = reachable(target);
    return there.outbox.all_applied() && worker().orders_behind_puts(*there.peer);
}

void Remote::complete_all() {
    const std::vector<Reachable*> asked = recipients();
    bool any = false;
    for (Reachable* there : asked)
        any |= there->outbox.ask(worker(), *there->peer);
    count_round_trip(worker().flush_all(waiter_) || any);
    for (Reachable* there : asked)
        worker().wait_for(waiter_, [&] { return there->outbox.applied(); });
}

void Remote::wait_for(const ucx::Completion& completion) {
    count_round_trip(!completion.done());
    worker().wait_for(waiter_, [&] { return completion.done(); });
}

void Remote::send(Rank target, MessageHeader header, std::span<const std::byte> data,
                  std::byte* result, std::size_t result_bytes, ucx::Completion* completion) {
    Reachable& there = reachable(target);
    if (!there.outbox.send(worker(), *there.peer, header, data, result, result_bytes, completion))
        worker().wait_for(waiter_, [&] { return there.outbox.has_room(); });
}

void Remote::move_by_key(Direction direction, Rank target, void* origin, std::size_t bytes,
                         ucx::RemoteAddress address, const ucx::RemoteKey& key,
                         ucx::Completion* completion) {
    if (direction == Direction::put)
        worker().put(peer(target), origin, bytes, address, key, completion);
    else
        worker().get(peer(target), origin, bytes, address, key, completion);
}

ucx::RemoteKey Remote::unpack(Rank target, std::span<const std::byte> key) {
    return {worker(), peer(target), key};
}

void Remote::read_state(Rank target, std::size_t offset, void* into, std::size_t bytes) {
    Reachable& there = reachable(target);
    read(target, there.state_address + offset, there.state, into, bytes);
}

std::vector<std::vector<std::byte>> Remote::read_states(const std::vector<Rank>& ranks,
                                                        std::size_t offset, std::size_t bytes,
                                                        std::chrono::milliseconds patience) {
    struct Answer {
        std::vector<std::byte> data;
        ucx::Completion completion;
    };
    std::vector<std::unique_ptr<Answer>> answers;
    for (const Rank rank : ranks) {
        Answer& answer = *answers.emplace_back(std::make_unique<Answer>());
        answer.data.resize(bytes);
        Reachable& there = reachable(rank);
        worker().get(*there.peer, answer.data.data(), bytes, there.state_address + offset,
                     there.state, &answer.completion);
    }
    const auto end = std::chrono::steady_clock::now() + patience;
    worker().wait_for(waiter_, [&] {
        return std::all_of(answers.begin(), answers.end(),
                           [](const auto& answer) { return answer->completion.done(); }) ||
               std::chrono::steady_clock::now() > end;
    });
    std::vector<std::vector<std::byte>> read;
    for (auto& answer : answers) {
        if (answer->completion.done())
            read.push_back(std::move(answer->data));
        else {
            read.emplace_back();
            (void)answer.release(); // for ever: the answer may come at any time
        }
    }
    return read;
}

void Remote::read(Rank target, ucx::RemoteAddress address, const ucx::RemoteKey& key, void* into,
                  std::size_t bytes) {
    ucx::Completion completion;
    worker().get(peer(target), into, bytes, address, key, &completion);
    wait_for(completion);
}

} // namespace rmalock::window
