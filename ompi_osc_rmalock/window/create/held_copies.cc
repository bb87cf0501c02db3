#include "window/create/held_copies.hh"

#include <array>
#include <cstring>
#include <optional>

#include "window/create/kernel_copy.hh"

namespace rmalock::window {

/// Copies of one direction that one system call makes.
struct HeldCopies::Batch {
    static constexpr std::size_t kRuns = 64;

    bool empty() const { return runs == 0; }
    bool takes(Rank other, Direction wanted, std::size_t bytes) const {
        return target == other && direction == wanted && runs < kRuns &&
               (direction == Direction::get || used + bytes <= data.size());
    }

    Rank target = -1;
    Direction direction{};
    std::uintptr_t first = 0;
    std::optional<KernelCopy> kernel;
    std::size_t runs = 0, used = 0;
    std::array<std::byte, 2 * kMost> data; ///< of puts
};

HeldCopies::HeldCopies(std::atomic<std::size_t>& of_all, HeldFailure& failure)
    : failure_(failure), held_(of_all) {}

HeldCopies::~HeldCopies() {
    drop();
}

/// With mutex_ locked, as send below.
void HeldCopies::empty(Batch& batch) {
    batch.runs = batch.used = 0;
    held_.one_less();
}

void HeldCopies::send(Batch& batch) {
    if (const int error = batch.kernel->flush(); error != 0)
        failure_.note({error, batch.direction == Direction::put ? "MPI_Put" : "MPI_Get",
                       batch.target, batch.first});
    empty(batch);
}

void HeldCopies::hold(Direction direction, Rank target, pid_t pid, std::uintptr_t address,
                      void* origin, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Batch& batch = batches_.of(target);
    if (!batch.empty() && !batch.takes(target, direction, bytes))
        send(batch);
    if (batch.empty()) {
        batch.target = target;
        batch.direction = direction;
        batch.first = address;
        batch.kernel.emplace(direction, pid);
        held_.one_more();
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

void HeldCopies::send(Rank target) {
    const std::lock_guard lock(mutex_);
    if (Batch* const batch = batches_.find(target))
        send(*batch);
}

void HeldCopies::send_all() {
    const std::lock_guard lock(mutex_);
    while (Batch* const batch = batches_.first())
        send(*batch);
}

void HeldCopies::try_to_send_all() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return;
    while (Batch* const batch = batches_.first())
        send(*batch);
}

void HeldCopies::drop() {
    const std::lock_guard lock(mutex_);
    while (Batch* const batch = batches_.first())
        empty(*batch);
}

} // namespace rmalock::window
