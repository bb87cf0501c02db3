// The writers of one node at one target: they pass the lock among themselves before one of another
// node has it.
//
// As the local queues of RMA-MCS (P. Schmid, M. Besta, T. Hoefler: "High-Performance Distributed
// RMA Locks", HPDC 2016, section 3.2), with a baton (baton.hh) in place of the queue: a running
// writer may take it before those that wait, at most `passes` times in a row.
//
// Words at a process of the node, for each target, used by the node's processes only:
//
//    COME       [ KEY:32 | count:32 ]
//               count: writers of the node that are in or wait, and those that have been in since
//               one had to fetch the lock from its home; KEY: the target that has the record, where
//               several want it (node_records.hh), while the count is not 0
//               A writer that finds 0 fetches the lock; all others wait for the baton. It promises
//               the giver a taker: more than `in a row` means that one has come and is not in.
//    BATON      what the holder knows (CohortHold), or HEAD: the lock is to be fetched
//    WAITING    the tail of the baton's queue
//
//    enter  if FADD(COME, 1).count == 0: fetch
//           shared: c = COME until c.count and c.KEY is another: do without the record
//                   or CAS(COME, c -> [KEY = t | c.count + 1]) == c
//           take(BATON);  if HEAD: fetch
//    pass   give(BATON, what it knows)                     where GET(COME) > in a row
//    leave  if FADD(COME, -in a row).count > in a row: give(BATON, HEAD)
//
// Races. A writer that comes between GET(COME) and `leave` finds a COME that is not 0, so it waits,
// and `leave` finds it in what its atomic returns. One that comes after `leave` finds 0 only if
// nobody is left. So one process fetches the lock at a time, and none waits for a baton that nobody
// gives. When the count is 0, nobody uses any word of the record, and all are clean: another target
// may have it.
//
// Cost: enter 1 atomic and the baton's; pass 1 get, 1 posted; leave 1 atomic, 1 posted if others
// wait; all on the own node, and by its CPUs in both domains (fabric/on_node.hh). Memory: 3 words per target and node.
#pragma once

#include <algorithm>
#include <optional>

#include "fabric/on_node.hh"
#include "locks/lock_env.hh"
#include "locks/parts/baton.hh"
#include "locks/parts/node_records.hh"

namespace rmalock::locks {

/// COME. Beside each field: what it promises, and the race that it settles.
struct ComeWord {
    /// A writer of the node that is in or waits, and one that has been in since the lock was
    /// fetched. One atomic counts a writer and shows the others, so of several that come at once
    /// one finds 0 and fetches the lock. More than `in a row` promises the giver a taker.
    static constexpr Value kWriter = 1;
    /// KEY: the target that has the record, while the count is not 0. It is in the word that is
    /// swapped, so that a writer never counts itself for another target.
    static constexpr unsigned kKeyShift = 32;

    static constexpr Value count(Value come) { return come & ((Value{1} << kKeyShift) - 1); }
    static constexpr Value key(Rank target) { return NodeRecords::key(target) << kKeyShift; }
};
// The writers of a node, and T_L that have been in.
static_assert(fabric::kMostRanks + kLargestThreshold < Value{1} << ComeWord::kKeyShift);
static_assert(fabric::kMostRanks < Value{1} << (64 - ComeWord::kKeyShift));

/// What a holder of a cohort knows, and tells the next one: in BATON, and in STATUS of the home's
/// queue (DIRECT of pf_cohort.hh). One process at a time has it, so no field settles a race of its
/// own; beside each: what it promises the next one.
struct CohortHold {
    /// So many of its node have had the lock; COME counts them still. The writer that takes the lock
    /// home takes them out of it, so what is left there are those that wait.
    Value in_a_row = 1;
    /// So many have had it since the last change of phase, itself included, or since an owner saw
    /// that no reader waits: a reader waits for T_W at most.
    Value chain = 1;
    /// Registrations in S that are the holder's. XC counts them until it takes all of them back with
    /// the phase, so no reader and no other exclusive is in; one more in XC is a cohort that waits. 0:
    /// it is in by L (near_entry.hh), whose writers are counted there.
    Value cohorts = 1;
    /// Its cohort's qnode is in the home's queue: it leaves that, and tells the one behind. Where
    /// it finds none there, or was not in it, it meets the first of the queue in HW.
    bool queued = false;
    /// There are members, all closed and empty since the chain began: no reader enters by them until
    /// the holder that changes the phase opens them.
    bool members = false;
    /// These are all nodes there are, so that nobody has to ask the map which.
    bool all_nodes = false;

