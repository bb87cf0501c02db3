// The phase-fair lock and its mutants.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/pf_mcs.hh"
#include "mutants/pf_mcs.hh"

#include <cstring>

namespace rmalock::check {

namespace {

template <class Fault = Sound>
Case pf_mcs(std::string name, const char* configuration, std::vector<Script> scripts, Value t_w = 2,
            Value passes = 0, bool rounds = false) {
    const locks::LockLimits limits{
        .t_w = t_w, .passes = passes, .patience = locks::Duration(rounds ? 1 : 0)};
    Case c;
    c.lock = std::move(name);
    c.configuration = configuration;
    if (rounds)
        c.configuration += ", rounds";
    c.program =
        program_of<locks::PfMcs, Fault>(std::move(scripts), {.limits = limits, .locks_at_once = 2});
    return c;
}

const Script kBoth = both(Mode::exclusive);
const std::vector<Script> kHoldAndWait = hold_and_wait(), kHoldAndReceive = hold_and_receive(),
                          kMeetInside = meet_inside();

constexpr Slot kTail = locks::PfMcsWords::kTail;

/// "2W+1R": so many writers and readers, two acquires each.
std::vector<Script> cast_of(const std::string& configuration) {
    std::vector<Script> scripts;
    for (std::size_t i = 0; i + 1 < configuration.size(); i += 3)
        for (char n = '0'; n < configuration[i]; ++n)
            scripts.push_back(configuration[i + 1] == 'W' ? writer(2) : reader(2));
    return scripts;
}

template <class Fault>
Case mutant(const char* fault, Failure expected, const char* configuration = "2W+2R once",
            std::vector<Script> scripts = {writer(1), writer(1), reader(1), reader(1)}) {
    Case c = pf_mcs<Fault>(std::string("pf_mcs/") + fault, configuration, std::move(scripts));
    c.expected = expected;
    return c;
}

/// With rounds in which readers may join.
template <class Fault>
Case mutant_in_rounds(const char* fault, Failure expected, const char* configuration,
                      std::vector<Script> scripts) {
    Case c = pf_mcs<Fault>(std::string("pf_mcs/") + fault, configuration, std::move(scripts), 2, 0,
                           true);
    c.expected = expected;
    return c;
}

/// From the moment at which an exclusive is in the queue: those before it, and `passes` for each of
/// them that leaves a process behind which can pass, and for itself.
void passed_at_most(Case& c, std::uint32_t times) {
    c.program.bound[index_of(Mode::exclusive)] = times;
    c.program.announcing_slot = kTail;
}

void add_passing_mutants(std::vector<Case>& cases) {
    const auto w1 = writer(1), w2 = writer(2), w4 = writer(4), r1 = reader(1);
    using namespace pf_mcs_fault;
    const auto mutant = [&](Case c, const char* fault, Failure expected) {
        c.lock = std::string("pf_mcs/") + fault;
        c.expected = expected;
        cases.push_back(std::move(c));
    };
    mutant(pf_mcs("", "2W passes=100", {w4, w4}, 2, 100), "no_limit_to_passing", Failure::bypass);
    passed_at_most(cases.back(), 1 + 1);
    mutant(pf_mcs<TakesAnyway>("", "3W passes=1", {w2, w2, w2}, 2, 1), "takes_anyway",
           Failure::exclusion);
    mutant(pf_mcs<NoNextFirst>("", "3W passes=1", {w2, w2, w2}, 2, 1), "no_next_first",
           Failure::deadlock);
    mutant(pf_mcs<GivesToNobody>("", "2W+1R passes=1", {w1, w1, r1}, 2, 1), "gives_to_nobody",
           Failure::deadlock);
    mutant(pf_mcs<NoDelivery>("", "3W passes=1", {w2, w2, w2}, 2, 1), "no_delivery", Failure::data);
    mutant(pf_mcs<NoDrain>("", "2W+2R once passes=1", {w1, w1, r1, r1}, 2, 1), "no_drain",
           Failure::exclusion);
}

/// passes > 0: released locks may be taken past the first of the queue.
void add_passing(std::vector<Case>& cases) {
    const auto w1 = writer(1), w2 = writer(2), w4 = writer(4), r1 = reader(1), r2 = reader(2),
               w3 = writer(3);
    const auto add = [&](const char* configuration, std::vector<Script> scripts, Value passes = 1,
                         Size size = Size::small) {
        cases.push_back(pf_mcs("pf_mcs", configuration, std::move(scripts), 2, passes));
        cases.back().size = size;
    };
    const auto in_rounds = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(pf_mcs("pf_mcs", configuration, std::move(scripts), 2, 1, true));
    };
    const auto one_reader = [&] { cases.back().program.bound[index_of(Mode::shared)] = 2; };
    add("2W passes=1", {w4, w4});
    passed_at_most(cases.back(), 1 + 1);
    add("2W passes=2", {writer(5), writer(5)}, 2);
    passed_at_most(cases.back(), 1 + 2);
    add("3W passes=1", {w2, w2, w2});
    add("1W+2W x3 passes=1", {w1, w3, w3}, 1, Size::deep);
    passed_at_most(cases.back(), 2 + 2 * 1);
    add("2W+1R passes=1", {w2, w2, r2});
    one_reader();
    add("1W+2R passes=1", {w2, r2, r2});
    add("2W+2R once passes=1", {w1, w1, r1, r1});
    add("3W+1R once passes=1", {w1, w1, w1, r1});
    one_reader();
    add("4W once passes=1", {w1, w1, w1, w1});
    in_rounds("2W+2R once passes=1", {w1, w1, r1, r1});
    add("3W 2 targets passes=1", {kBoth, kBoth, kBoth});
    in_rounds("hold and wait passes=1", kHoldAndWait);
    in_rounds("hold and receive passes=1", kHoldAndReceive);
    const std::vector<Script> passing = {w1, reader(3), reader(3)};
    in_rounds("1W+2R x3 passes=1", passing);
    cases.back() = in_at_most(1, std::move(cases.back()), 2);
    std::vector<Script> two_writers = kHoldAndWait;
    two_writers.push_back(two_writers.back());
    in_rounds("hold and wait, 2 writers passes=1", two_writers);
    const auto add_bounded = [&](const char* configuration, std::vector<Script> scripts) {
        add(configuration, std::move(scripts), 1, Size::deep);
        cases.back().program.watch_overtaking = false;
        cases.back().limits.preemptions = 4;
    };
    add_bounded("2W+2R passes=1", {w2, w2, r2, r2});
    add_bounded("3W+1R passes=1", {w2, w2, w2, r2});
    // All four twice are more than 400 million states.
    add_bounded("4W passes=1, one of them once", {w2, w2, w2, w1});
    cases.push_back(with_store_buffer(pf_mcs("pf_mcs", "3W passes=1", {w2, w2, w2}, 2, 1)));
    cases.push_back(with_store_buffer(pf_mcs("pf_mcs", "2W+1R passes=1", {w2, w2, r2}, 2, 1)));
    add_passing_mutants(cases);
}

void add_mutants(std::vector<Case>& cases) {
    using namespace pf_mcs_fault;
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    cases.push_back(mutant<NoDrain>("no_drain", Failure::exclusion));
    cases.push_back(mutant<NoVerify>("no_verify", Failure::exclusion, "2W+2R", {w2, w2, r2, r2}));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<NoSelfServe>("no_self_serve", Failure::deadlock));
    cases.push_back(mutant<NoWakeChain>("no_wake_chain", Failure::deadlock));
    cases.push_back(mutant<HwNotCleared>("hw_not_cleared", Failure::wild_word, "3W", {w2, w2, w2}));
    cases.push_back(mutant_in_rounds<JoinUnnamed>("join_unnamed", Failure::exclusion, "2W+2R",
                                                  {w2, w2, r1, r2}));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant_in_rounds<JoinNoRecheck>("join_no_recheck", Failure::deadlock, "1W+2R",
                                                    {w2, r1, r1}));
    cases.push_back(mutant_in_rounds<LooksOnAHint>("looks_on_a_hint", Failure::exclusion,
                                                   "2W+2R once", {w1, w1, r1, r1}));
    cases.push_back(mutant<NoDelivery>("no_delivery", Failure::data, "3W", {w2, w2, w2}));
    cases.push_back(mutant<DataOvertaken>("data_overtaken", Failure::data));
    // The deadlocks that joining is for.
    cases.push_back(mutant_in_rounds<NeverJoins>("never_joins", Failure::deadlock, "hold and wait",
                                                 kHoldAndWait));
    cases.push_back(mutant_in_rounds<Sound>("a_round_too_many", Failure::bypass, "1W+2R x3",
                                            {w1, reader(3), reader(3)}));
    cases.back() = in_at_most(1, std::move(cases.back()), 2);
    cases.back().program.most_rounds = 2;
    cases.push_back(mutant<Sound>("no_rounds", Failure::deadlock, "hold and wait", kHoldAndWait));
    cases.push_back(
        mutant<Sound>("no_rounds", Failure::deadlock, "hold and receive", kHoldAndReceive));
    cases.push_back(
        mutant<Sound>("no_rounds", Failure::deadlock, "readers meet inside", kMeetInside));
}

