// The phase-fair lock and its mutants.
#include "cases.hh"
#include "locks/pfx.hh"
#include "mutants/pfx.hh"
#include "queue_setup.hh"

namespace rmalock::check {

namespace {

template <class Fault = Sound>
Case pfx(std::string name, const char* configuration, std::vector<Script> scripts, Value t_w = 2) {
    QueueSetup<locks::PfxLimits> setup;
    setup.limits.t_w = t_w;
    setup.nodes = 2;
    Case c;
    c.lock = std::move(name);
    c.configuration = configuration;
    c.program = queueing<locks::Pfx, Fault>(std::move(scripts), setup);
    return c;
}

Operation shared(Rank target) {
    return {Operation::acquire, Mode::shared, target};
}
Operation exclusive(Rank target) {
    return {Operation::acquire, Mode::exclusive, target};
}
Operation done(Rank target) {
    return {Operation::release, Mode::shared, target};
}

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
    Case c = pfx<Fault>(std::string("pfx/") + fault, configuration, std::move(scripts));
    c.expected = expected;
    return c;
}

} // namespace

void add_pfx(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         Size size = Size::small, Value t_w = 2) {
        cases.push_back(
            pfx(locks::Pfx<CheckerFabric>::kName, configuration, std::move(scripts), t_w));
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
    }
    for (const char* configuration : {"2W+1R", "1W+2R"})
        cases.push_back(with_store_buffer(pfx("pfx", configuration, cast_of(configuration))));

    // Two targets at once, taken in the same order by all.
    const std::vector<Operation> both = {exclusive(0), exclusive(1), done(0), done(1)};
    add("3W 2 targets", {both, both, both});
    add("2W+1R 2 targets", {both, both, {shared(0), shared(1), done(0), done(1)}});

    // Readers that hold something elsewhere and go past waiting writers.
    add("1W+2J", {writer(2), joiner(2), joiner(2)});
    add("2W+1J", {writer(2), writer(2), joiner(2)});
    add("2W+1R+1J once", {writer(1), writer(1), reader(1), joiner(1)});
    add("2W+1R+1J", {writer(2), writer(2), reader(2), joiner(2)}, Size::deep);
    cases.back().program.watch_overtaking = false;
    cases.back().limits.preemptions = 4;
    const std::vector<Script> hold_and_wait = {{shared(0), exclusive(1), done(1), done(0)},
                                               {shared(1), shared(0), done(0), done(1)},
                                               {exclusive(0), done(0)}};
    add("hold and wait", hold_and_wait);

    using namespace pfx_fault;
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2), j1 = joiner(1);
    cases.push_back(mutant<NoDrain>("no_drain", Failure::exclusion));
    cases.push_back(mutant<NoVerify>("no_verify", Failure::exclusion, "2W+2R", {w2, w2, r2, r2}));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<NoSelfServe>("no_self_serve", Failure::deadlock));
    cases.push_back(mutant<NoWakeChain>("no_wake_chain", Failure::deadlock));
    cases.push_back(mutant<HwNotCleared>("hw_not_cleared", Failure::wild_word, "3W", {w2, w2, w2}));
    cases.push_back(
        mutant<JoinUnnamed>("join_unnamed", Failure::exclusion, "2W+2J", {w2, w2, j1, joiner(2)}));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(
        mutant<JoinNoRecheck>("join_no_recheck", Failure::deadlock, "2W+1R+1J", {w2, w2, r1, j1}));
    cases.push_back(
        mutant<DrainOneLook>("drain_one_look", Failure::exclusion, "2W+1R+1J", {w1, w1, r1, j1}));
    // The deadlock that joining is for.
    cases.push_back(
        mutant<NeverJoins>("never_joins", Failure::deadlock, "hold and wait", hold_and_wait));
}

} // namespace rmalock::check
