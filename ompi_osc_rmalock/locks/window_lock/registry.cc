#include "locks/window_lock/registry.hh"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "locks/algorithms/d_mcs.hh"
#include "locks/algorithms/direct_passive.hh"
#include "locks/algorithms/fompi_rw.hh"
#include "locks/algorithms/fompi_spin.hh"
#include "locks/algorithms/pfl.hh"
#include "locks/window_lock/registered.hh"
#include "locks/algorithms/rma_mcs.hh"
#include "locks/algorithms/rma_rw.hh"

namespace rmalock::locks {
namespace {

using fabric::WindowSlots;

/// What the locks of one window are made of.
template <class F>
struct PartsOn {
    F& fabric;
    Pool& pool;
    const Design& design;

    Slot elements() const { return WindowSlots::elements(fabric.size(), design.slots); }
    /// 0 stands for as many as there are ranks, and `least`.
    Value t_w(Value least = 1) const {
        const Value asked = design.thresholds.t_w;
        return asked != 0 ? asked : std::max(static_cast<Value>(fabric.size()), least);
    }
};

using Parts = PartsOn<WindowFabric>;

template <class Lock>
using Is = std::type_identity<Lock>;

/// How many queue at level i in an element at most: the processes of it, or the elements below.
std::size_t contenders(const topology::Tree& tree, unsigned i) {
    const topology::Level& level = tree.level(i);
    std::size_t most = 0;
    for (std::size_t e = 0; e < level.elements(); ++e) {
        std::vector<std::size_t> below;
        for (const Rank p : level.members(e))
            below.push_back(i < tree.levels() ? tree.level(i + 1).element(p)
                                              : static_cast<std::size_t>(p));
        std::sort(below.begin(), below.end());
        const auto end = std::unique(below.begin(), below.end());
        most = std::max(most, static_cast<std::size_t>(end - below.begin()));
    }
    return most;
}

/// T_L,i that is not given lets everybody who queues at level i have two turns.
TreeLimits tree_limits(const Parts& parts) {
    const topology::Tree& tree = parts.design.machine.tree;
    TreeLimits limits{.t_w = parts.t_w()};
    for (unsigned i = 2; i <= tree.levels(); ++i)
        limits.t_l[i] =
            std::max<Value>(1, parts.design.thresholds.of_level(i, 2 * contenders(tree, i)));
    return limits;
}

constexpr Duration kHold{50}; // for T_R readers, which may never come

DirectPassive<WindowFabric> build(const Parts& parts, Is<DirectPassive<WindowFabric>>) {
    return {parts.fabric, WindowSlots::lock};
}

template <class F>
Pfx<F> build(const PartsOn<F>& parts, Is<Pfx<F>>) {
    // Enough for the lock to be busy while the next one in line gets a core, few enough to be fair.
    constexpr Value kOftenPassed = 64;
    // The first of the queue polls a word at home, which only its own node can do for nothing.
    const Value t_l = parts.design.one_node ? parts.design.thresholds.innermost(kOftenPassed) : 0;
    return {parts.fabric,
            WindowSlots::lock,
            parts.pool,
            {.t_w = parts.t_w(), .t_l = t_l, .patience = parts.design.thresholds.patience}};
}

Pfl<WindowFabric> build(const Parts& parts, Is<Pfl<WindowFabric>>) {
    const topology::Level& nodes = parts.design.machine.nodes;
    // A hand-over to another node costs some hundred of these.
    constexpr Value kOftenInARow = 16;
    const Value most = std::max(kOftenInARow, 2 * static_cast<Value>(nodes.largest()));
    return {parts.fabric,
            WindowSlots::lock,
            parts.elements(),
            parts.pool,
            nodes,
            {.t_w = parts.t_w(2 * kOftenInARow),
             .t_l = std::max<Value>(1, parts.design.thresholds.innermost(most)),
             .t_r = parts.design.thresholds.t_r,
             .hold = kHold,
             .patience = parts.design.thresholds.patience}};
}

DMcs<WindowFabric> build(const Parts& parts, Is<DMcs<WindowFabric>>) {
    return {parts.fabric, WindowSlots::lock, parts.pool};
}

RmaMcs<WindowFabric> build(const Parts& parts, Is<RmaMcs<WindowFabric>>) {
    TreeLimits limits = tree_limits(parts);
    limits.t_w = TreeLimits{}.t_w; // D1: there is nobody to let in
    return {parts.fabric, WindowSlots::lock,         parts.elements(),
            parts.pool,   parts.design.machine.tree, limits};
}

RmaRw<WindowFabric> build(const Parts& parts, Is<RmaRw<WindowFabric>>) {
    const RmaRwLimits limits{.tree = tree_limits(parts),
                             .t_r = parts.design.thresholds.t_r,
                             .hold = kHold,
                             .patience = parts.design.thresholds.patience};
    return {parts.fabric, WindowSlots::lock,         parts.elements(),
            parts.pool,   parts.design.machine.tree, parts.design.counters,
            limits};
}

FompiSpin<WindowFabric> build(const Parts& parts, Is<FompiSpin<WindowFabric>>) {
    return {parts.fabric, WindowSlots::lock};
}

FompiRw<WindowFabric> build(const Parts& parts, Is<FompiRw<WindowFabric>>) {
    return {parts.fabric, WindowSlots::lock};
}

template <class Lock>
constexpr bool kHasCounters = requires(const Design& d) {
    Lock::element_slots(d.machine.tree, d.counters);
};
template <class Lock>
constexpr bool kClimbs = kHasCounters<Lock> || requires(const Design& d) {
    Lock::element_slots(d.machine.tree);
};
template <class Lock>
constexpr bool kKnowsNodes = requires(const Design& d) {
    Lock::node_slots(d.machine.nodes);
};
template <class Lock>
constexpr bool kQueues = requires {
    requires Lock::kPoolNodeSlots != 0;
};

/// foMPI's lock with one word for the whole window brings its own lock_all.
template <class Lock>
class OwnRoom {
  public:
    OwnRoom(WindowFabric&, Lock& lock, Slot, const GateNodes&, Duration) : lock_(lock) {}
    Hold acquire_exclusive(Rank target) { return lock_.acquire_exclusive(target); }
    void release_exclusive(Rank target, Hold hold) { lock_.release_exclusive(target, hold); }
    void enter_all() { lock_.acquire_all(); }
    void leave_all() { lock_.release_all({}); }
    std::uint64_t changes() const { return 0; }

