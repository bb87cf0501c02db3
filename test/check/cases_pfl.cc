// The phase-fair lock over nodes, and its mutants.
#include "cases.hh"
#include "mutants/pfl.hh"
#include "pfl_setup.hh"

namespace rmalock::check {

namespace {

template <class Fault = Sound>
Case pfl(std::string configuration, std::vector<Script> scripts, const PflMachine& machine) {
    Case c;
    c.lock = "pfl";
    c.configuration = std::move(configuration);
    c.program = on_nodes<Fault>(std::move(scripts), machine);
    return c;
}

Case deep(Case c, int preemptions = -1) {
    c.size = Size::deep;
    c.program.watch_overtaking = false;
    c.limits.preemptions = preemptions;
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

} // namespace

void add_pfl(std::vector<Case>& cases) {
    // Target 0 is on node 0. Nodes of one rank, and of two; readers of other nodes are counted there
    // from the first one on.
    const PflMachine apart{}, pairs{.ranks_per_node = 2};
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2), j1 = joiner(1),
               j2 = joiner(2);
    cases.push_back(pfl("2W+1R N=1", {w2, w2, r2}, apart));
    cases.push_back(pfl("1W+2R N=1", {w2, r2, r2}, apart));
    cases.push_back(pfl("3W N=1", {w2, w2, w2}, apart));
    cases.push_back(pfl("2W+1R N=2", {w2, w2, r2}, pairs));
    cases.push_back(pfl("1W+2R N=2", {w2, r2, r2}, pairs));
    cases.push_back(pfl("3W N=2", {w2, w2, w2}, pairs));
    cases.push_back(pfl("2W+2R N=2 once", {w1, w1, r1, r1}, pairs));
    cases.push_back(pfl("1W+2J N=1", {w2, j2, j2}, apart));
    cases.push_back(pfl("1W+1R+1J N=1", {w2, r2, j2}, apart));
    (void)j1; (void)shared; (void)exclusive; (void)done; (void)deep;
}

} // namespace rmalock::check
