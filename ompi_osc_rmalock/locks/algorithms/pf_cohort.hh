// pf_cohort: pf_mcs.hh over nodes. Writers queue in their node first; nodes whose readers come
// often count them on the node.
//
// Our own. At home, readers and writers are accounted for as in pf_mcs.hh: registered in one word,
// phase-fair, everybody waits on a word of its own. Writers of a node form a cohort, as in RMA-MCS
// (queue_tree.hh with two levels), which has a header of its own (cohort.hh); the first of it
// registers for all. Readers' nodes are members of a target's lock while it pays (members.hh).
//
// Words at the target's home (all atomic use), one line:
//
//    S      [ PH:8 | MB:18 | XC:19 | RC:19 ]   phase; member nodes; cohorts registered, not 0
//                                              while an exclusive has the lock; readers registered
//    RO     readers that a writer waits for, and its name (drain.hh)
//    JOIN   the list of the readers that wait
//    TAIL   the last cohort in the queue
//    HW     where a phase is handed to a successor that has not shown itself: its qnode or PHASE;
//           where adapters do the atomics PHASE alone                                   mailbox
//    stand-in of the queue (mcs_queue.hh)
//    L      where adapters do the atomics: processes of the target's node that are in without S
//           (near_entry.hh)                                                                cohort
//
// At place(n, t), a process of node n: the qnode (NEXT, STATUS, mailbox) with which the cohort
// stands in the home's queue; COME (atomic), the writers of the node that are in or wait, and those
// that have been in since one had to fetch the lock from home; BATON, TAIL (atomic) of the cohort;
// MET (cohort): others were at home when a cohort of the node came last; HERE and GROUP (cohort) of
// reader_group.hh; A, KEY and D of members.hh.
// One record may serve several targets, one at a time (node_records.hh).
// Words of a qnode: NEXT, STATUS, DRN, WAKE (mailbox), GONE (atomic).
//
// STATUS is DIRECT(chain, cohorts, members) or PHASE(cohorts, r, MB, PH). `cohorts` is how many
// registrations in S are the holder's, to be taken back with the phase: its own, if it has one, and
// those of the holders before it; of one that is in by L none. PHASE also says whether a cohort of
// the target's node waited in L for its turn when the phase changed.
// The baton says PASS(in a row, and what the holder knows), or
// HEAD: the lock is to be fetched from home.
//
//    s_acq  on the target's node, by L, if it gets in
//           unless the target is on its node, and its last S had no members: v = arrive(A)
//               v.MB: in, if !v.W or A opens before its patience is over
//                     else take the arrival back
//           come(HERE): behind another one of the node: in when that one is
//           s = FADD(S, 1), and L behind it;  if s.XC == 0: await no writers in L; in // one atomic
//           else wait(JOIN) as in pf_mcs.hh
//           admit the others of HERE;  the node has a group inside: FADD(S, -1);  if s.XC: leave(RO)
//    s_rel  in by L: DELIVER, and as near_entry.hh;  in by way of A: DELIVER; depart(D)
//           of a group: DELIVER; leave(GROUP);  others of it are inside: out
//           s = FADD_AFTER_DATA(S, -1, and +MB1 if K_in readers of its node came in this
//                                       phase (on the target's node: if S had members when it
//                                       came), it joined no drain, and could make the node a
//                                       member)
//               if s.XC: leave(RO)
//    x_acq  if another target has the record: as below, with a qnode in its place, and no COME
//           if FADD(COME, 1) != 0: take(BATON);  if PASS: in
//           on the target's node, by L, if it gets in, at once or in its turn
//           if MET and join(TAIL of home): await STATUS, and on as below, not registered
//           s = FADD(S, X1), and L behind it;  MET = s.XC != 0
//           if s.XC == 0: await no writers in L;  take(s.RC, s.MB, s.PH); in
//           if not yet in it, and join(TAIL of home): await STATUS, which is DIRECT: in, or PHASE
//           else h = SWAP(HW, me);  if h is not PHASE: await STATUS == PHASE;  SWAP(HW, 0)
//               where adapters do the atomics: await HW;  PUT(HW, 0);  flush
//           take(what PHASE says)
//    take   if PHASE says so: await the end of the turn in L
//           if r: drain(RO, r);  members = GET(S).MB                 // all nodes: no map is read
//           if members: hold;  close(all members);  FADD(S, -MB1 for each that left)
//           if readers are inside these, or in L: open(RO); await GONE, and L, in rounds; close(RO)
//    x_rel  if chain == T_W and the target is on its node, without members, and GET(S).RC == 0:
//               chain = 0                                           // no reader waits for its end
//           if in a row < T_L and chain < T_W and GET(COME) > in a row:
//               DELIVER; give(BATON, PASS); return
//           in by L: DELIVER, and as near_entry.hh, and on with COME
//           nsucc = in the home's queue ? (NEXT or leave(TAIL of home)) : 0
//           if nsucc and chain < T_W: DELIVER; PUT(nsucc.STATUS, DIRECT)
//           else if members: DELIVER; open(all members);  flush
//               s = FADD_AFTER_DATA(S, PH - cohorts * X1, +X1 if nsucc), and L behind it
//                                                                                 // phase change
//               if s.RC: wake_all(JOIN)
//               if nsucc: PHASE(1, s.RC, s.MB, PH) to it
//               else if s.XC > cohorts: PHASE(0, s.RC, s.MB, PH) by way of HW
//           flush(the cohort's qnode)
//           if FADD(COME, -in a row) > in a row: give(BATON, HEAD)
//    hold   handed over by PHASE: let reader_batch readers of the own node arrive, if they come soon
//
// Deviations from the first design
//   P1  A node becomes a member by one of its readers, which is inside by way of home and has to
//       change S anyway, not by an owner that looks for requests. No exclusive has to come first,
//       none looks for anything but MB in the S it fetches, and a reader never waits for readers:
//       an empty exclusive acquire "to inflate" would deadlock a program whose readers meet in a
//       barrier while they are inside.
//   P2  So the readers at home are drained before the members are closed: until they are gone,
//       another node may join. With r == 0 nobody can, and MB in S is all that has to be looked at.
//   P3  A reader that has waited at a closed member for its patience goes home, where it may join
//       the drain when the drainer's round is over. The drain is open again while the members
//       drain: a reader inside a member may be waiting for that one.
//   P4  Members are closed by a swap that takes their count, so that nobody keeps the last one; the
//       last to depart takes the drainer's name out, so that the owner need not come back.
//   P5  A cohort that expects others joins the queue first and registers only if it is the first
//       there: one round trip less, and it is in line as soon as a cohort on the home's node.
//       The last one in the queue may so be unregistered; a registration is left to it.
//   P6  The target's node joins where other nodes have: a writer has to close members anyway. Its
//       readers reach the home record as cheaply. But there a writer holds them back from when it
//       registers, members from when it closes them. When writers always waited, the readers of
//       the target's node had a tenth of what those of other nodes had. A reader that has seen no
//       member in S does not look for its node's, so without members it pays nothing. By L it goes
//       where members are, too, while no exclusive has registered.
//   P7  A reader that has joined a drain does not make its node a member: the drainer may have read
//       the map already, and would leave that member open when it goes in.
//   P8  A writer whose node's record serves another target is a cohort of its own, and a reader goes
//       home. Neither waits for the record.
//   P9  Readers of a node that go home together go as one (reader_group.hh). Those of the home's node
//       do not where CPUs do the atomics: its words are as near as the record.
//   P10 Where adapters do the atomics, a process of the target's node asks none while the lock is
//       free. A cohort there that meets exclusives waits by CPUs for the end of their phase, and has
//       its turn between that phase and the next exclusive, which asks L for the turn's end: where
//       it is on another node, a wait that is no word of the waiter's own. Readers or members that
//       it meets send the cohort the way of all others; so does whatever a reader, or a writer
//       alone, meets.
//  P11  Where adapters do the atomics, the first of the queue asks HW for PHASE in round trips, and
//       the owner puts it there: another wait that is no word of the waiter's own. There is one such
//       waiter for each lock. By names a meeting takes three swaps of HW, two of which a process waits
//       for, and a put to the other node; so it takes two puts, and gets. An adapter does one atomic
//       after the other, each in the time of many gets. (Over UCX a put of a word off the node is a
//       swap for which nobody waits, ucx_glue/worker.hh.)
//
// Why it excludes: as in pf_mcs.hh at home, where a cohort is an exclusive that holds for long; and
// members are closed and empty from `take` until the chain that began with it ends, and L is empty
// (near_entry.hh).
//
// Overtaking: a reader waits for at most T_W exclusive sections, the rest of one chain, and before
// it one turn of the target's node, T_L or T_W. A writer waits for those before it in its cohort,
// and `passes` that did not queue for each of them and for itself; for T_L of each other node for
// each T_L of its own, and of the target's node at each change of phase; one of the target's node
// first for the rest of a chain, or its patience; and for the readers that were admitted before members
// closed, at one change of phase per T_W, and in the rounds of each drain; and for those that come
// behind one of these until that one knows. In the nic domain a writer of the target's node may
// begin a chain anew before it sees a reader that has come (concept.hh): that one then waits for
// T_W more.
//
// Cost off node: without members as pf_mcs.hh, 1 atomic = 1 round trip for each of the four calls,
// beside 1 atomic, and 2 atomics and a get by CPUs (reader), 2 atomics and 2 gets (writer) on the
// own node. In the nic domain L comes along with the atomic that registers or changes the phase.
// On the target's node a free lock, and a turn, cost no adapter anything unless readers wait.
// Member's reader, and one that comes behind another one: nothing. Among other writers:
// to acquire 1 atomic and 1 posted put. A change of phase with M members: 2 atomics and 1 posted
// add each, 2 gets of the map unless all nodes are members. Hand-over in the node 1 posted put on
// it, to another node 1 posted put off it. In the nic domain cohorts are CPUs' as well, but the
// counters of members are the adapter's, because they are closed from other nodes: a member's
// reader pays two atomics. Memory at each rank: a line for the home record, one for the map of
// members for each 512 nodes, 3 for each record (node_records.hh), and the qnodes.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>