  private:
    Lock& lock_;
};

template <class Lock>
using Gate = std::conditional_t<std::is_same_v<Lock, FompiRw<WindowFabric>>, OwnRoom<Lock>,
                                AllGate<WindowFabric, Lock>>;

/// Whether lock_all looks for exclusive holders that its gate has not seen.
template <class Lock>
constexpr bool kIsLookedFor = has_shared_mode<Lock> && !std::is_same_v<Gate<Lock>, OwnRoom<Lock>>;

template <class Lock, class F>
auto builder(F& fabric) {
    return [&fabric](const Design& design, Pool& pool) {
        return build(PartsOn<F>{fabric, pool, design}, Is<Lock>{});
    };
}

struct Entry {
    const char* name;
    bool queues;
    bool climbs;                            ///< the tree
    bool ledgers;                           ///< where there are several nodes
    bool shares;                            ///< a target with others (lock.hh, has_shared_mode)
    Slot (*elements)(const Design& design); ///< null: none
    std::unique_ptr<WindowLock> (*make)(const Design& design, WindowFabric& fabric);
};

template <class Lock>
constexpr Entry entry() {
    Entry made{Lock::kName,
               kQueues<Lock>,
               kClimbs<Lock>,
               kIsLookedFor<Lock>,
               has_shared_mode<Lock>,
               nullptr,
               [](const Design& design, WindowFabric& fabric) -> std::unique_ptr<WindowLock> {
                   constexpr bool kKeep = kClimbs<Lock> || kKnowsNodes<Lock>;
                   return std::make_unique<Registered<WindowFabric, Lock, Gate<Lock>>>(
                       fabric, design, kKeep, builder<Lock>(fabric));
               }};
    if constexpr (kHasCounters<Lock>)
        made.elements = [](const Design& d) {
            return Lock::element_slots(d.machine.tree, d.counters);
        };
    else if constexpr (kClimbs<Lock>)
        made.elements = [](const Design& d) { return Lock::element_slots(d.machine.tree); };
    else if constexpr (kKnowsNodes<Lock>)
        made.elements = [](const Design& d) { return Lock::node_slots(d.machine.nodes); };
    return made;
}

constexpr Entry kEntries[] = {
    entry<DirectPassive<WindowFabric>>(), entry<Pfx<WindowFabric>>(),
    entry<Pfl<WindowFabric>>(),           entry<RmaRw<WindowFabric>>(),
    entry<RmaMcs<WindowFabric>>(),        entry<DMcs<WindowFabric>>(),
    entry<FompiSpin<WindowFabric>>(),     entry<FompiRw<WindowFabric>>(),
};

const Entry& find(std::string_view name) {
    for (const Entry& e : kEntries)
        if (name == e.name)
            return e;
    throw std::invalid_argument("no lock is called '" + std::string(name) + "'");
}

} // namespace

Choice choose(std::string_view wanted, const WindowTraits& traits) {
    const char* const queue = Pfx<WindowFabric>::kName;
    const char* const word = DirectPassive<WindowFabric>::kName;
    const bool automatic = wanted == "auto";
    if (find(automatic ? queue : wanted).queues &&
        static_cast<unsigned>(traits.ranks) > Pool::kMaxNodes)
        return {word, "more ranks than a process has queue nodes"};
    if (!automatic)
        return {find(wanted).name, find(wanted).shares
                                       ? "asked for by parameter or info key"
                                       : "asked for by parameter or info key; shared locks of one "
                                         "target exclude each other: processes that are to hold "
                                         "one together wait for ever"};
    if (traits.ranks == 1)
        return {word, "one process: nobody contends"};
    if (traits.one_node)
        return {queue,
                "one node: nobody starves, and those that run may pass those that wait, but not "
                "for ever"};
    return {Pfl<WindowFabric>::kName,
            "several nodes: nobody starves, writers queue on their node, and so do readers that "
            "come often"};
}

bool climbs_a_tree(std::string_view wanted) {
    return wanted != "auto" && find(wanted).climbs;
}

bool knows_nodes(std::string_view wanted) {
    return wanted != "auto" && !find(wanted).climbs && find(wanted).elements != nullptr;
}

fabric::LockSlots slots_of(const Design& design, Rank ranks) {
    const Entry& lock = find(design.choice.name);
    return {lock.queues ? WindowSlots::node_count(ranks) : 0,
            lock.elements != nullptr ? lock.elements(design) : 0,
            lock.ledgers && design.machine.nodes.elements() > 1
                ? static_cast<Slot>(design.machine.nodes.largest())
                : 0};
}

std::unique_ptr<WindowLock> make(const Design& design, WindowFabric& fabric) {
    return find(design.choice.name).make(design, fabric);
}

void make_plain(const Design& design, fabric::NodeFabric& fabric, std::optional<PlainLock>& lock) {
    using Plain = Pfx<fabric::NodeFabric>;
    if (std::string_view(design.choice.name) == Plain::kName)
        lock.emplace(fabric, design, false, builder<Plain>(fabric));
}

} // namespace rmalock::locks
