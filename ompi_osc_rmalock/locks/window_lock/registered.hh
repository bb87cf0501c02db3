// A lock behind its gate, as the lock of a window.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/layout.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/algorithms/pfx.hh"
#include "locks/parts/pool.hh"
#include "locks/window_lock/registry.hh"

namespace rmalock::locks {

template <fabric::Fabric F, ReaderWriterLock Lock, class Gate = AllGate<F, Lock>>
class Registered final : public WindowLock {
    static_assert(Lock::kHomeSlots <= fabric::kWordsPerLine);

  public:
    /// `build(design, pool)` makes the lock. `keep`: it refers to what is in the design.
    template <class Build>
    Registered(F& fabric, const Design& design, bool keep, Build build)
        : kept_(keep ? std::make_unique<const Design>(design) : nullptr),
          pool_(fabric.self(), fabric::WindowSlots::nodes(fabric.size()), design.slots.nodes),
          lock_(build(kept_ ? *kept_ : design, pool_)), nodes_(design.machine.nodes),
          gate_(fabric, lock_, fabric::WindowSlots::gate,
                nodes_.seen_by(fabric.self(), design.machine.nodes, ledgers(fabric, design)),
                design.thresholds.patience) {}

    // The two steps of an acquire (lock.hh), for who knows the class.
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
    bool delivers() const override { return locks::delivers<Lock>; }
    bool is_taken(Rank target, bool exclusive) override {
        return (exclusive || has_shared_mode<Lock>)&&lock_.is_taken(target, exclusive);
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
    static std::optional<Slot> ledgers(F& fabric, const Design& design) {
        if (design.slots.ledgers == 0)
            return std::nullopt;
        return fabric::WindowSlots::ledgers(fabric.size(), design.slots);
    }

    const std::unique_ptr<const Design> kept_;
    Pool pool_;
    Lock lock_;
    const NodeTable nodes_;
    Gate gate_;
};

/// The lock that `auto` chooses on one node, for a window that one thread uses. The window knows it
/// by this name, to inline its uncontended paths.
using PlainLock = Registered<fabric::NodeFabric, Pfx<fabric::NodeFabric>>;

/// Makes it if the design is for it, in place: it is quicker to reach there. Otherwise as make().
void make_plain(const Design& design, fabric::NodeFabric& fabric, std::optional<PlainLock>& lock);

} // namespace rmalock::locks
