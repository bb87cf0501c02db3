#include "window/create/held_back.hh"

#include <mutex>

#include "host.hh"

namespace rmalock::window {

/// Those of which something has been held. Progress looks at them, in any thread. What it is made of
/// needs no destructor: exit() may come before the last window goes.
class HeldBack::Windows {
  public:
    void add(HeldBack& one) {
        const std::lock_guard lock(mutex_);
        if (one.listed_.load(std::memory_order_relaxed))
            return;
        if (first_ == nullptr && host().call_progress != nullptr)
            host().call_progress();
        one.next_ = first_;
        first_ = &one;
        one.listed_.store(true, std::memory_order_relaxed);
    }
    void remove(HeldBack& one) {
        const std::lock_guard lock(mutex_);
        if (!one.listed_.load(std::memory_order_relaxed))
            return;
        HeldBack** at = &first_;
        while (*at != &one)
            at = &(*at)->next_;
        *at = one.next_;
        one.listed_.store(false, std::memory_order_relaxed);
    }
    void send() {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock)
            return;
        for (HeldBack* one = first_; one != nullptr; one = one->next_) {
            if (one->copies_.any())
                one->copies_.try_to_send_all();
            if (one->accumulates_.any())
                one->accumulates_.try_to_send_all();
        }
    }

  private:
    std::mutex mutex_;
    HeldBack* first_ = nullptr;
};

constinit HeldBack::Windows HeldBack::windows;
constinit std::atomic<std::size_t> HeldBack::holding{0};

void HeldBack::list() {
    windows.add(*this);
}

void HeldBack::drop() {
    windows.remove(*this);
    copies_.drop();
    accumulates_.drop();
}

/// Relaxed: a look that misses what another thread has held sends it the next time.
void HeldBack::send_of_all_windows() {
    if (holding.load(std::memory_order_relaxed) != 0)
        windows.send();
}

} // namespace rmalock::window
