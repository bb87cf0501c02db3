// The phase-fair lock over nodes, and its mutants.
#include "cases.hh"
#include "lock_setup.hh"
#include "mutants/pf_cohort.hh"

namespace rmalock::check {

namespace {

/// Nodes of so many ranks each; T_L, passes and T_W are 2, and a node joins with the first reader
/// of a phase and leaves when a writer finds that none came. Target 0 is on node 0, which joins only
/// beside others.
Machine nodes_of(Rank ranks, unsigned locks_at_once = 1) {
    return {.ranks_per_node = ranks, .locks_at_once = locks_at_once};
}

/// Where CPUs do the atomics. Where adapters do, processes of the target's node have more ways: see add_near.
Case pf_cohort(std::string configuration, std::vector<Script> scripts, const Machine& machine) {
    Case c;
    c.lock = locks::PfCohort<CheckerFabric>::kTraits.name;
    c.configuration = std::move(configuration);
    c.program = program_of<locks::PfCohort>(std::move(scripts), machine);
    c.program.cpus_alone = true;
    return c;
}

/// Readers at home wait for the rest of one chain, from when they are registered.
Case at_home(Case c) {
    c.program.bound[index_of(Mode::shared)] = 2;
    c.program.announcing_slot = pf_cohort_fault::kS;
    return c;
}

/// The same for readers at a member, from when they find it closed.
Case at_member(Case c) {
    c.program.bound[index_of(Mode::shared)] = 2;
    c.program.announcing_slot = pf_cohort_fault::kA;
    c.program.announcing_bits = pf_cohort_fault::kWrite | pf_cohort_fault::kMember;
    c.configuration += ", at a member";
    return c;
}

/// A writer in the queue of its node waits for the one before it, and for `passes` that did not queue
/// for that one and for itself. Both are on one node.
Case among_two(Case c) {
    c.program.bound[index_of(Mode::exclusive)] = 1 + 2;
    c.program.announcing_slot = pf_cohort_fault::kWaiting;
    return c;
}

/// Four on a node, and one on another.
const std::vector<Script> kCrowd = {writer(20), writer(20), writer(20), writer(20), writer(3)};
/// T_L, passes and T_W as they ship for four ranks a node.
Machine shipped() {
    Machine machine = nodes_of(4);
    machine.limits.t_l = machine.limits.passes = 16;
    machine.limits.t_w = 32;
    return machine;
}
/// A cohort that queues at home waits for one stay of the lock on the other node.
Case at_random(Case c) {
    c.configuration += ", T_L=passes=16";
    c.program.bound[index_of(Mode::exclusive)] = 16 + 1;
    c.program.announcing_slot = pf_cohort_fault::kTail;
    c.search = Search::random;
    c.limits.runs = 200;
    return c;
}

/// Too large to count overtaking as well.
Case deep(Case c, int preemptions = -1) {
    c.size = Size::deep;
    c.program.watch_overtaking = false;
    c.limits.preemptions = preemptions;
    return c;
}

const Script kBoth = both(Mode::exclusive);
const std::vector<Script> kHoldAndWait = hold_and_wait(), kHoldAndReceive = hold_and_receive(),
                          kMeetInside = meet_inside();
/// The same with a holder that has made its node a member and is inside by way of it.
const std::vector<Script> kHoldByMember = {
    writer(1),
    {shared(0), done(0), shared(0), exclusive(1), done(1), done(0)},
    nested({shared(1), shared(0)})};

Case rounds(Case c) {
    c.program.watch_overtaking = false;
    c.configuration += ", rounds";
    return c;
}

template <class Fault, template <class> class Lock = locks::PfCohort>
Case mutant(const char* fault, Failure expected, const char* configuration,
            std::vector<Script> scripts, const Machine& machine) {
    Case c = pf_cohort(configuration, scripts, machine);
    c.program = program_of<Lock, Fault>(std::move(scripts), machine);
    c.program.cpus_alone = true;
    c.lock += std::string("/") + fault;
    c.expected = expected;
    return c;
}

void add_mutants(std::vector<Case>& cases) {
    using namespace pf_cohort_fault;
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    const Machine patient = in_rounds(apart), two_locks = in_rounds(nodes_of(1, 2));
    // What the rest of a deadlocked search would still show.
    const auto look_on = [&] { cases.back().limits.look_past_deadlocks = true; };
    add(mutant<NoFlush>("no_flush", Failure::exclusion, "2W+1R x3 N=1", {w2, w2, reader(3)},
                        apart));
    look_on();
    add(mutant<NoFlushOfTheNode>("no_flush_of_the_node", Failure::exclusion, "3W N=2", {w2, w2, w2},
                                 pairs));
    add(mutant<ComesByAdapter>("comes_by_adapter", Failure::word_class, "2W N=1", {w1, w1}, apart));
    add(mutant<PutsTwice>("puts_twice", Failure::exclusion, "2W N=1", {writer(3), w2}, apart));
    look_on();
    cases.back().program.word_classes = false; // it makes up a hold by L
    add(mutant<CountThenUndo>("count_then_undo", Failure::exclusion, "1W+1R N=1",
                              {writer(3), reader(3)}, apart));
    look_on();
    add(mutant<NoDrain>("no_drain", Failure::exclusion, "1W+1R N=1", {w2, r2}, apart));
    add(mutant<NoSecondLook>("no_second_look", Failure::exclusion, "1W+1R N=1", {w2, r2}, apart));
    add(mutant<LooksOnAHint>("looks_on_a_hint", Failure::exclusion, "1W+2R N=1", {w2, r2, r2},
                             patient));
    add(mutant<LeavesAnyway>("leaves_anyway", Failure::exclusion, "1W+1R N=1",
                             {writer(3), reader(3)}, apart));
    look_on();
    add(mutant<Sound, JoinsOutside>("joins_outside", Failure::exclusion, "1W+1R N=1", {w2, r2},
                                    apart));
    add(mutant<NoVerify>("no_verify", Failure::exclusion, "2W+2R N=2", {w2, r2, w2, r2}, pairs));
    look_on();
    add(mutant<NoSelfServe>("no_self_serve", Failure::deadlock, "2W+1R N=1", {w1, w1, r1}, apart));
    add(mutant<NeverJoins>("never_joins", Failure::deadlock, "hold and wait N=1", kHoldAndWait,
                           two_locks));
    add(mutant<JoinsAtHomeOnly>("joins_at_home_only", Failure::deadlock,
                                "hold and wait N=1, by a member", kHoldByMember, two_locks));
    add(mutant<Sound>("no_rounds", Failure::deadlock, "hold and receive N=1", kHoldAndReceive,
                      apart));
    add(mutant<Sound>("no_rounds", Failure::deadlock, "hold and wait N=1, by a member",
                      kHoldByMember, nodes_of(1, 2)));
    add(mutant<TakesBackByAddition>("takes_back_by_addition", Failure::exclusion, "1W+1R N=1",
                                    {writer(3), reader(3)}, patient));
    look_on();
    add(mutant<JoinNoRecheck>("join_no_recheck", Failure::deadlock, "1W+2R N=1", {w2, r1, r1},
                              patient));
    add(mutant<LeavesNone>("leaves_none", Failure::exclusion, "2W+1R N=1", {w2, w2, r2}, apart));
    look_on();
    add(mutant<NoDelivery>("no_delivery", Failure::data, "3W N=1", {w2, w2, w2}, apart));
    add(mutant<NoDelivery>("no_delivery", Failure::data, "3W N=2", {w2, w2, w2}, pairs));
    add(mutant<NoDelivery>("no_delivery", Failure::data, "1W+1R N=1", {w2, r2}, apart));
    add(mutant<DataOvertaken>("data_overtaken", Failure::data, "1W+1R N=1", {w2, r2}, apart));
}

/// Those that are overtaken too often.
void add_overtaking_mutants(std::vector<Case>& cases) {
    using namespace pf_cohort_fault;
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w2 = writer(2), r1 = reader(1);
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    add(at_home(mutant<LooksPastReaders>("looks_past_readers", Failure::bypass, "2W+1R N=1",
                                         {writer(3), w2, r1}, apart)));
    add(among_two(mutant<ForgetsPassed>("forgets_passed", Failure::bypass, "2W x5 N=2",
                                        {writer(5), writer(5)}, pairs)));
    add(at_random(
        mutant<NarrowCount>("narrow_count", Failure::bypass, "4W x20+1W N=4", kCrowd, shipped())));
    Machine endless = pairs;
    endless.limits.t_w = endless.limits.t_l = endless.limits.passes = 100;
    add(at_home(
        mutant<Sound>("no_limit_to_chain", Failure::bypass, "2W+1R N=2", {w2, w2, r1}, endless)));
}

/// Readers that go past a waiting writer when its round is over.
void add_in_rounds(std::vector<Case>& cases) {
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    const Machine alone = in_rounds(apart), two = in_rounds(pairs);
    add(rounds(pf_cohort("1W+1R N=1", {writer(3), reader(3)}, alone)));
    add(rounds(pf_cohort("1W+2R N=1 once", {w1, r1, r1}, alone)));
    add(rounds(deep(pf_cohort("1W+2R N=1", {w2, r2, r2}, alone), 4)));
    add(rounds(pf_cohort("1W once+2R N=1", {w1, r2, r2}, alone)));
    // The reader may be in by S already, and have yet to admit the others of its node.
    Machine no_members = alone;
    no_members.limits.members.k_in = 100;
    add(in_at_most(1, rounds(pf_cohort("1W+1R x4 N=1, no members", {w1, reader(4)}, no_members)),
                   1 + 1, pf_cohort_fault::kS));
    add(rounds(pf_cohort("2W+1R N=1", {w2, w2, r2}, alone)));
    add(rounds(pf_cohort("2W+1R N=2", {w2, w2, r2}, two)));
    add(rounds(pf_cohort("2W+2R N=2 once", {w1, w1, r1, r1}, two)));
    add(rounds(pf_cohort("hold and wait N=1", kHoldAndWait, in_rounds(nodes_of(1, 2)))));
    add(rounds(pf_cohort("hold and wait N=2", kHoldAndWait, in_rounds(nodes_of(2, 2)))));
    add(rounds(
        pf_cohort("hold and wait N=1, by a member", kHoldByMember, in_rounds(nodes_of(1, 2)))));
    add(rounds(pf_cohort("hold and receive N=1", kHoldAndReceive, alone)));
    add(rounds(pf_cohort("readers meet inside N=1", kMeetInside, alone)));
}

/// Nodes have one record for several targets; 2 processes of a node have 2.
Machine one_record(Machine machine) {
    machine.record_lines = 1;
    return machine;
}

/// Records of nodes that several targets want.
void add_shared_records(std::vector<Case>& cases) {
    const Machine apart = one_record(nodes_of(1)), pairs = one_record(nodes_of(2));
    const auto w1 = writer(1), r1 = reader(1);
    const auto shared_then = [](Rank a, Rank b) { return first_then(Mode::shared, a, b); };
    const auto exclusive_then = [](Rank a, Rank b) { return first_then(Mode::exclusive, a, b); };
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         const Machine& machine) {
        Case c =
            pf_cohort(std::string(configuration) + ", one record", std::move(scripts), machine);
        cases.push_back(std::move(c));
    };
    add("2W+1R N=1 once", {w1, w1, r1}, apart);
    add("3W N=2 once", {w1, w1, w1}, pairs);
    cases.push_back(with_store_buffer(cases.back()));
    // Ranks 0 and 1 are on a node, and targets 2 and 4 share its records.
    const Script none{};
    const std::vector<Script> writers = {
        writer(2, 2), exclusive_then(4, 2), writer(1, 2), none, none, none};
    const std::vector<Script> mixed = {
        shared_then(2, 4), exclusive_then(4, 2), writer(1, 2), none, none, none};
    const std::vector<Script> readers = {reader(2, 2), shared_then(4, 2), writer(1, 2),
                                         none,         writer(1, 4),      none};
    add("3W N=2, targets 2 and 4", writers, pairs);
    add("1R+2W N=2, targets 2 and 4", mixed, pairs);
    add("2R+2W N=2, targets 2 and 4", readers, pairs);
    cases.back() = deep(cases.back(), 4);
    Case by_turns =
        rounds(pf_cohort("1R+2W N=2, targets 2 and 4, one record", mixed, in_rounds(pairs)));
    cases.push_back(std::move(by_turns));
    Machine scarce = pairs;
    scarce.scarce_qnodes = true;
    add("3W N=2, targets 2 and 4, stand-ins", writers, scarce);
    const auto mutant_of = [&]<class Fault>(Fault, const char* fault, Failure expected,
                                            const std::vector<Script>& scripts) {
        cases.push_back(mutant<Fault>(fault, expected, "N=2, targets 2 and 4", scripts, pairs));
        cases.back().limits.look_past_deadlocks = true;
    };
    using namespace pf_cohort_fault;
    mutant_of(TakesAnyMember{}, "takes_any_member", Failure::exclusion,
              {reader(2, 2), reader(2, 4), none, none, writer(2, 4), none});
    mutant_of(LooksOnce{}, "looks_once", Failure::exclusion,
              {reader(1, 2), reader(2, 4), none, none, writer(2, 4), none});
    mutant_of(TakesAnyRecord{}, "takes_any_record", Failure::exclusion,
              {writer(2, 2), writer(2, 4), writer(1, 2), none, none, none});
}

/// Readers that come behind one of their node.
void add_reader_groups(std::vector<Case>& cases) {
    using namespace pf_cohort_fault;
    const Machine pairs = nodes_of(2), fours = nodes_of(4);
    const auto w1 = writer(1), r1 = reader(1);
    cases.push_back(
        pf_cohort("1W+3R N=4 once, readers apart", {w1, {}, {}, {}, r1, r1, r1}, fours));
    cases.push_back(
        pf_cohort("1W+2R x2 N=2, readers apart", {writer(2), {}, reader(2), reader(2)}, pairs));
    // Two groups inside at a time.
    Case two = pf_cohort("1W+4R N=4, readers apart", {w1, {}, {}, {}, r1, r1, r1, r1}, fours);
    two.limits.preemptions = 3;
    cases.push_back(two);
    cases.push_back(mutant<CallsNobody>("calls_nobody", Failure::deadlock, "1W+2R N=2",
                                        {w1, {}, r1, r1}, pairs));
    cases.push_back(mutant<GroupUncompared>("group_uncompared", Failure::deadlock, "1W+2R N=2",
                                            {w1, {}, r1, r1}, pairs));
    cases.push_back(mutant<NoCallChain>("no_call_chain", Failure::deadlock, "1W+3R N=4",
                                        {w1, {}, {}, {}, r1, r1, r1}, fours));
}

/// Critical sections that come in messages: S, shared ones Z.
void add_sections(std::vector<Case>& cases) {
    using namespace pf_cohort_fault;
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto s1 = sections(Mode::exclusive, 1), s2 = sections(Mode::exclusive, 2),
               z1 = sections(Mode::shared, 1), z2 = sections(Mode::shared, 2);
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         const Machine& machine) {
        cases.push_back(rounds(pf_cohort(configuration, std::move(scripts), in_rounds(machine))));
    };
    add("1W+1S N=1", {w2, sections(Mode::exclusive, 3)}, apart);
    add("1R+1S N=1", {{}, sections(Mode::exclusive, 3), reader(3)}, apart);
    add("1W+1Z N=1", {writer(3), sections(Mode::shared, 3)}, apart);
    add("1W+2S N=1 once", {w1, s1, s1}, apart);
    add("1W+1S+1S once N=1", {w1, s2, s1}, apart);
    add("2W+1S once N=1", {w2, w2, s1}, apart);
    add("1W+1R+1S N=1 once", {w1, s1, r1}, apart);
    add("1W+1S+1Z N=1 once", {w1, s1, z1}, apart);
    add("2S+1Z N=1 once", {{}, s1, s1, z1}, apart);
    add("1W+1R+1Z N=1 once", {w1, r1, z1}, apart);
    add("2W+1S N=2 once", {w1, w1, s1}, pairs);
    add("1W+1R+1S N=2 once, readers apart", {w1, {}, r1, s1}, pairs);
    add("2W+2S N=2 once", {w1, w1, s1, s1}, pairs);
    add("2W+1S N=1 once", {w1, w1, s1}, apart);
    const auto wrong = [&]<class Words>(Words, const char* fault, Failure expected,
                                        const char* configuration, std::vector<Script> scripts) {
        cases.push_back(mutant<Sound, OfSections<Words>::template Lock>(
            fault, expected, configuration, std::move(scripts), apart));
        cases.back().limits.look_past_deadlocks = expected == Failure::exclusion;
    };
    wrong(EndsUnasked{}, "ends_unasked", Failure::deadlock, "1W+1S N=1", {w2, s2});
    wrong(PassesReadersBy{}, "passes_readers_by", Failure::deadlock, "1W+1R+1S N=1", {w1, s1, r1});
    wrong(PassesUntold{}, "passes_untold", Failure::deadlock, "1W+1S N=1", {w2, s2});
    wrong(BeginsBesideReaders{}, "begins_beside_readers", Failure::exclusion, "1R+1S N=1",
          {{}, s2, r2});
    wrong(ReadsBesideWriters{}, "reads_beside_writers", Failure::exclusion, "1W+1Z N=1", {w2, z2});
    cases.push_back(mutant<SectionUncompared>("section_uncompared", Failure::exclusion, "1W+1S N=1",
                                              {w2, s2}, apart));
    cases.back().limits.look_past_deadlocks = true;
}

