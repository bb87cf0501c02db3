// Configurations too large to be searched whole: random executions of up to 256 processes, as many
// as the papers verified, and searches with a bound on the number of preemptions.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/all.hh"
#include "mutants/pf_mcs.hh"

namespace rmalock::check {

namespace {

/// Every fifth process writes.
std::vector<Script> mixed(Rank ranks) {
    std::vector<Script> scripts;
    for (Rank r = 0; r < ranks; ++r)
        scripts.push_back(r % 5 == 0 ? writer(2) : reader(2));
    return scripts;
}

std::vector<Script> writers(Rank ranks) {
    return std::vector<Script>(static_cast<std::size_t>(ranks), writer(2));
}

/// Four levels: machine, cabinets of 64, blades of 16, nodes of 4.
Machine cluster() {
    Machine machine{.element_sizes = {64, 16, 4}, .t_dc = 4};
    machine.limits.t_w = 8;
    return machine;
}

Machine pf_mcs_limits(Value t_w) {
    return {.limits = {.t_w = t_w}};
}

Case random(const char* lock, const char* configuration, Program program) {
    Case c;
    c.lock = lock;
    c.configuration = configuration;
    c.program = std::move(program);
    c.search = Search::random;
    c.limits.runs = 50;
    return c;
}

Case bounded(const char* lock, const char* configuration, Program program, int preemptions) {
    Case c;
    c.lock = lock;
    c.configuration = configuration;
    c.program = std::move(program);
    c.program.watch_overtaking = false;
    c.limits.preemptions = preemptions;
    c.size = Size::deep;
    return c;
}

} // namespace

void add_large(std::vector<Case>& cases) {
    constexpr Rank kMany = 256;
    cases.push_back(
        random("direct_passive", "51W+205R", program_of<locks::DirectPassive>(mixed(kMany))));
    cases.push_back(random("d_mcs", "256W", program_of<locks::DMcs>(writers(kMany))));
    cases.push_back(random("pf_mcs", "51W+205R",
                           program_of<locks::PfMcs, Sound>(mixed(kMany), pf_mcs_limits(8))));
    Machine nodes{.ranks_per_node = 8};
    nodes.limits = {.t_w = 8, .t_l = 4, .passes = 4, .members = {.k_in = 2, .idle = 2}};
    cases.push_back(
        random("pf_cohort", "51W+205R N=2", program_of<locks::PfCohort>(mixed(kMany), nodes)));
    cases.push_back(
        random("rma_mcs", "256W N=4", program_of<locks::RmaMcs>(writers(kMany), cluster())));
    cases.push_back(
        random("rma_rw", "51W+205R N=4", program_of<locks::RmaRw>(mixed(kMany), cluster())));

    // The random search has to find something too.
    Case broken =
        random("pf_mcs/no_self_serve", "51W+205R",
               program_of<locks::PfMcs, pf_mcs_fault::NoSelfServe>(mixed(kMany), pf_mcs_limits(8)));
    broken.expected = Failure::deadlock;
    cases.push_back(broken);

    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    cases.push_back(bounded("pf_mcs", "3W+2R once",
                            program_of<locks::PfMcs, Sound>({w1, w1, w1, r1, r1}, pf_mcs_limits(2)),
                            4));
    cases.push_back(bounded("pf_mcs", "2W+3R once",
                            program_of<locks::PfMcs, Sound>({w1, w1, r1, r1, r1}, pf_mcs_limits(2)),
                            4));
    cases.push_back(bounded(
        "rma_rw", "2W+3R N=2",
        program_of<locks::RmaRw>({w2, r2, w2, r2, r2}, {.element_sizes = {2}, .t_dc = 2}), 4));
}

} // namespace rmalock::check
