#include "locks/window_lock/registry.hh"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "locks/all.hh"
#include "locks/window_lock/gated_lock.hh"

namespace rmalock::locks {
namespace {

using fabric::WindowSlots;

/// A lock that brings its own lock_all, where others stand behind the gate.
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

template <class Lock, bool own>
struct GateOf {
    using Type = AllGate<WindowFabric, Lock>;
};
template <class Lock>
struct GateOf<Lock, true> {
    using Type = OwnRoom<Lock>;
};

struct Entry {
    LockTraits traits;
    Footprint (*footprint)(const MachineView& machine);
    std::unique_ptr<WindowLock> (*make)(const LockConfig& config, WindowFabric& fabric);

    /// Whether lock_all looks for exclusive holders that its gate has not seen.
    bool has_holder_records() const { return traits.shared && !traits.own_lock_all; }
};

template <class Lock>
std::unique_ptr<WindowLock> make_one(const LockConfig& config, WindowFabric& fabric) {
    using Gate = typename GateOf<Lock, Lock::kTraits.own_lock_all>::Type;
    return std::make_unique<GatedLock<WindowFabric, Lock, Gate>>(fabric, config);
}

template <class Lock>
constexpr Entry entry(std::string_view name) {
    if (name != Lock::kTraits.name) // a row of all.def with another name than its lock's
        throw std::logic_error("all.def");
    return {Lock::kTraits, Lock::footprint, make_one<Lock>};
}

constexpr Entry kEntries[] = {
#define RMALOCK_LOCK(name, Class) entry<Class<WindowFabric>>(#name),
#include "locks/all.def"
#undef RMALOCK_LOCK
};

const Entry& find(std::string_view name) {
    for (const Entry& e : kEntries)
        if (name == e.traits.name)
            return e;
    throw std::invalid_argument("no lock is called '" + std::string(name) + "'");
}

} // namespace

Choice choose(std::string_view wanted, const WindowTraits& traits) {
    if (wanted == "auto")
        return choose(traits);
    const LockTraits& lock = find(wanted).traits;
    if (!lock.shared)
        return {lock.name,
                "asked for by parameter or info key; shared locks of one target exclude each "
                "other: processes that are to hold one together wait for ever"};
    if (!lock.patient)
        return {lock.name,
                "asked for by parameter or info key; a shared lock waits behind exclusives "
                "that only wait themselves: a program hangs if one of these waits for it in "
                "another way"};
    return {lock.name, "asked for by parameter or info key"};
}

const char* lacks(std::string_view name, fabric::Domain domain, bool threads) {
    if (!find(name).traits.offers.server)
        return nullptr;
    if (domain == fabric::Domain::nic)
        return "network adapters wake no server: while a target computes, processes of other nodes "
               "wait for its lock; choose n_cosed, or auto";
    if (!threads)
        return "its servers have no progress thread: while a target computes, processes of other "
               "nodes wait for its lock; set osc_rmalock_progress_thread to on, or choose auto";
    return nullptr;
}

LockNeeds needs_of(std::string_view wanted) {
    return wanted == "auto" ? LockNeeds{} : find(wanted).traits.needs;
}

fabric::LockSlots slots_of(const LockConfig& config, Rank ranks) {
    const Entry& lock = find(config.choice.name);
    return {lock.traits.needs.queue_nodes ? QueueNodes::Room::of(ranks).qnodes : 0,
            lock.footprint(config.view()).records,
            lock.has_holder_records() && config.machine.nodes.elements() > 1
                ? NodeTable::records(config.machine.nodes)
                : 0};
}

std::unique_ptr<WindowLock> make(const LockConfig& config, WindowFabric& fabric) {
    return find(config.choice.name).make(config, fabric);
}

void make_word_lock(const LockConfig& config, fabric::NodeFabric& fabric,
                    std::optional<WordLock>& lock) {
    if (std::string_view(config.choice.name) == PfMcs<fabric::NodeFabric>::kTraits.name)
        lock.emplace(fabric, config);
}

} // namespace rmalock::locks
