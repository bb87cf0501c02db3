#include "window/create/failures.hh"

#include "host.hh"

namespace rmalock::window {

bool Failures::seen(const char* window) {
    if (!tolerated())
        return false;
    if (first() >= 0)
        return true;
    const Rank failed = comm_.failed(comm_.handle, &looked_at_);
    Rank none = -1;
    if (failed < 0 || !first_.compare_exchange_strong(none, failed, std::memory_order_relaxed))
        return failed >= 0;
    report(1, "window '%s', rank %d: rank %d has failed; the window can only be freed", window,
           comm_.rank, failed);
    return true;
}

} // namespace rmalock::window
