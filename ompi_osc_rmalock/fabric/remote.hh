// The verbs on words of other nodes, as fabric/hybrid.hh needs them; the promises are the
// concept's.
#pragma once

#include <span>

#include "fabric/concept.hh"

namespace rmalock::fabric {

/// Words that this process reaches through the network, those of its own node included
/// (Domain::nic).
class RemoteWords {
  public:
    virtual ~RemoteWords() = default;
    virtual Value get(Word word) = 0;
    virtual Value fetch_add(Word word, Value operand) = 0;
    virtual Value swap(Word word, Value desired) = 0;
    virtual Value compare_swap(Word word, Value expected, Value desired) = 0;
    virtual Value fetch_then_get(const Rmw& rmw, Slot first, std::span<Value> out) = 0;
    virtual void put(Word word, Value value) = 0;
    virtual void add(Word word, Value operand) = 0;
    virtual Value fetch_add_after_data(Word word, Value operand) = 0;
    virtual void deliver(Rank rank) = 0;
    /// Reads `out.size()` words of `rank`.
    struct Scan {
        Rank rank;
        std::span<Value> out;
    };
    virtual void scan(std::span<const Scan> scans, Slot first, Slot stride) = 0;
    /// A read-modify-write, and where what it returns goes.
    struct Fetch {
        Rmw rmw;
        Value* out;
    };
    virtual void fetch_each(std::span<const Fetch> fetches) = 0;
    virtual void flush(Rank rank) = 0;
    virtual void flush_all() = 0; ///< of words; data on their way to others do not hold it up
};

} // namespace rmalock::fabric