/// The target's node joins beside the other one.
void add_home_joins(std::vector<Case>& cases) {
    const auto w1 = writer(1), r1 = reader(1);
    cases.push_back(
        at_member(pf_cohort("2W+2R N=2 once, a reader at home", {r1, w1, w1, r1}, nodes_of(2))));
    // Both nodes are members when one of them writes, and one leaves then.
    const Script reads_and_writes = {shared(0), done(0),   exclusive(0), done(0),      shared(0),
                                     done(0),   shared(0), done(0),      exclusive(0), done(0)};
    cases.push_back(
        pf_cohort("2(R+W+2R+W) N=1", {reads_and_writes, reads_and_writes}, nodes_of(1)));
    cases.push_back(mutant<pf_cohort_fault::OneForAll>(
        "one_for_all", Failure::exclusion, "1W+1R N=1", {writer(2), reader(2)}, nodes_of(1)));
    cases.back().limits.look_past_deadlocks = true;
}

/// In Domain::nic, where processes of the target's node, rank 0's, have their own way in.
Case in_nic(Case c) {
    c.configuration += ", adapters";
    c.program.domain = Domain::nic;
    c.program.cpus_alone = false;
    return c;
}

/// A holder on the target's node.
const std::vector<Script> kHoldNear = {kHoldAndWait[1], kHoldAndWait[0], kHoldAndWait[2]};

