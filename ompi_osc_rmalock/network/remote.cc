// A window's memory for others, its ranks as they are reached, and its data.
#include "network/remote.hh"

#include <algorithm>
#include <cerrno>
#include <span>
#include <utility>

namespace rmalock::network {

namespace {

[[noreturn]] void throw_lost() {
    throw ucx::PeerLost("UCX: the target has gone");
}

} // namespace

Remote::Remote(Network& network, bool threads)
    : network_(network), id_(network.windows()), threads_(threads) {}

Exposed Remote::expose(std::byte* state, std::size_t state_bytes, void* memory,
                       std::size_t memory_bytes) {
    try {
        state_ = ucx::Registration(worker(), state, state_bytes);
        memory_ = ucx::Registration(worker(), memory, memory_bytes);
        return {.state = reinterpret_cast<ucx::RemoteAddress>(state),
                .memory = reinterpret_cast<ucx::RemoteAddress>(memory),
                .state_key = state_.key(),
                .memory_key = memory_.key()};
    } catch (const ucx::Error& error) {
        report(0, "%s", error.what());
        return {.error = EIO};
    }
}

void Remote::open(const Endpoints& ranks, ReachTable reaches, const fabric::Waiter& waiter) {
    reaches_ = reaches;
    waiter_ = waiter;
    // Here answers of the network are waited for, never words of the node.
    waiter_.park = Network::park;
    const auto job = [](const Endpoint& rank) { return rank.process >> 32; };
    Groups::Group own_job;
    for (const Endpoint& rank : ranks.all) {
        if (job(rank) != job(ranks.mine()))
            of_other_jobs_.push_back(worker().find(rank.peer));
        else
            own_job.push_back(rank.process);
    }
    network_.link(std::move(own_job));
    one_job_ = of_other_jobs_.empty(); // on every rank alike
    worker().hold(of_other_jobs_);
}

void Remote::withdraw() {
    id_.withdraw();
    const auto lock = worker().locked(); // handlers run with it
}

bool Remote::part_from_other_jobs() {
    network_.forget(worker().release(std::exchange(of_other_jobs_, {})));
    return !one_job_;
}

void Remote::set_domain(fabric::Domain domain) {
    by_cpu_ = domain == fabric::Domain::cpu;
    network_.settle(by_cpu_ ? AtomicsBy::cpu : AtomicsBy::nic);
}

bool Remote::reaches(ucx::PeerId process, Rank ranks) const {
    Rank r = 0;
    while (r < ranks && reaches_[r].peer != process)
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
    const Reach& reach = reaches_[target];
    ucx::Peer* const peer = worker().find(reach.peer);
    const std::span keys(reinterpret_cast<const std::byte*>(&reach + 1),
                         static_cast<std::size_t>(reach.state_key) + reach.memory_key);
    found.state_address = reach.state;
    found.memory_address = reach.memory;
    found.state = ucx::RemoteKey(worker(), *peer, keys.first(reach.state_key));
    if (reach.memory_key != 0)
        found.memory = ucx::RemoteKey(worker(), *peer, keys.subspan(reach.state_key));
    found.outbox.address({worker(), network_.answers(), network_.departures()}, *peer,
                         reach.window);
    found.peer = peer;
    return found;
}

// ---- data ---------------------------------------------------------------------------------------

void Remote::move(Direction direction, Rank target, void* origin, std::size_t bytes,
                  std::uint64_t offset, ucx::Completion* completion) {
    network_.departures().send_all();
    Reachable& there = reachable(target);
    const ucx::RemoteAddress address = there.memory_address + offset;
    if (direction == Direction::put)
        worker().put(*there.peer, origin, bytes, address, there.memory, completion);
    else
        worker().get(*there.peer, origin, bytes, address, there.memory, completion);
}

void Remote::element(Rank target, const ucx::ElementAtomic& what, std::uint64_t offset,
                     ucx::Completion* completion) {
    const Reachable& there = reachable(target);
    element_by_key(target, what, there.memory_address + offset, there.memory, completion);
}

void Remote::element_by_key(Rank target, const ucx::ElementAtomic& what, ucx::RemoteAddress address,
                            const ucx::RemoteKey& key, ucx::Completion* completion) {
    count_verb();
    worker().element(peer(target), what, address, key, completion);
}

void Remote::order_elements(Rank target, bool adds) {
    ucx::Peer& to = peer(target);
    if (ucx::Worker::has_elements(to, adds) && !worker().put_elements_in_order(to))
        complete(target);
}

void Remote::flush_local(Rank target) {
    Reachable& there = reachable(target);
    network_.departures().send_all();
    there.outbox.depart();
    const std::uint64_t asked = there.outbox.asked_so_far();
    worker().flush_local(waiter_, *there.peer);
    worker().wait_for(waiter_, *there.peer, [&] { return there.outbox.has_results_of(asked); });
    must_be_there(there);
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
    network_.departures().send_all();
    std::vector<std::pair<Reachable*, std::uint64_t>> asked;
    for (Reachable* there : recipients()) {
        there->outbox.depart();
        asked.emplace_back(there, there->outbox.asked_so_far());
    }
    worker().flush_local_all(waiter_);
    for (const auto& [there, number] : asked)
        worker().wait_for(waiter_, *there->peer,
                          [&] { return there->outbox.has_results_of(number); });
    all_must_be_there();
}

/// A flush does not wait for one that has gone.
void Remote::must_be_there(const Reachable& target) {
    if (!target.peer->lost())
        return;
    worker().await_loss();
    throw_lost();
}

void Remote::all_must_be_there() {
    if (!worker().goes_on_without_peers()) // each flush comes here
        return;
    const std::lock_guard lock(mutex_);
    for (const auto& [rank, there] : reached_)
        if (there.peer != nullptr) // one that has gone before it was met
            must_be_there(there);
}

void Remote::complete(Rank target) {
    Reachable& there = reachable(target);
    const bool asked = there.outbox.ask();
    // Not for the last release's posted word.
    count_round_trip(worker().flush_data(waiter_, *there.peer) || asked);
    must_be_there(there);
    if (asked)
        worker().wait_for(waiter_, *there.peer, [&] { return there.outbox.applied(); });
}

bool Remote::send_complete(Rank target) {
    ucx::Peer& to = peer(target);
    if (!by_cpu_ || (ucx::Worker::has_unflushed_data(to) && !worker().orders_all(to)))
        return false;
    begin_verb();
    MessageHeader header{};
    header.kind = MessageKind::complete;
    send(target, header, {}, {});
    return true;
}

void Remote::complete_each(std::span<const Rank> targets) {
    std::vector<Reachable*> asked;
    std::vector<ucx::Peer*> peers;
    for (const Rank target : targets) {
        Reachable& there = reachable(target);
        peers.push_back(there.peer);
        if (there.outbox.ask())
            asked.push_back(&there);
    }
    count_round_trip(worker().flush_data(waiter_, peers) || !asked.empty());
    for (const Rank target : targets)
        must_be_there(reachable(target));
    for (Reachable* const there : asked)
        worker().wait_for(waiter_, *there->peer, [&] { return there->outbox.applied(); });
}

bool Remote::orders_behind_data(Rank target) {
    Reachable& there = reachable(target);
    return there.outbox.all_but_puts_applied() && worker().orders_all(*there.peer);
}

bool Remote::put_words_behind_data(Rank target) {
    return !by_cpu_ && worker().put_words_behind_puts(peer(target));
}

void Remote::complete_all() {
    const std::vector<Reachable*> asked = recipients();
    bool any = false;
    for (Reachable* there : asked)
        any |= there->outbox.ask();
    count_round_trip(worker().flush_all(waiter_) || any);
    for (Reachable* there : asked)
        worker().wait_for(waiter_, [&] { return there->outbox.applied() || there->peer->lost(); });
    all_must_be_there();
}

void Remote::wait_for(const ucx::Completion& completion) {
    count_round_trip(!completion.done());
    worker().wait_for(waiter_, [&] { return completion.done(); });
    if (completion.lost())
        throw_lost();
}

void Remote::send(Rank target, MessageHeader header, std::span<const std::byte> data,
                  const Awaited& awaited) {
    Reachable& there = reachable(target);
    if (!there.outbox.send(header, data, awaited))
        worker().wait_for(waiter_, *there.peer, [&] { return there.outbox.has_room(); });
}

void Remote::hold(Rank target, const MessageHeader& header, std::span<const MessageRun> runs,
                  std::span<const std::byte> operands) {
    Reachable& there = reachable(target);
    if (!there.outbox.hold(header, runs, operands))
        worker().wait_for(waiter_, *there.peer, [&] { return there.outbox.has_room(); });
}

/// A get that comes alone goes at once, as the program waits for it.
bool Remote::collects(Direction direction, Rank target, std::size_t bytes, bool of_many) {
    if (target == section_of_)
        return true;
    if (!by_cpu_ || bytes > Outbox::kMostHeldAtOnce || !worker().takes_descriptors())
        return false;
    if (!network_.may_hold())
        return of_many;
    if (direction == Direction::put)
        return true;
    Reachable& there = reachable(target);
    return !there.outbox.all_applied() || !ucx::Worker::complete_here(*there.peer);
}

void Remote::collect(Direction direction, Rank target, std::span<const Copy> copies,
                     ucx::Completion* completion) {
    Reachable& there = reachable(target);
    const MessageKind kind = direction == Direction::put ? MessageKind::put : MessageKind::get;
    if (!there.outbox.collect(kind, copies, completion))
        worker().wait_for(waiter_, *there.peer, [&] { return there.outbox.has_room(); });
}

void Remote::depart(Rank target) {
    if (!network_.may_hold())
        reachable(target).outbox.depart();
}

void Remote::begin_section(Rank target) {
    reachable(target).outbox.begin_section();
    section_of_ = target;
}

SectionOutcome Remote::send_section(Rank target, std::uint8_t flags) {
    return or_end_the_job([&] {
        Reachable& there = reachable(target);
        begin_verb();
        count_round_trip();
        SectionOutcome outcome;
        there.outbox.send_section(flags, outcome);
        worker().wait_for(waiter_, *there.peer, [&] { return there.outbox.results_done(); });
        return outcome;
    });
}

void Remote::end_section(Rank target, std::size_t applied) {
    section_of_ = -1;
    or_end_the_job([&] { reachable(target).outbox.end_section(applied); });
}

void Remote::move_by_key(Direction direction, Rank target, void* origin, std::size_t bytes,
                         ucx::RemoteAddress address, const ucx::RemoteKey& key,
                         ucx::Completion* completion) {
    network_.departures().send_all();
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

} // namespace rmalock::network
