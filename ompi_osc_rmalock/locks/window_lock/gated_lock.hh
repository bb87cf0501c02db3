// A lock behind its gate, as the lock of a window.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/layout.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/algorithms/pf_mcs.hh"
#include "locks/window_lock/gated_sections.hh"
#include "locks/window_lock/lock_config.hh"
#include "locks/window_lock/window_lock.hh"

namespace rmalock::locks {

template <fabric::Fabric F, ReaderWriterLock Lock, class Gate = AllGate<F, Lock>>
class GatedLock final : public WindowLock {
    static constexpr const LockTraits& kTraits = Lock::kTraits;
    static constexpr LockOffers kOffers = Lock::kTraits.offers;
    // Both ways: a lock has what it says, and says what it has.
    static_assert(kOffers.two_steps == InTwoSteps<Lock>);
    static_assert(kOffers.server == HasServer<Lock>);
    static_assert(kOffers.node_row == PrefersItsNode<Lock>);
    static_assert(kOffers.sections == TakesSections<Lock>);
    static_assert(kTraits.own_lock_all == HasLockAll<Lock>);

  public:
    GatedLock(F& fabric, const LockConfig& config)
        : kept_(kTraits.needs.tree || kTraits.needs.nodes
                    ? std::make_unique<const LockConfig>(config)
                    : nullptr),
          qnodes_(fabric.self(), fabric::WindowSlots::qnodes(fabric.size()),
                  QueueNodes::Room::of(fabric.size())),
          fabric_(fabric), lock_(env(fabric, kept_ ? *kept_ : config)),
          takes_sections_(kSections && config.nodes_on_hosts), nodes_(config.machine.nodes),
          gate_(fabric, lock_, fabric::WindowSlots::gate,
                nodes_.seen_by(fabric.self(), config.machine.nodes, holders(fabric, config)),
                config.thresholds.patience) {}

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
    bool takes_sections() const override { return takes_sections_; }
    bool reads_here(Rank target) override {
        if constexpr (kSections)
            return lock_.is_member(target);
        return false;
    }
    SectionEntry enter_section(bool exclusive) override {
        if constexpr (kSections)
            return at_home([=](auto& home) { return home.enter(exclusive); });
        return SectionEntry::busy;
    }
    SectionEnd leave_section(bool exclusive) override {
        SectionEnd end;
        if constexpr (kSections) {
            end = at_home([=](auto& home) { return home.leave(exclusive); });
            if (end.next != 0 && fabric_.same_node(qnode_of(end.next).rank)) {
                fabric_.parts().put(its_part(Lock::granted_word(end.next)), end.message);
                end.next = 0;
            }
        }
        return end;
    }
    void announce_section(Rank target, bool exclusive) override {
        if constexpr (kSections)
            sections().announce(target, exclusive);
    }
    void strike_section(Rank target, bool exclusive) override {
        if constexpr (kSections)
            sections().strike(target, exclusive);
    }
    void notify_next(const SectionEnd& end) override {
        if constexpr (kSections)
            sections().notify(end);
    }
    Hold section_hold(bool exclusive) const override {
        if constexpr (kSections)
            return Lock::section_hold(exclusive);
        return {};
    }
    Hold take_over_section(Rank target, bool exclusive) override {
        if constexpr (kSections)
            return sections().take_over(target, exclusive);
        return {};
    }
    bool has_server() const override { return kOffers.server && !F::kOneNode; }
    void serve() override {
        if constexpr (kOffers.server)
            lock_.serve(fabric_.self());
    }
    std::uint64_t gate_changes() const override { return gate_.changes(); }
    Value most_in_a_row() const override {
        if constexpr (kOffers.node_row)
            return lock_.most_in_a_row();
        else
            return 1;
    }

  private:
    static constexpr bool kSections = kOffers.sections && !F::kOneNode;

    auto sections() { return GatedSections<F, Lock, Gate>(fabric_, gate_); }
    /// By the verbs of CPUs, whose words are named by their place on the node.
    template <class Do>
    auto at_home(Do act) {
        auto cpu = fabric_.parts();
        const SectionHome words = lock_.section_home(fabric_.self());
        SectionAtHome<typename Lock::SectionWords, fabric::CpuFabric> home(
            cpu, {its_part(words.s), its_part(words.handed)}, its_part(gate_.mark()));
        return act(home);
    }
    Word its_part(Word w) const { return {fabric_.part_of(w.rank), w.slot}; }
    LockEnv<F> env(F& fabric, const LockConfig& config) {
        return {.fabric = fabric,
                .home = fabric::WindowSlots::lock,
                .records = fabric::WindowSlots::elements(fabric.size(), config.slots),
                .qnodes = qnodes_,
                .machine = config.view(),
                .limits = Lock::limits(config.thresholds, config.view())};
    }
    static std::optional<Slot> holders(F& fabric, const LockConfig& config) {
        if (config.slots.holders == 0)
            return std::nullopt;
        return fabric::WindowSlots::holders(fabric.size(), config.slots);
    }

    const std::unique_ptr<const LockConfig> kept_; ///< where the lock refers to the machine
    QueueNodes qnodes_;
    F& fabric_;
    Lock lock_;
    const bool takes_sections_; ///< else the mark may be out of its home's reach
    const NodeTable nodes_;
    Gate gate_;
};

/// The lock that `auto` chooses on one node, for a window that one thread uses. The window knows it
/// by this name, to inline its uncontended paths.
using WordLock = GatedLock<fabric::NodeFabric, PfMcs<fabric::NodeFabric>>;

/// Makes it if the config is for it, in place: it is quicker to reach there. Otherwise as make().
void make_word_lock(const LockConfig& config, fabric::NodeFabric& fabric,
                    std::optional<WordLock>& lock);

} // namespace rmalock::locks
