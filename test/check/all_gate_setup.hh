// What the cases of the gate have in common: a window's lock with the gate around it, on two nodes.
#pragma once

#include "locks/window_lock/all_gate.hh"
#include "locks/window_lock/gated_sections.hh"
#include "mutants/all_gate.hh"
#include "lock_setup.hh"

#include <algorithm>

namespace rmalock::check {

/// Where a window's words are: the gate's, the lock's home record, and queue nodes and records if the
/// lock has them. Those of a second window lie behind.
template <class Lock>
struct GatedWords {
    static constexpr bool kQueues = Lock::kTraits.needs.queue_nodes;
    static constexpr Slot kGate = 0;
    static constexpr Slot kHome = kQueues ? locks::QueueNodes::kQnodeSlots : all_gate_fault::kSlots;
    static constexpr Slot kQueueNodes = kHome + locks::QueueNodes::kQnodeSlots;
    static constexpr unsigned kQnodes = kQueues ? 2 : 0;
    static constexpr Slot kRecords = kQueueNodes + locks::QueueNodes::Room{kQnodes}.slots();

    static Slot holders(const locks::MachineView& machine) {
        const locks::Footprint lock = Lock::footprint(machine);
        return kQueues ? kRecords + lock.records : kHome + lock.home;
    }
    static Slot slots(const locks::MachineView& machine) {
        return holders(machine) + fabric::line(static_cast<Slot>(machine.nodes.largest()));
    }
};

/// Two nodes, and the gate's thresholds.
struct GatedSetup {
    topology::Tree flat{};
    topology::Level nodes;
    locks::NodeTable table;
    locks::GateLimits limits;
    bool holders = true; ///< else lock_all visits every target

    GatedSetup(Rank ranks, Rank on_first_node, locks::GateLimits gate_limits)
        : nodes(split(ranks, on_first_node)), table(nodes), limits(gate_limits) {}

    locks::MachineView view() const { return {flat, nodes, nodes, false}; }
    locks::GateNodes seen_by(Rank self, Slot first_holder) const {
        return table.seen_by(self, nodes, holders ? std::optional(first_holder) : std::nullopt);
    }

  private:
    static topology::Level split(Rank ranks, Rank at) {
        std::vector<std::size_t> element_of(static_cast<std::size_t>(ranks), 1);
        std::fill_n(element_of.begin(), at, 0);
        return topology::Level(element_of);
    }
};

/// Instead of locks::NodeEventCount, for large configurations: each wait for G is one step, which
/// needs no tell. What is left of the gate is all there is.
template <class F>
class Polls {
  public:
    using Words = typename locks::NodeEventCount<F>::Words;
    Polls(F& fabric, std::span<const Rank>, const Words&, Word watched)
        : fabric_(fabric), watched_(watched) {}
    void advance() {}
    template <fabric::Predicate P>
    Value await(P pred) {
        return fabric_.await(watched_, pred);
    }
    template <fabric::Predicate P>
    std::optional<Value> await_until(P pred, fabric::Moment end) {
        return fabric_.await_until(watched_, pred, end);
    }

  private:
    F& fabric_;
    const Word watched_;
};
/// Where each process that is told looks itself, so that it does not matter how often it was.
template <class F>
using EachLooks = locks::NodeEventCount<F, false>;

/// What a window does with lock and gate.
template <template <class> class Algorithm, class Fault, template <class> class Waits>
class GatedWindow {
    using F = BrokenFabric<Fault>;
    using Lock = Algorithm<F>;
    using Words = GatedWords<Lock>;
    static constexpr bool kSections = Lock::kTraits.offers.sections;
    static_assert(kSections == locks::TakesSections<Lock>);

  public:
    static constexpr Offers kOffers{.sections = kSections};

