// The verbs a lock algorithm may use, and exactly what each of them promises.
//
// A *word* is a 64-bit unsigned integer, naturally aligned, named (rank, slot): `rank` is the
// process whose state segment holds it (its *home*), `slot` its index there. An algorithm is a
// template over a Fabric and touches shared state through nothing but these verbs, so that one
// source runs in the component, on threads, and wherever else somebody writes the verbs down.
//
// == Fetching verbs: get, fetch_add, swap, compare_swap ==
//   They block. When one returns, it has taken effect at the home, once. The fetching verbs of all
//   processes on all words are sequentially consistent: there is one order of all of them that
//   agrees with the program order of each process. They never tear a word.
//   A fetching verb is an acquire (what was released by the write it observed is visible to the
//   caller) and, unless it is a get, a release (what the caller completed before it is visible to
//   every process that observes its effect).
//   fetch_then_get(rmw, first, out) is the read-modify-write `rmw` says, and then gets of the words
//   of its home from slot `first` on. Each of them reads what is there once `rmw` has taken effect;
//   among them they have no order. All in one round trip in Domain::nic, if there is one way to
//   the home.
//
// == Posted verbs: put, add ==
//   They return at once. Their effect happens once, at some moment between the call and the end of
//   the caller's next flush of that home; it happens even if the caller never calls a verb again.
//   Until that flush there is NO order between a posted verb and any other verb of the same caller,
//   not even on the same word: two puts may land swapped, and a get may miss one's own put.
//   The one exception: a posted verb on a word of one's *own* rank has happened before the caller's
//   next read-modify-write, or flush, takes effect.
//   A posted verb is a release: what the caller had completed before the call (fetching verbs,
//   posted verbs already flushed, data already flushed) is visible to all that observe its effect.
//   The operand is copied at the call; no caller's variable has to outlive it.
//
// == Holder records: add_single_writer ==
//   add_single_writer(word, v) adds v to a word of the caller's own node that no other process
//   changes, and that it changes by nothing else. When it returns, it has taken effect; it is
//   sequentially consistent with the fetching verbs. It is done by the CPU, whatever the domain.
//
// == Words of one node: near_fetch_add, near_swap, near_compare_swap, near_add ==
//   As the verbs without near_, on words that only processes of their node change. They are done by
//   the CPU, whatever the domain, where what the lock takes for a node is one. on_node.hh makes a
//   fabric of them.
//
// == Marks: own, put_own, fence_node ==
//   own(slot) is a word of the caller's own rank under a name by which put_own finds it sooner; a
//   name that was made without it names nothing, and equals no other.
//   put_own(name, v) is a put to it, on which nobody sleeps. It wakes nobody, and costs what a
//   store costs.
//   fence_node() is what orders it, at the price of interrupting all processes of the caller's
//   node: on return the puts to own words that they had made before have taken effect, and what
//   they do later comes after what the caller had done before. For what happens rarely, where a
//   fence after each put_own would cost more. Not every machine has it: node_fence.hh.
//
// == Several ranks: scan, add_each, fetch_each ==
//   scan(ranks, first, stride, out) reads out.size() / ranks.size() words of each of the ranks,
//   from slot `first` on and `stride` slots apart, each as get does. add_each(ranks, slot, v) adds
//   v to a word of each of them, each as fetch_add does, but tells nothing. fetch_each(rmws, out)
//   does the read-modify-writes of `rmws`, each of a word of its own, as the verb for one does, and
//   leaves in `out` what they return. What the three do to the words happens in no order. They
//   block, for the round trip of one.
//
// == Completion: flush(rank), flush_all() ==
//   On return every posted verb the caller issued to that rank (to any rank) has taken effect, and
//   is ordered before every verb the caller issues afterwards.
//
// == Data: fetch_add_after_data, deliver ==
//   Data are what the caller's program put into the memory of `rank` before the release. They are
//   no words, and no verb above says anything about them. fetch_add_after_data(word, v) is a
//   fetch_add that takes effect after all data to the word's rank are there; when it returns they
//   are, for all the round trips of one fetch_add where the network allows. The fetch_add of a
//   fetch_then_get may be such a one. deliver(rank) returns
//   when they are. A lock whose traits say `delivers` makes one of the two before anything that may
//   let another process in; for all others the window delivers before the release begins.
//
// == Waiting: await, await_until, backoff ==
//   await(word, pred) returns the first value it observes for which pred(value) holds; it is an
//   acquire of that value, and a word of the own node is read in the one order of all fetching
//   verbs. It may miss values that come and go: only wait for conditions that, once true, stay true
//   until the caller acts, or whose loss the algorithm repairs.
//   await_until(word, pred, moment) does the same until `moment`, and returns nothing after it. A
//   model checker lets it give up at any time. after(time) is the moment so long from now; after(0)
//   never comes.
//   On a word whose home is on the caller's node a wait reads memory only. On any other word each
//   poll is a round trip with bounded back-off; a scalable algorithm does not do that.
//   backoff(attempt) lets a bounded time pass that grows with attempt, for retry loops that
//   contend. All three run the communication progress of the process, so that a holder that waits
//   for a message of ours gets it. Waiting exists nowhere else: algorithms contain no loops that
//   poll.
//   A waiter may sleep, for a bounded time. put and add wake all that sleep until a word of that
//   rank changes, fetching verbs nobody: so it is mostly by put or add that words change which
//   others wait for.
//
// == Loops: mark, rewind ==
//   For the model checker, which has to find out that a loop has come round: mark says that a part
//   of an operation begins; at rewind(mark, known) and at backoff the process knows what it knew at
//   the mark (at backoff: the last one, or at the operation's first verb), and `known`, and has
//   left nothing else behind. So rewind also says that of what was read since the mark only `known`
//   matters from there on. In all other fabrics they do nothing.
//
// == Beside the verbs: resolve, handed_over, mode_changed, from ==
//   resolve(word) is the word under a name by which get finds it sooner, for a word that is asked
//   for again and again. handed_over(other): the lock went from its holder to a waiter, and the
//   other side is `other`, or on its node. mode_changed(): the lock passed from shared to exclusive
//   use, or back, and a process had to wait or to be told. from(location): the line of the
//   algorithm that makes the next verb. Fabrics that count, or check, learn by the latter three
//   what verbs do not say.
//
// The whole contract is required. base.hh has what is nothing special on most fabrics; adapter.hh
// makes another fabric of one.
//
// == Atomicity domains ==
//   Domain::cpu   every read-modify-write of a word, from any process, is done by CPUs and is
//                 atomic with every other one and with puts and CPU stores.
//   Domain::nic   the network adapter does the read-modify-writes of remote processes. They are
//                 atomic with each other only. Therefore every word is used as one of
//                   atomic   add, fetch_add, swap, compare_swap, get, await; never put
//                   mailbox  put, get, await; never a read-modify-write
//                   cohort   near_ verbs and put by processes on the home's node; get, await
//                   holder   add_single_writer, by one process; get, scan
//                 An algorithm that keeps to one use per word is correct in both domains, and every
//                 algorithm here does. (get never tears in either domain.)
//
//   In Domain::nic a get, or a wait, on a word of the caller's node is a load, and an exception to
//   the order of fetching verbs: it may miss for a while what verbs of other nodes have done to
//   words of this node. It sees these effects in the order in which they happened there, and all
//   that came before a fetching verb of another node on a word of this node, or before the caller's
//   own read-modify-write by the adapter, once that verb has returned. So a handshake of words works
//   if those from other nodes read on the node on which they wrote. PCI Express and the verbs
//   promise no more than that (test/check/memory.hh).
//
// == Failure ==
//   A verb does not fail. When the network does, the fabric ends the job with a message; nothing
//   returns into an algorithm half way.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <source_location>
#include <span>