void add_near(std::vector<Case>& cases) {
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         const Machine& machine) {
        cases.push_back(in_nic(pf_cohort(configuration, std::move(scripts), machine)));
    };
    add("1R+1W N=1", {reader(3), writer(3)}, apart);
    add("1R+2W N=1 once", {r1, w1, w1}, apart);
    add("1R+1W+1R N=1 once", {r1, w1, r1}, apart);
    add("1R+1W and 1W N=2 once", {r1, w1, w1}, pairs);
    add("1R+1W and 1R N=2 once", {r1, w1, r1}, pairs);
    add("2W N=1", {writer(3), writer(3)}, apart);
    add("2W N=2", {writer(3), writer(3)}, pairs);
    add("2W+1R N=1 once", {w1, w1, r1}, apart);
    add("2W+1R N=2 once", {w1, w1, r1}, pairs);
    add("1W+2R N=1 once", {w1, r1, r1}, apart);
    add("1W+2R N=2 once", {w1, r1, r1}, pairs);
    add("3W N=1 once", {w1, w1, w1}, apart);
    add("3W N=2 once", {w1, w1, w1}, pairs);
    add("3W N=1, the second twice", {w1, w2, w1}, apart);
    add("3W N=2, the third twice", {w1, w1, w2}, pairs);
    add("1W+1R N=1", {writer(3), reader(3)}, apart);
    add("3W N=2 once, one record", {w1, w1, w1}, one_record(pairs));
    add("2W+1R N=1 once, one record", {w1, w1, r1}, one_record(apart));
    Machine no_members = apart;
    no_members.limits.members.k_in = 0;
    add("2W+1R N=1 once, no members", {w1, w1, r1}, no_members);
    add("1R+2W N=1", {r2, w2, w2}, apart);
    cases.back() = deep(cases.back(), 4);
    add("1R+1W and 1W N=2", {r2, w2, w2}, pairs);
    cases.back() = deep(cases.back(), 4);
    // A tree that takes each of the processes of a node for one of its own.
    const auto add_of_two = [&](const char* configuration, std::vector<Script> scripts) {
        add(configuration, std::move(scripts), apart);
        cases.back().program.ranks_per_node = 2;
    };
    add_of_two("3W once, two cohorts at home", {w1, w1, w1});
    add_of_two("2W+1R once, two cohorts at home", {w1, w1, r1});
}

