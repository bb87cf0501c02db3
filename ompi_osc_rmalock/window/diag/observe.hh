// Acquiring and releasing a window's lock, observed. Inline: observing costs a few instructions,
// and a call would cost more.
#pragma once

#include "host.hh"
#include "window/window.hh"

namespace rmalock::window {

/// Counts what `acquire` acquires, and how long the thread waited for it; publishes both if there
/// is a watchdog.
template <class Acquire>
[[gnu::always_inline]] inline void Window::observe(Lock lock, Acquire acquire) {
    fabric_.waits().times = 0;
    if (watch_ != nullptr) [[unlikely]] {
        const Watch::Await await(*watch_, lock);
        acquire();
    } else {
        acquire();
    }
    acquisitions_.acquired(lock.mode);
    if (fabric_.waits().times != 0) [[unlikely]]
        acquisitions_.waited(lock.mode, fabric_.waits().nanoseconds);
}

inline locks::Hold Window::acquire(Rank target, bool exclusive) {
    locks::Hold hold;
    const bool polite = exclusive && courteous_ && fabric_.same_node(target);
    if (polite) [[unlikely]]
        courtesy_.before(target, lock_->most_in_a_row(), fabric_.waiter(),
                         [&] { return lock_->is_taken(target, true); });
    observe({exclusive ? Mode::exclusive : Mode::shared, target},
            [&] { hold = lock_->acquire(target, exclusive); });
    if (polite) [[unlikely]]
        courtesy_.after(target, std::chrono::nanoseconds(
                                    fabric_.waits().times != 0 ? fabric_.waits().nanoseconds : 0));
    return hold;
}

inline void Window::acquire_all() {
    observe({Mode::all}, [&] { lock_->acquire_all(); });
}

inline void Window::release(Rank target, bool exclusive, locks::Hold hold) {
    if (watch_ != nullptr) [[unlikely]]
        watch_->let_go({exclusive ? Mode::exclusive : Mode::shared, target});
    lock_->release(target, exclusive, hold);
}

inline void Window::release_all() {
    if (watch_ != nullptr) [[unlikely]]
        watch_->let_go({Mode::all});
    lock_->release_all();
}

} // namespace rmalock::window
