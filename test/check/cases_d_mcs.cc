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

    using M = DMcsMutation;
    cases.push_back(mutant<M::listing_2_wait>("listing_2_wait", Failure::exclusion));
    cases.push_back(mutant<M::late_prepare>("late_prepare", Failure::deadlock));
    cases.push_back(mutant<M::no_wait_for_next>("no_wait_for_next", Failure::deadlock));
    cases.push_back(mutant<M::unflushed_prepare>("unflushed_prepare", Failure::deadlock));
}

} // namespace rmalock::check