#include "locks/lock_env.hh"
#include "locks/parts/cohort.hh"
#include "locks/parts/drain.hh"
#include "locks/parts/mcs_queue.hh"
#include "locks/parts/members.hh"
#include "locks/parts/near_entry.hh"
#include "locks/parts/reader_group.hh"
#include "locks/parts/section.hh"

namespace rmalock::locks {

/// Its words. Beside each: what it promises, and the race that it settles.
struct PfCohortWords {
    // At home. RO is DrainWord, JOIN a list of push_list.hh, the stand-in that of mcs_queue.hh.
    static constexpr Slot kS = 0, kRo = 1, kJoin = 4, kStandIn = 5;
    /// L (near_entry.hh), where adapters do the atomics.
    static constexpr Slot kNear = 7;
    /// TAIL: the last cohort in the queue; 0: none is. Each comes by one swap, so one finds 0: it
    /// alone registers if it has not yet (P5), and meets the owner in HW. The one before tells all
    /// others.
    static constexpr Slot kTail = 2;
    /// HW: an owner that sees no successor leaves PHASE here, the first of the queue its name. Each
    /// swaps its own in, so the later one finds the other: the owner a name to tell, or the first
    /// what it is told. That one clears it before it goes in: the next pair finds nothing of this.
    /// Where adapters do the atomics the first leaves no name, but waits for PHASE (P11); of all that
    /// register one is the first until it has the lock, so nobody else takes what is put there.
    static constexpr Slot kHw = 3;
    // Of a cohort's record: its qnode in the home's queue (NEXT, STATUS), then what only its node
    // uses. WAITING, COME and BATON are cohort.hh's, HERE and GROUP reader_group.hh's; the counter
    // is of members.hh.
    static constexpr Slot kWaiting = 2, kMetOthers = 3, kCome = 4, kBaton = 5, kHere = 6,
                          kGroup = 7, kCounter = fabric::kWordsPerLine;
    /// MET: whether a cohort of the node met others when it came last; then the next one queues
    /// before it registers (P5). A hint: both orders exclude, and the wrong one costs a round
    /// trip. Only the writer of the node that fetches the lock uses it.
    static constexpr Value kMetNobody = 0, kMetSome = 1;