    /// `first`: the slot of its first word.
    GatedWindow(CheckerFabric& real, const GatedSetup& setup, Slot first = 0)
        : fabric_(real), first_(first), second_(setup.nodes.members(1).front()),
          qnodes_(real.self(), first + Words::kQueueNodes, {Words::kQnodes}), lock_(env(setup)),
          gate_(fabric_, lock_, first + Words::kGate,
                setup.seen_by(real.self(), first + Words::holders(setup.view())), setup.limits),
          lock(*this) {}

    class Calls {
      public:
        /// The gate's lock_all is its own.
        static constexpr locks::LockTraits kTraits = [] {
            locks::LockTraits traits = Lock::kTraits;
            traits.own_lock_all = true;
            return traits;
        }();
        explicit Calls(GatedWindow& window) : w_(window) {}
        locks::Hold acquire_shared(Rank target) { return w_.lock_.acquire_shared(target); }
        void release_shared(Rank target, locks::Hold hold) {
            w_.lock_.release_shared(target, hold);
        }
        locks::Hold acquire_exclusive(Rank target) { return w_.gate_.acquire_exclusive(target); }
        void release_exclusive(Rank target, locks::Hold hold) {
            w_.gate_.release_exclusive(target, hold);
        }
        locks::Hold acquire_all() {
            w_.gate_.enter_all();
            return {};
        }
        void release_all(locks::Hold) { w_.gate_.leave_all(); }

      private:
        GatedWindow& w_;
    };

    auto section(Rank target) requires kSections {
        return locks::SectionAtHome<typename Lock::SectionWords, F>(
            fabric_, lock_.section_home(target),
            {target < second_ ? 0 : second_, gate_.mark().slot});
    }
    auto sections() requires kSections {
        return locks::GatedSections<F, Lock, decltype(gate_)>(fabric_, gate_);
    }

  private:
    locks::LockEnv<F> env(const GatedSetup& setup) {
        locks::LockLimits limits = kSmallest;
        limits.patience = setup.limits.patience;
        if (!Lock::kTraits.needs.nodes)
            limits.passes = 0;
        return {fabric_, first_ + Words::kHome, first_ + Words::kRecords,
                qnodes_, setup.view(),          limits};
    }

    F fabric_;
    const Slot first_;
    const Rank second_; ///< the first rank of the second node
    locks::QueueNodes qnodes_;
    Lock lock_;
    locks::AllGate<F, Lock, Waits> gate_;

  public:
    Calls lock;
};

/// A process with two windows.
template <template <class> class Algorithm, class Fault, template <class> class Waits>
class TwoGatedWindows {
    using Window = GatedWindow<Algorithm, Fault, Waits>;
    Window first_, second_;

  public:
    static constexpr Offers kOffers{.second_window = true};

    TwoGatedWindows(CheckerFabric& real, const GatedSetup& setup)
        : first_(real, setup),
          second_(real, setup, GatedWords<Algorithm<BrokenFabric<Fault>>>::slots(setup.view())),
          lock(first_.lock), second(second_.lock) {}

    typename Window::Calls& lock;
    typename Window::Calls& second;
};

/// The first `on_first_node` ranks are a node, the others are another one.
template <template <class> class Algorithm, class Fault = Sound,
          template <class> class Waits = Polls>
Program behind_gate(std::vector<Script> scripts, locks::GateLimits limits, Rank on_first_node = 1,
                    bool holders = true, Rank windows = 1) {
    Cast cast{std::move(scripts), on_first_node};
    GatedSetup setup(cast.ranks(), on_first_node, limits);
    setup.holders = holders;
    cast.windows = windows;
    cast.slots = static_cast<Slot>(windows) *
                 GatedWords<Algorithm<BrokenFabric<Fault>>>::slots(setup.view());
    Program program = windows == 1
                          ? make_program<GatedWindow<Algorithm, Fault, Waits>>(cast, setup)
                          : make_program<TwoGatedWindows<Algorithm, Fault, Waits>>(cast, setup);
    if (!std::is_same_v<Waits<CheckerFabric>, locks::NodeEventCount<CheckerFabric>>)
        program.event_slot = all_gate_fault::kEvents;
    return program;
}

} // namespace rmalock::check
