// Whether processes reach each other through the network: tried out before a window relies on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "network/reach.hh"
#include "rmalock_api.h"

namespace rmalock::network {

/// What a process tells of itself before the trial.
struct Station {
    std::uint64_t process;    ///< rmalock_spec_t.process
    std::uint64_t peer;       ///< its name in the network; 0: its network is not open
    std::uint64_t transports; ///< a number for those it may take
    std::int32_t node;        ///< the lowest rank of the process's node
    AtomicsBy atomics;        ///< as far as the process knows
};

/// Two ranks that try to reach each other.
struct TrialPair {
    Rank asks, answers; ///< the first one posts the atomic
    bool tries_atomics; ///< finds out, too, whether network adapters do atomics
    /// Which of the pairs of either rank this is, from 0.
    std::size_t place_at_asks, place_at_answers;
    bool operator==(const TrialPair&) const = default;
};

/// A few pairs that stand for all; stations by rank.
///
/// Processes of one node that may take the same transports are alike: the first one stands for
/// them. On nodes whose processes may take the same transports, which processes reach each other is
/// taken to be a matter of the wires: if A reaches B, and B reaches C, A reaches C. So a chain over
/// the nodes tells, of one connection for each node. Where transports differ that does not hold (B
/// may have both kinds of network, A and C one each): one more pair for every two kinds of process.
/// There are as many kinds as the job has kinds of host, or settings of UCX_TLS and
/// UCX_NET_DEVICES.
std::vector<TrialPair> trial_pairs(std::span<const Station> stations);

/// Collective: tries it, and finds out what does atomics, if that is not known; progress threads
/// that are wanted then start. Processes by rank. `reached` becomes the same for all; `why` what
/// one of those that failed has to say, for all of them, and stays as it is elsewhere.
rmalock_status_t try_to_reach(const rmalock_comm_t& comm, std::span<const std::uint64_t> processes,
                              bool& reached, std::string& why);

} // namespace rmalock::network
