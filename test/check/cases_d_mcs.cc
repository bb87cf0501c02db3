// D-MCS and its mutants.
#include "cases.hh"
#include "locks/algorithms/d_mcs.hh"
#include "mutants/d_mcs.hh"
#include "lock_setup.hh"

namespace rmalock::check {

namespace {

template <DMcsMutation M>
Case mutant(const char* name, Failure expected) {
    Case c;
    c.lock = std::string("d_mcs/") + name;
    c.configuration = "3W";
    c.program =
        program_of<MutantOf<DMcsMutant, M>::template Lock>({writer(2), writer(2), writer(2)});
    c.expected = expected;
    return c;
}

/// A process has one queue node, and gives it back while it holds (mcs_queue.hh).
template <class Fault = Sound>
Case stand_ins(std::string lock, const char* configuration, std::vector<Script> scripts) {
    Case c;
    c.lock = std::move(lock);
    c.configuration = std::string(configuration) + ", stand-ins";
    c.program = program_of<locks::DMcs, Fault>(std::move(scripts), {.scarce_qnodes = true});
    return c;
}

void add_stand_ins(std::vector<Case>& cases, const Script& both) {
    const auto add = [&](Case c) { cases.push_back(std::move(c)); };
    const auto w2 = writer(2);
    const char* const name = locks::DMcs<CheckerFabric>::kTraits.name;
    add(stand_ins(name, "3W", {w2, w2, w2}));
    cases.back().program.bound = {2, 2, {}, {}};
    add(with_store_buffer(cases.back()));
    add(stand_ins(name, "4W once", {writer(1), writer(1), writer(1), writer(1)}));
    add(stand_ins(name, "3W 2 targets", {both, both, both}));
    const auto mutant = [&]<class Fault>(Fault, const char* fault) {
        add(stand_ins<Fault>(std::string("d_mcs/") + fault, "3W", {w2, w2, w2}));
        cases.back().expected = Failure::deadlock;
    };
    mutant(StandInUnflushed{}, "stand_in_unflushed");
    mutant(MovesWithoutSuccessor{}, "moves_without_successor");
}

} // namespace

void add_d_mcs(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         unsigned at_once = 1) {
        Case c;
        c.lock = locks::DMcs<CheckerFabric>::kTraits.name;
        c.configuration = configuration;
        // First come, first served: everybody else can be before you once.
        const auto others = static_cast<std::uint32_t>(scripts.size()) - 1;
        c.program = program_of<locks::DMcs>(std::move(scripts), {.locks_at_once = at_once});
        c.program.bound = {others, others, {}, {}};
        cases.push_back(std::move(c));
    };
    add("3W", {writer(2), writer(2), writer(2)});
    add("4W", {writer(2), writer(2), writer(2), writer(2)});
    add("2W+1R", {writer(2), writer(2), reader(2)});
    cases.push_back(with_store_buffer(cases.back()));
    // Two targets at once, taken in the same order by all.
    const Script both = {{ScriptLine::acquire, Mode::exclusive, 0},
                         {ScriptLine::acquire, Mode::exclusive, 1},
                         {ScriptLine::release, Mode::exclusive, 0},
                         {ScriptLine::release, Mode::exclusive, 1}};
    add("3W 2 targets", {both, both, both}, 2);
    add_stand_ins(cases, both);

    using M = DMcsMutation;
    cases.push_back(mutant<M::listing_2_wait>("listing_2_wait", Failure::exclusion));
    cases.push_back(mutant<M::late_prepare>("late_prepare", Failure::deadlock));
    cases.push_back(mutant<M::no_wait_for_next>("no_wait_for_next", Failure::deadlock));
    cases.push_back(mutant<M::unflushed_prepare>("unflushed_prepare", Failure::deadlock));
}

} // namespace rmalock::check
