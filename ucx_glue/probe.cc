// Whether an atomic is answered by itself: without a call by which its target serves others.
#include <array>

#include "ucx_glue/callbacks.hh"

namespace rmalock::ucx {

namespace {

constexpr unsigned kPolls = 1000; ///< at least: the system may have taken the core away meanwhile

} // namespace

const char* name(Atomic kind) {
    static constexpr std::array<const char*, kAtomics> kNames{"fetch-add", "swap", "compare-swap",
                                                              "add"};
    return kNames[static_cast<std::size_t>(kind)];
}

/// An add that fetches nothing is complete when a flush behind it is.
bool Worker::answers(Peer& peer, Atomic kind, RemoteAddress address, const RemoteKey& key,
                     std::chrono::milliseconds patience) {
    const auto in_time = [&](auto&& done) {
        const Clock::time_point end = Clock::now() + patience;
        for (unsigned polls = 0; !done() && (polls < kPolls || Clock::now() < end); ++polls)
            progress();
        return done();
    };
    if (kind == Atomic::add) {
        post_add(peer, address, key, 1);
        // Relaxed: this thread has posted it.
        const Goal goal{&peer, peer.posted_.load(std::memory_order_relaxed), 0};
        Lock lock = locked();
        const bool begun = begin_flush(goal);
        lock.unlock();
        return in_time([&] { return begun && goal.reached(); });
    }
    const Fetch what = kind == Atomic::fetch_add ? Fetch::add
                       : kind == Atomic::swap    ? Fetch::swap
                                                 : Fetch::compare_swap;
    Lock lock = locked();
    const Operation& operation = begin_fetch(peer, {what, 0, 1}, address, key);
    lock.unlock();
    // It stays out of the free list: UCX may write to it later.
    return in_time([&] { return operation.done.load(std::memory_order_acquire); });
}

} // namespace rmalock::ucx