namespace rmalock::fabric {

/// Rank of a process in the window's group.
using Rank = std::int32_t;
/// Index of a word in the part of the state segment that belongs to one rank.
using Slot = std::uint32_t;
/// What a word holds.
using Value = std::uint64_t;

/// Name of a word: `slot` in the state of `rank`.
struct Word {
    Rank rank;
    Slot slot;
    friend bool operator==(const Word&, const Word&) = default;
};

/// A read-modify-write, for verbs that take one along.
struct Rmw {
    enum class Kind : std::uint8_t { fetch_add, swap, compare_swap };
    Kind kind;
    Word word;
    Value operand;           ///< what is added, or stored
    Value expected;          ///< compare_swap
    bool after_data = false; ///< a fetch_add_after_data, in a fetch_then_get alone

    static Rmw fetch_add(Word w, Value v) { return {Kind::fetch_add, w, v, 0}; }
    static Rmw fetch_add_after_data(Word w, Value v) { return {Kind::fetch_add, w, v, 0, true}; }
    static Rmw swap(Word w, Value v) { return {Kind::swap, w, v, 0}; }
    static Rmw compare_swap(Word w, Value expected, Value desired) {
        return {Kind::compare_swap, w, desired, expected};
    }
};

/// How long something may take.
using Duration = std::chrono::microseconds;

/// A time of the clock of a process.
struct Moment {
    std::chrono::steady_clock::time_point time = std::chrono::steady_clock::time_point::max();

