// N-CoSED: one word that exclusives swap and shared ones count in; a queue of exclusives, and behind
// each of them the shared ones that came next.
//
// S. Narravula, A. Mamidala, A. Vishnu, K. Vaidyanathan, D. K. Panda: "High Performance Distributed
// Lock Management Services using Network-based Remote Atomic Operations", CCGrid 2007, sections
// 3.2.1 to 3.2.4.
//
// Words of target t at t, one line; NEXT, STATUS, DRN and WAKE of a qnode are those of
// mcs_queue.hh, drain.hh and push_list.hh:
//
//     WORD   [ last:40 | shared:24 ]  last: the qnode of the last exclusive, 0 if there is
//            none; shared: those that came behind it                                    atomic
//     RO     the departures of shared ones, and the exclusive that waits for them
//            (drain.hh)                                                                 atomic
//     NEXT   of a qnode: [ the next exclusive:40 | shared ones between:24 ]             mailbox
//     INBOX_i of a qnode, i < D: the shared one that came as number i behind its
//            exclusive                                                                  mailbox
//     LIST_i of a qnode, i < L: those that came later                                   atomic
//     LISTED of a qnode: how many have come to its lists                                atomic
//     stand-in: a qnode for a holder (mcs_queue.hh), in the same line
//
//    s_acq  [e:n] = FADD(WORD, [0:1]);  if !e: in                                   3.2.2: 1-2
//           n < D: PUT(e.INBOX_n, me);  else prev = SWAP(e.LIST_(n mod L), me)
//                                            ADD(e.LISTED, 1)                       3.2.4: 1-2
//           w = await WAKE != 0;  WAKE = 0;  if prev: PUT(prev.WAKE, w)             3.2.4: 3
//           w == MOVED: flush; again, behind the stand-in                           // C4
//    s_rel  leave: FADD(RO, -1), and tell the exclusive that waits for the last     3.2.2: 1
//    x_acq  [e:n] = SWAP(WORD, [me:0])                                              3.2.1: 1, 3
//           if e: PUT(e.NEXT, [me:n]);  await STATUS                                3.2.1: 3
//           if n: drain(n): wait for as many departures                             3.2.3: 3-4
//    x_rel  if !NEXT: until CAS(WORD, [me:n] -> [0:n]) == [me:n]: n = what it found  // C2
//                   or found another name there: await NEXT
//           [succ:n] = NEXT or [0:n]
//           for i < n: r = await INBOX_i;  INBOX_i = 0;  or, of those behind D:
//                 await LISTED == n - D;  each i: r = SWAP(LIST_i, 0);  LISTED = 0
//           for each r: PUT(r.WAKE, IN)                                             3.2.4: 3
//           if succ: PUT(succ.STATUS, GRANTED)                                      3.2.1: 1
//    renew  (now and then, by a shared one that is in)                              // C3
//           o = RO: nobody drains, and d > 0 have left;  CAS(RO, o -> 0)
//           if CAS(WORD, [0:n] -> [0:n-d]) fails, also when repeated:  leave d times at once
//
// Notes
//   C1  An exclusive waits for the shared ones between it and the one before it, itself, when it has
//       been told that these are in. The paper does not say which process does (3.2.3, 3.2.4).
//   C2  Each failure is one more that waits behind the caller, and can come once.
//   C3  Shared ones count up as long as no exclusive comes. So that the field does not overflow, one
//       that finds it large takes departures out of both words. It owns them meanwhile: no exclusive
//       that swaps WORD can have all its departures before they are in one of the words again. WORD
//       says at least as many as are inside at every moment.
//   C4  A holder that has no qnode to spare moves to the stand-in (mcs_queue.hh); the shared ones
//       behind it, which have come to its qnode, are sent after it.
//
// Deviations from the paper
//   D1  Exclusives repeat a compare-and-swap there until it succeeds (3.2.1 step 3, 3.2.3 step 1), and
//       each shared one that comes makes it fail: they may try for ever. It is a swap here.
//   D2  A last exclusive that leaves resets both regions there (3.2.1 step 2). One that has swapped the
//       word, or counted itself, and whose message is on its way would be lost: two are in then.
//       The word is given up by a compare-and-swap here, and what it finds is waited for.
//   D3  Shared ones send their release to the home there, whose process counts, and resets the word
//       (3.2.2, unlock). Here they count their departures in a word; the last one tells the exclusive
//       that waits. The home's process has no part in it.
//   D4  Requests and grants are messages there. Both are puts here. A process has no room for a request
//       of every other one: those that come later than number D put themselves on lists. The holder
//       wakes the last of each list, and each one wakes the one before it.
//   D5  The regions have 40 and 24 bits instead of 32: a qnode's name takes more than a rank.
//
// Overtaking: none. Exclusives and groups of shared ones have the lock in the order in which they came
// to WORD. For that reason the lock cannot obey the rule of patience (patience.hh): a shared one waits
// behind an exclusive that itself only waits.
//
// Cost off node, uncontended: shared 1 atomic = 1 round trip, the same to release; exclusive the same,
// and 2 atomics more after shared ones. Contended: 1 posted put to come to a queue or an inbox, 1 to be let
// in, 1 to tell of departures; behind number D 1 atomic and 1 posted add more. Waiters read their own
// memory. Memory: a line per target, and for each qnode (qnodes.hh) D words more, or as many as make 16 KiB
// at a rank (fabric/layout.hh).
#pragma once

