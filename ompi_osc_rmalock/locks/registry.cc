#include "locks/registry.hh"

#include <stdexcept>

#include "fabric/layout.hh"
#include "locks/all_gate.hh"
#include "locks/direct_passive.hh"

namespace rmalock::locks {
namespace {

template <template <class> class Algorithm>
class Registered final : public WindowLock {
    using Lock = Algorithm<WindowFabric>;
    static_assert(ReaderWriterLock<Lock>);
    static_assert(Lock::kHomeSlots <= fabric::kWordsPerLine);

  public:
    explicit Registered(WindowFabric& fabric)
        : lock_(fabric, fabric::WindowSlots::lock), gate_(fabric, lock_, fabric::WindowSlots::gate) {}

    Hold acquire(Rank target, bool exclusive, bool holding) override {
        return exclusive ? gate_.acquire_exclusive(target, holding) : lock_.acquire_shared(target);
    }
    void release(Rank target, bool exclusive, Hold hold) override {
        exclusive ? gate_.release_exclusive(target, hold) : lock_.release_shared(target, hold);
    }
    bool is_taken(Rank target, bool exclusive) override {
        return lock_.is_taken(target, exclusive);
    }
    void acquire_all() override { gate_.enter_all(); }
    void release_all() override { gate_.leave_all(); }

  private:
    Lock lock_;
    AllGate<WindowFabric, Lock> gate_;
};

struct Entry {
    const char* name;
    std::unique_ptr<WindowLock> (*make)(WindowFabric& fabric);
};

template <template <class> class Algorithm>
constexpr Entry entry() {
    return {Algorithm<WindowFabric>::kName, [](WindowFabric& fabric) -> std::unique_ptr<WindowLock> {
                return std::make_unique<Registered<Algorithm>>(fabric);
            }};
}

constexpr Entry kEntries[] = {
    entry<DirectPassive>(),
};

const Entry& find(std::string_view name) {
    for (const Entry& e : kEntries)
        if (name == e.name)
            return e;
    throw std::invalid_argument("no lock is called '" + std::string(name) + "'");
}

} // namespace

Choice choose(std::string_view wanted, const WindowTraits& traits) {
    if (wanted != "auto")
        return {find(wanted).name, "asked for by parameter or info key"};
    return {DirectPassive<WindowFabric>::kName,
            traits.ranks == 1 ? "one process: nobody contends"
                              : "all processes on one node: one CPU atomic gets in"};
}

std::unique_ptr<WindowLock> make(const Choice& choice, WindowFabric& fabric) {
    return find(choice.name).make(fabric);
}

} // namespace rmalock::locks
