// The atomics that the worker does, as its callers ask for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ucx_glue/types.hh"

namespace rmalock::ucx {

class Peer;
class RemoteKey;

/// The atomics that return what was there before.
enum class Fetch { add, swap, compare_swap };

/// Those that rmalock uses, in the order in which a probe tries them.
enum class Atomic : std::uint8_t { fetch_add, swap, compare_swap, add };
constexpr std::size_t kAtomics = 4;
const char* name(Atomic kind);

/// What send_word() does at a peer.
enum class WordOp : std::uint64_t { add, store };

/// What is done to an element. A read only reads, from memory that may not be written to as well.
enum class ElementOp { read, add, swap, compare_swap };

/// An atomic on an element of data, of 4 or 8 bytes, naturally aligned.
struct ElementAtomic {
    ElementOp what = ElementOp::add;
    std::size_t bytes = 8;
    std::uint64_t operand = 0; ///< in its first bytes; compare_swap: what is expected
    /// Where to leave what was there; null: nowhere. compare_swap finds there what it is to store.
    /// It stays until the operation is complete.
    void* before = nullptr;
};

/// An atomic on a word, as Worker::fetch takes it.
struct FetchOfWord {
    Fetch what = Fetch::add;
    std::uint64_t operand = 0, desired = 0;
};

/// The same, and a read of words behind it.
struct FetchThenRead {
    FetchOfWord fetch;
    RemoteAddress read = 0;           ///< where the words lie, by the same key
    std::span<std::uint64_t> words{}; ///< where to leave what was read; may be empty
    /// A fence orders them: the same adapter does both. Where CPUs do the atomics, an adapter may
    /// have read before the message with the atomic is looked at.
    bool in_order = false;
    /// The atomic takes effect after all puts to the peer so far, which are complete at both sides
    /// in the end. Worker::orders_behind_puts says whether that can be.
    bool behind_puts = false;
};

/// An atomic on a word of a peer, and where to leave what was there before.
struct FetchOfPeer {
    Peer* peer;
    RemoteAddress address;
    const RemoteKey* key;
    FetchOfWord fetch;
    std::uint64_t* before;
};

} // namespace rmalock::ucx