#include <algorithm>
#include <array>

#include "locks/lock_env.hh"
#include "locks/parts/drain.hh"
#include "locks/parts/mcs_queue.hh"

namespace rmalock::locks {

/// Of the home record, and of a qnode, what n_cosed has beside the parts. The stand-in is the
/// home record itself, and its other fields lie where a stand-in needs none. Beside each: what it
/// promises, and the race that it settles.
struct NCosedWords {
    static constexpr Slot kWord = 1, kRo = 2;
    static constexpr Slot kJoin = 3; ///< stays empty: nobody joins a drain
    /// LIST: the last of the shared ones there, each of which wakes the one before it. LISTED: so
    /// many are there. A shared one swaps a list first and counts itself behind that, so a holder
    /// that finds the count it knows from WORD finds all of them in the lists.
    static constexpr Slot kList = 4, kMostLists = 3, kListed = kList + kMostLists;
    static constexpr Value kListed1 = 1;
    /// INBOX_i, behind the first of a rank's inboxes, of `each` words: the shared one that WORD has
    /// counted as number i behind the exclusive. No other one has that number, so one process
    /// writes it, once. The holder knows from WORD or NEXT how many to wait for, and clears each.
    static constexpr Slot inbox(Slot inbox_number, Slot each, Slot i) {
        return inbox_number * each + i;
    }
    static constexpr Slot kWords = kListed + 1;
    static_assert(kWords == QueueNodes::kQnodeSlots);

    // WORD, and NEXT: what the next exclusive found in WORD, with its own name. That one writes it
    // once, so the holder knows from it all that came in between.
    static constexpr unsigned kSharedBits = 64 - kNameBits;
    static constexpr Value pack(Value exclusive, Value shared) {
        return exclusive << kSharedBits | shared;
    }
    /// The last exclusive: the next to come has the lock after it. An exclusive swaps the word, so
    /// each finds one before it, and those between. It goes by a CAS of the whole word, which fails
    /// if anybody has come behind it (D2).
    static constexpr Value exclusive(Value word) { return word >> kSharedBits; }
    /// A shared one, counted behind the exclusive; without one, at least those inside (C3). One
    /// atomic counts it and shows the exclusive. So the exclusive before it counts it and wakes it,
    /// the one behind it counts it and waits for its departure, and no other one does.
    static constexpr Value kShared1 = 1;
    static constexpr Value shared(Value word) { return word & (pack(1, 0) - 1); }

    /// STATUS: those before the exclusive are in, or have been.
    static constexpr Value kGranted = McsQueueWords::kGranted;
    /// WAKE: the shared one is in; or its exclusive has moved, and it is to come to the stand-in
    /// (C4). Each request is answered once, by the exclusive before it or down a list.
    static constexpr Value kIn = 1, kMoved = 2;
};

/// Sizes: as shipped, or what a checker can do.
struct NCosedSizes {
    Slot inbox = 16; ///< D
    Slot lists = NCosedWords::kMostLists;
    /// A count this large is made less. Far more than can be inside, and far less than there is room for:
    /// it may be tried many times in vain.
    Value renew_at = Value{1} << (NCosedWords::kSharedBits - 2);
};
// More than can be inside: so large a count has departures to take out.
static_assert(fabric::kMostRanks < NCosedSizes{}.renew_at);

template <fabric::Fabric F, NCosedSizes kSizes = NCosedSizes{}>
class NCosed : private NCosedWords {
    static_assert(kSizes.lists <= kMostLists && kSizes.lists != 0);

  public:
    static constexpr LockTraits kTraits{
        .name = "n_cosed", .patient = false, .needs = {.queue_nodes = true}};

