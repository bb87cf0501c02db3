// What the accumulate family does to elements, on memory that this process can address.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "rmalock_api.h"

namespace rmalock::window {

using Kernel = rmalock_kernel_t;
using Kernels = rmalock_kernels_t;

/// The origin's elements that a kernel is to work on next.
struct Elements {
    const std::byte* operand;
    std::byte* result;

    void advance(std::size_t bytes) {
        operand += operand != nullptr ? bytes : 0;
        result += result != nullptr ? bytes : 0;
    }
};

/// Of the elements, while a kernel works on them: others may combine them at the same time, or
/// nobody touches them; then they may be misaligned, too.
enum class Sharing { shared, alone };

/// The kernels of an operation on a type; null: there are none.
const Kernels* kernels_for(const rmalock_element_t& element, rmalock_op_t op);
/// Null: there is none, since no atomic does it.
inline Kernel kernel_of(const Kernels& kernels, Sharing sharing) {
    return sharing == Sharing::alone ? kernels.alone : kernels.shared;
}

/// `size` is a power of two.
inline bool aligned(const std::byte* address, std::size_t size) {
    return (reinterpret_cast<std::uintptr_t>(address) & (size - 1)) == 0;
}

/// Whether a CPU's atomic can compare and swap it, where it is aligned.
constexpr bool can_swap(std::size_t size) {
    return std::has_single_bit(size) && size <= 8;
}
/// It can, and the place is aligned.
void atomic_compare_swap(std::byte* place, std::size_t size, const void* compare,
                         const void* desired, void* result);

} // namespace rmalock::window
