#include "host.hh"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace rmalock {
namespace {

rmalock_host_t the_host{};

void pass_on(int level, const char* format, va_list arguments) {
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
    pass_on(level, format, arguments);
    va_end(arguments);
}

void say(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pass_on(1, format, arguments);
    va_end(arguments);
}

} // namespace rmalock

extern "C" rmalock_status_t rmalock_lacks_memory(const rmalock_comm_t* comm) {
    if (comm->size == 1)
        return RMALOCK_ERR_NO_MEM;
    rmalock::report(0, "rank %d has no memory for a window of %d ranks: the job ends", comm->rank,
                    comm->size);
    std::abort();
}
