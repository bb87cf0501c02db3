// The ranks of a window, as the network needs them, and how each of them is reached.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/concept.hh"
#include "network/window_id.hh"
#include "ucx_glue/types.hh"

namespace rmalock::network {

using fabric::Rank;

/// What does atomics on words of other nodes; unknown until somebody has tried (reachability.cc).
enum class AtomicsBy : std::uint8_t { unknown, cpu, nic };

/// Put: from the origin to the target.
enum class Direction { put, get };

/// What people call a process, by rmalock_spec_t.process.
inline std::string name_of(std::uint64_t process) {
    return "rank " + std::to_string(static_cast<std::uint32_t>(process)) + " of MPI_COMM_WORLD";
}

/// A rank of a window, before anybody reaches it.
struct Endpoint {
    ucx::PeerId peer;      ///< the process's name in the network
    std::uint64_t process; ///< rmalock_spec_t.process
    std::int32_t node;     ///< the lowest rank of the process's node
    WindowId window;       ///< the window there
};

/// All ranks of a window.
struct Endpoints {
    Rank self;
    std::vector<Endpoint> all; ///< by rank

    Rank size() const { return static_cast<Rank>(all.size()); }
    const Endpoint& of(Rank rank) const { return all[static_cast<std::size_t>(rank)]; }
    const Endpoint& mine() const { return of(self); }
    bool is_far(Rank rank) const { return of(rank).node != mine().node; }
    bool is_first_of_node() const { return mine().node == self; }
};

/// How a rank is reached through the network. In memory that the processes of a node share, filled
/// in by the lowest rank of the node. The bytes of the two keys follow it.
struct Reach {
    ucx::PeerId peer;
    ucx::RemoteAddress state, memory; ///< in the address space of the rank
    WindowId window;
    std::uint16_t state_key, memory_key; ///< bytes
};

/// That of all ranks, each with room for its keys.
class ReachTable {
  public:
    ReachTable() = default;
    ReachTable(std::byte* first, std::size_t stride) : first_(first), stride_(stride) {}
    Reach& operator[](Rank rank) const {
        return *reinterpret_cast<Reach*>(first_ + static_cast<std::size_t>(rank) * stride_);
    }
    /// From one to the next.
    std::size_t stride() const { return stride_; }

  private:
    std::byte* first_ = nullptr;
    std::size_t stride_ = 0;
};

} // namespace rmalock::network
