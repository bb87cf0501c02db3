// RMA-MCS and RMA-RW, and their mutants.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/rma_mcs.hh"
#include "locks/algorithms/rma_rw.hh"
#include "mutants/rma.hh"
#include "mutants/rma_printed.hh"

namespace rmalock::check {

namespace {

template <class Local>
Case on(std::string lock, std::string configuration, std::vector<Script> scripts,
        const Machine& machine, Size size = Size::small) {
    Case c;
    c.lock = std::move(lock);
    c.configuration = std::move(configuration);
    c.program = program_of<Local>(std::move(scripts), machine);
    c.size = size;
    return c;
}

/// One reader among writers: it waits for the rest of one chain.
Case one_reader(Case c, const Machine& machine) {
    c.program.bound[index_of(Mode::shared)] = static_cast<std::uint32_t>(machine.limits.t_w);
    return c;
}

/// A writer that has come to the queue of all nodes waits for one stay of the lock on the other node, T_L.
Case other_stay(Case c, const Machine& machine) {
    c.program.bound[index_of(Mode::exclusive)] =
        static_cast<std::uint32_t>(machine.limits.t_l_of[2]);
    c.program.announcing_slot = 0; // TAIL of the root
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
/// The same with the parts of ranks 0 and 1 changed: the writer finds the reader that is inside at
/// the other one of their counters.
const std::vector<Script> kOtherWay = {kHoldAndWait[1], kHoldAndWait[0], kHoldAndWait[2]};

template <class Fault = Sound>
using RmaMcsLocal = LockLocal<locks::RmaMcs, Fault>;
template <class Fault = Sound>
using RmaRwLocal = LockLocal<locks::RmaRw, Fault>;

// The printed forms, in the room of the shipped ones.
struct PrintedTreeLocal {
    static constexpr Offers kOffers{};
    using Made = locks::RmaMcs<CheckerFabric>;
    PrintedTree<CheckerFabric> lock;
    PrintedTreeLocal(CheckerFabric& fabric, const LockSetup& setup)
        : lock(fabric, setup.limits.t_l_of[2]) {}
};

template <PrintedCounters Repair, Value t_r = 1>
struct PrintedRmaRwLocal {
    static constexpr Offers kOffers{};
    using Made = locks::RmaRw<CheckerFabric>;
    PrintedRmaRw<CheckerFabric, Repair> lock;
    PrintedRmaRwLocal(CheckerFabric& fabric, const LockSetup& setup)
        : lock(fabric, t_r, setup.limits.t_w) {}
};

/// A rank has one record of each level, and its counters lie side by side.
Machine one_record(Machine machine) {
    machine.record_lines = 1;
    return machine;
}

/// Records of elements that several targets want, and two levels of them. Ranks 0 and 1 are on a
/// node, and targets 2 and 4 share its records; 0 and 4 share those of the four ranks from 0 on.
template <template <class> class Lock>
void add_shared_records(std::vector<Case>& cases) {
    const std::string name = Lock<CheckerFabric>::kTraits.name;
    const Machine pairs = one_record({.element_sizes = {2}, .t_dc = 4}),
                  deep = one_record({.element_sizes = {4, 2}, .t_dc = 4});
    const auto w1 = writer(1);
    const Script none{};
    const auto exclusive_then = [](Rank a, Rank b) { return first_then(Mode::exclusive, a, b); };
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         const Machine& machine, Size size = Size::small) {
        cases.push_back(on<LockLocal<Lock>>(name, std::string(configuration) + ", one record",
                                            std::move(scripts), machine, size));
    };
    const std::vector<Script> writers = {
        writer(2, 2), exclusive_then(4, 2), writer(1, 2), none, none, none};
    add("3W N=2 once", {w1, w1, w1}, pairs);
    add("3W N=2, targets 2 and 4", writers, pairs);
    cases.push_back(with_store_buffer(cases.back()));
    Machine scarce = pairs;
    scarce.scarce_qnodes = true;
    add("3W N=2, targets 2 and 4, stand-ins", writers, scarce);
    // The node of ranks 2 and 3 has the record of all four for target 4.
    add("4W N=3, targets 0 and 4", {w1, w1, writer(1, 4), none, w1, none}, deep);
    add("3W N=3, targets 2 and 4",
        {writer(1, 2), writer(1, 4), exclusive_then(4, 2), none, none, none}, deep);
    cases.push_back(mutant<LockLocal<Lock, rma_fault::TakesAnyRecord>>(
        name + "/takes_any_record", Failure::exclusion, "N=2, targets 2 and 4",
        {writer(2, 2), writer(2, 4), writer(1, 2), none, none, none}, pairs));
    cases.back().limits.look_past_deadlocks = true;
}

/// Counters side by side, of which one is two nodes'.
void add_shared_counters(std::vector<Case>& cases) {
    const std::string name = locks::RmaRw<CheckerFabric>::kTraits.name;
    const Machine pairs = one_record({.element_sizes = {2}, .t_dc = 4});
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const Script none{};
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         const Machine& machine) {
        cases.push_back(on<RmaRwLocal<>>(name, std::string(configuration) + " T_DC=4, one record",
                                         std::move(scripts), machine));
    };
    add("1W+2R N=2", {w2, r2, r2}, pairs);
    add("2W+1R N=2", {w2, r2, w1}, pairs);
    add("1W+3R N=2 once, 2 counters", {w1, r1, r1, none, r1}, pairs);
    const std::vector<Script> mixed = {
        reader(1, 2), first_then(Mode::exclusive, 4, 2), writer(1, 2), none, none, none};
    add("1R+2W N=2, targets 2 and 4", mixed, pairs);
    cases.push_back(with_store_buffer(cases.back()));
    // Readers of a node go to the counter in groups.
    add("2R+1W N=2", {r2, r2, w2}, pairs);
    cases.push_back(with_store_buffer(cases.back()));
    add("3R+1W N=2 once", {r1, r1, w1, r1}, pairs);
    std::vector<Script> far(9); // targets 0 and 8 share what a node has for groups
    far[0] = first_then(Mode::shared, 0, 8), far[1] = first_then(Mode::shared, 8, 0);
    far[2] = w1;
    add("2R+1W N=2, targets 0 and 8", far, pairs);
    const auto in_rounds = [&](const char* configuration, const std::vector<Script>& scripts) {
        add((std::string(configuration) + ", rounds").c_str(), scripts, check::in_rounds(pairs));
        cases.back().program.watch_overtaking = false;
    };
    in_rounds("2R+1W N=2", {r2, r2, w1});
    in_rounds("hold and wait N=2", kHoldAndWait);
    in_rounds("hold and receive N=2", hold_and_receive());
    in_rounds("readers meet inside N=2", meet_inside());
    cases.push_back(mutant<RmaRwLocal<rma_fault::EachDeparts>>(
        "rma_rw/each_departs", Failure::deadlock, "2R+1W N=2", {r2, r2, w2}, pairs));
}

/// Readers that go past a waiting writer when its round is over.
void add_rma_rw_in_rounds(std::vector<Case>& cases) {
    const std::string name = locks::RmaRw<CheckerFabric>::kTraits.name;
    const Machine flat{}, nodes{.element_sizes = {2}, .t_dc = 2};
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    using Local = RmaRwLocal<>;
    const Machine rounds = check::in_rounds(flat), rounds_of_nodes = check::in_rounds(nodes);
    Machine shared_counter = rounds;
    shared_counter.t_dc = 3;
    const auto in_rounds = [&](std::string configuration, std::vector<Script> scripts,
                               const Machine& machine) {
        Case c = on<Local>(name, configuration + ", rounds", std::move(scripts), machine);
        c.program.watch_overtaking = false;
        cases.push_back(c);
    };
    in_rounds("1W+2R N=1", {w2, r2, r1}, rounds);
    in_rounds("1W+2R x3 N=1 T_DC=3", {w1, reader(3), reader(3)}, shared_counter);
    cases.back() = in_at_most(1, std::move(cases.back()), 2);
    cases.back().program.announcing_operand = locks::RmaRwWords::kWrite;
    in_rounds("2W+1R N=1", {w2, w2, r2}, rounds);
    in_rounds("2W+2R N=1 once", {w1, w1, r1, r1}, rounds);
    in_rounds("2W+1R N=2", {w2, w2, r2}, rounds_of_nodes);
    in_rounds("1W+2R N=1 T_DC=3", {w2, r2, r2}, shared_counter);
    cases.push_back(with_store_buffer(cases.back()));
    in_rounds("hold and wait N=1, other way", kOtherWay, rounds);
    in_rounds("hold and wait N=1", kHoldAndWait, rounds);
    in_rounds("hold and wait N=1, last counter first", kHoldAndWait, rounds);
    cases.back().program.last_first = true;
    in_rounds("hold and wait N=2", kHoldAndWait, rounds_of_nodes);
    in_rounds("hold and receive N=1", hold_and_receive(), rounds);
    in_rounds("readers meet inside N=1", meet_inside(), rounds);
}

/// A cap on the readers of a counter.
void add_rma_rw_capped(std::vector<Case>& cases) {
    const std::string name = locks::RmaRw<CheckerFabric>::kTraits.name;
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    Machine apart{}, together{.t_dc = 4};
    apart.limits.t_r = together.limits.t_r = 1;
    const auto add = [&](std::string configuration, std::vector<Script> scripts,
                         const Machine& machine) {
        cases.push_back(on<RmaRwLocal<>>(name, configuration, std::move(scripts), machine));
        cases.back().program.watch_overtaking = false;
    };
    add("2W+1R N=1 T_R=1", {w2, w2, r2}, apart);
    add("1W+2R N=1 T_DC=4 T_R=1", {w2, r2, r2}, together);
    cases.push_back(with_store_buffer(cases.back()));
    add("2W+2R N=1 T_DC=4 T_R=1 once", {w1, w1, r1, r1}, together);
    add("hold and wait N=1 T_R=1, rounds", kHoldAndWait, check::in_rounds(apart));
    add("hold and receive N=1 T_R=1, rounds", hold_and_receive(), check::in_rounds(apart));
    // A reader gives way that holds another lock, and one that a drain may let in.
    const Machine joining = check::in_rounds(together);
    add("1W+2R N=1 T_DC=4 T_R=1 once, rounds", {w1, r1, r1}, joining);
    add("hold and wait N=1 T_DC=4 T_R=1, rounds", kHoldAndWait, joining);
    add("hold and receive N=1 T_DC=4 T_R=1, rounds", hold_and_receive(), joining);
    // The writer that a reader sees in the queue may be about to leave.
    Machine endless = apart;
    endless.limits.hold = {};
    cases.push_back(mutant<RmaRwLocal<>>("rma_rw/gives_way_for_ever", Failure::deadlock,
                                         "1W+1R N=1 T_R=1", {w1, r2}, endless));
    cases.push_back(mutant<RmaRwLocal<rma_fault::NoDeparture>>(
        "rma_rw/gives_way_inside", Failure::deadlock, "1W+1R N=1 T_R=1", {w1, r2}, apart));
}

void add_rma_rw_mutants(std::vector<Case>& cases) {
    const Machine flat{}, rounds = check::in_rounds(flat);
    const auto w2 = writer(2), r1 = reader(1), r2 = reader(2);
    using Local = RmaRwLocal<>;
    using namespace rma_fault;
    const auto mutant_in_rounds = [&]<class Fault>(Fault, const char* fault, Failure expected,
                                                   const char* configuration,
                                                   const std::vector<Script>& scripts) {
        cases.push_back(mutant<RmaRwLocal<Fault>>(std::string("rma_rw/") + fault, expected,
                                                  configuration, scripts, rounds));
    };
    mutant_in_rounds(NeverJoins{}, "never_joins", Failure::deadlock, "hold and wait N=1",
                     kHoldAndWait);
    cases.push_back(mutant<Local>("rma_rw/no_rounds", Failure::deadlock, "hold and receive N=1",
                                  hold_and_receive(), flat));
    mutant_in_rounds(JoinsClosed{}, "joins_closed", Failure::exclusion, "1W+2R N=1", {w2, r2, r2});
    cases.back().limits.look_past_deadlocks = true;
    mutant_in_rounds(NoReopen{}, "no_reopen", Failure::deadlock, "hold and wait N=1, other way",
                     kOtherWay);
    mutant_in_rounds(NoReopen{}, "no_reopen", Failure::deadlock, "hold and wait N=1", kHoldAndWait);
    mutant_in_rounds(KeepsArrival{}, "keeps_arrival", Failure::deadlock, "1W+2R N=1", {w2, r1, r1});
    cases.push_back(mutant<RmaRwLocal<rma_fault::NoFlush>>("rma_rw/no_flush", Failure::deadlock,
                                                           "2W+1R N=1", {w2, w2, r2}, flat));
    cases.push_back(mutant<RmaRwLocal<rma_fault::NoDrain>>("rma_rw/no_drain", Failure::exclusion,
                                                           "2W+1R N=1", {w2, w2, r2}, flat));
}

void add_rma_rw_printed(std::vector<Case>& cases) {
    const std::string name = locks::RmaRw<CheckerFabric>::kTraits.name;
    const Machine flat{};
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    using Local = RmaRwLocal<>;
    using enum PrintedCounters;
    cases.push_back(mutant<PrintedRmaRwLocal<as_printed>>("rma_rw/as_printed", Failure::exclusion,
                                                          "1W+1R N=1", {w1, r1}, flat));
    // Readers get stuck early in the printed forms; what else is wrong lies behind that.
    cases.push_back(mutant<PrintedRmaRwLocal<wait>>("rma_rw/printed+wait", Failure::exclusion,
                                                    "1W+2R N=1", {w1, r2, r2}, flat));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<PrintedRmaRwLocal<torn_reset>>(
        "rma_rw/printed+torn_reset", Failure::exclusion, "1W+2R N=1", {w1, r2, r2}, flat));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<PrintedRmaRwLocal<safe_reset>>(
        "rma_rw/printed+safe_reset", Failure::deadlock, "1W+2R N=1", {w1, r2, r2}, flat));
    // Waiting readers take their count back: every window between two writers can be missed.
    Machine alternating = flat;
    alternating.limits.t_w = 1;
    cases.push_back(
        one_reader(on<Local>(name, "2W+1R N=1 T_W=1", {w2, w2, r2}, alternating), alternating));
    cases.push_back(one_reader(
        mutant<PrintedRmaRwLocal<safe_reset, 10>>("rma_rw/printed+safe_reset", Failure::bypass,
                                                  "2W+1R N=1 T_W=1", {w2, w2, r1}, alternating),
        alternating));
    cases.back().limits.look_past_deadlocks = true;
}

} // namespace

