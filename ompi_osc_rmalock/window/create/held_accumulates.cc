#include "window/create/held_accumulates.hh"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <span>

#include "window/create/failures.hh"
#include "window/create/kernel_copy.hh"

namespace rmalock::window {

struct HeldAccumulates::Batch {
    static constexpr std::size_t kChanges = 128, kBytes = 8 * kMost;

    struct Held {
        std::uintptr_t address;
        rmalock_kernel_t kernel;
        void* result; ///< or null
        std::uint32_t count, bytes;
        std::uint32_t operand; ///< where in `operands`
        bool stores;
    };
    bool empty() const { return changes == 0; }
    bool takes(Rank other, std::size_t bytes) const {
        return target == other && changes < kChanges && used + bytes <= kBytes;
    }
    void add(const Change& change) {
        held[changes++] = {.address = change.address,
                           .kernel = change.kernel,
                           .result = change.result,
                           .count = static_cast<std::uint32_t>(change.count),
                           .bytes = static_cast<std::uint32_t>(change.bytes),
                           .operand = static_cast<std::uint32_t>(used),
                           .stores = change.operand != nullptr};
        if (change.operand != nullptr)
            std::memcpy(operands.data() + used, change.operand, change.bytes);
        used += change.bytes;
    }
    Rank target = -1;
    pid_t pid = 0;
    const char* call = "";             ///< the first's
    std::size_t changes = 0, used = 0; ///< used: bytes of elements
    std::array<Held, kChanges> held;
    alignas(std::max_align_t) std::array<std::byte, kBytes> operands;
};

/// Of a batch to its target, under that one's lock.
class HeldAccumulates::Application {
  public:
    explicit Application(const Batch& batch) : batch_(batch) {
        const auto order = this->order();
        std::iota(order.begin(), order.end(), std::uint8_t{0});
        const auto address = [this](std::uint8_t i) { return batch_.held[i].address; };
        if (!std::ranges::is_sorted(order, {}, address))
            std::ranges::sort(order, {}, address);
    }

    /// Returns an errno value.
    int run() {
        if (const int error = fetch(); error != 0)
            return error;
        for (const Batch::Held& change : std::span(batch_.held.data(), batch_.changes))
            change.kernel(copy_of(change.address),
                          change.stores ? batch_.operands.data() + change.operand : nullptr,
                          change.result, change.count);
        return store();
    }

  private:
    /// Bytes of the target that follow one another, and where their copy begins.
    struct Span {
        std::uintptr_t begin, end;
        std::size_t copy;
    };

    std::span<std::uint8_t> order() { return {order_.data(), batch_.changes}; }
    /// Calls use(begin, end) for what they have at the target, ascending; what several have is in it
    /// once. `stores`: only of those that store.
    template <class Use>
    void for_each_range(bool stores, Use use) {
        std::uintptr_t begin = 0, end = 0;
        for (const std::uint8_t i : order()) {
            const Batch::Held& change = batch_.held[i];
            if (stores && !change.stores)
                continue;
            if (end != 0 && change.address > end)
                use(begin, end);
            if (change.address > end)
                begin = change.address;
            end = std::max(end, change.address + change.bytes);
        }
        if (end != 0)
            use(begin, end);
    }
    /// Less than the kernel takes at once.
    int fetch() {
        KernelCopy kernel(Direction::get, batch_.pid);
        std::size_t copied = 0;
        for_each_range(false, [&](std::uintptr_t begin, std::uintptr_t end) {
            spans_[count_++] = {begin, end, copied};
            (void)kernel.add(reinterpret_cast<std::uintptr_t>(copies_.data() + copied), begin,
                             end - begin);
            copied += end - begin;
        });
        return kernel.flush();
    }
    int store() {
        KernelCopy kernel(Direction::put, batch_.pid);
        for_each_range(true, [&](std::uintptr_t begin, std::uintptr_t end) {
            (void)kernel.add(reinterpret_cast<std::uintptr_t>(copy_of(begin)), begin, end - begin);
        });
        return kernel.flush();
    }
    std::byte* copy_of(std::uintptr_t address) {
        const std::span those(spans_.data(), count_);
        const Span& span = *std::prev(std::ranges::upper_bound(those, address, {}, &Span::begin));
        return copies_.data() + span.copy + (address - span.begin);
    }

    const Batch& batch_;
    std::array<std::uint8_t, Batch::kChanges> order_; ///< by address
    std::array<Span, Batch::kChanges> spans_;         ///< likewise
    std::size_t count_ = 0;
    alignas(std::max_align_t) std::array<std::byte, Batch::kBytes> copies_;
};

HeldAccumulates::HeldAccumulates(std::atomic<std::size_t>& of_all, HeldFailure& failure)
    : failure_(failure), held_(of_all) {}

HeldAccumulates::~HeldAccumulates() {
    drop();
}

bool HeldAccumulates::add(const Change& change, Rank& in_the_way) {
    const std::lock_guard lock(mutex_);
    Batch& batch = batches_.of(change.target);
    if (!batch.empty() && !batch.takes(change.target, change.bytes)) {
        in_the_way = batch.target;
        return false;
    }
    if (batch.empty()) {
        batch.target = change.target;
        batch.pid = change.pid;
        batch.call = change.call;
        held_.one_more();
    }
    batch.add(change);
    return true;
}

void HeldAccumulates::hold(const Change& change) {
    Rank in_the_way;
    while (!add(change, in_the_way))
        send(in_the_way);
}

/// With mutex_ locked.
void HeldAccumulates::empty(Batch& batch) {
    batch.changes = batch.used = 0;
    held_.one_less();
}

void HeldAccumulates::fail(Rank target, int error) {
    const std::lock_guard lock(mutex_);
    if (Batch* const batch = batches_.find(target)) {
        failure_.note({error, batch->call, target, batch->held[0].address});
        empty(*batch);
    }
}

void HeldAccumulates::send_locked(Rank target) {
    const std::lock_guard lock(mutex_);
    Batch* const batch = batches_.find(target);
    if (batch == nullptr) // another thread has sent them
        return;
    if (const int error = Application(*batch).run(); error != 0)
        failure_.note({error, batch->call, target, batch->held[0].address});
    empty(*batch);
}

/// That a process has failed shows like what else fails: the call has more to do, such as to release
/// a lock.
void HeldAccumulates::send(Rank target) {
    try {
        gate_->lock_near(target);
    } catch (const ProcessFailed&) {
        return fail(target, ESRCH);
    }
    send_locked(target);
    gate_->unlock_near(target);
}

void HeldAccumulates::send_all() {
    for (;;) {
        Rank target;
        {
            const std::lock_guard lock(mutex_);
            const Batch* const batch = batches_.first();
            if (batch == nullptr)
                return;
            target = batch->target;
        }
        send(target);
    }
}

void HeldAccumulates::try_to_send_all() {
    std::array<Rank, HeldBatches<Batch>::kTargets> targets;
    std::size_t count = 0;
    {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock)
            return;
        batches_.for_each([&](const Batch& batch) { targets[count++] = batch.target; });
    }
    for (const Rank target : std::span(targets.data(), count))
        if (gate_->try_lock_near(target)) {
            send_locked(target);
            gate_->unlock_near(target);
        }
}

void HeldAccumulates::drop() {
    const std::lock_guard lock(mutex_);
    while (Batch* const batch = batches_.first())
        empty(*batch);
}

} // namespace rmalock::window
