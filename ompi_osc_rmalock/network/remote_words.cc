// The verbs on words of other nodes (fabric/remote.hh).
#include "network/remote.hh"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace rmalock::network {

using fabric::Value;
using fabric::Word;

std::uint64_t Remote::fetch(Word word, ucx::Fetch what, std::uint64_t operand,
                            std::uint64_t desired) {
    begin_verb();
    count_round_trip();
    return or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        return worker().fetch(waiter_, *target.peer, what, address(target, word.slot), target.state,
                              operand, desired);
    });
}

Value Remote::get(Word word) {
    begin_verb();
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

namespace {

ucx::FetchOfWord fetch_of(const fabric::Rmw& rmw) {
    using Kind = fabric::Rmw::Kind;
    const bool compares = rmw.kind == Kind::compare_swap;
    return {.what = compares                 ? ucx::Fetch::compare_swap
                    : rmw.kind == Kind::swap ? ucx::Fetch::swap
                                             : ucx::Fetch::add,
            .operand = compares ? rmw.expected : rmw.operand,
            .desired = rmw.operand};
}

} // namespace

Value Remote::fetch_then_get(const fabric::Rmw& rmw, fabric::Slot first, std::span<Value> out) {
    return or_end_the_job([&] {
        Reachable& there = reachable(rmw.word.rank);
        std::optional<std::uint64_t> sent;
        if (rmw.after_data)
            sent = sent_before_atomic(rmw.word.rank, there);
        begin_verb();
        if (!out.empty())
            begin_verb();
        bool together = false;
        const Value before = worker().fetch_then_read(
            waiter_, *there.peer,
            {.fetch = fetch_of(rmw),
             .read = address(there, first),
             .words = out,
             .in_order = !by_cpu_,
             .behind_puts = sent && ucx::Worker::has_unflushed_data(*there.peer)},
            address(there, rmw.word.slot), there.state, together);
        if (sent)
            there.outbox.acknowledge(*sent);
        count_round_trip();
        count_round_trip(!together);
        return before;
    });
}

/// For an atomic that is to take effect after all data to `rank`: sends what has not gone yet. Returns
/// what Outbox::acknowledge wants, if the atomic will come behind all of them. Nothing: they are there.
std::optional<std::uint64_t> Remote::sent_before_atomic(Rank rank, Reachable& there) {
    std::optional<std::uint64_t> sent;
    if (worker().orders_all(*there.peer))
        sent = there.outbox.depart_before_atomic();
    if (!sent)
        complete(rank);
    return sent;
}

void Remote::put(Word word, Value value) {
    begin_verb();
    or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        if (by_cpu_)
            worker().send_word(*target.peer, ucx::WordOp::store, address(target, word.slot), value);
        else
            worker().post_store(*target.peer, address(target, word.slot), target.state, value);
    });
}
void Remote::add(Word word, Value operand) {
    begin_verb();
    or_end_the_job([&] {
        Reachable& target = reachable(word.rank);
        if (by_cpu_)
            worker().send_word(*target.peer, ucx::WordOp::add, address(target, word.slot), operand);
        else
            worker().post_add(*target.peer, address(target, word.slot), target.state, operand);
    });
}

Value Remote::fetch_add_after_data(Word word, Value operand) {
    return fetch_then_get(fabric::Rmw::fetch_add_after_data(word, operand), 0, {});
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
            begin_verb();
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

void Remote::fetch_each(std::span<const Fetch> fetches) {
    std::vector<ucx::FetchOfPeer> all;
    or_end_the_job([&] {
        for (const Fetch& fetch : fetches) {
            begin_verb();
            Reachable& target = reachable(fetch.rmw.word.rank);
            all.push_back({target.peer, address(target, fetch.rmw.word.slot), &target.state,
                           fetch_of(fetch.rmw), fetch.out});
        }
        count_round_trip();
        worker().fetch_each(waiter_, all);
    });
}

void Remote::flush(Rank rank) {
    or_end_the_job([&] { count_round_trip(worker().flush(waiter_, peer(rank))); });
}
void Remote::flush_all() {
    or_end_the_job([&] { count_round_trip(worker().flush_words(waiter_)); });
}

} // namespace rmalock::network