    static Footprint footprint(const MachineView& machine) {
        const Slot inboxes = stand_in_number(machine) + 1;
        return {.home = kWords, .records = whole_lines(inboxes * inbox_words(machine))};
    }
    static LockLimits limits(const Thresholds&, const MachineView&) { return {}; }

    explicit NCosed(const LockEnv<F>& env)
        : fabric_(env.fabric), queue_(env.fabric), departures_(env.fabric), home_(env.home),
          inboxes_(env.records), stand_in_(stand_in_number(env.machine)),
          inbox_words_(inbox_words(env.machine)), qnodes_(env.qnodes) {}

    Hold acquire_shared(Rank target) {
        // Before it is counted: from then on the exclusive before it waits for its request.
        const Word own = qnodes_.take(fabric_);
        const Value seen = fabric_.fetch_add(word(target), kShared1);
        if (exclusive(seen) != 0)
            wait_behind(qnode_of(exclusive(seen)), shared(seen), own, target);
        qnodes_.give(own);
        if (exclusive(seen) == 0 && shared(seen) >= kSizes.renew_at) [[unlikely]]
            renew(target);
        return {};
    }

    void release_shared(Rank target, Hold) { departures_.leave(drain_words(target)); }

    Hold acquire_exclusive(Rank target) {
        const Word own = qnodes_.take(fabric_);
        const Value before = fabric_.swap(word(target), pack(name_of(own), 0));
        if (exclusive(before) != 0) {
            fabric_.put(field(qnode_of(exclusive(before)), kNext),
                        pack(name_of(own), shared(before)));
            queue_.await_and_take_status(own);
        }
        if (shared(before) != 0) { // C1
            Rounds<F> one_for_ever(Duration(0));
            departures_.drain(drain_words(target), own, shared(before), one_for_ever);
            fabric_.mode_changed();
        }
        return {name_of(kept(target, own))};
    }

    void release_exclusive(Rank target, Hold hold) {
        const Word qnode = qnode_of(hold.opaque);
        Followers next = unpacked(queue_.next(qnode));
        if (next.exclusive == 0)
            next = leave_word(target, qnode, 0);
        const Requests requests = take_requests(qnode, next.shared);
        queue_.give_back(qnodes_, qnode); // clean before anybody is in
        wake(requests, kIn);
        if (next.exclusive != 0) {
            queue_.notify(next.exclusive, kGranted);
            fabric_.handed_over(qnode_of(next.exclusive).rank);
        }
    }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool for_exclusive) {
        const Value now = fabric_.get(word(target));
        if (exclusive(now) != 0 || !for_exclusive)
            return exclusive(now) != 0;
        return DrainWord::inside(fabric_.get({target, home_ + kRo})) +
                   static_cast<std::int64_t>(shared(now)) !=
               0;
    }

  private:
    static constexpr Slot kNext = McsQueueWords::kNext, kWake = PushListWords::kWake;

    /// Behind an exclusive: the next one, 0 if there is none, and the shared ones before that.
    struct Followers {
        Value exclusive = 0, shared = 0;
    };
    /// The shared ones behind an exclusive: in its inbox, and the last of each list.
    using Requests = std::array<Value, kSizes.inbox + kSizes.lists>;

    static constexpr Slot whole_lines(Slot words) {
        return fabric::line((words + fabric::kWordsPerLine - 1) / fabric::kWordsPerLine);
    }
    /// Of its inbox, behind those of the qnodes.
    static Slot stand_in_number(const MachineView& machine) {
        return QueueNodes::Room::of(machine.ranks()).qnodes;
    }
    /// D, or as many as there is room for.
    static Slot inbox_words(const MachineView& machine) {
        const Slot fit = fabric::line(machine.room()) / (stand_in_number(machine) + 1);
        return std::clamp<Slot>(fit, 1, kSizes.inbox);
    }
    Word inbox(Word qnode, Slot i) const {
        const Slot number =
            qnode.slot == home_ ? stand_in_ : static_cast<Slot>(qnodes_.index(qnode));
        return {qnode.rank, inboxes_ + NCosedWords::inbox(number, inbox_words_, i)};
    }

    static Followers unpacked(Value next) { return {exclusive(next), shared(next)}; }
    Word word(Rank target) const { return {target, home_ + kWord}; }
    Word stand_in(Rank target) const { return {target, home_}; }
    DrainWords drain_words(Rank target) const {
        return {{target, home_ + kRo}, {target, home_ + kJoin}};
    }

