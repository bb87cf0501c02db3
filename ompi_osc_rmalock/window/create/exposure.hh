// What a process of a DYNAMIC window shows of its regions: words in its state, and for other nodes
// a table in its own memory. Both end with a key, whose room is the same in all processes of a
// window.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rmalock::window {

/// Where a process's tables are: in its state, written by its owner only. The version is odd while
/// the owner changes anything, here or in the tables. The key to the exposures follows it.
struct alignas(64) PublishedRegions {
    std::atomic<std::uint64_t> version;
    std::atomic<std::uint64_t> address; ///< of the first Region, in the owner's address space
    std::atomic<std::uint64_t> count;   ///< of regions
    std::uint64_t exposures;            ///< for other nodes: address of the first Exposure …
    std::uint64_t key_bytes;            ///< … and how many bytes the key to them has

    static constexpr std::size_t kWords = 5 * sizeof(std::uint64_t);
    static constexpr std::size_t bytes(std::size_t key_room) { return kWords + key_room; }
    std::byte* key() { return reinterpret_cast<std::byte*>(this) + kWords; }
    const std::byte* key() const { return reinterpret_cast<const std::byte*>(this) + kWords; }
};

/// A region as other nodes see it. The key to it follows.
struct Exposure {
    std::uint64_t begin, end;
    std::uint64_t key_bytes;

    static constexpr std::size_t bytes(std::size_t key_room) { return sizeof(Exposure) + key_room; }
    std::byte* key() { return reinterpret_cast<std::byte*>(this + 1); }
    std::span<const std::byte> key() const {
        return {reinterpret_cast<const std::byte*>(this + 1), key_bytes};
    }
};

} // namespace rmalock::window
