// Every lock under the stress harness. Built plain and with ThreadSanitizer.
#include "fabric/layout.hh"
#include "harness/stress.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/algorithms/d_mcs.hh"
#include "locks/algorithms/direct_passive.hh"
#include "locks/algorithms/fompi_rw.hh"
#include "locks/algorithms/fompi_spin.hh"
#include "locks/algorithms/pfl.hh"
#include "locks/algorithms/pfx.hh"
#include "locks/algorithms/rma_mcs.hh"
#include "locks/algorithms/rma_rw.hh"
#include "topology/machine.hh"

namespace rmalock::test {
namespace {

using fabric::Rank;
using fabric::Slot;
using fabric::WindowSlots;
using F = StressFabric;

/// Nodes of two successive ranks, the last one smaller where the number is odd.
topology::Machine nodes_of_two(Rank ranks) {
    std::string why;
    return topology::build(topology::parse("node:2", why),
                           std::vector<topology::Place>(static_cast<std::size_t>(ranks)));
}

constexpr Slot kMost = fabric::line(64); ///< for elements and counters

/// So short that readers join the drain of a writer, and processes go past those that wait.
constexpr locks::Duration kRound{20};

/// What a queueing lock is made of, with thresholds so small that everything changes often.
struct Parts {
    explicit Parts(F& f)
        : fabric(f),
          pool(f.self(), WindowSlots::nodes(f.size()), WindowSlots::node_count(f.size())),
          elements(WindowSlots::elements(f.size(), {.nodes = WindowSlots::node_count(f.size())})),
          ledgers(elements + kMost), machine(nodes_of_two(f.size())),
          counters(topology::counters(machine, 0)) {
        limits.tree.t_l.fill(2);
        limits.tree.t_w = 3;
        limits.patience = kRound;
    }
    F& fabric;
    locks::Pool pool;
    Slot elements, ledgers;
    topology::Machine machine;
    topology::Level counters;
    locks::RmaRwLimits limits;
};

/// The phase-fair lock whose released locks may be taken past the first of the queue.
struct Passing : locks::Pfx<F> {
    using Pfx::Pfx;
};

/// Nodes join at once, and leave soon; T_R is more than there ever are.
constexpr locks::PflLimits kOverNodes{.t_w = 3,
                                      .t_l = 2,
                                      .t_r = 9,
                                      .hold = locks::Duration(3),
                                      .patience = kRound,
                                      .members = {.k_in = 1, .idle = 2}};

template <class Lock>
Lock build(Parts& p) {
    constexpr Slot kHome = WindowSlots::lock;
    if constexpr (std::is_same_v<Lock, locks::Pfx<F>>)
        return {p.fabric, kHome, p.pool, {.t_w = 2, .patience = kRound}};
    else if constexpr (std::is_same_v<Lock, Passing>)
        return {p.fabric, kHome, p.pool, {.t_w = 5, .t_l = 2, .patience = kRound}};
    else if constexpr (std::is_same_v<Lock, locks::Pfl<F>>)
        return {p.fabric, kHome, p.elements, p.pool, p.machine.nodes, kOverNodes};
    else if constexpr (std::is_same_v<Lock, locks::DMcs<F>>)
        return {p.fabric, kHome, p.pool};
    else if constexpr (std::is_same_v<Lock, locks::RmaMcs<F>>)
        return {p.fabric, kHome, p.elements, p.pool, p.machine.tree, p.limits.tree};
    else if constexpr (std::is_same_v<Lock, locks::RmaRw<F>>)
        return {p.fabric, kHome, p.elements, p.pool, p.machine.tree, p.counters, p.limits};
    else
        return {p.fabric, kHome};
}

/// A lock behind the gate, as a window has it.
template <class Lock>
struct Gated {
    explicit Gated(F& fabric)
        : parts(fabric), lock(build<Lock>(parts)), nodes(parts.machine.nodes),
          gate(fabric, lock, WindowSlots::gate,
               nodes.seen_by(fabric.self(), parts.machine.nodes, parts.ledgers),
               {.alls = 2, .exclusives = 2, .patience = kRound}) {}
    locks::Hold acquire(Rank target, bool exclusive) {
        return exclusive ? gate.acquire_exclusive(target) : lock.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, locks::Hold hold) {
        exclusive ? gate.release_exclusive(target, hold) : lock.release_shared(target, hold);
    }
    void acquire_all() { gate.enter_all(); }
    void release_all() { gate.leave_all(); }
    Parts parts;
    Lock lock;
    locks::NodeTable nodes;
    locks::AllGate<F, Lock> gate;
};

/// foMPI's lock with its own lock_all.
struct OwnAll : Adapter<locks::FompiRw<F>> {
    using Adapter::Adapter;
    void acquire_all() { lock.acquire_all(); }
    void release_all() { lock.release_all({}); }
};

/// Sizes that finish in seconds under ThreadSanitizer on two cores.
StressOptions options(Rank ranks, unsigned writer_percent, unsigned held) {
    return {.ranks = ranks,
            .slots = WindowSlots::count(
                ranks, {.nodes = WindowSlots::node_count(ranks), .elements = kMost, .ledgers = 2}),
            .rounds = 1500,
            .writer_percent = writer_percent,
            .held_at_once = held};
}

template <class Adapter>
class Stress : public testing::Test {};
using Adapters =
    testing::Types<Gated<locks::DirectPassive<F>>, Gated<locks::Pfx<F>>, Gated<Passing>,
                   Gated<locks::Pfl<F>>, Gated<locks::DMcs<F>>, Gated<locks::RmaMcs<F>>,
                   Gated<locks::RmaRw<F>>, Gated<locks::FompiSpin<F>>, OwnAll>;
TYPED_TEST_SUITE(Stress, Adapters);

TYPED_TEST(Stress, OneTargetMostlyWriters) {
    stress<TypeParam>(options(4, 80, 1));
}

TYPED_TEST(Stress, SeveralTargetsMixed) {
    stress<TypeParam>(options(4, 40, 3));
}

TYPED_TEST(Stress, MostlyReadersOnAnOddNumberOfRanks) {
    stress<TypeParam>(options(5, 5, 2));
}

TYPED_TEST(Stress, LockAllBesideExclusives) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 30;
    for (o.seed = 1; o.seed <= 3; ++o.seed)
        stress<TypeParam>(o);
}

TYPED_TEST(Stress, ManyShortRuns) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 20;
    o.rounds = 6;
    for (o.seed = 1; o.seed <= 100; ++o.seed) // mostly the change of mode itself
        stress<TypeParam>(o);
}

} // namespace
} // namespace rmalock::test
