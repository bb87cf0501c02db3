// The gate of a window's locks (lock_all beside exclusives), in front of the locks the component
// offers.
#include "all_gate_setup.hh"
#include "cases.hh"
#include "locks/algorithms/d_mcs.hh"
#include "locks/algorithms/direct_passive.hh"
#include "locks/algorithms/pf_alock.hh"
#include "locks/algorithms/pf_cohort.hh"
#include "locks/algorithms/pf_mcs.hh"
#include "locks/algorithms/rma_rw.hh"
#include "mutants/all_gate.hh"

namespace rmalock::check {

namespace {

/// Nobody makes the gate theirs, but for the lock_all that comes first.
constexpr Value kNever = 1024;
constexpr locks::GateLimits kOnce{
    .alls = 1, .exclusives = 1, .each_all = kNever, .each_exclusive = kNever};
/// The first that comes does.
constexpr locks::GateLimits kAtOnce{.alls = 1, .exclusives = 1};

/// With rounds, after which processes that only wait hold nobody back.
constexpr locks::GateLimits in_rounds(locks::GateLimits limits) {
    limits.patience = locks::Duration(1);
    return limits;
}

template <class Fault = Sound, template <class> class Algorithm = locks::DirectPassive,
          template <class> class Waits = Polls>
Case gate(const char* name, const char* configuration, std::vector<Script> scripts,
          Failure expected = Failure::none, const locks::GateLimits& limits = kOnce,
          Rank on_first_node = 1) {
    Case c;
    c.lock = name;
    c.configuration = configuration;
    c.program = behind_gate<Algorithm, Fault, Waits>(std::move(scripts), limits, on_first_node);
    c.expected = expected;
    return c;
}

/// Of two processes that take lock_all one more of each passes an exclusive that waits.
constexpr std::uint32_t kPassTurn = 2;
/// One exclusive beside two processes that take lock_all `times` times.
template <class Fault = Sound>
Case turns(const char* name, const char* configuration, unsigned times,
           const locks::GateLimits& limits = kOnce) {
    Case c = gate<Fault>(name, configuration, {writer(1), all_locker(times), all_locker(times)},
                         Failure::none, limits);
    c.program.bound[index_of(Mode::exclusive)] = kPassTurn;
    c.program.announcing_slot = all_gate_fault::kG;
    c.program.announcing_operand = locks::GateWord::kOneWaiting;
    return c;
}
/// The same with one round of all processes together: a lock_all whose round is over passes it, too.
Case turns_and_a_round(const char* name, unsigned times) {
    return in_at_most(1, turns(name, "1W once+2A x3, rounds", times, in_rounds(kOnce)),
                      kPassTurn + 1, all_gate_fault::kG);
}

/// Lock_alls beside two exclusives: each waits for the one that is in and for the turn of those that
/// waited before it.
struct BesideWriters {
    const char* configuration;
    std::vector<Script> scripts;
    int preemptions = -1;

