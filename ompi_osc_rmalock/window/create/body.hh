// What a window is made of in one process: its memory, here and elsewhere, and the ways to the
// other ranks.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "fabric/hybrid.hh"
#include "network/neighbours.hh"
#include "network/remote.hh"
#include "rmalock_api.h"
#include "window/create/failures.hh"
#include "window/create/held_back.hh"
#include "window/create/memory.hh"
#include "window/create/plan.hh"
#include "window/create/segment.hh"
#include "window/create/regions.hh"
#include "window/create/stores.hh"
#include "window/create/window_name.hh"

namespace rmalock::window {

using Status = rmalock_status_t;

/// The lowest of a window's layers (window.hh).
class Body {
  public:
    Body(const Body&) = delete;
    Body& operator=(const Body&) = delete;

    /// This process's memory; null: it has none.
    void* base() const { return base_of(part(rank())); }
    Status shared_query(Rank rank, std::size_t& size, std::ptrdiff_t& disp_unit, void*& base) const;
    Status attach(void* base, std::size_t size);
    Status detach(const void* base);
    /// Whether the rank is on another node.
    bool is_far(Rank rank) const { return !fabric_.same_node(rank); }
    void wait_for(const ucx::Completion& completion);
    /// Whether no process of the window is known to have failed. `look`: runs the host's progress
    /// first, which hears of it.
    Status survives(bool look);
    /// One is about to be known to have failed.
    void await_failure();
    /// A call that its caller has found wrong.
    Status refuse(Status status, const char* call, Rank target, const char* what) const {
        return fail(status, call, target, "%s", what);
    }

  protected:
    /// Locks what several threads may change: epochs and regions. Never held while waiting.
    class Guard {
      public:
        explicit Guard(const Body& window) : mutex_(window.threads_ ? &window.mutex_ : nullptr) {
            if (mutex_ != nullptr)
                mutex_->lock();
        }
        ~Guard() {
            if (mutex_ != nullptr)
                mutex_->unlock();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;

      private:
        std::mutex* mutex_;
    };

    Body(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
         std::unique_ptr<network::Remote> remote);
    ~Body() = default;

    /// Reports "window …, rank …, <call>[ to rank …]: <what>" and returns `status`.
    __attribute__((format(printf, 5, 6))) Status fail(Status status, const char* call, Rank target,
                                                      const char* format, ...) const;

    /// Of a copy through the kernel; `error`: an errno value.
    Status copy_failed(const char* call, Rank target, std::uintptr_t address, int error) const;
    /// What this process has begun at a target, or at all, is complete there.
    void complete_at(Rank target);
    void complete_everywhere();
    /// What a call that has completed something returns: whether what was held has failed.
    Status copied() { return held_back_.failed() ? held_failed() : RMALOCK_OK; }
    /// DYNAMIC: what others have attached may have changed.
    void renew_regions() {
        if (regions_ != nullptr)
            regions_->renew();
    }
    /// This process is about to store to memory of this node, or to load from it.
    void order(Direction direction) {
        if (!threads_)
            direction == Direction::put ? stores.begun() : stores.before_load();
    }
    /// A flush, as far as this node is concerned.
    void finish_stores() { threads_ ? fabric::full_fence() : stores.flushed(); }
    /// Whether CPUs do all atomics on window memory, or the accumulate lock guards them.
    bool cpu_atomics() const { return fabric_.domain() == fabric::Domain::cpu; }

    WindowName named() const { return {name_, label_.c_str()}; }
    const char* name() const { return named().now(); }
    Rank rank() const { return comm_.rank; }
    const Part& part(Rank rank) const { return parts_[rank]; }
    void* base_of(const Part& part) const;

    [[gnu::noinline]] Status held_failed();
    /// In each wait for words, with the window.
    static void watch(void* window);

    const char* name_; ///< the program's, may be empty and may change
    const std::string label_;
    const rmalock_flavor_t flavor_;
    const rmalock_comm_t comm_;
    const bool threads_;

    Failures failures_;
    Segment segment_;
    Part* const parts_;                                     ///< in the segment, one per rank
    const std::unique_ptr<network::Remote> remote_;         ///< null: the window needs no network
    const std::unique_ptr<network::Neighbours> neighbours_; ///< where there is a network
    locks::WindowFabric fabric_;
    mutable std::mutex mutex_;         ///< see Guard
    std::unique_ptr<Regions> regions_; ///< DYNAMIC: what is attached, here and elsewhere
    HeldBack held_back_;
};

} // namespace rmalock::window
