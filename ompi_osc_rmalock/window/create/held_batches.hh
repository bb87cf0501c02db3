// What the small operations that wait for others have in common, puts, gets and accumulates.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fabric/concept.hh"

namespace rmalock::window {

using fabric::Rank;

/// The first operation of a window's held ones that has failed, until it is told.
class HeldFailure {
  public:
    struct Failure {
        int error = 0; ///< an errno value; 0: none
        const char* call = "";
        Rank target = -1;
        std::uintptr_t address = 0; ///< of the first, in the target's process
    };

    bool any() const { return any_.load(std::memory_order_relaxed); }
    void note(const Failure& failure) {
        const std::lock_guard lock(mutex_);
        if (!any_.exchange(true, std::memory_order_relaxed))
            first_ = failure;
    }
    Failure take() {
        const std::lock_guard lock(mutex_);
        any_.store(false, std::memory_order_relaxed);
        return std::exchange(first_, {});
    }

  private:
    std::mutex mutex_;
    /// Changed under mutex_. Relaxed: what another thread has sent may show in a later call.
    std::atomic<bool> any_{false};
    Failure first_;
};

/// Those of a window, by target. A Batch has a `target`, and is empty() or not.
template <class Batch>
class HeldBatches {
  public:
    /// How many targets operations are held for at a time.
    static constexpr std::size_t kTargets = 32;

    /// The target's, or an empty one, or another target's, which is to be sent first.
    Batch& of(Rank target) {
        Batch* free = nullptr;
        for (const auto& batch : batches_) {
            if (batch->target == target)
                return *batch;
            if (batch->empty())
                free = batch.get();
        }
        if (free == nullptr && batches_.size() < kTargets)
            free = batches_.emplace_back(std::make_unique<Batch>()).get();
        return free != nullptr ? *free : *batches_[next_victim_++ % kTargets];
    }
    /// Of any target that has something held; null: none has.
    Batch* first() {
        for (const auto& batch : batches_)
            if (!batch->empty())
                return batch.get();
        return nullptr;
    }
    /// Of all targets that have.
    template <class Use>
    void for_each(Use use) const {
        for (const auto& batch : batches_)
            if (!batch->empty())
                use(*batch);
    }
    /// Null: nothing is held for it.
    Batch* find(Rank target) {
        for (const auto& batch : batches_)
            if (batch->target == target && !batch->empty())
                return batch.get();
        return nullptr;
    }

  private:
    std::vector<std::unique_ptr<Batch>> batches_;
    std::size_t next_victim_ = 0;
};

/// How many batches of a window are not empty, and of all windows of the process.
class HeldCount {
  public:
    explicit HeldCount(std::atomic<std::size_t>& of_all) : of_all_(of_all) {}

    /// False: what this thread has held has gone, by another one perhaps.
    bool any() const { return mine_ != 0; }
    /// Relaxed: a look at all that misses what another thread has held sends it the next time.
    void one_more() {
        ++mine_;
        of_all_.fetch_add(1, std::memory_order_relaxed);
    }
    void one_less() {
        --mine_;
        of_all_.fetch_sub(1, std::memory_order_relaxed);
    }

  private:
    std::atomic<std::size_t> mine_{0};
    std::atomic<std::size_t>& of_all_;
};

} // namespace rmalock::window
