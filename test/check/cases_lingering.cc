// Locks where what adapters write lingers: of each some cases, among them those in which CPUs of a node
// look at words that adapters change.
#include <algorithm>
#include <stdexcept>

#include "cases.hh"

namespace rmalock::check {
namespace {

struct Chosen {
    const char* name;
    /// Readers that are seen late wait for one chain more (pf_cohort.hh); 0: as the case has it.
    std::uint32_t reader_bound = 0;
};

constexpr Chosen kChosen[] = {
    {"direct_passive:2W+1R"},
    {"pf_mcs:1W+2R"},
    {"pf_mcs:hold and wait, rounds"},
    {"pf_cohort:2W+1R N=1 once, adapters", 2 * 2},
    {"pf_cohort:1W+2R N=1 once, rounds"},
    {"pf_cohort:1R+2W N=1 once, adapters"},
    {"pf_cohort:1R+1W and 1W N=2 once, adapters"},
    {"pf_cohort:1R+1W N=1, rounds, adapters"},
    {"pf_cohort:hold and wait N=1, rounds"},
    {"pf_cohort:3W N=1 once, adapters"},
    {"pf_cohort:3W N=2 once, adapters"},
    {"rma_rw:2W+1R N=1"},
    {"rma_rw:2W+1R N=2"},
    {"rma_mcs:3W N=2"},
    {"d_mcs:3W"},
    {"alock:1W+2W"},
    {"alock:2W+1W"},
    {"alock:2W+1W, stand-ins"},
    {"pf_alock:1W+1R"},
    {"pf_alock:2W+1R"},
    {"pf_alock:1W+1R and 1W"},
    {"pf_alock:1R+2W"},
    {"pf_alock:1W and 1W+1R"},
    {"pf_alock:1R+1W+1R, rounds"},
    {"n_cosed:2W+1R"},
    {"n_cosed:1W+2R"},
    {"n_cosed:1W+2R, renewing"},
    {"n_cosed:1W+2R, stand-ins"},
    {"dqnl:3W"},
    {"fompi_spin:3W"},
    {"fompi_rw:1W+1R+1A"},
    {"ticket:3W"},
    {"all_gate:1W+1R+1A"},
    {"all_gate:1W+2A once K=1"},
    {"all_gate+pf_cohort:1W+1R+1A N=2 once"},
    {"all_gate+pf_cohort:1W+1R+1A N=2 once K=1"},
};

} // namespace

void add_lingering(std::vector<Case>& cases) {
    for (const Chosen& chosen : kChosen) {
        const auto found =
            std::ranges::find_if(cases, [&](const Case& c) { return c.name() == chosen.name; });
        if (found == cases.end())
            throw std::logic_error(std::string("no case is called ") + chosen.name);
        cases.push_back(with_late_adapters(*found));
        if (chosen.reader_bound != 0)
            cases.back().program.bound[index_of(Mode::shared)] = chosen.reader_bound;
    }
}

} // namespace rmalock::check