    // ---- shared ---------------------------------------------------------------------------------
    /// `number`: of those that came behind the exclusive that has, or awaits, the lock at `ahead`.
    [[gnu::noinline]] void wait_behind(Word ahead, Value number, Word own, Rank target) {
        for (;;) {
            const Value prev = request(ahead, number, own);
            const Value said = fabric_.await(field(own, kWake), fabric::differs(0));
            fabric_.put(field(own, kWake), 0);
            if (prev != 0)
                fabric_.put(field(qnode_of(prev), kWake), said);
            if (said == kIn)
                return;
            ahead = stand_in(target); // C4
            fabric_.flush(own.rank);  // WAKE is 0 before the next one can come
        }
    }

    /// Returns which one is to be woken after the caller, 0 if none is.
    Value request(Word ahead, Value number, Word own) {
        if (number < inbox_words_) {
            fabric_.put(inbox(ahead, static_cast<Slot>(number)), name_of(own));
            return 0;
        }
        const Slot list = kList + static_cast<Slot>(number % kSizes.lists);
        const Value prev = fabric_.swap(field(ahead, list), name_of(own));
        fabric_.add(field(ahead, kListed), kListed1);
        return prev;
    }

    /// C3.
    [[gnu::noinline]] void renew(Rank target) {
        const Word ro = drain_words(target).ro;
        const Value departed = fabric_.get(ro);
        const std::int64_t left = -DrainWord::inside(departed);
        if (DrainWord::drainer(departed) != 0 || left <= 0 ||
            fabric_.compare_swap(ro, departed, 0) != departed)
            return;
        Value now = fabric_.get(word(target));
        for (int attempt = 0; attempt < kAttempts && exclusive(now) == 0; ++attempt) {
            const Value found =
                fabric_.compare_swap(word(target), now, now - static_cast<Value>(left));
            if (found == now)
                return;
            now = found;
        }
        departures_.leave(drain_words(target), left);
    }
    static constexpr int kAttempts = 2;

    // ---- exclusives -----------------------------------------------------------------------------
    /// Writes `name` in place of that of the last exclusive, if this still is the one at `qnode`.
    /// Returns those behind it.
    Followers leave_word(Rank target, Word qnode, Value name) {
        const auto mark = fabric_.mark();
        for (Value readers = 0;;) { // C2
            const Value mine = pack(name_of(qnode), readers);
            const Value found = fabric_.compare_swap(word(target), mine, pack(name, readers));
            if (found == mine)
                return {0, readers};
            if (exclusive(found) != name_of(qnode))
                break;
            readers = shared(found);
            fabric_.rewind(mark, readers);
        }
        fabric_.await(field(qnode, kNext), fabric::differs(0));
        return unpacked(queue_.next(qnode));
    }

    /// Of the `readers` behind the exclusive at `qnode`, each of which makes one.
    Requests take_requests(Word qnode, Value readers) {
        Requests requests{};
        const Value direct = std::min<Value>(readers, inbox_words_), listed = readers - direct;
        for (Slot i = 0; i < direct; ++i) {
            requests[i] = fabric_.await(inbox(qnode, i), fabric::differs(0));
            fabric_.put(inbox(qnode, i), 0);
        }
        if (listed != 0) {
            fabric_.await(field(qnode, kListed), fabric::equals(listed));
            for (Slot i = 0; i < kSizes.lists; ++i)
                requests[kSizes.inbox + i] = fabric_.swap(field(qnode, kList + i), 0);
            fabric_.fetch_add(field(qnode, kListed), Value{0} - listed);
        }
        return requests;
    }

    void wake(const Requests& requests, Value what) {
        for (const Value waiter : requests)
            if (waiter != 0)
                fabric_.put(field(qnode_of(waiter), kWake), what);
    }

    /// Where the holder at `qnode` is to stand from now on.
    Word kept(Rank target, Word qnode) {
        if (!qnodes_.spared(qnode)) [[likely]]
            return qnode;
        move_hold(target, qnode);
        qnodes_.give(qnode);
        return stand_in(target);
    }

    /// C4.
    [[gnu::noinline]] void move_hold(Rank target, Word qnode) {
        const Word there = stand_in(target);
        const Followers behind = leave_word(target, qnode, name_of(there));
        if (behind.exclusive != 0) {
            fabric_.put(field(there, kNext), pack(behind.exclusive, behind.shared));
            fabric_.flush(there.rank); // the holder itself reads it
        }
        wake(take_requests(qnode, behind.shared), kMoved);
    }

    F& fabric_;
    McsQueue<F> queue_;
    Drain<F> departures_;
    Slot home_, inboxes_, stand_in_, inbox_words_;
    QueueNodes& qnodes_;
};

} // namespace rmalock::locks
