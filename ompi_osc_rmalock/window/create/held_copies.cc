#include "window/create/held_copies.hh"

#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "host.hh"
#include "window/create/kernel_copy.hh"

namespace rmalock::window {

/// Copies of one direction that one system call makes.
struct HeldCopies::Batch {
    static constexpr std::size_t kRuns = 64;

    bool empty() const { return runs == 0; }
    bool takes(Direction other, std::size_t bytes) const {
        return direction == other && runs < kRuns &&
               (direction == Direction::get || used + bytes <= data.size());
    }

    Rank target = -1;
    Direction direction{};
    std::uintptr_t first = 0;
    std::optional<KernelCopy> kernel;
    std::size_t runs = 0, used = 0;
    std::array<std::byte, 2 * kMost> data; ///< of puts
};

/// Those of which something has been held. Progress looks at them, in any thread. What it is made of
/// needs no destructor: exit() may come before the last window goes.
class HeldCopies::Windows {
  public:
    void add(HeldCopies& one) {
        const std::lock_guard lock(mutex_);
        if (first_ == nullptr && host().call_progress != nullptr)
            host().call_progress();
        one.next_ = first_;
        first_ = &one;
    }
    void remove(HeldCopies& one) {
        const std::lock_guard lock(mutex_);
        HeldCopies** at = &first_;
        while (*at != &one)
            at = &(*at)->next_;
        *at = one.next_;
    }
    /// Relaxed: a look that misses what another thread has held sends it the next time.
    void count(std::ptrdiff_t more) {
        holding_.fetch_add(static_cast<std::size_t>(more), std::memory_order_relaxed);
    }
    void send() {
        if (holding_.load(std::memory_order_relaxed) == 0)
            return;
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock)
            return;
        for (HeldCopies* one = first_; one != nullptr; one = one->next_) {
            const std::unique_lock theirs(one->mutex_, std::try_to_lock);
            if (theirs)
                for (const auto& batch : one->batches_)
                    one->send(*batch);
        }
    }

  private:
    std::mutex mutex_;
    HeldCopies* first_ = nullptr;
    std::atomic<std::size_t> holding_{0}; ///< batches that are not empty, of all
};

constinit HeldCopies::Windows HeldCopies::windows;

HeldCopies::HeldCopies() = default;

HeldCopies::~HeldCopies() {
    drop();
    if (listed_)
        windows.remove(*this);
}

/// With mutex_ locked, as send() and batch_for() below.
void HeldCopies::empty(Batch& batch) {
    batch.runs = batch.used = 0;
    --held_;
    windows.count(-1);
}

void HeldCopies::send(Batch& batch) {
    if (batch.empty())
        return;
    if (const int error = batch.kernel->flush(); error != 0 && !failed_) {
        failure_ = {error, batch.direction, batch.target, batch.first};
        failed_.store(true, std::memory_order_relaxed);
    }
    empty(batch);
}

HeldCopies::Batch& HeldCopies::batch_for(Rank target) {
    Batch* free = nullptr;
    for (const auto& batch : batches_) {
        if (batch->target == target)
            return *batch;
        if (batch->empty())
            free = batch.get();
    }
    if (free == nullptr && batches_.size() < kTargets)
        free = batches_.emplace_back(std::make_unique<Batch>()).get();
    if (free == nullptr) {
        free = batches_[next_victim_++ % kTargets].get();
        send(*free);
    }
    free->target = target;
    return *free;
}

void HeldCopies::hold(Direction direction, Rank target, pid_t pid, std::uintptr_t address,
                      void* origin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(listed_, true))
        windows.add(*this);
    Batch& batch = batch_for(target);
    if (!batch.takes(direction, bytes))
        send(batch);
    if (batch.empty()) {
        batch.direction = direction;
        batch.first = address;
        batch.kernel.emplace(direction, pid);
        ++held_;
        windows.count(1);
    }
    if (direction == Direction::put) {
        std::memcpy(batch.data.data() + batch.used, origin, bytes);
        origin = batch.data.data() + batch.used;
        batch.used += bytes;
    }
    ++batch.runs;
    // It is less than the kernel takes at once.
    (void)batch.kernel->add(reinterpret_cast<std::uintptr_t>(origin), address, bytes);
}

void HeldCopies::send_now(Rank target) {
    const std::lock_guard lock(mutex_);
    for (const auto& batch : batches_)
        if (batch->target == target)
            send(*batch);
}

void HeldCopies::send_all_now() {
    const std::lock_guard lock(mutex_);
    for (const auto& batch : batches_)
        send(*batch);
}

void HeldCopies::drop() {
    const std::lock_guard lock(mutex_);
    for (const auto& batch : batches_)
        if (!batch->empty())
            empty(*batch);
}

HeldCopies::Failure HeldCopies::failure() {
    const std::lock_guard lock(mutex_);
    failed_.store(false, std::memory_order_relaxed);
    return std::exchange(failure_, {});
}

void HeldCopies::send_of_all_windows() {
    windows.send();
}

} // namespace rmalock::window
