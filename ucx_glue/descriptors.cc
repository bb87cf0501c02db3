#include "ucx_glue/descriptors.hh"

#include <dirent.h>
#include <sys/resource.h>

#include <cerrno>
#include <limits>

namespace rmalock::ucx {

namespace {

std::size_t soft_limit() {
    rlimit limit{};
    const bool is_one = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_one ? limit.rlim_cur : std::numeric_limits<std::size_t>::max();
}

} // namespace

/// To look takes a descriptor itself. Where there is none left for it, all are used.
Descriptors::Count Descriptors::count() {
    Count now{0, soft_limit()};
    DIR* const all = opendir("/proc/self/fd");
    if (all == nullptr) {
        now.used = errno == EMFILE ? now.limit : 0;
        return now;
    }
    while (const dirent* const entry = readdir(all))
        now.used += entry->d_name[0] != '.';
    --now.used; // that of the folder
    closedir(all);
    return now;
}

/// Others open some as well: the program, and UCX for connections that come in.
const Descriptors::Count& Descriptors::recent() {
    const Clock::time_point before = Clock::now();
    if (before < again_ && opened_ <= recent_.left() / 4 && soft_limit() == recent_.limit)
        return recent_;
    recent_ = count();
    opened_ = 0;
    const Clock::time_point after = Clock::now();
    again_ = after + kShare * (after - before);
    return recent_;
}

} // namespace rmalock::ucx
