// Small accumulates on memory that only the kernel reaches, many under one hold of the target's
// accumulate lock.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <mutex>

#include "rmalock_api.h"
#include "window/create/held_batches.hh"

namespace rmalock::window {

/// The accumulate locks of the targets of this node. What waits for one may throw ProcessFailed.
class ElementGate {
  public:
    virtual void lock_near(Rank target) = 0;
    virtual bool try_lock_near(Rank target) = 0;
    virtual void unlock_near(Rank target) = 0;

  protected:
    ~ElementGate() = default;
};

/// One takes two system calls and the lock, and so do as many as are held: they are fetched together,
/// combined in the order of the calls, and stored together. The operands are copied at the call.
class HeldAccumulates {
  public:
    /// Of one accumulate, in bytes.
    static constexpr std::size_t kMost = 2048;

    struct Change {
        const char* call;
        Rank target;
        pid_t pid; ///< the target's process
        std::uintptr_t address;
        rmalock_kernel_t kernel;  ///< of elements that are alone
        const void* operand;      ///< null: it only fetches
        void* result;             ///< null: it does not fetch; else written when it is sent
        std::size_t count, bytes; ///< bytes: of all elements
    };

    HeldAccumulates(std::atomic<std::size_t>& of_all, HeldFailure& failure);
    ~HeldAccumulates();
    HeldAccumulates(const HeldAccumulates&) = delete;
    HeldAccumulates& operator=(const HeldAccumulates&) = delete;

    /// Before anything is held.
    void guard_by(ElementGate& gate) { gate_ = &gate; }

    // The caller of these three holds no accumulate lock.

    /// At most kMost bytes.
    void hold(const Change& change);
    void send(Rank target);
    void send_all();
    bool any() const { return held_.any(); }
    /// Leaves what another thread is at, or another process.
    void try_to_send_all();
    void drop();

  private:
    struct Batch;
    class Application;
    /// False: others are to be sent before, those of `in_the_way`.
    bool add(const Change& change, Rank& in_the_way);
    /// Under the target's lock.
    void send_locked(Rank target);
    void fail(Rank target, int error);
    void empty(Batch& batch);

    ElementGate* gate_ = nullptr;
    HeldFailure& failure_;
    std::mutex mutex_; ///< locked under the accumulate lock, never the other way round
    HeldBatches<Batch> batches_;
    HeldCount held_; ///< changed under mutex_
};

} // namespace rmalock::window
