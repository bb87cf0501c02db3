// Memory for a copy that a call makes.
#pragma once

#include <cstddef>

namespace rmalock::window {

/// Aligned for any element. What a call gives back the next one takes: memory that the allocator has
/// returned to the system meanwhile would cost a page fault for each page, again each time.
class Scratch {
  public:
    /// What fewer bytes take comes from the allocator, and goes back to it; so does what more take.
    static constexpr std::size_t kLeastKept = 16U << 10, kMostKept = 4U << 20;
    /// How many pieces are kept for the process, at most: one call needs up to three.
    static constexpr std::size_t kPiecesKept = 4;

    /// Throws std::bad_alloc. The bytes have no value.
    explicit Scratch(std::size_t bytes);
    ~Scratch();
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    std::byte* get() const { return memory_; }

  private:
    std::byte* const memory_;
};

} // namespace rmalock::window
