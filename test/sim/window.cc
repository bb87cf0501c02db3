// Simulated windows; see window.hh. The only file that has the locks' code.
#include "sim/window.hh"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "locks/all.hh"
#include "locks/parts/counter_room.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/window_lock/lock_config.hh"

namespace rmalock::sim {
namespace {

using fabric::WindowSlots;
using locks::Hold;

/// A lock that brings its own lock_all stands behind no gate.
template <class Lock>
class NoGate {
  public:
    NoGate(SimFabric&, Lock& lock, Slot, const locks::GateNodes&, Duration) : lock_(lock) {}
    Hold acquire_exclusive(Rank target) { return lock_.acquire_exclusive(target); }
    void release_exclusive(Rank target, Hold hold) { lock_.release_exclusive(target, hold); }
    void enter_all() { lock_.acquire_all(); }
    void leave_all() { lock_.release_all({}); }

  private:
    Lock& lock_;
};

template <class Lock, bool own_lock_all>
struct GateOf {
    using Type = locks::AllGate<SimFabric, Lock>;
};
template <class Lock>
struct GateOf<Lock, true> {
    using Type = NoGate<Lock>;
};

template <class Lock>
class Gated final : public WindowLock {
    using Gate = typename GateOf<Lock, Lock::kTraits.own_lock_all>::Type;

  public:
    Gated(const Window& window, SimFabric& fabric)
        : qnodes_(window.queue_nodes(fabric.self())), lock_(env(window, fabric)),
          gate_(fabric, lock_, WindowSlots::gate, window.gate_nodes(fabric.self()),
                window.request().thresholds.patience) {}

    Hold acquire(Rank target, bool exclusive) override {
        return exclusive ? gate_.acquire_exclusive(target) : lock_.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, Hold hold) override {
        exclusive ? gate_.release_exclusive(target, hold) : lock_.release_shared(target, hold);
    }
    void acquire_all() override { gate_.enter_all(); }
    void release_all() override { gate_.leave_all(); }
    bool shares() const override { return Lock::kTraits.shared; }
    locks::Value serve(Rank, locks::Value) override { return 0; }

  private:
    locks::LockEnv<SimFabric> env(const Window& window, SimFabric& fabric) {
        return {.fabric = fabric,
                .home = WindowSlots::lock,
                .records = window.records(),
                .qnodes = qnodes_,
                .machine = window.view(),
                .limits = window.limits()};
    }

    locks::QueueNodes qnodes_;
    Lock lock_;
    Gate gate_;
};

/// As the papers have them, whose locks know no lock_all.
template <class Lock>
class Ungated final : public WindowLock {
  public:
    Ungated(const Window& window, SimFabric& fabric)
        : qnodes_(window.queue_nodes(fabric.self())), lock_({.fabric = fabric,
                                                             .home = WindowSlots::lock,
                                                             .records = window.records(),
                                                             .qnodes = qnodes_,
                                                             .machine = window.view(),
                                                             .limits = window.limits()}) {}

    Hold acquire(Rank target, bool exclusive) override {
        return exclusive ? lock_.acquire_exclusive(target) : lock_.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, Hold hold) override {
        exclusive ? lock_.release_exclusive(target, hold) : lock_.release_shared(target, hold);
    }
    void acquire_all() override { refuse(); }
    void release_all() override { refuse(); }
    bool shares() const override { return Lock::kTraits.shared; }
    locks::Value serve(Rank home, locks::Value seen) override {
        if constexpr (Lock::kTraits.offers.server)
            return lock_.await_and_serve(home, seen);
        return seen;
    }

  private:
    [[noreturn]] static void refuse() { throw Refused("lock_all of a lock without a gate"); }