    // S. Every change is an atomic that returns what the others were, so two that come at once see
    // each other, in one order.
    static constexpr unsigned kRcBits = 19, kXcBits = 19, kMbBits = 18, kPhBits = 8;
    static_assert(kRcBits + kXcBits + kMbBits + kPhBits == 64 &&
                  kPhBits == 64 - MemberWords::kCamePhaseShift);
    // Nodes; readers; writers alone (P8), and the cohorts of a chain that have been in.
    static_assert(fabric::kMostRanks < 1 << kMbBits && fabric::kMostRanks < 1 << kRcBits &&
                  fabric::kMostRanks + CohortHold::kMostCohorts < Value{1} << kXcBits);
    /// RC: readers registered. While it counts one that saw XC == 0, no exclusive is in.
    static constexpr Value kReader1 = 1;
    /// XC: cohorts registered. The one that found 0 owns the lock once the readers of its S are
    /// gone; all others are told.
    static constexpr Value kX1 = Value{1} << kRcBits;
    /// MB: nodes that may have readers by their own counters. It grows only by a reader that is
    /// inside by RC, so an owner that has drained those has all of it (P2).
    static constexpr Value kMember1 = Value{1} << (kRcBits + kXcBits);
    /// PH: the readers that registered in another phase than this one are in. It counts, so that
    /// readers that come in several phases are not taken for those of one (members.hh). The carry
    /// out of the top bit is meant to be lost.
    static constexpr Value kPhase = Value{1} << (64 - kPhBits);

    static constexpr Value phase(Value s) { return s / kPhase; }
    static constexpr Value without_phase(Value s) { return s & (kPhase - 1); }
    static constexpr Value members(Value s) { return without_phase(s) / kMember1; }
    static constexpr bool has_members(Value s) { return members(s) != 0; }
    /// Neither an exclusive nor a member node.
    static constexpr bool readers_alone(Value s) { return without_phase(s) < kX1; }
    static constexpr Value exclusives(Value s) { return (s & (kMember1 - 1)) >> kRcBits; }
    static constexpr Value readers(Value s) { return s & (kX1 - 1); }

    /// A shared hold: registered in S; counted at a member; registered, and may make its node one;
    /// behind the registration of a group's leader; counted in L.
    static constexpr Value kByHome = 0, kByMember = 1, kJoins = 2, kByGroup = 3, kInNear = 4;

    // STATUS and HW. PHASE says what S said without its exclusives; its low bits are r, the readers
    // that the receiver drains.
    /// PHASE: the lock behind a change of phase; without the bit DIRECT, a CohortHold: the lock
    /// within a chain. It is above a name: of the two that meet in HW none takes PHASE for the
    /// other's name.
    static constexpr Value kPhaseMessage = Value{1} << 62;
    /// MB of S: so many members the receiver has to close. With r == 0 no reader is inside that
    /// could make another node one. With r != 0 the receiver looks again behind the drain (P2).
    static constexpr unsigned kMembersShift = kRcBits;
    static constexpr Value members_told(Value message) {
        return message >> kMembersShift & ((Value{1} << kMbBits) - 1);
    }
    /// PH's lowest bit while the receiver has the lock: the GEN with which it closes members. Only
    /// an owner changes it, so it stays true.
    static constexpr unsigned kPhaseShift = 60;
    /// One registration in S is left to the receiver, which may have queued without one (P5). So XC
    /// does not fall to 0 while a cohort is in line: no exclusive that comes owns the lock as well.
    static constexpr unsigned kInheritedShift = 59;
    static constexpr Value kInherited = Value{1} << kInheritedShift;
    static constexpr Value inherited(Value message) { return message >> kInheritedShift & 1; }
    static constexpr Value phase_told(Value message) { return message >> kPhaseShift & 1; }
    static constexpr Value phase_message(Value s) {
        return kPhaseMessage | (phase(s) & 1) << kPhaseShift | members(s) << kMembersShift |
               readers(s);
    }
    static constexpr bool is_phase(Value message) { return (message & kPhaseMessage) != 0; }
    /// Before the receiver's phase a process of the target's node has its turn (near_entry.hh).
    static constexpr Value kLookNear = Value{1} << 61;
    static constexpr bool looks_near(Value message) { return (message & kLookNear) != 0; }
    static_assert(CohortHold::kBits < kInheritedShift && kNameBits < kInheritedShift &&
                  kMembersShift + kMbBits <= kInheritedShift);

