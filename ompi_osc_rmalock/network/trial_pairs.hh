// Which processes try whether they reach each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "network/reach.hh"
#include "ucx_glue/opening.hh"

namespace rmalock::network {

/// Up to so many processes that stand for others, every two of different nodes try: a link may be
/// cut between any two hosts.
inline constexpr std::size_t kFewTry = 8;

/// What a process tells of itself before the trial.
struct Station {
    std::uint64_t process;    ///< rmalock_spec_t.process
    std::uint64_t peer;       ///< its name in the network; 0: its network is not open
    std::uint64_t transports; ///< a number for those it may take
    std::int32_t node;        ///< the lowest rank of the process's node
    AtomicsBy atomics;        ///< as far as the process knows
    ucx::Atomics::By told;    ///< what UCX tells there
    bool narrow;              ///< its atomics are of 32 bits, too
    bool has_room;            ///< of file descriptors, for connections to kFewTry processes
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
/// them. Where those are more than kFewTry, or one has no room, which nodes reach each other is
/// taken to be a matter of the wires, if their processes may take the same transports: if A reaches
/// B, and B reaches C, A reaches C. So a chain over the nodes tells, of one connection for each
/// node. Where transports differ that does not hold (B may have both kinds of network, A and C one
/// each): one more pair for every two kinds of process. There are as many kinds as the job has
/// kinds of host, or settings of UCX_TLS and UCX_NET_DEVICES.
std::vector<TrialPair> trial_pairs(std::span<const Station> stations);

} // namespace rmalock::network