    locks::QueueNodes qnodes_;
    Lock lock_;
};

/// What there is of a lock, whatever its class.
struct Entry {
    locks::LockTraits traits;
    locks::Footprint (*footprint)(const locks::MachineView&);
    locks::LockLimits (*limits)(const locks::Thresholds&, const locks::MachineView&);
    std::unique_ptr<WindowLock> (*make)(const Window&, SimFabric&);
    std::unique_ptr<WindowLock> (*make_server)(const Window&, SimFabric&); ///< null: it has none
};

template <class Lock>
std::unique_ptr<WindowLock> make_one(const Window& window, SimFabric& fabric) {
    if (!window.gated())
        return std::make_unique<Ungated<Lock>>(window, fabric);
    return std::make_unique<Gated<Lock>>(window, fabric);
}

template <class Lock>
std::unique_ptr<WindowLock> make_ungated(const Window& window, SimFabric& fabric) {
    return std::make_unique<Ungated<Lock>>(window, fabric);
}

const std::vector<Entry>& entries() {
    static const std::vector<Entry> all = [] {
        std::vector<Entry> made;
        locks::for_each_lock([&]<template <class> class L>(locks::LockClass<L>) {
            using Lock = L<SimFabric>;
            made.push_back({Lock::kTraits, Lock::footprint, Lock::limits, make_one<Lock>,
                            Lock::kTraits.offers.server ? make_ungated<Lock> : nullptr});
        });
        return made;
    }();
    return all;
}

const Entry& find(const std::string& name) {
    for (const Entry& entry : entries())
        if (name == entry.traits.name)
            return entry;
    std::string names;
    for (const std::string& each : lock_names())
        names += (names.empty() ? "" : ", ") + each;
    throw Refused(fmt::format("no lock is called '{}'; there are {}", name, names));
}

const WindowRequest& checked(const WindowRequest& request) {
    const Layout& layout = request.layout;
    if (layout.ranks < 1 || layout.ranks > topology::kLargestNumber)
        throw Refused(
            fmt::format("{} ranks; it may be 1 to {}", layout.ranks, topology::kLargestNumber));
    if (layout.ranks_per_node < 1 || layout.ranks % layout.ranks_per_node != 0)
        throw Refused(fmt::format("{} ranks do not divide into nodes of {}; a divisor is allowed",
                                  layout.ranks, layout.ranks_per_node));
    if (layout.nodes_per_rack < 0 ||
        (layout.nodes_per_rack != 0 && layout.nodes() % layout.nodes_per_rack != 0))
        throw Refused(fmt::format(
            "{} nodes do not divide into racks of {}; a divisor is allowed, or 0 for one rack",
            layout.nodes(), layout.nodes_per_rack));
    return request;
}

topology::Machine built(const WindowRequest& request) {
    std::string why;
    const topology::Spec spec = topology::parse(request.topology, why);
    if (!why.empty())
        throw Refused(fmt::format("topology '{}': {}", request.topology, why));
    std::vector<topology::ProcessPlace> places(static_cast<std::size_t>(request.layout.ranks));
    for (Rank r = 0; r < request.layout.ranks; ++r) {
        topology::ProcessPlace& place = places[static_cast<std::size_t>(r)];
        place.node = request.layout.node(r);
        if (request.layout.nodes_per_rack != 0)
            place.rack = place.node / request.layout.nodes_per_rack;
    }
    return topology::build(spec, places);
}

} // namespace

std::vector<std::string> lock_names() {
    std::vector<std::string> names;
    for (const Entry& entry : entries())
        names.emplace_back(entry.traits.name);
    return names;
}

Window::Window(const WindowRequest& request)
    : request_(checked(request)), machine_(built(request)),
      counters_(locks::counters_within(machine_, static_cast<Rank>(request.thresholds.t_dc))),
      nodes_(machine_.nodes) {
    if (request.lock.ends_with(kUngated)) {
        gated_ = false;
        request_.lock.resize(request.lock.size() - kUngated.size());
    }
    if (request_.lock == "auto")
        request_.lock =
            locks::choose({.ranks = request.layout.ranks, .one_node = request.layout.nodes() == 1})
                .name;
    const Entry& lock = find(request_.lock);
    const bool holder_records = lock.traits.shared && !lock.traits.own_lock_all;
    slots_ = {lock.traits.needs.queue_nodes ? kQueueNodes : 0, lock.footprint(view()).records,
              holder_records && machine_.nodes.elements() > 1
                  ? locks::NodeTable::records(machine_.nodes)
                  : 0};
    limits_ = lock.limits(request.thresholds, view());
    refuse_what_does_not_fit();
}

/// What the locks take for granted.
void Window::refuse_what_does_not_fit() const {
    const locks::LockTraits& lock = find(request_.lock).traits;
    constexpr Slot kNamed = Slot{1} << locks::kNameSlotBits;
    if (lock.needs.queue_nodes && slots() > kNamed)
        throw Refused(fmt::format("{} takes {} words at each rank; names of queue nodes have room "
                                  "for {}",
                                  lock.name, slots(), kNamed));
}

locks::GateNodes Window::gate_nodes(Rank self) const {
    return nodes_.seen_by(self, machine_.nodes,
                          slots_.holders == 0
                              ? std::nullopt
                              : std::optional(WindowSlots::holders(request_.layout.ranks, slots_)));
}

std::unique_ptr<WindowLock> make_lock(const Window& window, SimFabric& fabric) {
    return find(window.request().lock).make(window, fabric);
}

bool has_servers(const Window& window) {
    return find(window.request().lock).make_server != nullptr;
}

std::unique_ptr<WindowLock> make_server(const Window& window, SimFabric& fabric) {
    return find(window.request().lock).make_server(window, fabric);
}

} // namespace rmalock::sim
