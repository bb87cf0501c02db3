// Direct-passive and its mutants.
#include "cases.hh"
#include "locks/algorithms/direct_passive.hh"
#include "mutants/direct_passive.hh"
#include "lock_setup.hh"

namespace rmalock::check {

namespace {

template <DirectPassiveMutation M>
Case mutant(const char* name, Failure expected) {
    Case c;
    c.lock = std::string("direct_passive/") + name;
    c.configuration = "2W+1R";
    c.program = program_of<MutantOf<DirectPassiveMutant, M>::template Lock>(
        {writer(2), writer(2), reader(2)});
    c.expected = expected;
    return c;
}

} // namespace

void add_direct_passive(std::vector<Case>& cases) {
    using Lock = locks::DirectPassive<CheckerFabric>;
    const auto add = [&](const char* configuration, std::vector<Script> scripts) {
        Case c;
        c.lock = Lock::kTraits.name;
        c.configuration = configuration;
        c.program = program_of<locks::DirectPassive>(std::move(scripts));
        cases.push_back(std::move(c));
    };
    add("2W+1R", {writer(2), writer(2), reader(2)});
    add("1W+2R", {writer(2), reader(2), reader(2)});
    add("3W", {writer(2), writer(2), writer(2)});
    add("2W+2R", {writer(2), writer(2), reader(2), reader(2)});

    using M = DirectPassiveMutation;
    cases.push_back(mutant<M::release_by_put>("release_by_put", Failure::word_class));
    cases.push_back(mutant<M::release_by_put>("release_by_put", Failure::exclusion));
    cases.back().configuration = "2W+1R cpu";
    cases.back().program.word_classes = false;
    cases.push_back(mutant<M::reader_barges>("reader_barges", Failure::exclusion));
    cases.push_back(mutant<M::reader_takes_back>("reader_takes_back", Failure::exclusion));
    cases.push_back(mutant<M::reader_forgets>("reader_forgets", Failure::deadlock));
    cases.push_back(mutant<M::writer_over_readers>("writer_over_readers", Failure::exclusion));
}

} // namespace rmalock::check
