// Every lock under the stress harness. Built plain and with ThreadSanitizer.
#include <type_traits>

#include "fabric/layout.hh"
#include "harness/lock_parts.hh"
#include "harness/stress.hh"
#include "locks/all.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/window_lock/gated_sections.hh"

namespace rmalock::test {
namespace {

using fabric::Rank;
using fabric::WindowSlots;
using F = StressFabric;

/// So short that readers join the drain of a writer, and processes go past those that wait.
constexpr locks::Duration kRound{20};

/// So small that everything changes often: nodes join at once and leave soon; reader_batch is
/// more than there ever are.
constexpr locks::LockLimits kSmall{.t_w = 3,
                                   .t_l = 2,
                                   .passes = 2,
                                   .reader_batch = 9,
                                   .hold = locks::Duration(3),
                                   .patience = kRound,
                                   .members = {.k_in = 1, .idle = 2},
                                   .t_l_of = {2, 2, 2, 2, 2}};

using Parts = LockParts<F>;

template <class Lock>
constexpr locks::LockLimits kLimits = kSmall;

/// The phase-fair lock whose exclusives are handed the lock in the order of the queue.
struct InOrder : locks::PfMcs<F> {
    using PfMcs::PfMcs;
};
template <>
constexpr locks::LockLimits kLimits<InOrder> = {.t_w = 2, .patience = kRound};

/// RMA-RW with a cap on the readers of a counter, which they reach often.
struct Capped : locks::RmaRw<F> {
    using RmaRw::RmaRw;
};
template <>
constexpr locks::LockLimits kLimits<Capped> = {
    .t_w = 3, .t_r = 2, .hold = locks::Duration(3), .patience = kRound, .t_l_of = {2, 2, 2, 2, 2}};

/// Two processes of a node, where all others are reached by adapters.
struct Apart : fabric::Adapter<Apart, F&> {
    using Adapter::Adapter;
    bool same_node(Rank rank) const { return rank / 2 == self() / 2; }
    fabric::Domain domain() const { return fabric::Domain::nic; }
};

/// A lock behind the gate, as a window has it.
/// `Seen`: the fabric as the lock sees it. Sections in messages are for CPUs that do the atomics.
template <class Lock, Room room = Room::ample, class Seen = F&>
struct Gated {
    using G = std::remove_reference_t<Seen>;
    static constexpr bool kSections = Lock::kTraits.offers.sections && std::is_same_v<G, F>;
    static_assert(Lock::kTraits.offers.sections == locks::TakesSections<Lock>);

    explicit Gated(F& f)
        : fabric(f), parts(fabric, room), lock(parts.env(kLimits<Lock>)),
          nodes(parts.machine.nodes),
          gate(fabric, lock, WindowSlots::gate,
               nodes.seen_by(fabric.self(), parts.machine.nodes, parts.holders),
               {.alls = 2, .exclusives = 2, .patience = kRound}) {}
    locks::Hold acquire(Rank target, bool exclusive) {
        return exclusive ? gate.acquire_exclusive(target) : lock.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, locks::Hold hold) {
        exclusive ? gate.release_exclusive(target, hold) : lock.release_shared(target, hold);
    }
    void acquire_all() { gate.enter_all(); }
    void release_all() { gate.leave_all(); }

    // Critical sections that come in a message.
    auto section(Rank target) requires kSections {
        const Rank first = nodes.seen_by(target, parts.machine.nodes, parts.holders).mine;
        return locks::SectionAtHome<typename Lock::SectionWords, G>(
            parts.fabric, lock.section_home(target), {first, gate.mark().slot});
    }
    auto sections() requires kSections {
        return locks::GatedSections<G, Lock, decltype(gate)>(parts.fabric, gate);
    }

    Seen fabric;
    LockParts<G> parts;
    Lock lock;
    locks::NodeTable nodes;
    locks::AllGate<G, Lock> gate;
};

/// A lock with its own lock_all.
template <class Lock>
struct Ungated {
    static constexpr bool kSections = false;
    static_assert(Lock::kTraits.own_lock_all == locks::HasLockAll<Lock>);

    explicit Ungated(F& fabric) : parts(fabric), lock(parts.env(kLimits<Lock>)) {}
    locks::Hold acquire(Rank target, bool exclusive) {
        return exclusive ? lock.acquire_exclusive(target) : lock.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, locks::Hold hold) {
        exclusive ? lock.release_exclusive(target, hold) : lock.release_shared(target, hold);
    }
    void acquire_all() { lock.acquire_all(); }
    void release_all() { lock.release_all({}); }
    Parts parts;
    Lock lock;
};

template <class Lock, bool own_lock_all = Lock::kTraits.own_lock_all>
struct OfAWindow {
    using Type = Gated<Lock>;
};
template <class Lock>
struct OfAWindow<Lock, true> {
    using Type = Ungated<Lock>;
};

/// Sizes that finish in seconds under ThreadSanitizer on two cores.
StressOptions options(Rank ranks, unsigned writer_percent, unsigned held) {
    return {.ranks = ranks,
            .slots = WindowSlots::count(ranks, Parts::kinds(ranks)),
            .rounds = 1500,
            .writer_percent = writer_percent,
            .held_at_once = held};
}

template <class Adapter>
class Stress : public testing::Test {};
using Adapters = testing::Types<
#define RMALOCK_LOCK(name, Class) OfAWindow<locks::Class<F>>::Type,
#include "locks/all.def"
#undef RMALOCK_LOCK
    Gated<InOrder>, Gated<Capped>, Gated<locks::PfCohort<Apart>, Room::ample, Apart>>;
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

TYPED_TEST(Stress, SectionsInMessages) {
    if (!TypeParam::kSections)
        GTEST_SKIP() << "its critical sections do not come in messages";
    StressOptions o = options(5, 50, 2);
    o.all_percent = 5;
    for (o.section_percent = 40; o.section_percent <= 100; o.section_percent += 30)
        stress<TypeParam>(o);
}

TYPED_TEST(Stress, ManyShortRuns) {
    StressOptions o = options(4, 60, 2);
    o.all_percent = 20;
    o.rounds = 6;
    for (o.seed = 1; o.seed <= 100; ++o.seed) // mostly the change of mode itself
        stress<TypeParam>(o);
}

template <class Adapter>
class StressOfScarce : public testing::Test {};
using ScarceAdapters =
    testing::Types<Gated<locks::PfCohort<F>, Room::scarce>, Gated<locks::RmaRw<F>, Room::scarce>,
                   Gated<locks::RmaMcs<F>, Room::scarce>, Gated<locks::DMcs<F>, Room::scarce>,
                   Gated<InOrder, Room::scarce>>;
TYPED_TEST_SUITE(StressOfScarce, ScarceAdapters);

TYPED_TEST(StressOfScarce, NodesAndRecords) {
    stress<TypeParam>(options(4, 40, 3));
    stress<TypeParam>(options(6, 20, 2));
}

} // namespace
} // namespace rmalock::test
