// The types of an accumulate's elements, and what its operations make of two of them.
#pragma once

#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "rmalock_api.h"

namespace rmalock::window {

/// A pair as the host lays it out.
template <class V>
struct Pair {
    V value;
    int index;
};

/// binary128 of IEEE 754, which Fortran's real(16) is. On x86 long double has the size of it, and
/// another format.
#if defined(__SIZEOF_FLOAT128__) && __LDBL_MANT_DIG__ != 113
__extension__ typedef __float128 Quad;
using QuadTypes = std::tuple<Quad, std::complex<Quad>>;
#else
struct Quad;
using QuadTypes = std::tuple<>;
#endif

/// Every type there are kernels for. Integers of a size are one, whatever C calls them.
using ElementTypes = decltype(std::tuple_cat(
    std::declval<
        std::tuple<std::int32_t, std::int64_t, double, float, std::uint64_t, std::uint32_t,
                   std::int8_t, std::int16_t, std::uint8_t, std::uint16_t, std::complex<float>,
                   bool, std::complex<double>, std::complex<long double>, long double, Pair<int>,
                   Pair<double>, Pair<float>, Pair<long>, Pair<short>, Pair<long double>>>(),
    std::declval<QuadTypes>()));
inline constexpr std::size_t kElementTypes = std::tuple_size_v<ElementTypes>;
inline constexpr std::size_t kOps = RMALOCK_OP_OTHER;

/// What does them on elements that are alone, by type and operation.
using LoopTable = std::array<std::array<rmalock_kernel_t, kOps>, kElementTypes>;

template <class T>
inline constexpr bool kIsPair = false;
template <class V>
inline constexpr bool kIsPair<Pair<V>> = true;
template <class T>
inline constexpr bool kIsComplex = false;
template <class V>
inline constexpr bool kIsComplex<std::complex<V>> = true;

template <class T>
constexpr rmalock_element_t element_of() {
    constexpr auto extent = static_cast<std::uint32_t>(sizeof(T));
    if constexpr (kIsPair<T>) {
        using V = decltype(T::value);
        return {std::integral<V> ? RMALOCK_KIND_SIGNED_INT : RMALOCK_KIND_REAL_INT,
                static_cast<std::uint32_t>(sizeof(V) + sizeof(int)), extent};
    } else if constexpr (std::same_as<T, Quad>) {
        return {RMALOCK_KIND_QUAD, extent, extent};
    } else if constexpr (std::same_as<T, std::complex<Quad>>) {
        return {RMALOCK_KIND_QUAD_COMPLEX, extent, extent};
    } else if constexpr (kIsComplex<T>) {
        return {RMALOCK_KIND_COMPLEX, extent, extent};
    } else if constexpr (std::same_as<T, bool>) {
        return {RMALOCK_KIND_BOOL, extent, extent};
    } else if constexpr (std::floating_point<T>) {
        return {RMALOCK_KIND_REAL, extent, extent};
    } else {
        return {std::is_signed_v<T> ? RMALOCK_KIND_SIGNED : RMALOCK_KIND_UNSIGNED, extent, extent};
    }
}

/// Whether a CPU's atomics can change it.
template <class T>
inline constexpr bool kIsAtomic = sizeof(T) <= 8 && !kIsPair<T>;

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <rmalock_op_t kOp, class T>
constexpr bool defined() {
    if constexpr (kIsPair<T>)
        return kOp == RMALOCK_OP_REPLACE || kOp == RMALOCK_OP_NO_OP || kOp == RMALOCK_OP_MAXLOC ||
               kOp == RMALOCK_OP_MINLOC;
    switch (kOp) {
    case RMALOCK_OP_REPLACE:
    case RMALOCK_OP_NO_OP:
        return true;
    case RMALOCK_OP_SUM:
    case RMALOCK_OP_PROD:
        return !std::same_as<T, bool>;
    case RMALOCK_OP_MAX:
    case RMALOCK_OP_MIN:
        return Integer<T> || std::floating_point<T> || std::same_as<T, Quad>;
    case RMALOCK_OP_LAND:
    case RMALOCK_OP_LOR:
    case RMALOCK_OP_LXOR:
        return std::integral<T>;
    case RMALOCK_OP_BAND:
    case RMALOCK_OP_BOR:
    case RMALOCK_OP_BXOR:
        return Integer<T>;
    case RMALOCK_OP_MAXLOC:
    case RMALOCK_OP_MINLOC:
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

/// Whether MPI_MAXLOC or MPI_MINLOC replaces the target's pair by the operand (MPI standard, section
/// on MINLOC and MAXLOC): of equal values the lower index stays.
template <rmalock_op_t kOp, class V>
bool takes(const Pair<V>& target, const Pair<V>& operand) {
    const bool further =
        kOp == RMALOCK_OP_MAXLOC ? operand.value > target.value : operand.value < target.value;
    return further || (operand.value == target.value && operand.index < target.index);
}

} // namespace rmalock::window
