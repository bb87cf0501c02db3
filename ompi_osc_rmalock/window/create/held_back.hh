// What a window has put off of small operations on memory of the node that only the kernel reaches.
#pragma once

#include <atomic>
#include <cstddef>

#include "window/create/held_accumulates.hh"
#include "window/create/held_copies.hh"

namespace rmalock::window {

/// Small operations wait for others to the same target: until as many are held as go at once, until
/// what completes them, and until MPI runs progress. Puts and gets go in an order of their own,
/// accumulates in another.
///
/// What fails shows in the call that completes it.
class HeldBack {
  public:
    HeldBack() : copies_(holding, failure_), accumulates_(holding, failure_) {}
    ~HeldBack() { drop(); }
    HeldBack(const HeldBack&) = delete;
    HeldBack& operator=(const HeldBack&) = delete;

    /// Before an accumulate is held.
    void guard_by(ElementGate& gate) { accumulates_.guard_by(gate); }
    HeldCopies& copies() {
        be_listed();
        return copies_;
    }
    HeldAccumulates& accumulates() {
        be_listed();
        return accumulates_;
    }
    bool any() const { return copies_.any() || accumulates_.any(); }
    void send_copies(Rank target) {
        if (copies_.any()) [[unlikely]]
            copies_.send(target);
    }
    // The caller holds no accumulate lock.
    void send_accumulates(Rank target) {
        if (accumulates_.any()) [[unlikely]]
            accumulates_.send(target);
    }
    void send(Rank target) {
        send_copies(target);
        send_accumulates(target);
    }
    void send_all() {
        if (copies_.any()) [[unlikely]]
            copies_.send_all();
        if (accumulates_.any()) [[unlikely]]
            accumulates_.send_all();
    }
    /// Forgets it. Progress looks no more.
    void drop();
    bool failed() const { return failure_.any(); }
    /// The first one since the last call.
    HeldFailure::Failure failure() { return failure_.take(); }
    /// Of all windows of the process, but for those that another thread is at.
    static void send_of_all_windows();

  private:
    class Windows;
    static Windows windows;
    static std::atomic<std::size_t> holding; ///< batches that are not empty, of all windows

    void be_listed() {
        if (!listed_.load(std::memory_order_relaxed)) [[unlikely]]
            list();
    }
    void list();

    HeldBack* next_ = nullptr; ///< of the process; under the mutex of Windows
    /// Among them; likewise. Relaxed: list() looks again.
    std::atomic<bool> listed_{false};
    HeldFailure failure_;
    HeldCopies copies_;
    HeldAccumulates accumulates_;
};

} // namespace rmalock::window
