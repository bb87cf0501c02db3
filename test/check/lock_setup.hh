// What the cases of all locks have in common: a synthetic machine, thresholds at their smallest,
// and a lock made from them as a window makes it (locks/lock_env.hh).
#pragma once

#include "locks/lock_env.hh"
#include "locks/parts/section.hh"
#include "mutants/broken_fabric.hh"
#include "scenario.hh"

namespace rmalock::check {

/// Thresholds at their smallest: a node joins with the first reader of a phase and leaves when a
/// writer finds that none came.
inline constexpr locks::LockLimits kSmallest{.t_w = 2,
                                             .t_l = 2,
                                             .passes = 2,
                                             .hold = locks::Duration(1),
                                             .members = {.k_in = 1, .idle = 1},
                                             .budgets = {2, 2},
                                             .t_l_of = {2, 2, 2, 2, 2}};

/// A machine of equal elements.
struct Machine {
    std::vector<Rank> element_sizes{}; ///< of level 2 … N, in ranks; empty: the root alone
    Rank ranks_per_node = 0;           ///< 0: those of the smallest element, or one
    Rank t_dc = 1;
    locks::LockLimits limits = kSmallest;
    unsigned locks_at_once = 1; ///< that a process holds and awaits
    bool scarce_qnodes = false; ///< a process has one queue node, whatever it holds
    Slot record_lines = 0;      ///< room for records of nodes; 0: one for each target

    Rank of_a_node() const {
        if (ranks_per_node != 0)
            return ranks_per_node;
        return element_sizes.empty() ? 1 : element_sizes.back();
    }
};

/// Waiting writers let readers join when a round is over.
inline Machine in_rounds(Machine machine) {
    machine.limits.patience = locks::Duration(1);
    return machine;
}

/// The same for a number of ranks, and where the lock's words are: the home record, the other
/// records, the qnodes.
struct LockSetup {
    topology::Tree tree;
    topology::Level nodes, counters;
    locks::LockLimits limits;
    locks::QueueNodes::Room room;
    Slot record_lines;
    locks::Footprint footprint{};

    static constexpr Slot kRecords = fabric::kWordsPerLine;

    LockSetup(const Machine& machine, Rank ranks);

    locks::MachineView view() const { return {tree, nodes, counters, false, record_lines}; }
    Slot qnodes() const { return kRecords + footprint.records; }
    Slot slots(bool queues) const { return queues ? qnodes() + room.slots() : footprint.home; }
    template <class F>
    locks::LockEnv<F> env(F& fabric, locks::QueueNodes& its_qnodes) const {
        return {fabric, 0, kRecords, its_qnodes, view(), limits};
    }
};

/// What a process has of one lock; a Fault other than Sound makes a mutant of it.
template <template <class> class Lock, class Fault = Sound>
struct LockLocal {
    using F = BrokenFabric<Fault>;
    using Made = Lock<F>;
    static constexpr bool kSections = Made::kTraits.offers.sections;
    static_assert(kSections == locks::TakesSections<Made>);
    static constexpr Offers kOffers{.sections = kSections};

    F fabric;
    locks::QueueNodes qnodes;
    Made lock;

    LockLocal(CheckerFabric& real, const LockSetup& setup)
        : fabric(real), qnodes(real.self(), setup.qnodes(), setup.room),
          lock(setup.env(fabric, qnodes)), channel_(setup.slots(Made::kTraits.needs.queue_nodes)) {}

    // Sections, without a gate: of no script with messages, so its channel is never marked.
    auto section(Rank target) requires kSections {
        return locks::SectionAtHome<typename Made::SectionWords, F>(
            fabric, lock.section_home(target), {target, channel_});
    }
    auto sections() requires kSections { return Sections{fabric}; }

  private:
    /// As locks::GatedSections.
    struct Sections {
        F& fabric;
        void announce(Rank, bool) {}
        void strike(Rank, bool) {}
        void notify(const locks::SectionEnd& end) {
            fabric.put(Made::granted_word(end.next), end.message);
        }
        static locks::Hold hold(bool exclusive) { return Made::section_hold(exclusive); }
        static locks::Hold take_over(Rank, bool exclusive) { return hold(exclusive); }
    };

    Slot channel_;
};

/// The program of what each process has; its class says as `Made` whose words there are.
template <class Local>
Program program_of(std::vector<Script> scripts, const Machine& machine = {}) {
    using Made = typename Local::Made;
    Cast cast{std::move(scripts), machine.of_a_node()};
    LockSetup setup(machine, cast.ranks());
    setup.footprint = Made::footprint(setup.view());
    cast.slots = setup.slots(Made::kTraits.needs.queue_nodes);
    return make_program<Local>(cast, setup);
}
template <template <class> class Lock, class Fault = Sound>
Program program_of(std::vector<Script> scripts, const Machine& machine = {}) {
    return program_of<LockLocal<Lock, Fault>>(std::move(scripts), machine);
}

/// A lock of accumulates: a word of each rank, and nothing else.
template <class Lock>
struct WordLockLocal {
    static constexpr Offers kOffers{};
    Lock lock;
    WordLockLocal(CheckerFabric& fabric, Slot word) : lock(fabric, word) {}
};
template <class Lock>
Program word_lock(std::vector<Script> scripts) {
    return make_program<WordLockLocal<Lock>>(Cast{std::move(scripts), 1, 1}, Slot{0});
}

/// A mutant that is a class of its own, by its kind.
template <template <class, auto> class Mutant, auto kind>
struct MutantOf {
    template <class F>
    using Lock = Mutant<F, kind>;
};

} // namespace rmalock::check
