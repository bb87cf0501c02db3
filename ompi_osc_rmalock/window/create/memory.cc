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
#include "window/create/kernel_copy.hh"
#include "window/create/stream.hh"

namespace rmalock::window {
namespace {

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
    KernelCopy kernel(direction, place.pid);
    const int error =
        for_each_run(origin_side, target_side,
                     [&](std::uintptr_t origin, std::uintptr_t offset, std::size_t bytes) {
                         return kernel.add(origin, place.address + offset, bytes);
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
