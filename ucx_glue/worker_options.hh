// What a worker is told when it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ucx_glue/descriptors.hh"
#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// Handles an active message: its sender, its header, its data. Runs with the worker locked, in
/// any thread that runs progress, the progress thread included; never calls MPI, never waits. Both
/// ranges end with the call, and are not aligned.
using MessageHandler = void (*)(PeerId from, std::span<const std::byte> header,
                                std::span<const std::byte> data);

struct WorkerOptions {
    PeerId self = 0;
    /// Peers this process is expected to talk to (UCX chooses transports by it; equal on all
    /// ranks).
    std::size_t expected_peers = 2;
    /// Atomics of 32 bits too, unless that would have CPUs do those of 64.
    bool narrow_atomics = true;
    /// Puts, gets and posted atomics that are given to UCX at a time; more wait in queues. A
    /// few to each peer go in any case, so that one that does not serve holds up nobody else.
    std::size_t most_outstanding = 1024;
    MessageHandler handler = nullptr;
    /// No call waits for a TCP connection: UCX usually has the system wait, which gives up
    /// after two minutes. It fails, or is there, in a later progress().
    bool connects_in_progress = false;
    /// The destructor closes no endpoints, which takes the peers' answers: for peers that may
    /// go first, or do not answer, and all that is under way is wanted by nobody.
    bool ends_abruptly = false;
    /// Called with the worker locked after every round of progress, with whether anything
    /// happened in it: work that a handler put off. True: some of it is left, and arm() is to
    /// refuse sleep.
    bool (*after_progress)(bool any) = nullptr;
    /// When a peer goes, what is under way to it is lost, and nothing else (PeerLost). Else the
    /// first failure of whatever kind ends all waits.
    bool goes_on_without_peers = false;
    /// Called with the worker locked, once what was under way to the peer is lost.
    void (*lost)(PeerId peer) = nullptr;
    /// How errors call the peer that was introduced with this number.
    std::string (*name_of)(std::uint64_t number) = nullptr;
    /// Called with the worker locked when the limit of file descriptors is near, once.
    void (*descriptors_near)(const Descriptors::Count& now) = nullptr;
};

} // namespace rmalock::ucx