    /// An exclusive hold beside Cohort::hold: of a writer without its node's record (P8). In the
    /// place of `passed`: where it stands in the home's queue, 0 if it does not.
    static constexpr Value kAlone = Value{1} << 63, kAtStandIn = QueueNodes::kMostQnodes + 1;
    /// That of one that is in by L, without its cohort: it has nothing to remember.
    static constexpr Value kAloneInNear = kAlone;
    static_assert(kAtStandIn <= BatonWord<CohortHold::kBits>::kMostPassed);

    // Of critical sections that come in a message (section.hh). An exclusive one is a cohort of its
    // own, as in P8.
    static constexpr bool admits_section(Value s, bool exclusive) {
        return exclusive ? without_phase(s) == 0 : exclusives(s) == 0;
    }
    static constexpr bool section_alone(Value s, bool exclusive) {
        return exclusive ? without_phase(s) == kX1 : exclusives(s) == 0;
    }
    static constexpr Value section1(bool exclusive) { return exclusive ? kX1 : kReader1; }
    /// Whether a change of phase behind it admits no reader and has none drained. It began where
    /// there were no members, and none has been inside since that could make its node one.
    static constexpr bool section_passes(Value s, bool exclusive) {
        return exclusive && exclusives(s) > 1 && readers(s) == 0;
    }
    static constexpr Value kPassed = kPhase - kX1; ///< what S changes by then
};

template <fabric::Fabric F>
class PfCohort : private PfCohortWords {
    using Group = ReaderGroup<F>;
    using Role = typename Group::Role;

  public:
    using SectionWords = PfCohortWords;
    // For section.hh.
    SectionHome section_home(Rank target) const { return {word(target, kS), word(target, kHw)}; }
    static Word granted_word(Value next) { return field(qnode_of(next), McsQueueWords::kStatus); }
    /// Whether readers of this node are counted on it, so that a shared lock takes no round trip.
    bool is_member(Rank target) {
        const Word a = counter(my_node_, target);
        return nodes_.element(target) != my_node_ && MemberWords::is_member(fabric_.get(a)) &&
               members_.possible(a, target);
    }
    static Hold section_hold(bool exclusive) {
        return {exclusive ? kAlone | Cohort<F>::hold({}, 0).opaque : kByHome};
    }

    static constexpr LockTraits kTraits{.name = "pf_cohort",
                                        .delivers = true,
                                        .needs = {.queue_nodes = true, .nodes = true},
                                        .offers = {.node_row = true, .sections = true}};

    static Footprint footprint(const MachineView& machine) {
        return {.home = fabric::kWordsPerLine,
                .records = Members<F>::map_slots(machine.nodes) + records(machine) * kRecordSlots};
    }

    /// T_W: exclusives that may follow each other before waiting readers are let in, < 2^20. T_L:
    /// of them within a node, before another node has the lock, < 2^20. passes: of running ones
    /// past the first of the node's queue, in a row.
    static LockLimits limits(const Thresholds& asked, const MachineView& machine) {
        // A hand-over to another node costs some hundred of those within one.
        constexpr Value kOftenInARow = 16;
        const auto of_a_node = static_cast<Value>(machine.nodes.largest());
        const Value most = std::max(kOftenInARow, 2 * of_a_node);
        return {.t_w = asked.chain(machine.ranks(), 2 * kOftenInARow),
                .t_l = std::max<Value>(1, asked.innermost(most)),
                .passes = asked.passes.value_or(most),
                .reader_batch = asked.reader_batch,
                .hold = kHoldForReaders,
                .patience = asked.patience,
                .members = joins_after(of_a_node, machine.nodes.elements())};
    }

    explicit PfCohort(const LockEnv<F>& env)
        : fabric_(env.fabric), queue_(env.fabric), drain_(env.fabric), home_(env.home),
          records_(env.machine.nodes, env.records + Members<F>::map_slots(env.machine.nodes),
                   records(env.machine), kRecordSlots),
          cohort_(env.fabric, records_.shared()), group_(env.fabric),
          members_(env.fabric, env.records, env.machine.nodes, env.limits.members,
                   records_.shared()),
          near_(env.fabric), has_near_(env.fabric.domain() == fabric::Domain::nic),
          qnodes_(env.qnodes), nodes_(env.machine.nodes),
          my_node_(nodes_.element(env.fabric.self())), limits_(env.limits) {}

    Hold acquire_shared(Rank target) {
        if (goes_straight_home(target)) [[likely]] {
            const Value s = fabric_.fetch_add(word(target, kS), kReader1);
            return readers_alone(s) ? Hold{kByHome} : acquire_among_others(target, s);
        }
        return acquire_by_node(target);
    }

    void release_shared(Rank target, Hold held) {
        if (held.opaque == kByHome) [[likely]]
            leave_home(target, Value{0} - kReader1);
        else
            release_by_node(target, held);
    }

    Hold acquire_exclusive(Rank target) {
        if (is_near(target) &&
            near_.enter_alone(word(target, kNear), word(target, kJoin), free(target)))
            return {kAloneInNear};
        const Word qnode = record(my_node_, target);
        const auto entry = cohort_.enter(cohort(qnode), target, qnodes_, limits_.passes);
        if (!entry) [[unlikely]]
            return acquire_alone(target);
        if (!entry->lock)
            return Cohort<F>::hold(fetch_for_cohort(target, qnode), entry->passed);
        // The giver does not know the taker.
        if (entry->passed == 0)
            fabric_.handed_over(fabric_.self());
        return Cohort<F>::hold(*entry->lock, entry->passed);
    }