void add_near_in_rounds(std::vector<Case>& cases) {
    const auto w1 = writer(1), r1 = reader(1);
    const auto in_rounds_of = [&](const char* configuration, std::vector<Script> scripts,
                                  unsigned locks) {
        cases.push_back(in_nic(
            rounds(pf_cohort(configuration, std::move(scripts), in_rounds(nodes_of(1, locks))))));
    };
    in_rounds_of("1R+1W N=1", {reader(3), writer(3)}, 1);
    in_rounds_of("1W+1R N=1", {writer(3), reader(3)}, 1);
    in_rounds_of("1W+2R N=1 once", {w1, r1, r1}, 1);
    in_rounds_of("hold and wait N=1", kHoldAndWait, 2);
    in_rounds_of("hold and wait N=1, by a member", kHoldByMember, 2);
    in_rounds_of("hold and receive N=1", kHoldAndReceive, 1);
    in_rounds_of("readers meet inside N=1", kMeetInside, 1);
    in_rounds_of("1R+1W+1R N=1 once", {r1, w1, r1}, 1);
    in_rounds_of("hold and wait at home N=1", kHoldNear, 2);
}

void add_near_mutants(std::vector<Case>& cases) {
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    using namespace pf_cohort_fault;
    const auto wrong = [&]<class Fault>(Fault, const char* fault, Failure expected,
                                        const char* configuration, std::vector<Script> scripts) {
        cases.push_back(
            in_nic(mutant<Fault>(fault, expected, configuration, std::move(scripts), apart)));
        cases.back().limits.look_past_deadlocks = expected == Failure::exclusion;
    };
    constexpr Failure kExclusion = Failure::exclusion;
    wrong(NearLooksOnce{}, "near_looks_once", kExclusion, "2W N=1", {w2, w2});
    wrong(NearLooksOnce{}, "near_looks_once", kExclusion, "1R+1W N=1", {r2, w2});
    wrong(OverlooksNearReaders{}, "overlooks_near_readers", kExclusion, "1R+1W N=1", {r2, w2});
    wrong(OverlooksNearWriters{}, "overlooks_near_writers", kExclusion, "1W+1R N=1", {w2, r2});
    wrong(OverlooksNearWriters{}, "overlooks_near_writers", kExclusion, "2W N=1", {w2, w2});
    wrong(OverlooksTurns{}, "overlooks_turns", kExclusion, "1W+2W N=1", {w1, w2, w1});
    wrong(TurnLooksOnce{}, "turn_looks_once", kExclusion, "1W+2W N=1", {w1, w1, w1});
    wrong(KeepsPhase{}, "keeps_phase", kExclusion, "1R+2W N=1", {r1, w2, w2});
    wrong(NearWakesNobody{}, "near_wakes_nobody", Failure::deadlock, "1W+1R N=1", {w1, r1});
    wrong(NearByAdapter{}, "near_by_adapter", Failure::word_class, "1R+1W N=1", {r1, w1});
    wrong(Sound{}, "no_rounds", Failure::deadlock, "hold and wait at home N=1", kHoldNear);
    cases.push_back(in_nic(
        mutant<HeadOverlooksAlone>("head_overlooks_alone", kExclusion, "2W N=2", {w2, w2}, pairs)));
    cases.push_back(in_nic(mutant<PassesNearWriters>("passes_near_writers", kExclusion, "3W N=2",
                                                     {w2, w1, w1}, pairs)));
    cases.push_back(in_nic(mutant<NearReaderOverlooks>("near_reader_overlooks", kExclusion,
                                                       "1R+1W N=2", {r2, w2}, pairs)));
}

