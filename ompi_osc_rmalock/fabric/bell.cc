#include "fabric/bell.hh"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace rmalock::fabric {

namespace {

/// Not the private kind: the processes map the word at addresses of their own.
long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value,
           const timespec* most = nullptr) {
    return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), what, value, most, nullptr,
                   0);
}

} // namespace

void Bell::wake_all(Dormitory* dormitory) {
    if (dormitory != nullptr)
        return dormitory->wake(sleepers_.exchange(0, std::memory_order_relaxed)); // marks, no more
    rings_.fetch_add(1, std::memory_order_seq_cst);
    futex(rings_, FUTEX_WAKE, INT_MAX);
}

/// A signal ends it early, like everything else that makes the caller look again.
void Bell::sleep_unless_rung(std::uint32_t rings, std::chrono::microseconds most) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
    const std::chrono::nanoseconds rest = most - seconds;
    const timespec bound{static_cast<time_t>(seconds.count()), static_cast<long>(rest.count())};
    futex(rings_, FUTEX_WAIT, rings, &bound);
}

} // namespace rmalock::fabric