    void release_exclusive(Rank target, Hold held) {
        if ((held.opaque & kAlone) != 0) [[unlikely]]
            return release_alone(target, held);
        const CohortHold mine = extended(target, Cohort<F>::unpacked(held));
        const Value passed = Cohort<F>::passed_of(held);
        const Word qnode = record(my_node_, target);
        const auto words = cohort(qnode);
        const bool stays = mine.in_a_row < limits_.t_l && mine.chain < limits_.t_w &&
                           cohort_.has_next(words, mine);
        if (stays) {
            CohortHold next = mine;
            ++next.in_a_row, ++next.chain;
            fabric_.deliver(target);
            cohort_.pass(words, next, passed);
            return;
        }
        give_home(target, mine, qnode, true);
        cohort_.leave(words, mine, passed);
    }

    /// Exclusives of this node before those of other nodes that wait.
    Value most_in_a_row() const { return nodes_.members(my_node_).size() > 1 ? limits_.t_l : 1; }

    /// For diagnosis: whether an acquire would have to wait now.
    bool is_taken(Rank target, bool exclusive) {
        const Value s = fabric_.get(word(target, kS));
        const Value near = has_near_ ? fabric_.get(word(target, kNear)) : 0;
        const bool has_exclusive = exclusives(s) != 0 || NearWord::has_writers(near);
        if (has_exclusive || !exclusive)
            return has_exclusive;
        return near != 0 || readers(s) != 0 || members_.is_taken(target, counters(target));
    }

  private:
    /// By simulation (docs/results.md). A writer pays for each member, so where locks are many and calm a
    /// few readers that happen to come together should make none; and they do the sooner somewhere, the
    /// more nodes there are. Where all want one lock, all readers of a node come within a phase. Adapters'
    /// members spare their readers little.
    static MemberLimits joins_after(Value of_a_node, std::size_t nodes) {
        constexpr Value kFew = 4;
        const Value many = std::max(kFew, of_a_node);
        return {.k_in = nodes > 16 ? std::min(many, 2 * kFew) : kFew, .k_in_nic = many};
    }

    static constexpr Slot kRecordSlots = fabric::kWordsPerLine + MemberWords::kCounterSlots;

    // ---- where the words are --------------------------------------------------------------------
    Word word(Rank target, Slot offset) const { return {target, home_ + offset}; }
    static Slot records(const MachineView& machine) {
        return NodeRecords::at_each_rank(machine, kRecordSlots / fabric::kWordsPerLine);
    }
    Word record(std::size_t node, Rank target) const { return records_.at(node, target); }
    /// Of the cohort whose record begins with `qnode`.
    static typename Cohort<F>::Words cohort(Word qnode) {
        return {field(qnode, kCome), field(qnode, kBaton), field(qnode, kWaiting)};
    }
    Word counter(std::size_t node, Rank target) const {
        return field(record(node, target), kCounter);
    }
    auto counters(Rank target) const {
        return [this, target](std::size_t node) { return counter(node, target); };
    }

    // ---- the node's own way in, and what goes past it ---------------------------------------------
    bool is_near(Rank target) { return has_near_ && fabric_.same_node(target); }

    /// Of a reader of a target of the own node; where members are as well (P6).
    bool enter_near_shared(Rank target) {
        const Value s = fabric_.get(word(target, kS));
        note_members_at_home(s);
        return exclusives(s) == 0 && near_.enter_shared(word(target, kNear), [&] {
            return exclusives(fabric_.get(word(target, kS))) != 0;
        });
    }
    /// Whether nobody is in S.
    auto free(Rank target) {
        return [this, s = word(target, kS)] { return without_phase(fabric_.get(s)) == 0; };
    }

    /// What a process finds that registers in S.
    struct Found {
        Value s;
        Value near; ///< L, behind that; 0 where there is none
    };
    Found register_at_home(Rank target, Value change) {
        if (has_near_) [[unlikely]]
            return change_and_look(fabric::Rmw::fetch_add(word(target, kS), change));
        return {fabric_.fetch_add(word(target, kS), change), 0};
    }
    /// And one that takes itself out, once its data are there.
    Found change_at_home(Rank target, Value change) {
        if (has_near_) [[unlikely]]
            return change_and_look(fabric::Rmw::fetch_add_after_data(word(target, kS), change));
        return {fabric_.fetch_add_after_data(word(target, kS), change), 0};
    }
    /// Apart, so that the paths where CPUs do the atomics are short; so are others in this part.
    [[gnu::noinline]] Found change_and_look(const fabric::Rmw& rmw) {
        Found found{};
        found.s = fabric_.fetch_then_get(rmw, word(rmw.word.rank, kNear).slot, {&found.near, 1});
        return found;
    }

    // ---- readers at home ------------------------------------------------------------------------
    bool is_over(Rank target, Value s) { return phase(fabric_.get(word(target, kS))) != phase(s); }