/// A process has one queue node, and gives it back while it holds (mcs_queue.hh).
void add_stand_ins(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(pf_mcs("pf_mcs", configuration, {}));
        cases.back().configuration += ", stand-ins";
        cases.back().program = program_of<locks::PfMcs>(
            std::move(scripts), {.limits = {.t_w = 2}, .scarce_qnodes = true});
    };
    add("2W+1R", cast_of("2W+1R"));
    cases.back().program.bound[index_of(Mode::shared)] = 2;
    add("3W", cast_of("3W"));
    cases.push_back(with_store_buffer(cases.back()));
    add("2W+2R once", {writer(1), writer(1), reader(1), reader(1)});
    add("3W 2 targets", {kBoth, kBoth, kBoth});
    add("2W+1R 2 targets", {kBoth, kBoth, both(Mode::shared)});
}

} // namespace

void add_pf_mcs(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         Size size = Size::small, Value t_w = 2) {
        cases.push_back(pf_mcs(locks::PfMcs<CheckerFabric>::kTraits.name, configuration,
                               std::move(scripts), t_w));
        cases.back().size = size;
    };
    // One reader among writers waits for the rest of one chain.
    const auto one_reader = [&] { cases.back().program.bound[index_of(Mode::shared)] = 2; };
    add("2W+1R", {writer(2), writer(2), reader(2)});
    one_reader();
    add("1W+2R", {writer(2), reader(2), reader(2)});
    add("3W", {writer(2), writer(2), writer(2)});
    add("2W+2R once", {writer(1), writer(1), reader(1), reader(1)});
    add("3W+1R once", {writer(1), writer(1), writer(1), reader(1)});
    one_reader();
    // Too large to count overtaking as well.
    for (const char* configuration : {"2W+2R", "1W+3R", "4W", "3W+1R"}) {
        add(configuration, cast_of(configuration), Size::deep);
        cases.back().program.watch_overtaking = false;
        cases.back().limits.preemptions = 4;
    }
    for (const char* configuration : {"2W+1R", "1W+2R"})
        cases.push_back(with_store_buffer(pf_mcs("pf_mcs", configuration, cast_of(configuration))));

    // Two targets at once, taken in the same order by all.
    add("3W 2 targets", {kBoth, kBoth, kBoth});
    add("2W+1R 2 targets", {kBoth, kBoth, both(Mode::shared)});

    add_stand_ins(cases);

    // Readers that go past a waiting writer when its round is over.
    const auto in_rounds = [&](const char* configuration, std::vector<Script> scripts,
                               Size size = Size::small) {
        cases.push_back(pf_mcs("pf_mcs", configuration, std::move(scripts), 2, 0, true));
        cases.back().size = size;
        // Each round lets others in: nothing bounds their number where time is not modelled.
        cases.back().program.watch_overtaking = false;
    };
    in_rounds("1W+2R once", {writer(1), reader(1), reader(1)});
    in_rounds("2W+1R", {writer(2), writer(2), reader(2)});
    in_rounds("1W+2R", {writer(2), reader(2), reader(1)});
    in_rounds("2W+2R once", {writer(1), writer(1), reader(1), reader(1)});
    in_rounds("2W+2R", {writer(2), writer(2), reader(2), reader(2)}, Size::deep);
    cases.back().limits.preemptions = 4;
    in_rounds("hold and wait", kHoldAndWait);
    in_rounds("hold and receive", kHoldAndReceive);
    in_rounds("readers meet inside", kMeetInside);
    add_mutants(cases);
    add_passing(cases);
}

} // namespace rmalock::check
