#include "window/host.hh"

#include <cstdarg>
#include <cstdio>

namespace rmalock::window {
namespace {

rmalock_host_t the_host{};

} // namespace

const rmalock_host_t& host() {
    return the_host;
}
void set_host(const rmalock_host_t& host) {
    the_host = host;
    detail::threads = host.threads;
}

void report(int level, const char* format, ...) {
    if (level > the_host.verbosity || the_host.report == nullptr)
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    the_host.report(level, text);
}

} // namespace rmalock::window