    /// For a reader that registered in the phase of `s`, behind an exclusive. Returns whether it
    /// may have joined a drain.
    bool wait_as_reader(Rank target, Value s) {
        return drain_.wait(drains(target), qnodes_, [&] { return is_over(target, s); });
    }
    /// For a reader that registered, found no exclusive in S, and writers in L.
    [[gnu::noinline]] void wait_for_near(Rank target, Value phase) {
        const Word near = word(target, kNear);
        const auto gone = NearWord::no_writers_before(phase);
        if (fabric_.same_node(target))
            fabric_.await(near, gone);
        else
            drain_.wait_outside(drains(target), qnodes_, [&] { return gone(fabric_.get(near)); });
    }
    /// For a reader that registered. Returns as wait_as_reader.
    bool wait_where_needed(Rank target, const Found& found) {
        if (exclusives(found.s) != 0)
            return wait_as_reader(target, found.s);
        if (NearWord::has_writers_before(found.near, phase(found.s)))
            wait_for_near(target, phase(found.s));
        return false;
    }
    /// Else the home's words are at hand.
    bool goes_in_groups(Rank target) {
        return !fabric_.same_node(target) || fabric_.domain() == fabric::Domain::nic;
    }
    typename Group::Words reader_group(Rank target) const {
        const Word at = record(my_node_, target);
        return {field(at, kHere), field(at, kGroup), NodeRecords::key(target)};
    }
    /// Whether nothing on the reader's node concerns it: the target is on that node, too, its last S
    /// had no members (P6), and no groups are made.
    bool goes_straight_home(Rank target) {
        return nodes_.element(target) == my_node_ &&
               !members_at_home_.load(std::memory_order_relaxed) && !goes_in_groups(target);
    }
    /// Such a reader has met `s` with an exclusive in it, or members.
    [[gnu::noinline]] Hold acquire_among_others(Rank target, Value s) {
        note_members_at_home(s);
        if (exclusives(s) != 0)
            wait_as_reader(target, s);
        return {kByHome};
    }

    /// Any other reader. Apart, so that the path straight home is short (perf/guard counts it).
    [[gnu::noinline]] Hold acquire_by_node(Rank target) {
        if (is_near(target) && enter_near_shared(target))
            return {kInNear};
        const Word a = counter(my_node_, target);
        const bool of_home = nodes_.element(target) == my_node_;
        bool may_join = (!of_home || members_at_home_.load(std::memory_order_relaxed)) && // P6
                        members_.possible(a, target);
        const Value arrived = may_join ? members_.arrive(a) : 0;
        bool at_member = MemberWords::is_member(arrived);
        if (at_member && members_.foreign(a, target, arrived))
            may_join = at_member = false;
        if (at_member && members_.enter(a, arrived, limits_.patience))
            return {kByMember};
        const auto group = reader_group(target);
        const auto role = goes_in_groups(target) ? group_.come(group, qnodes_) : Role::alone;
        if (role == Role::follower)
            return {kByGroup};
        const Found found = register_at_home(target, kReader1);
        const Value s = found.s;
        if (of_home)
            note_members_at_home(s);
        const bool guest = wait_where_needed(target, found);
        const auto joins = [&](Value together) { // P7
            return may_join && !at_member && !guest &&
                   (of_home ? has_members(s) : members_.pays(a, phase(s), together));
        };
        return role == Role::leader ? admit_group(target, group, joins)
                                    : Hold{joins(1) ? kJoins : kByHome};
    }

    /// A reader of a member or of a group, or one that may make its node a member. Apart as well: where
    /// the node's record is takes two divisions.
    [[gnu::noinline]] void release_by_node(Rank target, Hold held) {
        if (held.opaque == kInNear) {
            fabric_.deliver(target);
            near_.leave_shared(word(target, kNear));
            return;
        }
        const Word a = counter(my_node_, target);
        if (held.opaque == kByMember) {
            fabric_.deliver(target);
            members_.depart(a);
            return;
        }
        bool joins = held.opaque == kJoins;
        if (held.opaque == kByGroup) {
            fabric_.deliver(target);
            const auto left = group_.leave(reader_group(target));
            if (!left.last)
                return;
            joins = left.joins;
        }
        const bool joined = joins && members_.join(my_node_, target, a, [&] {
            return phase(fabric_.get(word(target, kS))); // cannot change while it is inside
        });
        leave_home(target, joined * kMember1 - kReader1);
    }
    /// `change`: of S, by which the caller takes itself out of it.
    void leave_home(Rank target, Value change) {
        if (exclusives(fabric_.fetch_add_after_data(word(target, kS), change)) != 0)
            drain_.leave(drains(target));
    }

    /// A reader of a target of the own node has met `s` there.
    void note_members_at_home(Value s) {
        if (members_at_home_.load(std::memory_order_relaxed) != has_members(s))
            members_at_home_.store(has_members(s), std::memory_order_relaxed); // a hint alone
    }

    /// For a leader that is in.
    Hold admit_group(Rank target, const typename Group::Words& words, auto&& joins) {
        const auto admitted = group_.admit(words, joins);
        switch (admitted.with) {
        case Group::With::nobody:
            return {admitted.joins ? kJoins : kByHome};
        case Group::With::another:
            if (exclusives(fabric_.fetch_add(word(target, kS), Value{0} - kReader1)) != 0)
                drain_.leave(drains(target));
            [[fallthrough]];
        case Group::With::followers:
            return {kByGroup};
        }
        __builtin_unreachable();
    }
    DrainWords drains(Rank target) const { return {word(target, kRo), word(target, kJoin)}; }

    // ---- exclusives -----------------------------------------------------------------------------
    CohortHold fetch_for_cohort(Rank target, Word qnode) {
        if (is_near(target)) [[unlikely]]
            if (const auto hold = fetch_by_near(target))
                return *hold;
        const Word met_others = field(qnode, kMetOthers);
        const bool queues_first = fabric_.get(met_others) != kMetNobody;
        if (queues_first && queue_.join(word(target, kTail), qnode))
            return take_over(target, qnode, queue_.await_status(qnode), 0);
        const Found found = register_at_home(target, kX1);
        if ((exclusives(found.s) == 0) == queues_first)
            fabric_.put(met_others, queues_first ? kMetNobody : kMetSome);
        return registered(target, qnode, found, queues_first);
    }