void add_deep(std::vector<Case>& cases) {
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    add(deep(pf_cohort("2W+2R N=2", {w2, w2, r2, r2}, pairs), 4));
    add(deep(pf_cohort("3W+1R N=2", {w2, w2, w2, r2}, pairs), 4));
    add(deep(pf_cohort("3W+1R N=2 once", {w1, w1, w1, r1}, pairs)));
    add(deep(pf_cohort("3W+1R N=1 once", {w1, w1, w1, r1}, apart)));
    add(deep(pf_cohort("2W+2R N=1 once", {w1, w1, r1, r1}, apart)));
    add(deep(pf_cohort("2W+2R N=2, mixed nodes", {w2, r2, w2, r2}, pairs), 4));
    add(deep(pf_cohort("2W+2R N=1", {w2, w2, r2, r2}, apart), 4));
    add(deep(pf_cohort("4W N=2", {w2, w2, w2, w2}, pairs), 4));
    add(deep(pf_cohort("4W N=2 once", {w1, w1, w1, w1}, pairs)));
}

/// Cohorts that always queue before they register.
void add_crowded(std::vector<Case>& cases) {
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    const auto crowded = [&](const char* configuration, std::vector<Script> scripts,
                             const Machine& machine) {
        Case c = pf_cohort(std::string(configuration) + ", crowded", scripts, machine);
        c.program =
            program_of<locks::PfCohort, pf_cohort_fault::Crowded>(std::move(scripts), machine);
        c.program.cpus_alone = true;
        return c;
    };
    add(at_home(crowded("2W+1R N=1", {w2, w2, r2}, apart)));
    add(crowded("3W N=1", {w2, w2, w2}, apart));
    add(crowded("3W N=2", {w2, w2, w2}, pairs));
    add(rounds(crowded("2W+2R N=2 once", {w1, w1, r1, r1}, in_rounds(pairs))));
}

} // namespace