    template <template <class> class Waits = Polls>
    Case made(const char* name) const {
        Case c = gate<Sound, locks::DMcs, Waits>(name, configuration, scripts);
        c.program.keeps_chances = Mode::shared;
        c.program.watch_overtaking = false;
        c.limits.preemptions = preemptions;
        return c;
    }
};
/// One or both of the exclusives come again.
std::vector<BesideWriters> beside_writers() {
    return {{"2W+2A once", {writer(2), writer(1), all_locker(1), all_locker(1)}},
            {"2W+1A", {writer(2), writer(2), all_locker(2)}, 6}};
}

/// Two exclusives that come again beside `lock_alls`, of which each is counted from the arrival with
/// which it stays: `most` exclusives pass it.
template <template <class> class Waits = Polls>
Case beside_stayers(const char* name, const char* configuration, unsigned lock_alls,
                    std::uint32_t most, const locks::GateLimits& limits = kOnce) {
    using G = locks::GateWord;
    Case c = gate<Sound, locks::DMcs, Waits>(
        name, configuration, {writer(2), writer(2), all_locker(lock_alls)}, Failure::none, limits);
    c.program.bound[index_of(Mode::shared)] = most;
    c.program.announcing_slot = all_gate_fault::kG;
    c.program.announcing_operand = G::kOneAll;
    c.program.announcing_clear = G::kOneTurn - G::kOneWaiting; // n_W: else it steps back
    return c;
}
/// With one round of all processes together: the exclusive whose round is over passes it.
Case stayer_and_a_round(const char* name) {
    Case c = beside_stayers(name, "2W+1A once, stays, rounds, at most 1", 1, 1, in_rounds(kOnce));
    c.program.most_rounds = 1;
    return c;
}
/// Counted from where it first arrives, and without a bound: the number grows with that of the
/// exclusives' acquires, since those that need not wait pass it during a turn.
Case beside_turn(const char* configuration, unsigned times) {
    Case c = gate<Sound, locks::DMcs>("all_gate+d_mcs", configuration,
                                      {writer(times), writer(times), all_locker(2)});
    c.program.announcing_slot = all_gate_fault::kG;
    c.program.announcing_operand = locks::GateWord::kOneAll;
    c.limits.preemptions = 4;
    return c;
}

/// R4: P is in the exclusive room and waits for target 1, which R holds shared; R wants its first
/// exclusive; a lock_all waits for P.
std::vector<Script> wait_at_gate(unsigned lock_alls) {
    return {nested({exclusive(0), exclusive(1)}), nested({shared(1), exclusive(2)}),
            all_locker(lock_alls)};
}

/// The same on two nodes, where R's counts it as a reader, so that P waits for that node's counter.
std::vector<Script> wait_for_member(unsigned lock_alls) {
    Script holds = reader(1, 1); // its release makes the node a member
    for (const ScriptLine& op : nested({shared(1), exclusive(2)}))
        holds.push_back(op);
    return {nested({exclusive(0), exclusive(1)}), all_locker(lock_alls), holds};
}

// Programs of two windows, A (0) and B (1). In each of them some processes only wait, and one that
// holds something waits behind them, though no lock that it wants is held.
struct Story {
    const char* name;
    std::vector<Script> scripts;
    bool behind_exclusive = false; ///< a shared lock waits behind an exclusive that waits
};
std::vector<Story> stories() {
    const Script all = all_locker(1);
    return {
        // A lock_all that holds nothing revokes, behind an exclusive that waits for a reader, which
        // wants what the holder of a shared lock has, which calls lock_all itself.
        {"all behind all",
         {nested({shared(0), in(1, exclusive(0))}), writer(1), all,
          nested({in(1, shared(0)), everywhere()})}},
        // The same without the first lock_all: the exclusive alone waits.
        {"all behind 1W",
         {nested({shared(0), in(1, exclusive(0))}), writer(2),
          nested({in(1, shared(0)), everywhere()})},
         true},
        // An exclusive behind a lock_all that only waits, for a message and for a lock.
        {"1W behind all, receive",
         {nested({exclusive(0), receive(0)}), nested({exclusive(1), send(0)}), all}},
        {"1W behind all",
         {nested({exclusive(0), in(1, exclusive(0))}), nested({in(1, shared(0)), exclusive(1)}),
          all}},
        // A holder of lock_all beside a lock_all by a holder, behind an exclusive that waits.
        {"all by holders",
         {nested({in(1, everywhere()), exclusive(0)}),
          nested({exclusive(0), in(1, everywhere())}),
          {in(1, exclusive(1)), in(1, done(1))}}},
    };
}

/// Adds cases of pf_cohort on two nodes, of so many processes each.
auto over_nodes_to(std::vector<Case>& cases) {
    return [&cases](Rank on_each, const char* configuration, std::vector<Script> scripts,
                    locks::GateLimits limits = kOnce) {
        cases.push_back(gate<Sound, locks::PfCohort>("all_gate+pf_cohort", configuration,
                                                     std::move(scripts), Failure::none, limits,
                                                     on_each));
    };
}

/// To count overtaking as well, or to be searched whole.
void too_large(Case& c, int preemptions) {
    c.program.watch_overtaking = false;
    c.limits.preemptions = preemptions;
}

void add_over_nodes_deep(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(1), r = reader(2), all = all_locker(2),
                 a1 = all_locker(1);
    const auto on = over_nodes_to(cases);
    const auto deep = [&](int preemptions = -1) {
        too_large(cases.back(), preemptions);
        cases.back().size = Size::deep;
    };
    on(2, "hold-and-wait N=2 K=1, rounds, deep", wait_at_gate(1), in_rounds(kAtOnce));
    deep(6);
    // More than can be searched whole.
    on(2, "2W+2A N=2 once", {w1, a1, w1, a1});
    deep(5);
    on(2, "2W+1A N=2", {w, w, all});
    deep(4);
    on(2, "1W+1R+1A N=2 K=1", {w, all, r}, kAtOnce);
    deep(5);
    on(2, "1W+2A N=2 K=1", {w, all, all}, kAtOnce);
    deep(4);
    on(2, "2W, one once, +1A N=2 K=1", {w, w1, all}, kAtOnce);
    deep(4);
    on(2, "2W 2 targets+1A N=2 K=1", {w, all, writer(2, 1)}, kAtOnce);
    deep(4);
    on(2, "2W+2A N=2 once K=1", {w1, a1, w1, a1}, kAtOnce);
    deep(4);
}

/// pf_cohort on two nodes, of so many processes each. A node joins with the first reader of a
/// phase, and that is a lock_all that visits the targets, too.
void add_over_nodes(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(1), other = writer(1, 1), r = reader(2), r1 = reader(1),
                 all = all_locker(2), a1 = all_locker(1);
    const auto on = over_nodes_to(cases);
    on(1, "1W+1A N=1", {w, all_locker(3)});
    on(1, "1A+1W N=1", {all_locker(3), w});
    on(2, "1W+1R+1A N=2 once", {w1, a1, r1});
    on(2, "1W+2A N=2 once", {w1, a1, a1});
    on(2, "1W+2A N=2", {w, all, all});
    on(2, "2W+1A N=2 once", {w1, w1, a1});
    on(2, "2W 2 targets+1A N=2 once", {w1, a1, other});
    const auto large = [&](int preemptions = -1) { too_large(cases.back(), preemptions); };
    on(2, "1W+1R+1A N=2", {w, all, r});
    large();
    on(2, "2W 2 targets+1A N=2", {w, all, writer(2, 1)});
    large(4);
    on(2, "hold-and-wait N=2, rounds", wait_at_gate(1), in_rounds(kOnce));
    large(4);
    on(2, "hold-and-wait N=2, by a member, rounds", wait_for_member(1), in_rounds(kOnce));
    large(4);

    on(1, "1W+1A N=1 K=1", {w, all_locker(3)}, kAtOnce);
    on(1, "1A+1W N=1 K=1", {all_locker(3), writer(3)}, kAtOnce);
    on(2, "1W+1R+1A N=2 once K=1", {w1, a1, r1}, kAtOnce);
    on(2, "1W+2A N=2 once K=1", {w1, a1, a1}, kAtOnce);
    on(2, "2W+1A N=2 once K=1", {w1, w1, a1}, kAtOnce);
    large(6);
    on(2, "2W 2 targets+1A N=2 once K=1", {w1, a1, other}, kAtOnce);
    on(2, "hold-and-wait N=2 K=1, rounds", wait_at_gate(1), in_rounds(kAtOnce));
    large(4);
    on(2, "hold-and-wait N=2, by a member, K=1, rounds", wait_for_member(1), in_rounds(kAtOnce));
    large(4);
    add_over_nodes_deep(cases);
}

/// Critical sections that come in messages, to a lock behind the gate.
void add_sections(std::vector<Case>& cases) {
    using namespace all_gate_fault;
    const Script w1 = writer(1), s1 = sections(Mode::exclusive, 1),
                 s2 = sections(Mode::exclusive, 2), a1 = all_locker(1), all = all_locker(2);
    const auto on = over_nodes_to(cases);
    const auto large = [&](int preemptions = -1) { too_large(cases.back(), preemptions); };
    on(1, "1A+1S N=1", {all_locker(3), s2});
    large();
    on(1, "1A+1S N=1 K=1", {all_locker(3), s2}, kAtOnce);
    large(5);
    on(2, "1A+1W+1S N=2 once", {a1, w1, s1});
    large(4);
    on(2, "2A+1S N=2 once", {a1, a1, s1});
    large();
    on(2, "1A+1W+1S N=2 once K=1", {a1, w1, s1}, kAtOnce);
    large(4);
    const auto wrong = [&]<class Fault>(Fault, const char* name) {
        cases.push_back(gate<Fault, locks::PfCohort>(name, "1A+1S N=1", {all_locker(3), s2},
                                                     Failure::exclusion));
        too_large(cases.back(), -1);
    };
    wrong(NoLook{}, "all_gate+pf_cohort/section_no_look");
    wrong(SectionLooksFirst{}, "all_gate+pf_cohort/section_looks_first");
    wrong(NoEntry{}, "all_gate+pf_cohort/section_unannounced");
}

/// With waits as they are shipped: somebody has to tell (locks/parts/node_event_count.hh).
void add_told(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(1), r = reader(2), r1 = reader(1), all = all_locker(2),
                 a1 = all_locker(1);
    const auto add = [&]<template <class> class Algorithm = locks::DirectPassive>(
        const char* name, const char* configuration, std::vector<Script> scripts,
        const locks::GateLimits& limits, Rank on_each) {
        cases.push_back(gate<Sound, Algorithm, EachLooks>(name, configuration, std::move(scripts),
                                                          Failure::none, limits, on_each));
    };
    const auto told = [&](const char* configuration, std::vector<Script> scripts,
                          const locks::GateLimits& limits = kOnce) {
        add("all_gate", configuration, std::move(scripts), limits, 1);
    };
    const auto deep = [&](int preemptions = -1) {
        cases.back().size = Size::deep;
        cases.back().limits.preemptions = preemptions;
        cases.back().program.watch_overtaking = preemptions < 0;
    };
    told("1W+1A, told", {w, all_locker(3)});
    told("1W+1R+1A, told", {w, r, all});
    told("1W+2A once, told", {w1, a1, a1});
    told("1W+2A, told", {w, all, all});
    deep();
    told("2W 2 targets+1A, told", {w, writer(2, 1), all});
    deep();
    told("hold-and-wait, told, rounds", wait_at_gate(2), in_rounds(kOnce));
    deep();
    told("hold-and-wait once, told, rounds", wait_at_gate(1), in_rounds(kOnce));
    too_large(cases.back(), 3);
    told("2W+2A once, told", {w1, w1, a1, a1});
    deep(4);
    told("1W+1A K=1, told", {w, all_locker(3)}, kAtOnce);
    told("1A+1W K=1, told", {all_locker(3), writer(3)}, kAtOnce);
    deep();
    told("1W+1R+1A K=1, told", {w, r, all}, kAtOnce);
    deep();
    told("1W+2A once K=1, told", {w1, a1, a1}, kAtOnce);
    deep();
    told("2W 2 targets+1A once K=1, told", {w1, writer(1, 1), a1}, kAtOnce);
    deep();
    const auto over_nodes = [&](const char* configuration, std::vector<Script> scripts,
                                const locks::GateLimits& limits, Rank on_each) {
        add.operator()<locks::PfCohort>("all_gate+pf_cohort", configuration, std::move(scripts),
                                        limits, on_each);
    };
    over_nodes("1W+1A N=1, told", {w, all_locker(3)}, kOnce, 1);
    over_nodes("1W+1R+1A N=2 once, told", {w1, a1, r1}, kOnce, 2);
    over_nodes("1W+1R+1A N=2 once K=1, told", {w1, a1, r1}, kAtOnce, 2);
}

/// The same where one of the other node looks for all of it.
void add_copied(std::vector<Case>& cases) {
    const Script w1 = writer(1), a1 = all_locker(1);
    const auto copied = [&](const char* configuration, std::vector<Script> scripts,
                            const locks::GateLimits& limits = kOnce) {
        scripts.insert(scripts.begin() + 1, Script{}); // nobody, on the gate's node
        cases.push_back(gate<Sound, locks::DirectPassive, locks::NodeEventCount>(
            "all_gate", configuration, std::move(scripts), Failure::none, limits, 2));
    };
    copied("1W+1A, copied", {writer(2), all_locker(3)});
    copied("1W+2A once, copied", {w1, a1, a1});
    copied("hold-and-wait once, copied, rounds", wait_at_gate(1), in_rounds(kOnce));
    too_large(cases.back(), 3);
    copied("1A+2W once, copied", {a1, w1, w1});
    cases.back().size = Size::deep;
    copied("1W+2A once K=1, copied", {w1, a1, a1}, kAtOnce);
    cases.back().size = Size::deep;
}

/// Any number of preemptions.
constexpr int kAny = -1;

/// `fair`: a shared lock waits behind an exclusive that waits. `preemptions`: of the small cases;
/// with kAny the gate that changes sides alone has a bound. `most_processes`: larger stories are
/// left out.
template <template <class> class Algorithm>
void add_stories(std::vector<Case>& cases, const char* name, int preemptions, bool fair = true,
                 std::size_t most_processes = 4) {
    const std::string lock = name;
    for (const Story& story : stories()) {
        if (story.scripts.size() > most_processes)
            continue;
        const auto add = [&](const std::string& of, const std::string& how,
                             const locks::GateLimits& limits, int most, Failure expected) {
            Case c;
            c.lock = of;
            c.configuration = story.name + how;
            c.program = behind_gate<Algorithm>(story.scripts, limits, 2, true, 2);
            c.program.watch_overtaking = false;
            c.expected = expected;
            c.limits.preemptions = most;
            cases.push_back(c);
        };
        add(lock, ", rounds", in_rounds(kOnce), preemptions, Failure::none);
        const bool whole = preemptions == kAny;
        const int few = whole ? 3 : std::max(preemptions - 1, 2);
        add(lock, ", K=1, rounds", in_rounds(kAtOnce), few, Failure::none);
        if (whole)
            add(lock, ", K=1, rounds, deep", in_rounds(kAtOnce), few + 1, Failure::none);
        else
            add(lock, ", rounds, deep", in_rounds(kOnce), preemptions + 1, Failure::none);
        cases.back().size = Size::deep;
        if (!story.behind_exclusive || fair)
            add(lock + "/no_rounds", "", kOnce, preemptions, Failure::deadlock);
    }
}

/// A change that is not told: a process sleeps for ever.
void add_silent_mutants(std::vector<Case>& cases) {
    const Script w = writer(2);
    using namespace all_gate_fault;
    const auto silent_mutant = [&]<class Fault>(Fault, const char* name, const char* configuration,
                                                std::vector<Script> scripts,
                                                const locks::GateLimits& limits = kOnce) {
        cases.push_back(gate<Fault, locks::DirectPassive, EachLooks>(name, configuration, scripts,
                                                                     Failure::deadlock, limits));
    };
    silent_mutant(SilentLeave{}, "all_gate/silent_leave", "1W+1A", {w, all_locker(3)});
    silent_mutant(SilentRelease{}, "all_gate/silent_release", "1W+1A", {w, all_locker(3)});
    silent_mutant(SilentTurn{}, "all_gate/silent_turn", "1W+2A once",
                  {writer(1), all_locker(1), all_locker(1)});
    silent_mutant(SilentMode{}, "all_gate/silent_mode", "1W+2A once",
                  {writer(1), all_locker(1), all_locker(1)});
    silent_mutant(ReadsEventsLast{}, "all_gate/reads_events_last", "1W+1A", {w, all_locker(3)});
    silent_mutant(LeavesUnasked{}, "all_gate/leaves_unasked", "1A+1W K=1",
                  {all_locker(3), writer(3)}, kAtOnce);
}

/// A round more than the bound has, a round that ends without a patience, and one that never ends.
void add_round_mutants(std::vector<Case>& cases) {
    using namespace all_gate_fault;
    const auto add = [&](Case c, Failure expected) {
        c.expected = expected;
        cases.push_back(std::move(c));
    };
    add(turns_and_a_round("all_gate/a_round_too_many", 3), Failure::bypass);
    cases.back().program.most_rounds = 2;
    add(stayer_and_a_round("all_gate+d_mcs/a_round_too_many"), Failure::bypass);
    cases.back().program.most_rounds = 2;
    add(beside_stayers<EndsRoundsAtOnce>("all_gate+d_mcs/ends_rounds_at_once", "2W+1A once, stays",
                                         1, 0),
        Failure::bypass);
    add(gate<Sound, locks::DirectPassive, NeverGivesUp>(
            "all_gate/never_gives_up", "hold-and-wait once, told, rounds", wait_at_gate(1),
            Failure::none, in_rounds(kOnce)),
        Failure::deadlock);
}

void add_mutants(std::vector<Case>& cases) {
    const Script w = writer(2);
    using namespace all_gate_fault;
    cases.push_back(
        gate<NoLook>("all_gate/no_look", "1W+1A", {w, all_locker(3)}, Failure::exclusion));
    cases.push_back(
        gate<OneMark>("all_gate/one_mark", "1A+1W", {all_locker(3), w}, Failure::exclusion));
    cases.push_back(gate<NobodyWaits>("all_gate/nobody_waits", "1W+2A once",
                                      {writer(1), all_locker(1), all_locker(1)},
                                      Failure::exclusion));
    cases.push_back(gate<Sound, Unvisited<locks::DirectPassive>::Of>(
        "all_gate/no_visit", "1W+1A", {w, all_locker(3)}, Failure::exclusion));
    cases.push_back(
        gate<NoEntry>("all_gate/no_entry", "1W+1A", {w, all_locker(3)}, Failure::exclusion));
    cases.push_back(gate<OneHolderRecord>("all_gate/one_holder_record", "1A+1W", {all_locker(3), w},
                                          Failure::exclusion));
    cases.push_back(gate<NamesOne>("all_gate/names_one", "1W of 2+1A",
                                   {nested({exclusive(0), exclusive(1)}), all_locker(2)},
                                   Failure::exclusion));
    const auto changing_mutant =
        [&]<class Fault>(Fault, const char* name, const char* configuration,
                         std::vector<Script> scripts, Failure expected = Failure::exclusion) {
            cases.push_back(gate<Fault>(name, configuration, scripts, expected, kAtOnce));
        };
    changing_mutant(NoSecondLook{}, "all_gate/no_second_look", "2W once+1A K=1",
                    {writer(1), writer(1), all_locker(2)});
    changing_mutant(NoWaitForCounted{}, "all_gate/no_wait_for_counted", "1A+1W K=1",
                    {all_locker(3), writer(3)});
    changing_mutant(OneClosed{}, "all_gate/one_closed", "1W+1A K=1", {w, all_locker(3)});
    changing_mutant(EntersClosed{}, "all_gate/enters_closed", "1A+1W K=1",
                    {all_locker(3), writer(3)});
    cases.back().limits.look_past_deadlocks = true;
    changing_mutant(SeesItGated{}, "all_gate/sees_it_gated", "1A+1W K=1",
                    {all_locker(3), writer(3)});
    changing_mutant(OneUnmarked{}, "all_gate/one_unmarked", "1A+1W K=1", {all_locker(3), writer(3)},
                    Failure::deadlock);
    add_silent_mutants(cases);
    add_round_mutants(cases);
    cases.push_back(turns<NoStepBack>("all_gate/no_step_back", "1W once+2A x4", 4));
    cases.back().expected = Failure::bypass;
    for (const BesideWriters& program : beside_writers()) {
        cases.push_back(program.made<IgnoresTurn>("all_gate+d_mcs/ignores_turn"));
        cases.back().expected = Failure::bypass;
    }
    cases.push_back(
        gate("all_gate/no_rounds", "hold-and-wait", wait_at_gate(2), Failure::deadlock));

    // With pf_cohort, whose owners a lock_all meets as a reader of another node.
    cases.push_back(gate<NoLook, locks::PfCohort>("all_gate+pf_cohort/no_look", "1W+1A N=1",
                                                  {w, all_locker(3)}, Failure::exclusion));
    cases.push_back(gate<Sound, Unvisited<locks::PfCohort>::Of>(
        "all_gate+pf_cohort/no_visit", "1W+1A N=1", {w, all_locker(3)}, Failure::exclusion));
    cases.push_back(gate<NoWaitForCounted, locks::PfCohort>(
        "all_gate+pf_cohort/no_wait_for_counted", "1A+1W N=1 K=1", {all_locker(3), writer(3)},
        Failure::exclusion, kAtOnce));
    cases.push_back(gate<Sound, locks::PfCohort>("all_gate+pf_cohort/no_rounds",
                                                 "hold-and-wait N=2", wait_at_gate(1),
                                                 Failure::deadlock, kOnce, 2));
}

/// The gate changes sides with each process that comes.
void add_changing(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(2, 1), r = reader(2), all = all_locker(2);
    const auto changing = [&](const char* configuration, std::vector<Script> scripts,
                              locks::GateLimits limits = kAtOnce) {
        cases.push_back(gate("all_gate", configuration, scripts, Failure::none, limits));
    };
    changing("1W+1A K=1", {w, all_locker(3)});
    changing("1A+1W K=1", {all_locker(3), writer(3)});
    changing("1W+1R+1A K=1", {w, r, all});
    cases.back().size = Size::deep;
    changing("1W+2A once K=1", {writer(1), all_locker(1), all_locker(1)});
    changing("2W 2 targets+1A once K=1", {writer(1), writer(1, 1), all_locker(1)});
    changing("2W+1A once K=1", {writer(1), writer(1), all_locker(1)});
    changing("hold-and-wait K=1, rounds", wait_at_gate(1), in_rounds(kAtOnce));
    cases.back().limits.preemptions = 5;
    // A word told to both nodes at once may reach the last one first.
    const auto last_first = [&](const char* configuration, std::vector<Script> scripts) {
        changing(configuration, std::move(scripts));
        cases.back().program.last_first = true;
    };
    last_first("1W+1A K=1, last node first", {w, all_locker(3)});
    last_first("1A+1W K=1, last node first", {all_locker(3), writer(3)});
    last_first("1W+2A once K=1, last node first", {writer(1), all_locker(1), all_locker(1)});
    last_first("2W 2 targets+1A once K=1, last node first",
               {writer(1), writer(1, 1), all_locker(1)});
    last_first("2W+1A once K=1, last node first", {writer(1), writer(1), all_locker(1)});
    const auto deep = [&] {
        cases.back().size = Size::deep;
        cases.back().program.watch_overtaking = false;
        cases.back().limits.preemptions = 4;
    };
    changing("2W 2 targets+1A K=1", {w, w1, all});
    deep();
    changing("1W+2A K=1", {w, all, all});
    deep();
    changing("2W+2A once K=1", {writer(1), writer(1), all_locker(1), all_locker(1)});
    deep();
}

/// Before locks of other kinds.
void add_before_others(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(2, 1), r = reader(2), all = all_locker(2);
    const auto pf_mcs = [&](const char* configuration, std::vector<Script> scripts,
                            locks::GateLimits limits = kOnce) {
        cases.push_back(gate<Sound, locks::PfMcs>("all_gate+pf_mcs", configuration, scripts,
                                                  Failure::none, limits));
    };
    pf_mcs("1W+1A", {w, all_locker(3)});
    pf_mcs("1W+1R+1A", {writer(1), reader(1), all_locker(1)});
    pf_mcs("2W 2 targets+1A once", {writer(1), writer(1, 1), all_locker(1)});
    pf_mcs("hold-and-wait, rounds", wait_at_gate(1), in_rounds(kOnce));

    // No shared mode: the gate is closed from the start.
    const auto d_mcs = [&](const char* configuration, std::vector<Script> scripts,
                           locks::GateLimits limits = kOnce) {
        cases.push_back(gate<Sound, locks::DMcs>("all_gate+d_mcs", configuration, scripts,
                                                 Failure::none, limits));
    };
    d_mcs("1W+1R+1A", {w, r, all});
    d_mcs("2W 2 targets+1A", {w, w1, all});
    d_mcs("hold-and-wait, rounds", wait_at_gate(1), in_rounds(kOnce));
}

void add_bounds_beside_writers(std::vector<Case>& cases) {
    const char* const name = "all_gate+d_mcs";
    // Once it stays, the room is not opened before it has been in.
    cases.push_back(beside_stayers(name, "2W+1A once, stays", 1, 0));
    cases.push_back(beside_stayers(name, "2W+1A, stays", 2, 0));
    cases.back().limits.preemptions = 4;
    cases.push_back(stayer_and_a_round(name));
    cases.push_back(beside_turn("2W once+1A, counted", 1));
    cases.push_back(beside_turn("2W+1A, counted", 2));
    cases.push_back(beside_turn("2W x3+1A, counted", 3));
}

} // namespace

void add_all_gate(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(2, 1), r = reader(2), all = all_locker(2);
    cases.push_back(gate("all_gate", "1W+1A", {w, all_locker(3)}));
    cases.push_back(gate("all_gate", "1W+1R+1A", {w, r, all}));
    cases.push_back(gate("all_gate", "2W 2 targets+1A", {w, w1, all}));
    cases.push_back(gate("all_gate", "1W+2A once", {writer(1), all_locker(1), all_locker(1)}));
    cases.push_back(gate("all_gate", "1W+2A", {w, all, all}));
    cases.push_back(
        gate("all_gate", "2W+2A once", {writer(1), writer(1), all_locker(1), all_locker(1)}));
    cases.back().size = Size::deep;
    cases.push_back(gate("all_gate", "hold-and-wait, rounds", wait_at_gate(1), Failure::none,
                         in_rounds(kOnce)));

    cases.push_back(gate("all_gate", "1W of 2+1A, rounds",
                         {nested({exclusive(0), exclusive(1)}), all_locker(2)}, Failure::none,
                         in_rounds(kOnce)));

    // However long lock_alls go on, an exclusive that waits gets in: behind those inside, and one
    // more of each.
    cases.push_back(turns("all_gate", "1W once+2A x3", 3));
    cases.push_back(turns("all_gate", "1W once+2A x4", 4));
    cases.push_back(turns_and_a_round("all_gate", 3));
    // However long exclusives go on, a lock_all that waits gets in.
    for (const BesideWriters& program : beside_writers())
        cases.push_back(program.made("all_gate+d_mcs"));
    add_bounds_beside_writers(cases);

    // On one node nobody keeps holder records.
    const auto unkept = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(gate("all_gate", configuration, scripts));
        cases.back().program = behind_gate<locks::DirectPassive>(scripts, kOnce, 1, false);
    };
    unkept("1W+1A, no holder records", {w, all_locker(3)});
    unkept("1W+1R+1A, no holder records", {w, r, all});
    unkept("2W 2 targets+1A, no holder records", {w, w1, all});
    cases.back().size = Size::deep;
    unkept("1W+2A once, no holder records", {writer(1), all_locker(1), all_locker(1)});

    add_changing(cases);
    add_before_others(cases);
    add_stories<locks::DirectPassive>(cases, "all_gate", kAny, false);
    add_stories<locks::PfMcs>(cases, "all_gate+pf_mcs", 3);
    add_stories<locks::PfCohort>(cases, "all_gate+pf_cohort", 2);
    add_stories<locks::PfAlock>(cases, "all_gate+pf_alock", 2);
    add_stories<locks::RmaRw>(cases, "all_gate+rma_rw", 2, true, 3);
    add_sections(cases);
    add_over_nodes(cases);
    add_told(cases);
    add_copied(cases);
    add_mutants(cases);
    // Where adapters do the atomics, cases_lingering.cc has some of these.
    for (Case& c : cases)
        if (c.lock.starts_with("all_gate+pf_cohort"))
            c.program.cpus_alone = true;
}

} // namespace rmalock::check
