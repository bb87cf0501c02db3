// The loops of the accumulate family on elements that nobody else touches. Compiled once for each
// kind of vectors: what includes it says for which, by options of the compiler. All is local to that
// file, so that the linker never takes the code of one processor for that of another.
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#include "window/data/element_ops.hh"

namespace rmalock::window {
namespace {

/// An element wherever it is, as the compiler loads and stores one of its type. A copy of the bytes
/// of a long double would be stored in two parts, and then loaded in one, which waits.
template <class T>
struct [[gnu::packed, gnu::may_alias]] Anywhere {
    T value;
};

template <class T>
inline T load_element(const void* array, std::size_t i) {
    if constexpr (kIsComplex<T>) {
        using V = typename T::value_type;
        return {load_element<V>(array, 2 * i), load_element<V>(array, 2 * i + 1)};
    } else {
        return static_cast<const Anywhere<T>*>(array)[i].value;
    }
}
template <class T>
inline void store_element(void* array, std::size_t i, T value) {
    if constexpr (kIsComplex<T>) {
        store_element(array, 2 * i, value.real());
        store_element(array, 2 * i + 1, value.imag());
    } else {
        static_cast<Anywhere<T>*>(array)[i].value = value;
    }
}

template <rmalock_op_t kOp, class T>
void loop(void* target, const void* operand, void* result, std::size_t count) {
    // A sum of complex numbers is one of their parts.
    if constexpr (kIsComplex<T> && kOp == RMALOCK_OP_SUM)
        return loop<kOp, typename T::value_type>(target, operand, result, 2 * count);
    if (result != nullptr)
        std::memcpy(result, target, count * sizeof(T));
    if constexpr (kOp == RMALOCK_OP_REPLACE)
        std::memmove(target, operand, count * sizeof(T));
    else if constexpr (kOp != RMALOCK_OP_NO_OP)
        for (std::size_t i = 0; i < count; ++i)
            store_element<T>(
                target, i, combined<kOp>(load_element<T>(target, i), load_element<T>(operand, i)));
}

/// A pair without the gap behind it, which may lie outside of the arrays.
template <class V>
inline void copy_pair(std::byte* to, const std::byte* from) {
    constexpr std::size_t kIndex = offsetof(Pair<V>, index);
    std::memcpy(to, from, sizeof(V));
    std::memcpy(to + kIndex, from + kIndex, sizeof(int));
}
template <class V>
inline Pair<V> load_pair(const std::byte* from) {
    return {load_element<V>(from, 0), load_element<int>(from + offsetof(Pair<V>, index), 0)};
}

template <rmalock_op_t kOp, class V>
void loop_of_pairs(void* target, const void* operand, void* result, std::size_t count) {
    auto* const targets = static_cast<std::byte*>(target);
    const auto* const operands = static_cast<const std::byte*>(operand);
    auto* const results = static_cast<std::byte*>(result);
    const std::size_t end = count * sizeof(Pair<V>);
    for (std::size_t at = 0; results != nullptr && at < end; at += sizeof(Pair<V>))
        copy_pair<V>(results + at, targets + at);
    for (std::size_t at = 0; kOp != RMALOCK_OP_NO_OP && at < end; at += sizeof(Pair<V>))
        if (kOp == RMALOCK_OP_REPLACE ||
            takes<kOp>(load_pair<V>(targets + at), load_pair<V>(operands + at)))
            copy_pair<V>(targets + at, operands + at); // MAXLOC, MINLOC: rarely
}

template <rmalock_op_t kOp, class T>
constexpr rmalock_kernel_t loop_for() {
    if constexpr (!defined<kOp, T>())
        return nullptr;
    else if constexpr (kIsPair<T>)
        return loop_of_pairs<kOp, decltype(T::value)>;
    else
        return loop<kOp, T>;
}

template <class T, std::size_t... kOp>
constexpr std::array<rmalock_kernel_t, kOps> loops_of(std::index_sequence<kOp...>) {
    return {loop_for<static_cast<rmalock_op_t>(kOp), T>()...};
}

template <std::size_t... kType>
constexpr LoopTable loop_table(std::index_sequence<kType...>) {
    return {
        loops_of<std::tuple_element_t<kType, ElementTypes>>(std::make_index_sequence<kOps>())...};
}

constexpr LoopTable kLoops = loop_table(std::make_index_sequence<kElementTypes>());

} // namespace
} // namespace rmalock::window
