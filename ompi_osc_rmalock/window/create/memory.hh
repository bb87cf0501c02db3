// Where the window memory of each rank is, and how this process reaches it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "fabric/concept.hh"
#include "network/reach.hh"
#include "rmalock_api.h"
#include "window/create/copy_once.h"

namespace rmalock::window {

using fabric::Rank;
using network::Direction;

/// What every process tells about its part of a window. It lies in the segment, so that it costs
/// each node, not each process, memory in P.
struct alignas(64) Part {
    /// An offset at which no rank has memory: the segment begins with the parts.
    static constexpr std::uint64_t kNowhere = 0;
    /// mapped: offset in the segment, or kNowhere; else: in the owner's address space, if it is on
    /// this node, or 0
    std::uint64_t address;
    std::uint64_t size; ///< bytes
    std::int64_t disp_unit;
    std::int32_t pid; ///< of the owner
    bool mapped;      ///< the memory is in the segment
};
static_assert(sizeof(Part) == 64);

/// The sizes of elements that the network's atomics change (acc_single_intrinsic). An element has
/// one owner for all origins: CPUs' sums, and those under the lock, would lose the adapter's.
struct IntrinsicSizes {
    bool four = false, eight = false;
    bool has(std::size_t size) const { return (size == 4 && four) || (size == 8 && eight); }
};

/// An address in a target's memory.
struct TargetAddress {
    /// Where this process can load and store it; else null. In DYNAMIC windows displacement 0 of its own
    /// memory, from which types with absolute addresses count, is null as well.
    std::byte* direct = nullptr;
    /// Through the kernel: in the owner's address space. Through the network: bytes from the start
    /// of the owner's memory; in DYNAMIC windows an address.
    std::uint64_t address = 0;
    pid_t pid = 0;        ///< through the kernel: of the owner; else 0
    bool network = false; ///< on another node
};

/// A contiguous range as one side of a copy.
inline rmalock_layout_t contiguous_layout(const void* base, std::size_t bytes) {
    rmalock_layout_t layout{};
    layout.contiguous = true;
    layout.base = reinterpret_cast<std::uintptr_t>(base);
    layout.bytes = bytes;
    return layout;
}

/// Copies an element whose place in the target's memory is aligned, at one go; else returns false.
/// Relaxed: puts and gets are ordered by flushes (stores.hh) and by the words of locks.
template <class Element>
bool copy_element(Direction direction, void* origin, std::byte* target) {
    if (reinterpret_cast<std::uintptr_t>(target) % sizeof(Element) != 0)
        return false;
    const std::atomic_ref<Element> place(*reinterpret_cast<Element*>(target));
    Element element;
    if (direction == Direction::put) {
        std::memcpy(&element, origin, sizeof element);
        place.store(element, std::memory_order_relaxed);
    } else {
        element = place.load(std::memory_order_relaxed);
        std::memcpy(origin, &element, sizeof element);
    }
    return true;
}

/// Copies between this process's memory and memory it maps. The two may overlap: an origin buffer
/// may be the target's memory itself.
///
/// Elements are stored once, and aligned ones at one go.
inline void copy_mapped(Direction direction, void* origin, std::byte* target, std::size_t bytes) {
    if (bytes == 8 && copy_element<std::uint64_t>(direction, origin, target))
        return;
    if (bytes == 4 && copy_element<std::uint32_t>(direction, origin, target))
        return;
    if (bytes == 2 && copy_element<std::uint16_t>(direction, origin, target))
        return;
    direction == Direction::put ? rmalock_copy(target, origin, bytes)
                                : rmalock_copy(origin, target, bytes);
}

/// Copies between the origin's side and `place` (displacement 0 of the target's side), which is on
/// this node. Complete on return. Returns 0 or an errno of process_vm_readv or process_vm_writev.
int copy(Direction direction, const rmalock_layout_t& origin_side,
         const rmalock_layout_t& target_side, const TargetAddress& place);

} // namespace rmalock::window