void add_rma_mcs(std::vector<Case>& cases) {
    const std::string name = locks::RmaMcs<CheckerFabric>::kTraits.name;
    const Machine flat{}, nodes{.element_sizes = {2}}, racks{.element_sizes = {2, 1}},
        deep{.element_sizes = {4, 2}};
    const auto w1 = writer(1), w2 = writer(2);
    using Local = RmaMcsLocal<>;
    cases.push_back(on<Local>(name, "3W N=1", {w2, w2, w2}, flat));
    cases.push_back(on<Local>(name, "3W N=2", {w2, w2, w2}, nodes));
    cases.push_back(with_store_buffer(cases.back()));
    const std::vector<Script> crowd = {writer(4), writer(4), w1};
    cases.push_back(other_stay(on<Local>(name, "2W x4+1W N=2", crowd, nodes), nodes));
    cases.push_back(on<Local>(name, "4W N=2 once", {w1, w1, w1, w1}, nodes));
    cases.push_back(on<Local>(name, "4W N=2", {w2, w2, w2, w2}, nodes, Size::deep));
    cases.push_back(on<Local>(name, "3W N=3", {w2, w2, w2}, racks));
    cases.push_back(on<Local>(name, "5W N=3 once", {w1, w1, w1, w1, w1}, deep, Size::deep));
    // A process has one queue node, and gives it back while it holds (mcs_queue.hh).
    Machine scarce = nodes;
    scarce.scarce_qnodes = true;
    cases.push_back(on<Local>(name, "3W N=2, stand-ins", {w2, w2, w2}, scarce));
    cases.push_back(with_store_buffer(cases.back()));
    cases.push_back(on<Local>(name, "3W N=1, stand-ins", {w2, w2, w2}, {.scarce_qnodes = true}));
    const Script targets = both(Mode::exclusive);
    cases.push_back(
        on<Local>(name, "3W N=2 2 targets, stand-ins", {targets, targets, targets}, scarce));
    cases.push_back(mutant<RmaMcsLocal<rma_fault::NoFlush>>("rma_mcs/no_flush", Failure::deadlock,
                                                            "3W N=1, stand-ins", {w2, w2, w2},
                                                            {.scarce_qnodes = true}));

    cases.push_back(mutant<RmaMcsLocal<rma_fault::NoFlush>>("rma_mcs/no_flush", Failure::deadlock,
                                                            "3W N=2", {w2, w2, w2}, nodes));
    cases.push_back(mutant<PrintedTreeLocal>("rma_mcs/as_printed", Failure::deadlock, "3W N=2",
                                             {w1, w1, w1}, nodes));
    add_shared_records<locks::RmaMcs>(cases);
}

