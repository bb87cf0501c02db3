// RMA-MCS and RMA-RW, and their mutants.
#include "cases.hh"
#include "mutants/rma.hh"
#include "mutants/rma_printed.hh"
#include "tree_setup.hh"

namespace rmalock::check {

namespace {

template <class Local>
Case on(std::string lock, std::string configuration, std::vector<Script> scripts,
        const Machine& machine, Size size = Size::small) {
    Case c;
    c.lock = std::move(lock);
    c.configuration = std::move(configuration);
    c.program = on_tree<Local>(std::move(scripts), machine);
    c.size = size;
    return c;
}

/// One reader among writers: it waits for the rest of one chain.
Case one_reader(Case c, const Machine& machine) {
    c.program.bound[index_of(Mode::shared)] = static_cast<std::uint32_t>(machine.t_w);
    return c;
}

template <class Local>
Case mutant(std::string lock, Failure expected, std::string configuration,
            std::vector<Script> scripts, const Machine& machine) {
    Case c = on<Local>(std::move(lock), std::move(configuration), std::move(scripts), machine);
    c.expected = expected;
    return c;
}

const std::vector<Script> kHoldAndWait = hold_and_wait();

struct PrintedTreeLocal {
    PrintedTree<CheckerFabric> lock;
    PrintedTreeLocal(CheckerFabric& fabric, const TreeSetup& setup)
        : lock(fabric, setup.limits.tree.t_l[2]) {}
};

template <PrintedCounters Repair>
struct PrintedRmaRwLocal {
    PrintedRmaRw<CheckerFabric, Repair> lock;
    PrintedRmaRwLocal(CheckerFabric& fabric, const TreeSetup& setup)
        : lock(fabric, setup.limits.t_r, setup.limits.tree.t_w) {}
};

} // namespace

void add_rma_mcs(std::vector<Case>& cases) {
    const std::string name = locks::RmaMcs<CheckerFabric>::kName;
    const Machine flat{}, nodes{{2}}, racks{{2, 1}}, deep{{4, 2}};
    const auto w1 = writer(1), w2 = writer(2);
    using Local = RmaMcsLocal<>;
    cases.push_back(on<Local>(name, "3W N=1", {w2, w2, w2}, flat));
    cases.push_back(on<Local>(name, "3W N=2", {w2, w2, w2}, nodes));
    cases.push_back(with_store_buffer(cases.back()));
    cases.push_back(on<Local>(name, "4W N=2 once", {w1, w1, w1, w1}, nodes));
    cases.push_back(on<Local>(name, "4W N=2", {w2, w2, w2, w2}, nodes, Size::deep));
    cases.push_back(on<Local>(name, "3W N=3", {w2, w2, w2}, racks));
    cases.push_back(on<Local>(name, "5W N=3 once", {w1, w1, w1, w1, w1}, deep, Size::deep));

    cases.push_back(mutant<RmaMcsLocal<rma_fault::NoFlush>>("rma_mcs/no_flush", Failure::deadlock,
                                                            "3W N=2", {w2, w2, w2}, nodes));
    cases.push_back(mutant<PrintedTreeLocal>("rma_mcs/as_printed", Failure::deadlock, "3W N=2",
                                             {w1, w1, w1}, nodes));
}

void add_rma_rw(std::vector<Case>& cases) {
    const std::string name = locks::RmaRw<CheckerFabric>::kName;
    const Machine flat{}, nodes{{2}, 2};
    Machine held = flat;
    held.t_r = 1;
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    using Local = RmaRwLocal<>;
    cases.push_back(one_reader(on<Local>(name, "2W+1R N=1", {w2, w2, r2}, flat), flat));
    cases.push_back(on<Local>(name, "1W+2R N=1", {w2, r2, r2}, flat));
    cases.push_back(one_reader(on<Local>(name, "2W+1R N=1 T_R=1", {w2, w2, r2}, held), held));
    cases.push_back(one_reader(on<Local>(name, "2W+1R N=2", {w2, w2, r2}, nodes), nodes));
    cases.push_back(with_store_buffer(cases.back()));
    cases.push_back(on<Local>(name, "1W+2R N=2", {w2, r2, r2}, nodes));
    cases.push_back(on<Local>(name, "3W N=2", {w2, w2, w2}, nodes));
    cases.push_back(on<Local>(name, "2W+2R N=2 once", {w1, r1, w1, r1}, nodes));
    cases.push_back(on<Local>(name, "2W+2R N=2", {w2, r2, w2, r2}, nodes));
    cases.push_back(
        one_reader(on<Local>(name, "3W+1R N=2", {w2, w2, w2, r2}, nodes, Size::deep), nodes));

    // Readers that hold something elsewhere and go past a waiting writer.
    const auto j1 = joiner(1), j2 = joiner(2);
    cases.push_back(on<Local>(name, "1W+2J N=1", {w2, j2, j2}, flat));
    cases.push_back(on<Local>(name, "2W+1J N=1", {w2, w2, j2}, flat));
    cases.push_back(on<Local>(name, "2W+1R+1J N=1 once", {w1, w1, r1, j1}, flat));
    cases.push_back(on<Local>(name, "2W+1J N=2", {w2, w2, j2}, nodes));
    Machine shared_counter = flat;
    shared_counter.t_dc = 3;
    cases.push_back(on<Local>(name, "1W+1R+1J N=1 T_DC=3", {w2, r2, j2}, shared_counter));
    cases.push_back(with_store_buffer(cases.back()));
    // The same with the parts of ranks 0 and 1 changed: a writer comes to their counters in this
    // order.
    const std::vector<Script> other_way = {kHoldAndWait[1], kHoldAndWait[0], kHoldAndWait[2]};
    cases.push_back(on<Local>(name, "hold and wait N=1, other way", other_way, flat));
    cases.push_back(on<Local>(name, "hold and wait N=1", kHoldAndWait, flat));
    cases.push_back(on<Local>(name, "hold and wait N=2", kHoldAndWait, nodes));

    using namespace rma_fault;
    cases.push_back(mutant<RmaRwLocal<NeverJoins>>("rma_rw/never_joins", Failure::deadlock,
                                                   "hold and wait N=1", kHoldAndWait, flat));
    cases.push_back(mutant<RmaRwLocal<JoinsClosed>>("rma_rw/joins_closed", Failure::exclusion,
                                                    "1W+2J N=1", {w2, j2, j2}, flat));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<RmaRwLocal<NoReopen>>("rma_rw/no_reopen", Failure::deadlock,
                                                 "hold and wait N=1, other way", other_way, flat));
    cases.push_back(mutant<RmaRwLocal<KeepsArrival>>("rma_rw/keeps_arrival", Failure::deadlock,
                                                     "1W+2J N=1", {w2, j2, j2}, flat));
    cases.push_back(mutant<RmaRwLocal<rma_fault::NoFlush>>("rma_rw/no_flush", Failure::deadlock,
                                                           "2W+1R N=1", {w2, w2, r2}, flat));
    cases.push_back(mutant<RmaRwLocal<rma_fault::NoDrain>>("rma_rw/no_drain", Failure::exclusion,
                                                           "2W+1R N=1", {w2, w2, r2}, flat));
    Machine printed = flat;
    printed.t_r = 1;
    using enum PrintedCounters;
    cases.push_back(mutant<PrintedRmaRwLocal<as_printed>>("rma_rw/as_printed", Failure::exclusion,
                                                          "1W+1R N=1", {w1, r1}, printed));
    // Readers get stuck early in the printed forms; what else is wrong lies behind that.
    cases.push_back(mutant<PrintedRmaRwLocal<wait>>("rma_rw/printed+wait", Failure::exclusion,
                                                    "1W+2R N=1", {w1, r2, r2}, printed));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<PrintedRmaRwLocal<torn_reset>>(
        "rma_rw/printed+torn_reset", Failure::exclusion, "1W+2R N=1", {w1, r2, r2}, printed));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<PrintedRmaRwLocal<safe_reset>>(
        "rma_rw/printed+safe_reset", Failure::deadlock, "1W+2R N=1", {w1, r2, r2}, printed));
    // Waiting readers take their count back: every window between two writers can be missed.
    Machine alternating = flat;
    alternating.t_w = 1;
    cases.push_back(
        one_reader(on<Local>(name, "2W+1R N=1 T_W=1", {w2, w2, r2}, alternating), alternating));
    alternating.t_r = 10;
    cases.push_back(one_reader(
        mutant<PrintedRmaRwLocal<safe_reset>>("rma_rw/printed+safe_reset", Failure::bypass,
                                              "2W+1R N=1 T_W=1", {w2, w2, r1}, alternating),
        alternating));
    cases.back().limits.look_past_deadlocks = true;
}

} // namespace rmalock::check
