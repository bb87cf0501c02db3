#include "fabric/node_fence.hh"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace rmalock::fabric {

namespace {

bool membarrier(int command) {
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

} // namespace

bool join_node_fences() {
#if defined(__SANITIZE_THREAD__)
    return false; // ThreadSanitizer knows nothing of it
#else
    static const bool joined = membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) &&
                               membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
    return joined;
#endif
}

void fence_processes_of_node() {
    if (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED))
        return;
    // It worked when the process joined, and elements would be lost without.
    std::perror("rmalock: membarrier is refused by now");
    std::abort();
}

} // namespace rmalock::fabric
