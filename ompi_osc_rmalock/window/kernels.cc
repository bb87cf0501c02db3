// What the accumulate family does to elements, on memory that this process can address.
#include "window/kernels.hh"

#include <array>
#include <atomic>
#include <bit>
#include <complex>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <utility>

namespace rmalock::window {
namespace {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <rmalock_op_t kOp, class T>
constexpr bool defined() {
    switch (kOp) {
    case RMALOCK_OP_REPLACE:
    case RMALOCK_OP_NO_OP:
        return true;
    case RMALOCK_OP_SUM:
    case RMALOCK_OP_PROD:
        return !std::same_as<T, bool>;
    case RMALOCK_OP_MAX:
    case RMALOCK_OP_MIN:
        return Integer<T> || std::floating_point<T>;
    case RMALOCK_OP_LAND:
    case RMALOCK_OP_LOR:
    case RMALOCK_OP_LXOR:
        return std::integral<T>;
    case RMALOCK_OP_BAND:
    case RMALOCK_OP_BOR:
    case RMALOCK_OP_BXOR:
        return Integer<T>;
    case RMALOCK_OP_OTHER:
        return false;
    }
    return false;
}

/// target op operand. Integers wrap: they are computed as 64-bit unsigned ones.
template <rmalock_op_t kOp, class T>
T combined(T target, T operand) {
    if constexpr (kOp == RMALOCK_OP_REPLACE)
        return operand;
    else if constexpr (kOp == RMALOCK_OP_NO_OP)
        return target;
    else if constexpr (kOp == RMALOCK_OP_SUM && Integer<T>)
        return static_cast<T>(static_cast<std::uint64_t>(target) +
                              static_cast<std::uint64_t>(operand));
    else if constexpr (kOp == RMALOCK_OP_SUM)
        return target + operand;
    else if constexpr (kOp == RMALOCK_OP_PROD && Integer<T>)
        return static_cast<T>(static_cast<std::uint64_t>(target) *
                              static_cast<std::uint64_t>(operand));
    else if constexpr (kOp == RMALOCK_OP_PROD)
        return target * operand;
    else if constexpr (kOp == RMALOCK_OP_MAX)
        return target > operand ? target : operand;
    else if constexpr (kOp == RMALOCK_OP_MIN)
        return target < operand ? target : operand;
    else if constexpr (kOp == RMALOCK_OP_LAND)
        return static_cast<T>(target && operand);
    else if constexpr (kOp == RMALOCK_OP_LOR)
        return static_cast<T>(target || operand);
    else if constexpr (kOp == RMALOCK_OP_LXOR)
        return static_cast<T>(!target != !operand);
    else if constexpr (kOp == RMALOCK_OP_BAND)
        return static_cast<T>(target & operand);
    else if constexpr (kOp == RMALOCK_OP_BOR)
        return static_cast<T>(target | operand);
    else
        return static_cast<T>(target ^ operand);
}

/// Does it atomically; returns the value before.
template <rmalock_op_t kOp, class T>
T fetch_combine(T& target, T operand) {
    std::atomic_ref<T> element(target);
    if constexpr (kOp == RMALOCK_OP_NO_OP)
        return element.load();
    else if constexpr (kOp == RMALOCK_OP_REPLACE)
        return element.exchange(operand);
    else if constexpr (kOp == RMALOCK_OP_SUM && Integer<T>)
        return element.fetch_add(operand);
    else {
        T seen = element.load();
        while (!element.compare_exchange_weak(seen, combined<kOp>(seen, operand)))
            ;
        return seen;
    }
}

template <rmalock_op_t kOp, class T>
void kernel(void* target, const void* operand_bytes, void* result_bytes, std::size_t count) {
    const auto* const operand = static_cast<const std::byte*>(operand_bytes);
    auto* const result = static_cast<std::byte*>(result_bytes);
    for (std::size_t i = 0; i < count; ++i) {
        T mine{};
        if (operand != nullptr)
            std::memcpy(&mine, operand + i * sizeof(T), sizeof(T));
        const T before = fetch_combine<kOp>(static_cast<T*>(target)[i], mine);
        if (result != nullptr)
            std::memcpy(result + i * sizeof(T), &before, sizeof(T));
    }
}

constexpr std::size_t kOps = RMALOCK_OP_OTHER;
using Kernels = std::array<Kernel, kOps>;

template <class T, std::size_t... kOp>
constexpr Kernels kernels_of(std::index_sequence<kOp...>) {
    Kernels all{};
    (
        [&] {
            constexpr auto op = static_cast<rmalock_op_t>(kOp);
            if constexpr (defined<op, T>())
                all[kOp] = kernel<op, T>;
        }(),
        ...);
    return all;
}

template <class T>
constexpr Kernels kKernels = kernels_of<T>(std::make_index_sequence<kOps>());

template <class T1, class T2, class T4, class T8>
const Kernels* by_size(std::uint32_t size) {
    switch (size) {
    case 1:
        return &kKernels<T1>;
    case 2:
        return &kKernels<T2>;
    case 4:
        return &kKernels<T4>;
    case 8:
        return &kKernels<T8>;
    default:
        return nullptr;
    }
}

const Kernels* kernels_for(const rmalock_element_t& element) {
    switch (element.kind) {
    case RMALOCK_KIND_SIGNED:
        return by_size<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(element.size);
    case RMALOCK_KIND_UNSIGNED:
        return by_size<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(element.size);
    case RMALOCK_KIND_REAL:
        return element.size == sizeof(float)    ? &kKernels<float>
               : element.size == sizeof(double) ? &kKernels<double>
                                                : nullptr;
    case RMALOCK_KIND_COMPLEX:
        return element.size == sizeof(std::complex<float>) ? &kKernels<std::complex<float>>
                                                           : nullptr;
    case RMALOCK_KIND_BOOL:
        return element.size == sizeof(bool) ? &kKernels<bool> : nullptr;
    case RMALOCK_KIND_OTHER:
        return nullptr;
    }
    return nullptr;
}

template <class T>
bool atomic_compare_swap(std::byte* place, const void* compare, const void* desired, void* result) {
    T expected, wanted;
    std::memcpy(&expected, compare, sizeof(T));
    std::memcpy(&wanted, desired, sizeof(T));
    std::atomic_ref<T>(*reinterpret_cast<T*>(place)).compare_exchange_strong(expected, wanted);
    std::memcpy(result, &expected, sizeof(T));
    return true;
}

} // namespace

Kernel kernel_for(const rmalock_element_t& element, rmalock_op_t op) {
    const Kernels* const kernels = op < kOps ? kernels_for(element) : nullptr;
    return kernels != nullptr ? (*kernels)[static_cast<std::size_t>(op)] : nullptr;
}

bool atomic_compare_swap(std::byte* place, std::size_t size, const void* compare,
                         const void* desired, void* result) {
    if (!std::has_single_bit(size) || !aligned(place, size))
        return false;
    switch (size) {
    case 1:
        return atomic_compare_swap<std::uint8_t>(place, compare, desired, result);
    case 2:
        return atomic_compare_swap<std::uint16_t>(place, compare, desired, result);
    case 4:
        return atomic_compare_swap<std::uint32_t>(place, compare, desired, result);
    case 8:
        return atomic_compare_swap<std::uint64_t>(place, compare, desired, result);
    default:
        return false;
    }
}

} // namespace rmalock::window
