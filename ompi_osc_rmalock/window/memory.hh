// Where the window memory of each rank is, and how this process reaches it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/concept.hh"
#include "rmalock_api.h"

namespace rmalock::window {

using fabric::Rank;

/// What every process tells about its part of a window. It lies in the segment, so that it costs
/// each node, not each process, memory in P.
struct alignas(64) Part {
    /// mapped: offset in the segment; else: in the owner's address space, if it is on this node, or
    /// 0
    std::uint64_t address;
    std::uint64_t size; ///< bytes
    std::int32_t disp_unit;
    std::int32_t pid; ///< of the owner
    bool mapped;      ///< the memory is in the segment
};
static_assert(sizeof(Part) == 64);

/// One place in a target's memory.
struct Place {
    std::byte* direct = nullptr; ///< where this process can load and store it; or null
    /// Through the kernel: in the owner's address space. Through the network: bytes from the start
    /// of the owner's memory; in DYNAMIC windows an address.
    std::uint64_t address = 0;
    pid_t pid = 0;        ///< through the kernel: of the owner
    bool network = false; ///< on another node
};

enum class Direction { put, get };

/// A contiguous range as one side of a copy.
inline rmalock_layout_t plain_layout(const void* base, std::size_t bytes) {
    rmalock_layout_t layout{};
    layout.contiguous = true;
    layout.base = reinterpret_cast<std::uintptr_t>(base);
    layout.bytes = bytes;
    return layout;
}

/// Copies between this process's memory and memory it maps. The two may overlap: an origin buffer
/// may be the target's memory itself.
inline void copy_mapped(Direction direction, void* origin, std::byte* target, std::size_t bytes) {
    direction == Direction::put ? std::memmove(target, origin, bytes)
                                : std::memmove(origin, target, bytes);
}

/// Copies between the origin's side and `place` (displacement 0 of the target's side), which is on
/// this node. Complete on return. Returns 0 or an errno of process_vm_readv or process_vm_writev.
int copy(Direction direction, const rmalock_layout_t& origin_side,
         const rmalock_layout_t& target_side, const Place& place);

} // namespace rmalock::window
