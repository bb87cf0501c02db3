#include "locks/registry.hh"

#include <stdexcept>
#include <string>
#include <type_traits>

#include "fabric/layout.hh"
#include "locks/all_gate.hh"
#include "locks/direct_passive.hh"
#include "locks/pfx.hh"
#include "locks/pool.hh"

namespace rmalock::locks {
namespace {

using fabric::WindowSlots;

/// What the locks of one window are made of.
struct Parts {
    WindowFabric& fabric;
    Pool& pool;
    const Thresholds& thresholds;
};

DirectPassive<WindowFabric> build(const Parts& parts,
                                  std::type_identity<DirectPassive<WindowFabric>>) {
    return {parts.fabric, WindowSlots::lock};
}

Pfx<WindowFabric> build(const Parts& parts, std::type_identity<Pfx<WindowFabric>>) {
    const Value ranks = static_cast<Value>(parts.fabric.size());
    const Value t_w = parts.thresholds.t_w != 0 ? parts.thresholds.t_w : ranks;
    return {parts.fabric, WindowSlots::lock, parts.pool, {.t_w = t_w}};
}

template <ReaderWriterLock Lock>
class Registered final : public WindowLock {
    static_assert(Lock::kHomeSlots <= fabric::kWordsPerLine);

  public:
    Registered(WindowFabric& fabric, const Thresholds& thresholds)
        : pool_(fabric.self(), WindowSlots::nodes(fabric.size()),
                WindowSlots::node_count(fabric.size())),
          lock_(build({fabric, pool_, thresholds}, std::type_identity<Lock>{})),
          gate_(fabric, lock_, WindowSlots::gate) {}

    Hold acquire(Rank target, bool exclusive, bool holding) override {
        return exclusive ? gate_.acquire_exclusive(target, holding)
                         : acquire_shared(lock_, target, holding);
    }
    void release(Rank target, bool exclusive, Hold hold) override {
        exclusive ? gate_.release_exclusive(target, hold) : lock_.release_shared(target, hold);
    }
    bool is_taken(Rank target, bool exclusive) override {
        return lock_.is_taken(target, exclusive);
    }
    void acquire_all(bool holding) override { gate_.enter_all(holding); }
    void release_all() override { gate_.leave_all(); }

  private:
    Pool pool_;
    Lock lock_;
    AllGate<WindowFabric, Lock> gate_;
};

struct Entry {
    const char* name;
    std::unique_ptr<WindowLock> (*make)(WindowFabric& fabric, const Thresholds& thresholds);
};

template <class Lock>
constexpr Entry entry() {
    return {Lock::kName,
            [](WindowFabric& fabric, const Thresholds& thresholds) -> std::unique_ptr<WindowLock> {
                return std::make_unique<Registered<Lock>>(fabric, thresholds);
            }};
}

constexpr Entry kEntries[] = {
    entry<DirectPassive<WindowFabric>>(),
    entry<Pfx<WindowFabric>>(),
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
    if ((wanted == "auto" || wanted == queue) &&
        static_cast<unsigned>(traits.ranks) > Pool::kMaxNodes)
        return {word, "more ranks on one node than a process has queue nodes"};
    if (wanted != "auto")
        return {find(wanted).name, "asked for by parameter or info key"};
    if (traits.ranks == 1)
        return {word, "one process: nobody contends"};
    // A queue hands the lock to the next in line, who may not be running for a time slice: measured, 4
    // ranks on 2 cores get it 20 to 200 times less often than by barging.
    if (traits.oversubscribed)
        return {word, "more ranks than cores: whoever runs may take a free lock"};
    return {queue, "one node: nobody starves, waiters spin on words of their own"};
}

std::unique_ptr<WindowLock> make(const Choice& choice, WindowFabric& fabric,
                                 const Thresholds& thresholds) {
    return find(choice.name).make(fabric, thresholds);
}

} // namespace rmalock::locks