    /// For its cohort, whose target is on its node.
    [[gnu::noinline]] std::optional<CohortHold> fetch_by_near(Rank target) {
        const Word near = word(target, kNear), join = word(target, kJoin), s = word(target, kS);
        if (near_.enter_as_head(near, join, free(target)))
            return CohortHold::by_near();
        const Value met = fabric_.get(s);
        const auto calm = [](Value v) { return readers(v) == 0 && !has_members(v); };
        const auto waits = [=](Value v) {
            return phase(v) == phase(met) && exclusives(v) != 0 && calm(v);
        };
        const auto clear = [=](Value v) { return phase(v) != phase(met) && calm(v); };
        const auto end = fabric_.after(limits_.patience);
        if (waits(met) && near_.enter_in_turn(near, join, s, phase(met), end, waits, clear))
            return CohortHold::by_turn(phase(met));
        return std::nullopt;
    }

    /// With its cohort at `qnode` registered.
    CohortHold registered(Rank target, Word qnode, const Found& found, bool queued) {
        if (exclusives(found.s) == 0)
            return take(target, qnode, {phase_message(found.s), found.near}, {.queued = queued});
        if (!queued && queue_.join(word(target, kTail), qnode))
            return take_over(target, qnode, queue_.await_status(qnode), 1);
        return take_over(target, qnode, meet_owner(target, qnode), 1);
    }

    /// The first of the queue and the owner that is not in it find each other.
    Value meet_owner(Rank target, Word qnode) {
        if (has_near_) [[unlikely]]
            return ask_home(word(target, kHw));
        Value message = fabric_.swap(word(target, kHw), name_of(qnode));
        if (!is_phase(message))
            message = queue_.await_status(qnode);
        fabric_.swap(word(target, kHw), 0);
        return message;
    }

    /// The same where adapters do the atomics (P11). Flushed: when the caller lets another one be the
    /// first, HW is empty.
    [[gnu::noinline]] Value ask_home(Word mailbox) {
        const Value message = fabric_.await(mailbox, fabric::differs(0));
        fabric_.put(mailbox, 0);
        fabric_.flush(mailbox.rank);
        return message;
    }

    Value turns_before(Rank target) { return fabric_.get(word(target, kNear)) & NearWord::kTurns; }

    /// In the home's queue, having been told DIRECT or PHASE. `registered`: this cohort, in S.
    CohortHold take_over(Rank target, Word qnode, Value message, Value registered) {
        if (is_phase(message)) {
            const Value near = looks_near(message) ? turns_before(target) : 0;
            return take(target, qnode, {message, near, true},
                        {.cohorts = registered + inherited(message), .queued = true});
        }
        const CohortHold before = CohortHold::unpacked(message);
        return {1,    before.chain + 1, before.cohorts + registered,
                true, before.members,   before.all_nodes};
    }

    /// What an owner knows of a target of which readers may be inside.
    struct Taken {
        Value message; ///< PHASE, or what it would say
        Value near;    ///< L, since when an exclusive has been in S
        bool handed_over = false;
    };
    CohortHold take(Rank target, Word qnode, const Taken& taken, CohortHold mine) {
        if (readers(taken.message) != 0 || members_told(taken.message) != 0 || taken.near != 0) {
            const bool alone = qnodes_.own(qnode);
            const Word own = alone ? qnode : qnodes_.take(fabric_);
            take_from_readers(target, own, taken, mine);
            if (!alone)
                qnodes_.give(own);
        }
        return mine;
    }

    // ---- exclusives without their node's record (P8) --------------------------------------------
    [[gnu::noinline]] Hold acquire_alone(Rank target) {
        Word qnode = qnodes_.take(fabric_);
        const CohortHold mine = registered(target, qnode, register_at_home(target, kX1), false);
        if (!mine.queued) {
            qnodes_.give(qnode);
            return {kAlone | Cohort<F>::hold(mine, 0).opaque};
        }
        qnode = queue_.kept(qnodes_, word(target, kTail), qnode, word(target, kStandIn));
        const Value at = qnodes_.own(qnode) ? qnodes_.index(qnode) + 1 : kAtStandIn;
        return {kAlone | Cohort<F>::hold(mine, at).opaque};
    }

    [[gnu::noinline]] void release_alone(Rank target, Hold held) {
        if (held.opaque == kAloneInNear) {
            fabric_.deliver(target);
            return near_.leave_alone(word(target, kNear), word(target, kJoin));
        }
        const Value at = Cohort<F>::passed_of(held);
        const bool at_qnode = at != 0 && at != kAtStandIn;
        const Word qnode = at_qnode ? qnodes_.qnode(at - 1) : word(target, kStandIn);
        held.opaque &= ~kAlone;
        give_home(target, extended(target, Cohort<F>::unpacked(held)), qnode, false);
    }

    /// A chain at its end begins anew if its owner sees, for nothing, that no reader waits for
    /// that.
    CohortHold extended(Rank target, CohortHold mine) {
        if (mine.chain >= limits_.t_w && !mine.members && fabric_.same_node(target) &&
            readers(fabric_.get(word(target, kS))) == 0 &&
            (!has_near_ || nobody_waits(fabric_.get(word(target, kNear)))))
            mine.chain = 0;
        return mine;
    }

    static bool nobody_waits(Value near) {
        return NearWord::no_readers(near) && !NearWord::has_turns(near);
    }