void add_rma_rw(std::vector<Case>& cases) {
    const std::string name = locks::RmaRw<CheckerFabric>::kTraits.name;
    const Machine flat{}, nodes{.element_sizes = {2}, .t_dc = 2};
    Machine held = flat;
    held.limits.reader_batch = 1;
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    using Local = RmaRwLocal<>;
    cases.push_back(one_reader(on<Local>(name, "2W+1R N=1", {w2, w2, r2}, flat), flat));
    cases.push_back(on<Local>(name, "1W+2R N=1", {w2, r2, r2}, flat));
    cases.push_back(
        one_reader(on<Local>(name, "2W+1R N=1 reader_batch=1", {w2, w2, r2}, held), held));
    cases.push_back(one_reader(on<Local>(name, "2W+1R N=2", {w2, w2, r2}, nodes), nodes));
    cases.push_back(with_store_buffer(cases.back()));
    cases.push_back(on<Local>(name, "1W+2R N=2", {w2, r2, r2}, nodes));
    cases.push_back(on<Local>(name, "3W N=2", {w2, w2, w2}, nodes));
    const std::vector<Script> crowd = {writer(4), writer(4), w1};
    cases.push_back(other_stay(on<Local>(name, "2W x4+1W N=2", crowd, nodes), nodes));
    cases.push_back(on<Local>(name, "2W+2R N=2 once", {w1, r1, w1, r1}, nodes));
    cases.push_back(on<Local>(name, "2W+2R N=2", {w2, r2, w2, r2}, nodes));
    Machine scarce = nodes;
    scarce.scarce_qnodes = true;
    cases.push_back(on<Local>(name, "2W+1R N=2, stand-ins", {w2, w2, r2}, scarce));
    cases.push_back(
        one_reader(on<Local>(name, "3W+1R N=2", {w2, w2, w2, r2}, nodes, Size::deep), nodes));
    add_shared_counters(cases);
    add_rma_rw_in_rounds(cases);
    add_rma_rw_capped(cases);
    add_rma_rw_mutants(cases);
    add_rma_rw_printed(cases);
}

} // namespace rmalock::check
