#include "window/create/memory.hh"

#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "together.hh"
#include "window/create/scratch.hh"
#include "window/create/stream.hh"

namespace rmalock::window {
namespace {

/// Collects runs and moves them with one system call for many.
///
/// The kernel pins the target's pages anew for each run there, which takes as long as to copy some
/// thousand bytes. So runs that follow one another there are one, whatever they are at the origin;
/// and a get reads what lies between runs as well, where that is little.
class KernelCopy {
  public:
    KernelCopy(Direction direction, const TargetAddress& place)
        : direction_(direction), place_(place) {}

    int add(std::uintptr_t origin, std::uintptr_t offset, std::size_t bytes) {
        while (bytes != 0) {
            const std::size_t now = std::min(bytes, kMostBytes - bytes_);
            mine_[runs_++] = {reinterpret_cast<void*>(origin), now};
            add_theirs(place_.address + offset, now);
            bytes_ += now;
            origin += now;
            offset += now;
            bytes -= now;
            if (runs_ == kMostRuns || bytes_ == kMostBytes)
                if (const int error = flush())
                    return error;
        }
        return 0;
    }

    int flush() {
        if (runs_ == 0)
            return 0;
        const int error = reads_span() ? 0 : move_runs();
        runs_ = their_runs_ = bytes_ = 0;
        return error;
    }

  private:
    static constexpr std::size_t kMostRuns = 256;
    static constexpr std::size_t kMostBytes = std::size_t{1}
                                              << 30; // the kernel moves 2 GiB at most
    static constexpr std::size_t kBytesWorthARun = 2048;

    static std::uintptr_t begin_of(const iovec& run) {
        return reinterpret_cast<std::uintptr_t>(run.iov_base);
    }
    static std::uintptr_t end_of(const iovec& run) { return begin_of(run) + run.iov_len; }

    void add_theirs(std::uintptr_t address, std::size_t bytes) {
        if (their_runs_ != 0 && end_of(theirs_[their_runs_ - 1]) == address)
            theirs_[their_runs_ - 1].iov_len += bytes;
        else
            theirs_[their_runs_++] = {reinterpret_cast<void*>(address), bytes};
    }

    int move_runs() const {
        const auto move = direction_ == Direction::put ? process_vm_writev : process_vm_readv;
        const ssize_t moved = move(place_.pid, mine_.data(), runs_, theirs_.data(), their_runs_, 0);
        return moved == static_cast<ssize_t>(bytes_) ? 0
               : moved < 0                           ? errno
                           : EFAULT; // short: a page behind the first is missing
    }

    /// False: nothing was read, since it is no get, would not pay, or there is no memory in between.
    bool reads_span() {
        if (direction_ != Direction::get || their_runs_ == 1)
            return false;
        std::uintptr_t begin = begin_of(theirs_[0]), end = 0;
        for (std::size_t i = 0; i < their_runs_; ++i) {
            begin = std::min(begin, begin_of(theirs_[i]));
            end = std::max(end, end_of(theirs_[i]));
        }
        if (end - begin > bytes_ + their_runs_ * kBytesWorthARun)
            return false;
        const Scratch span(end - begin);
        const iovec here{span.get(), end - begin};
        const iovec there{reinterpret_cast<void*>(begin), end - begin};
        if (process_vm_readv(place_.pid, &here, 1, &there, 1, 0) !=
            static_cast<ssize_t>(end - begin))
            return false;
        scatter(begin, span.get());
        return true;
    }

    /// From a copy of what begins at the target's address `begin`.
    void scatter(std::uintptr_t begin, const std::byte* span) const {
        std::size_t run = 0, at = 0; // of theirs
        for (std::size_t i = 0; i < runs_; ++i) {
            if (at == theirs_[run].iov_len) {
                ++run;
                at = 0;
            }
            const std::byte* const from = span + (begin_of(theirs_[run]) - begin) + at;
            std::memcpy(mine_[i].iov_base, from, mine_[i].iov_len); // within one of theirs
            at += mine_[i].iov_len;
        }
    }

    Direction direction_;
    const TargetAddress& place_;
    std::array<iovec, kMostRuns> mine_, theirs_;
    std::size_t runs_ = 0, their_runs_ = 0, bytes_ = 0;
};

/// What peers read to see whether they can.
struct Beacon {
    std::uint64_t value[2];
};
struct BeaconAddress {
    std::int64_t pid, node;
    std::uint64_t address;
    Beacon copy;
};

const Beacon& beacon() {
    static const Beacon the_beacon = [] {
        Beacon b{};
        // Random, so that a process of another PID namespace with the same number is not taken for
        // the peer. Without randomness the answer is "not reachable".
        if (getrandom(&b, sizeof b, 0) != sizeof b)
            b = Beacon{};
        return b;
    }();
    return the_beacon;
}

bool reads(const BeaconAddress& peer) {
    Beacon seen{};
    const iovec mine{&seen, sizeof seen};
    const iovec theirs{reinterpret_cast<void*>(peer.address), sizeof seen};
    const auto pid = static_cast<pid_t>(peer.pid);
    return process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == sizeof seen && seen.value[0] != 0 &&
           std::memcmp(&seen, &peer.copy, sizeof seen) == 0;
}

} // namespace

int copy(Direction direction, const rmalock_layout_t& origin_side,
         const rmalock_layout_t& target_side, const TargetAddress& place) {
    if (place.pid == 0) {
        const auto start = reinterpret_cast<std::uintptr_t>(place.direct);
        return for_each_run(origin_side, target_side,
                            [&](std::uintptr_t origin, std::uintptr_t offset, std::size_t bytes) {
                                copy_mapped(direction, reinterpret_cast<void*>(origin),
                                            reinterpret_cast<std::byte*>(start + offset), bytes);
                                return 0;
                            });
    }
    KernelCopy kernel(direction, place);
    const int error =
        for_each_run(origin_side, target_side,
                     [&](std::uintptr_t origin, std::uintptr_t offset, std::size_t bytes) {
                         return kernel.add(origin, offset, bytes);
                     });
    return error != 0 ? error : kernel.flush();
}

} // namespace rmalock::window

extern "C" rmalock_status_t rmalock_probe_peer_memory(const rmalock_comm_t* comm, bool* reachable) {
    using namespace rmalock::window;
    const BeaconAddress mine{getpid(), comm->node, reinterpret_cast<std::uint64_t>(&beacon()),
                             beacon()};
    return rmalock::together(*comm, [&] {
        std::vector<BeaconAddress> all(static_cast<std::size_t>(comm->size));
        if (comm->allgather(comm->handle, &mine, all.data(), sizeof mine) != 0)
            return RMALOCK_ERR_COMM;
        all.erase(all.begin() + comm->rank);
        // Those of other nodes are reached through the network.
        std::erase_if(all, [&](const BeaconAddress& peer) { return peer.node != comm->node; });
        *reachable = std::all_of(all.begin(), all.end(), reads);
        return RMALOCK_OK;
    });
}