    [[gnu::noinline]] void leave_near(Rank target, const CohortHold& mine) {
        fabric_.deliver(target);
        const Word near = word(target, kNear), join = word(target, kJoin);
        if (mine.in_turn())
            near_.leave_in_turn(near, join, mine.parity_of_turn());
        else
            near_.leave_as_head(near, join);
    }

    /// `qnode`: in the home's queue, if it is there; the cohort's, or that of a writer alone (P8).
    void give_home(Rank target, const CohortHold& mine, Word qnode, bool of_cohort) {
        if (mine.in_near()) [[unlikely]]
            return leave_near(target, mine);
        Value succ = 0;
        if (mine.queued) {
            queue_.take_status(qnode);
            succ = queue_.next(qnode);
            if (succ == 0)
                succ = queue_.leave(word(target, kTail), qnode);
            if (!of_cohort)
                queue_.give_back(qnodes_, qnode);
        }
        if (succ != 0 && mine.chain < limits_.t_w && mine.cohorts < CohortHold::kMostCohorts) {
            fabric_.deliver(target);
            queue_.notify(succ, mine.packed());
            fabric_.handed_over(qnode_of(succ).rank);
        } else
            change_phase(target, mine, succ);
        // The next of the cohort uses the qnode; it has to be clean by then. All of its words are
        // cleaned here: the writer that took the cohort's first lock may have flushed nothing
        // since.
        if (mine.queued && of_cohort)
            fabric_.flush(qnode.rank);
    }

    // ---- phases ---------------------------------------------------------------------------------
    /// Takes the target from its readers. `mine` learns what members there are, all closed then.
    void take_from_readers(Rank target, Word own, const Taken& taken, CohortHold& mine) {
        const Word near = word(target, kNear);
        const Value phase = phase_told(taken.message);
        const Value in_near = NearWord::has_writers_before(taken.near, phase)
                                  ? fabric_.await(near, NearWord::no_writers_before(phase))
                                  : taken.near;
        const Value r = readers(taken.message);
        Value there = members_told(taken.message);
        Rounds<F> rounds(limits_.patience);
        if (r != 0) {
            drain_.drain(drains(target), own, r, rounds);
            // Only now: until all of them have left, one may have made its node a member (P2).
            there = members(fabric_.get(word(target, kS)));
        }
        Value to_come = 0;
        if (there != 0) {
            if (taken.handed_over)
                let_readers_in(target);
            to_come = close_members(target, own, phase, there, mine);
        }
        if (to_come == 0 && NearWord::no_readers(in_near))
            return;
        drain_.open(drains(target), own); // P3
        const auto await = [&](Word word, auto gone) {
            drain_.await(drains(target), own, word, gone, rounds);
        };
        if (to_come != 0)
            members_.await_drained(own, to_come, await);
        if (!NearWord::no_readers(in_near))
            await(near, NearWord::no_readers);
        drain_.close(drains(target), own, rounds);
    }

    /// Of `there` members. Returns how many will add to GONE of `own`.
    Value close_members(Rank target, Word own, Value phase, Value there, CohortHold& mine) {
        const bool all_nodes = there == nodes_.elements();
        const auto closed = members_.close(target, all_nodes, phase, own, counters(target));
        if (closed.left != 0)
            fabric_.fetch_add(word(target, kS), Value{0} - closed.left * kMember1);
        mine.members = closed.remain != 0;
        mine.all_nodes = all_nodes && closed.left == 0;
        return closed.to_come;
    }

    /// The hold: a writer that waits for reader_batch readers makes them one batch.
    void let_readers_in(Rank target) {
        if (limits_.reader_batch == 0 || limits_.hold.count() == 0)
            return;
        fabric_.await_until(
            counter(my_node_, target),
            [this](Value v) { return MemberWords::arrivals(v) >= limits_.reader_batch; },
            fabric_.after(limits_.hold));
    }

    /// Lets the readers in that wait, and has the next writer take the target from them.
    void change_phase(Rank target, const CohortHold& mine, Value succ) {
        if (mine.members) {
            fabric_.deliver(target);
            members_.open(target, mine.all_nodes, counters(target));
        }
        const Value inherited = succ != 0;
        const Found changed = change_at_home(target, kPhase - (mine.cohorts - inherited) * kX1);
        const Value s = changed.s;
        if (readers(s) != 0) {
            drain_.admit(drains(target));
            fabric_.mode_changed();
        }
        if (succ == 0 && exclusives(s) == mine.cohorts)
            return;
        const Value message = phase_message(s + kPhase) | inherited * kInherited |
                              NearWord::has_turns(changed.near) * kLookNear;
        if (succ == 0 && has_near_) [[unlikely]]
            return fabric_.put(word(target, kHw), message);
        if (succ == 0)
            succ = fabric_.swap(word(target, kHw), message);
        if (succ == 0)
            return; // the first of the queue will find the message
        queue_.notify(succ, message);
        fabric_.handed_over(qnode_of(succ).rank);
    }

    F& fabric_;
    McsQueue<F> queue_;
    Drain<F> drain_;
    Slot home_;
    NodeRecords records_;
    Cohort<F> cohort_;
    Group group_;
    Members<F> members_;
    NearEntry<F> near_;
    bool has_near_; ///< else L is not used: the node's CPUs are as near to S
    QueueNodes& qnodes_;
    const topology::Level& nodes_;
    std::size_t my_node_;
    LockLimits limits_;
    /// Whether a target of the own node had members when the process registered there last. A hint:
    /// while it is not set, readers of these targets pay nothing for members (P6).
    std::atomic<bool> members_at_home_{false};
};

} // namespace rmalock::locks
