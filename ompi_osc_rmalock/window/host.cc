#include "window/host.hh"

#include <atomic>
#include <cstdarg>
#include <cstdio>

namespace rmalock::window {
namespace {

rmalock_host_t the_host{};
std::atomic<int> the_holds{0};

void say(int level, const char* format, va_list arguments) {
    char text[2048];
    std::vsnprintf(text, sizeof text, format, arguments);
    if (the_host.report != nullptr)
        the_host.report(level, text);
}

} // namespace

const rmalock_host_t& host() {
    return the_host;
}
void set_host(const rmalock_host_t& host) {
    the_host = host;
}

void report(int level, const char* format, ...) {
    if (level > the_host.verbosity)
        return;
    va_list arguments;
    va_start(arguments, format);
    say(level, format, arguments);
    va_end(arguments);
}

void tell(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(1, format, arguments);
    va_end(arguments);
}

bool process_holds_any() {
    return the_holds.load(std::memory_order_relaxed) > 0;
}

void count_process_hold(int change) {
    if (the_host.threads)
        the_holds.fetch_add(change, std::memory_order_relaxed);
    else // an atomic read-modify-write would cost as much as taking the lock
        the_holds.store(the_holds.load(std::memory_order_relaxed) + change,
                        std::memory_order_relaxed);
}

} // namespace rmalock::window
