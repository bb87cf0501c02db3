// A set of words in process memory, and handles of the shipped CPU verbs on them, one per thread.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

#include "fabric/cpu.hh"
#include "fabric/layout.hh"

namespace rmalock::test {

/// The verbs of one memory, of processes that are told to be on nodes of two successive ranks.
struct NodesOfTwo : fabric::CpuFabric {
    NodesOfTwo(fabric::CpuFabric all) : CpuFabric(all) {} // NOLINT: it stands for it
    bool same_node(fabric::Rank rank) const { return rank / 2 == self() / 2; }
};

/// The same, where all that asks takes the atomics for those of adapters.
template <class F>
struct InNic : F {
    using F::F;
    fabric::Domain domain() const { return fabric::Domain::nic; }
};

/// Words for `ranks` ranks with `slots` slots each, zeroed.
class ThreadWords {
  public:
    ThreadWords(fabric::Rank ranks, fabric::Slot slots)
        : bell_(fabric::line(slots / fabric::kWordsPerLine + 1)),
          stride_(fabric::bytes_of(bell_ + 1)), size_(ranks),
          memory_(new (std::align_val_t{fabric::kCacheLine})
                      std::byte[stride_ * static_cast<std::size_t>(ranks)]{}) {}

    fabric::WordSpace space() const { return {memory_.get(), stride_, size_, bell_}; }

    /// The fabric of one rank. Threads outnumber cores in tests, so waits yield at once, and some
    /// of them end in sleep.
    fabric::CpuFabric fabric(fabric::Rank self) const {
        return {space(), self,
                fabric::Waiter{
                    .progress = nullptr, .spins = 10, .yield = true, .polls_before_sleep = 20}};
    }

  private:
    struct Delete {
        void operator()(std::byte* memory) const {
            ::operator delete[](memory, std::align_val_t{fabric::kCacheLine});
        }
    };
    fabric::Slot bell_; ///< behind the slots
    std::size_t stride_;
    fabric::Rank size_;
    std::unique_ptr<std::byte[], Delete> memory_;
};

} // namespace rmalock::test
