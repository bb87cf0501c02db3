// Acquiring and releasing a window's lock, observed. Inline: observing costs a few instructions,
// and a call would cost more.
#pragma once

#include "window/host.hh"
#include "window/window.hh"

namespace rmalock::window {

/// Counts what `acquire` acquires, and how long the thread waited for it.
template <class Acquire>
[[gnu::always_inline]] inline void Window::observe(Mode mode, Acquire acquire) {
    fabric_.waits().times = 0;
    acquire();
    acquisitions_.acquired(mode);
    if (fabric_.waits().times != 0) [[unlikely]]
        acquisitions_.waited(mode, fabric_.waits().nanoseconds);
}

inline locks::Hold Window::acquire(Rank target, bool exclusive) {
    locks::Hold hold;
    observe(exclusive ? Mode::exclusive : Mode::shared,
            [&] { hold = lock_->acquire(target, exclusive, process_holds_any()); });
    return hold;
}

inline void Window::acquire_all() {
    observe(Mode::all, [&] { lock_->acquire_all(process_holds_any()); });
}

inline void Window::release(Rank target, bool exclusive, locks::Hold hold) {
    lock_->release(target, exclusive, hold);
}

inline void Window::release_all() {
    lock_->release_all();
}

} // namespace rmalock::window
