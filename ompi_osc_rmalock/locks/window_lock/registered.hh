// A lock behind its gate, as the lock of a window.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/layout.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/algorithms/pf_mcs.hh"
#include "locks/window_lock/registry.hh"

namespace rmalock::locks {

template <fabric::Fabric F, ReaderWriterLock Lock, class Gate = AllGate<F, Lock>>
class Registered final : public WindowLock {
    static constexpr const LockTraits& kTraits = Lock::kTraits;

  public:
    Registered(F& fabric, const Design& design)
        : kept_(kTraits.needs.tree || kTraits.needs.nodes ? std::make_unique<const Design>(design)
                                                          : nullptr),
          pool_(fabric.self(), fabric::WindowSlots::nodes(fabric.size()), design.slots.nodes),
          lock_(env(fabric, kept_ ? *kept_ : design)), nodes_(design.machine.nodes),
          gate_(fabric, lock_, fabric::WindowSlots::gate,
                nodes_.seen_by(fabric.self(), design.machine.nodes, ledgers(fabric, design)),
                design.thresholds.patience) {}

    // The two steps of an acquire (lock.hh), for a caller that knows the class.
    bool begin(Rank target, bool exclusive, Value& seen) {
        return exclusive ? gate_.begin_exclusive(target, seen) : lock_.begin_shared(target, seen);
    }
    /// After the first step was all.
    static constexpr Hold alone(bool exclusive) { return exclusive ? Lock::kAlone : Hold{}; }
    Hold finish(Rank target, bool exclusive, Value seen) {
        return exclusive ? gate_.finish_exclusive(target, seen) : lock_.finish_shared(target, seen);
    }

    Hold acquire(Rank target, bool exclusive) override {
        return exclusive ? gate_.acquire_exclusive(target) : lock_.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, Hold hold) override {
        exclusive ? gate_.release_exclusive(target, hold) : lock_.release_shared(target, hold);
    }
    bool delivers() const override { return kTraits.delivers; }
    bool is_taken(Rank target, bool exclusive) override {
        return (exclusive || kTraits.shared) && lock_.is_taken(target, exclusive);
    }
    void acquire_all() override { gate_.enter_all(); }
    void release_all() override { gate_.leave_all(); }
    std::uint64_t gate_changes() const override { return gate_.changes(); }
    Value most_in_a_row() const override {
        if constexpr (requires { lock_.most_in_a_row(); })
            return lock_.most_in_a_row();
        else
            return 1;
    }

  private:
    LockEnv<F> env(F& fabric, const Design& design) {
        return {.fabric = fabric,
                .home = fabric::WindowSlots::lock,
                .records = fabric::WindowSlots::elements(fabric.size(), design.slots),
                .pool = pool_,
                .machine = design.view(),
                .limits = Lock::limits(design.thresholds, design.view())};
    }
    static std::optional<Slot> ledgers(F& fabric, const Design& design) {
        if (design.slots.ledgers == 0)
            return std::nullopt;
        return fabric::WindowSlots::ledgers(fabric.size(), design.slots);
    }

    const std::unique_ptr<const Design> kept_; ///< where the lock refers to the machine
    Pool pool_;
    Lock lock_;
    const NodeTable nodes_;
    Gate gate_;
};

/// The lock that `auto` chooses on one node, for a window that one thread uses. The window knows it
/// by this name, to inline its uncontended paths.
using PlainLock = Registered<fabric::NodeFabric, PfMcs<fabric::NodeFabric>>;

/// Makes it if the design is for it, in place: it is quicker to reach there. Otherwise as make().
void make_plain(const Design& design, fabric::NodeFabric& fabric, std::optional<PlainLock>& lock);

} // namespace rmalock::locks
