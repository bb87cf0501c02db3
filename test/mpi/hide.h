// Processes that hide from each other, as those of containers without ptrace: segments of windows then need names.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// From here on processes may not look into each other's /proc.
static inline void hide(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct capabilities[2];
    if (syscall(SYS_capget, &header, capabilities) == 0) {
        capabilities[0].effective &= ~(1U << CAP_SYS_PTRACE);
        (void)syscall(SYS_capset, &header, capabilities);
    }
    prctl(PR_SET_DUMPABLE, 0);
}