void add_pf_cohort(std::vector<Case>& cases) {
    const Machine apart = nodes_of(1), pairs = nodes_of(2);
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    add(at_home(pf_cohort("2W+1R N=1", {w2, w2, r2}, apart)));
    add(at_member(pf_cohort("2W+1R N=1", {w2, w2, r2}, apart)));
    add(pf_cohort("1W+2R N=1", {w2, r2, r2}, apart));
    add(pf_cohort("3W N=1", {w2, w2, w2}, apart));
    add(at_home(pf_cohort("2W+1R N=2", {w2, w2, r2}, pairs)));
    add(at_member(pf_cohort("2W+1R N=2", {w2, w2, r2}, pairs)));
    add(among_two(pf_cohort("2W x5 N=2", {writer(5), writer(5)}, pairs)));
    add(at_random(pf_cohort("4W x20+1W N=4", kCrowd, shipped())));
    add(pf_cohort("1W+2R N=2", {w2, r2, r2}, pairs));
    add(pf_cohort("3W N=2", {w2, w2, w2}, pairs));
    add(pf_cohort("2W+2R N=2 once", {w1, w1, r1, r1}, pairs));
    Machine other = apart;
    other.limits.members.idle = 2;
    add(pf_cohort("1W+1R x4 N=1, second idle phase", {writer(4), reader(4)}, other));
    add(deep(pf_cohort("2W+1R x3 N=1, second idle phase", {w2, w2, reader(3)}, other)));
    other.limits.members = {.k_in = 2, .idle = 1};
    add(pf_cohort("1W+1R x4 N=1, second reader", {writer(4), reader(4)}, other));
    other.ranks_per_node = 2;
    add(pf_cohort("1W+2R N=2, second reader", {w2, {}, r2, r2}, other));
    other = apart;
    other.limits.reader_batch = 1;
    other.limits.hold = locks::Duration(1);
    add(pf_cohort("2W+1R N=1 reader_batch=1", {w2, w2, r2}, other));
    other = pairs;
    other.limits.t_l = other.limits.passes = 1;
    add(pf_cohort("3W N=2 T_L=passes=1", {w2, w2, w2}, other));
    other = pairs;
    other.limits.passes = 0;
    add(pf_cohort("3W N=2 passes=0", {w2, w2, w2}, other));
    other = apart;
    other.limits.members.k_in = 0;
    add(at_home(pf_cohort("2W+1R N=1, no members", {w2, w2, r2}, other)));
    add(pf_cohort("2W+2R N=2 once, mixed nodes", {w1, r1, w1, r1}, pairs));
    add(with_store_buffer(pf_cohort("2W+1R N=2", {w2, w2, r2}, pairs)));
    add(with_store_buffer(pf_cohort("1W+2R N=2", {w2, r2, r2}, pairs)));

    add_crowded(cases);
    // Two targets at once, taken in the same order by all.
    add(pf_cohort("3W N=2 2 targets", {kBoth, kBoth, kBoth}, nodes_of(2, 2)));
    add(pf_cohort("2W+1R N=2 2 targets", {kBoth, kBoth, both(Mode::shared)}, nodes_of(2, 2)));
    add_home_joins(cases);
    add_in_rounds(cases);
    add_shared_records(cases);
    add_reader_groups(cases);
    add_sections(cases);
    add_near(cases);
    add_near_in_rounds(cases);
    add_near_mutants(cases);
    add_deep(cases);
    add_mutants(cases);
    add_overtaking_mutants(cases);
}

} // namespace rmalock::check