    static Moment in(Duration time) {
        return time.count() == 0 ? Moment{} : Moment{std::chrono::steady_clock::now() + time};
    }
    bool ever() const { return time != std::chrono::steady_clock::time_point::max(); }
    bool has_come() const { return ever() && std::chrono::steady_clock::now() >= time; }
};

/// What performs read-modify-writes; see the top of this file.
enum class Domain { cpu, nic };

/// A condition on the value of a word.
template <class P>
concept Predicate = std::predicate<P, Value>;

/// The conditions algorithms wait for most.
constexpr auto equals(Value wanted) {
    return [wanted](Value v) { return v == wanted; };
}
constexpr auto differs(Value unwanted) {
    return [unwanted](Value v) { return v != unwanted; };
}

template <class F>
concept Fabric = requires(F& f, Word w, Value v, Rank r, unsigned n, bool (*pred)(Value), Slot s,
                          std::span<const Rank> ranks, std::span<Value> out, Duration time, Rmw rmw,
                          std::span<const Rmw> rmws) {
    // The caller and its place.
    { f.self() } -> std::same_as<Rank>;
    { f.size() } -> std::same_as<Rank>;
    { f.same_node(r) } -> std::same_as<bool>;
    { f.domain() } -> std::same_as<Domain>;
    // Fetching.
    { f.get(w) } -> std::same_as<Value>;
    { f.fetch_add(w, v) } -> std::same_as<Value>;       // returns the value before
    { f.swap(w, v) } -> std::same_as<Value>;            // returns the value before
    { f.compare_swap(w, v, v) } -> std::same_as<Value>; // (expected, desired); the value before
    { f.fetch_then_get(rmw, s, out) } -> std::same_as<Value>;
    // Posted.
    { f.put(w, v) } -> std::same_as<void>;
    { f.add(w, v) } -> std::same_as<void>;
    // Words of one node.
    { f.near_fetch_add(w, v) } -> std::same_as<Value>;
    { f.near_swap(w, v) } -> std::same_as<Value>;
    { f.near_compare_swap(w, v, v) } -> std::same_as<Value>;
    { f.near_add(w, v) } -> std::same_as<void>;
    // Holder records.
    { f.add_single_writer(w, v) } -> std::same_as<void>;
    // Marks.
    { f.put_own(f.own(s), v) } -> std::same_as<void>;
    { f.fence_node() } -> std::same_as<void>;
    // Several ranks.
    { f.scan(ranks, s, s, out) } -> std::same_as<void>;
    { f.add_each(ranks, s, v) } -> std::same_as<void>;
    { f.fetch_each(rmws, out) } -> std::same_as<void>;
    // Completion.
    { f.flush(r) } -> std::same_as<void>;
    { f.flush_all() } -> std::same_as<void>;
    // Data.
    { f.fetch_add_after_data(w, v) } -> std::same_as<Value>;
    { f.deliver(r) } -> std::same_as<void>;
    // Waiting.
    { f.await(w, pred) } -> std::same_as<Value>;
    { f.await_until(w, pred, f.after(time)) } -> std::same_as<std::optional<Value>>;
    { f.backoff(n) } -> std::same_as<void>;
    // Loops.
    { f.mark() } -> std::same_as<std::uint64_t>;
    { f.rewind(f.mark()) } -> std::same_as<void>;
    { f.rewind(f.mark(), v) } -> std::same_as<void>;
    // Names, and what counts and checks are told.
    { f.get(f.resolve(w)) } -> std::same_as<Value>;
    { f.handed_over(r) } -> std::same_as<void>;
    { f.mode_changed() } -> std::same_as<void>;
    {f.from(std::source_location::current())};
    requires std::same_as<decltype(F::kOneNode), const bool>;
    requires std::same_as<decltype(F::kTimeless), const bool>;
};

} // namespace rmalock::fabric