    /// In by L: as a head, or in the turn behind `phase`.
    static constexpr CohortHold by_near() { return {.cohorts = 0}; }
    static constexpr CohortHold by_turn(Value phase) {
        return {.cohorts = 0, .queued = true, .all_nodes = (phase & 1) != 0};
    }
    constexpr bool in_near() const { return cohorts == 0; }
    constexpr bool in_turn() const { return in_near() && queued; }
    constexpr Value parity_of_turn() const { return all_nodes; }

    /// BATON: HEAD, the lock is at home again, so its taker fetches it. No CohortHold is 0.
    static constexpr Value kHead = 0;

    /// As bits; never 0, since in_a_row is not. In a word of the home, or of the baton, there is
    /// room for what else is known.
    static constexpr unsigned kCountBits = 20, kCohortBits = 12,
                              kBits = 2 * kCountBits + kCohortBits + 3;
    static constexpr Value kMostCohorts = (Value{1} << kCohortBits) - 1;
    static_assert(kLargestThreshold < Value{1} << kCountBits);

    constexpr Value packed() const {
        Value v = all_nodes * Value{4} + queued * Value{2} + members;
        v = v << kCohortBits | cohorts;
        v = v << kCountBits | chain;
        return v << kCountBits | in_a_row;
    }
    static constexpr CohortHold unpacked(Value v) {
        constexpr Value kCount = (Value{1} << kCountBits) - 1;
        const Value flags = v >> (2 * kCountBits + kCohortBits);
        return {v & kCount,       v >> kCountBits & kCount, v >> (2 * kCountBits) & kMostCohorts,
                (flags & 2) != 0, (flags & 1) != 0,         (flags & 4) != 0};
    }
};

template <fabric::Fabric F>
class Cohort : private ComeWord {
  public:
    using Near = fabric::OnNode<F>;
    using Baton = locks::Baton<Near, CohortHold::kBits>;

    /// The words of a target.
    struct Words {
        Word come, baton, waiting;
    };
    struct Entry {
        std::optional<CohortHold> lock; ///< none: the lock is to be fetched from its home
        Value passed;                   ///< what `pass` and `leave` want back
    };

    /// `shared`: other targets may have the record.
    Cohort(F& fabric, bool shared) : fabric_(fabric), baton_(fabric_), shared_(shared) {}
    Cohort(const Cohort&) = delete;
    Cohort& operator=(const Cohort&) = delete;

    /// `limit`: passes. Nothing: another target has the record.
    std::optional<Entry> enter(const Words& words, Rank target, QueueNodes& qnodes, Value limit) {
        const std::optional<Value> before = come(words.come, target);
        if (!before)
            return std::nullopt;
        if (count(*before) == 0)
            return Entry{std::nullopt, 0};
        const auto got =
            baton_.take(words.baton, words.waiting, qnodes, std::min(limit, Baton::kMostPassed));
        if (got.message == CohortHold::kHead)
            return Entry{std::nullopt, got.passed};
        return Entry{CohortHold::unpacked(got.message), got.passed};
    }

    /// Whether a writer of the node waits.
    bool has_next(const Words& words, const CohortHold& mine) {
        return count(fabric_.get(words.come)) > mine.in_a_row;
    }
    /// To the next one, which has_next has seen.
    void pass(const Words& words, const CohortHold& next, Value passed) {
        baton_.give(words.baton, next.packed(), passed);
    }
    /// The lock is at home again.
    void leave(const Words& words, const CohortHold& mine, Value passed) {
        if (count(fabric_.fetch_add(words.come, Value{0} - mine.in_a_row * kWriter)) !=
            mine.in_a_row)
            baton_.give(words.baton, CohortHold::kHead, passed);
    }

    static Hold hold(const CohortHold& mine, Value passed) {
        return {mine.packed() << Baton::kPassedBits | passed};
    }
    static CohortHold unpacked(Hold held) {
        return CohortHold::unpacked(held.opaque >> Baton::kPassedBits);
    }
    static Value passed_of(Hold held) { return held.opaque & Baton::kMostPassed; }

  private:
    /// One more. Returns what COME was, or nothing.
    std::optional<Value> come(Word word, Rank target) {
        if (!shared_)
            return fabric_.fetch_add(word, kWriter);
        const auto mark = fabric_.mark();
        for (unsigned attempt = 0;; ++attempt) {
            const Value seen = fabric_.get(word), mine = key(target);
            if (count(seen) != 0 && seen - count(seen) != mine)
                return std::nullopt;
            if (fabric_.compare_swap(word, seen, mine + count(seen) + kWriter) == seen)
                return seen;
            fabric_.backoff(attempt);
            fabric_.rewind(mark);
        }
    }

    Near fabric_;
    Baton baton_;
    bool shared_;
};

} // namespace rmalock::locks
