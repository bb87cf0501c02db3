// What MPI provides to the core, and how the core speaks to people.
#pragma once

#include <atomic>

#include "rmalock_api.h"

namespace rmalock::window {

/// The host given to rmalock_init.
const rmalock_host_t& host();
void set_host(const rmalock_host_t& host);

/// Formats and reports a message, unless the verbosity leaves it out. Level 0: an error.
__attribute__((format(printf, 2, 3))) void report(int level, const char* format, ...);

/// The same for what somebody has asked to be told, whatever the verbosity; no error.
__attribute__((format(printf, 1, 2))) void tell(const char* format, ...);

/// Whether this process holds a lock, of any of its windows, lock_all included: such a process must
/// not be made to wait behind fairness (locks/all_gate.hh, R4).
inline bool process_holds_any();
namespace detail {
inline std::atomic<int> holds{0};
inline bool threads = false; ///< what the host says
} // namespace detail

inline bool process_holds_any() {
    return detail::holds.load(std::memory_order_relaxed) > 0;
}

/// Counts a lock taken (+1) or released (-1). `threads`: several may do so at a time.
inline void count_process_hold(int change, bool threads = detail::threads) {
    if (threads)
        detail::holds.fetch_add(change, std::memory_order_relaxed);
    else // an atomic read-modify-write would cost as much as taking the lock
        detail::holds.store(detail::holds.load(std::memory_order_relaxed) + change,
                            std::memory_order_relaxed);
}

} // namespace rmalock::window
