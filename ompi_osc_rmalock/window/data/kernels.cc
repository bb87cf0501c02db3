// What the accumulate family does to elements, on memory that this process can address.
#include "window/data/kernels.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
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

template <class T>
T load(const std::byte* array, std::size_t i) {
    T value;
    std::memcpy(&value, array + i * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void store(std::byte* array, std::size_t i, T value) {
    std::memcpy(array + i * sizeof(T), &value, sizeof(T));
}

/// Several elements that one atomic changes. Loads and stores need not be atomic for more than an
/// element.
#if defined(__x86_64__)
struct alignas(16) Word {
    std::uint64_t low, high;
    bool operator==(const Word&) const = default;
};

/// Written out, because GCC calls a function of libatomic for 16 bytes. Every x86-64 CPU since 2006
/// has it.
bool compare_exchange(Word& place, Word& seen, const Word& desired) {
    bool done;
    asm volatile("lock cmpxchg16b %1"
                 : "=@ccz"(done), "+m"(place), "+a"(seen.low), "+d"(seen.high)
                 : "b"(desired.low), "c"(desired.high)
                 : "memory");
    return done;
}

Word load_elements(Word& place) {
    return {std::atomic_ref(place.low).load(), std::atomic_ref(place.high).load()};
}

void store_elements(Word& place, const Word& value) {
    std::atomic_ref(place.low).store(value.low, std::memory_order_release);
    std::atomic_ref(place.high).store(value.high, std::memory_order_release);
}
#else
struct alignas(8) Word {
    std::uint64_t all;
    bool operator==(const Word&) const = default;
};

bool compare_exchange(Word& place, Word& seen, const Word& desired) {
    return std::atomic_ref(place.all).compare_exchange_weak(seen.all, desired.all);
}

Word load_elements(Word& place) {
    return {std::atomic_ref(place.all).load()};
}

void store_elements(Word& place, const Word& value) {
    std::atomic_ref(place.all).store(value.all, std::memory_order_release);
}
#endif

/// Vector loops want -O3 of GCC 12.
#if defined(__GNUC__) && !defined(__clang__)
#define RMALOCK_VECTORIZED [[gnu::optimize("O3")]]
#else
#define RMALOCK_VECTORIZED
#endif

/// Nobody else touches the target's elements, which may be misaligned.
template <rmalock_op_t kOp, class T>
RMALOCK_VECTORIZED void kernel_alone(void* target_bytes, const void* operand_bytes,
                                     void* result_bytes, std::size_t count) {
    auto* const target = static_cast<std::byte*>(target_bytes);
    const auto* const operand = static_cast<const std::byte*>(operand_bytes);
    auto* const result = static_cast<std::byte*>(result_bytes);
    if (result != nullptr)
        std::memcpy(result, target, count * sizeof(T));
    if constexpr (kOp == RMALOCK_OP_REPLACE)
        std::memmove(target, operand, count * sizeof(T));
    else if constexpr (kOp != RMALOCK_OP_NO_OP)
        for (std::size_t i = 0; i < count; ++i)
            store<T>(target, i, combined<kOp>(load<T>(target, i), load<T>(operand, i)));
}

/// Loaded, combined by a vector loop, and then exchanged one by one: a vector loaded from parts
/// that have just been stored waits for the stores.
constexpr std::size_t kWordsAtOnce = 32;

/// One call's arrays: the target's aligned, the others' not.
template <rmalock_op_t kOp, class T>
struct Arrays {
    std::byte* target;
    const std::byte* operand; ///< null for NO_OP
    std::byte* result;        ///< null: nothing is fetched

    [[gnu::always_inline]] void combine_element(std::size_t i) const {
        T mine{};
        if constexpr (kOp != RMALOCK_OP_NO_OP)
            mine = load<T>(operand, i);
        const T before = fetch_combine<kOp>(reinterpret_cast<T*>(target)[i], mine);
        if (result != nullptr)
            store<T>(result, i, before);
    }

    /// `count` whole words, of which element i is the first.
    void combine_words(std::size_t i, std::size_t count) const {
        const std::size_t at = i * sizeof(T);
        auto* const words = reinterpret_cast<Word*>(target + at);
        if (kOp == RMALOCK_OP_REPLACE && result == nullptr) {
            for (std::size_t w = 0; w < count; ++w)
                store_elements(words[w], load<Word>(operand + at, w));
            return;
        }
        if constexpr (kOp == RMALOCK_OP_NO_OP) {
            for (std::size_t w = 0; result != nullptr && w < count; ++w)
                store<Word>(result + at, w, load_elements(words[w]));
        } else {
            std::array<Word, kWordsAtOnce> seen;
            for (std::size_t w = 0; w < count; ++w)
                seen[w] = load_elements(words[w]);
            exchange_words(words, seen.data(), operand + at, count);
            if (result != nullptr)
                std::memcpy(result + at, seen.data(), count * sizeof(Word));
        }
    }

    static void exchange_words(Word* words, Word* seen, const std::byte* operand,
                               std::size_t count) {
        constexpr std::size_t kElements = sizeof(Word) / sizeof(T);
        std::array<Word, kWordsAtOnce> next;
        std::memcpy(next.data(), seen, count * sizeof(Word));
        kernel_alone<kOp, T>(next.data(), operand, nullptr, count * kElements);
        for (std::size_t w = 0; w < count; ++w)
            // What changes no element is a load of each; MAX, MIN, BAND and BOR often are.
            while (next[w] != seen[w] && !compare_exchange(words[w], seen[w], next[w])) {
                next[w] = seen[w];
                kernel_alone<kOp, T>(&next[w], operand + w * sizeof(Word), nullptr, kElements);
            }
    }
};

/// An atomic of a word costs as much as that of one element. It covers elements of this call only,
/// and it excludes atomics on any part of it.
template <rmalock_op_t kOp, class T>
[[gnu::noinline]] void combine_array(const Arrays<kOp, T>& arrays, std::size_t count) {
    constexpr std::size_t kAtOnce = sizeof(Word) / sizeof(T);
    std::size_t i = 0;
    for (; i < count && !aligned(arrays.target + i * sizeof(T), sizeof(Word)); ++i)
        arrays.combine_element(i);
    // The last element has its own atomic, because later loads could overtake the stores of
    // words.
    while (kAtOnce > 1 && count - i > kAtOnce) {
        const std::size_t words = std::min((count - i - 1) / kAtOnce, kWordsAtOnce);
        arrays.combine_words(i, words);
        i += words * kAtOnce;
    }
    for (; i < count; ++i)
        arrays.combine_element(i);
}

template <rmalock_op_t kOp, class T>
void kernel(void* target, const void* operand, void* result, std::size_t count) {
    const Arrays<kOp, T> arrays{static_cast<std::byte*>(target),
                                static_cast<const std::byte*>(operand),
                                static_cast<std::byte*>(result)};
    if (count != 1) [[unlikely]]
        return combine_array(arrays, count);
    arrays.combine_element(0);
}

/// As the host lays it out.
template <class V>
struct Pair {
    V value;
    int index;
};

/// What MPI_MAXLOC, MPI_MINLOC and MPI_REPLACE make of a pair (MPI standard, section on MINLOC and
/// MAXLOC): of equal values the lower index stays.
template <rmalock_op_t kOp, class V>
Pair<V> combined_pair(const Pair<V>& target, const Pair<V>& operand) {
    if (kOp == RMALOCK_OP_REPLACE)
        return operand;
    if (target.value == operand.value)
        return {target.value, std::min(target.index, operand.index)};
    const bool further =
        kOp == RMALOCK_OP_MAXLOC ? operand.value > target.value : operand.value < target.value;
    return further ? operand : target;
}

/// Without its gaps, which may lie outside of the arrays.
template <class V>
void copy_pair(void* to, const void* from) {
    constexpr std::size_t kIndex = offsetof(Pair<V>, index);
    std::memcpy(to, from, sizeof(V));
    std::memcpy(static_cast<std::byte*>(to) + kIndex, static_cast<const std::byte*>(from) + kIndex,
                sizeof(int));
}

/// Nobody else touches the target's pairs, which may be misaligned.
template <rmalock_op_t kOp, class V>
void kernel_of_pairs(void* target_bytes, const void* operand_bytes, void* result_bytes,
                     std::size_t count) {
    auto* const targets = static_cast<std::byte*>(target_bytes);
    const auto* const operands = static_cast<const std::byte*>(operand_bytes);
    auto* const results = static_cast<std::byte*>(result_bytes);
    for (std::size_t at = 0; at < count * sizeof(Pair<V>); at += sizeof(Pair<V>)) {
        if (results != nullptr)
            copy_pair<V>(results + at, targets + at);
        if constexpr (kOp != RMALOCK_OP_NO_OP) {
            Pair<V> target, operand;
            copy_pair<V>(&target, targets + at);
            copy_pair<V>(&operand, operands + at);
            target = combined_pair<kOp>(target, operand);
            copy_pair<V>(targets + at, &target);
        }
    }
}

constexpr std::size_t kOps = RMALOCK_OP_OTHER;
using KernelTable = std::array<Kernels, kOps>; ///< by operation

/// Of a type that a CPU's atomics can change (kAtomic), or one that is too wide for them.
template <class T, bool kAtomic, std::size_t... kOp>
constexpr KernelTable table_of(std::index_sequence<kOp...>) {
    KernelTable all{};
    (
        [&] {
            constexpr auto op = static_cast<rmalock_op_t>(kOp);
            if constexpr (defined<op, T>()) {
                all[kOp].alone = kernel_alone<op, T>;
                if constexpr (kAtomic)
                    all[kOp].shared = kernel<op, T>;
            }
        }(),
        ...);
    return all;
}

template <class V>
constexpr KernelTable table_of_pairs() {
    KernelTable all{};
    all[RMALOCK_OP_REPLACE].alone = kernel_of_pairs<RMALOCK_OP_REPLACE, V>;
    all[RMALOCK_OP_NO_OP].alone = kernel_of_pairs<RMALOCK_OP_NO_OP, V>;
    all[RMALOCK_OP_MAXLOC].alone = kernel_of_pairs<RMALOCK_OP_MAXLOC, V>;
    all[RMALOCK_OP_MINLOC].alone = kernel_of_pairs<RMALOCK_OP_MINLOC, V>;
    return all;
}

struct Type {
    rmalock_kind_t kind;
    std::size_t size, extent;
    KernelTable kernels;
};
template <class T>
constexpr Type atomic(rmalock_kind_t kind) {
    return {kind, sizeof(T), sizeof(T), table_of<T, true>(std::make_index_sequence<kOps>())};
}
template <class T>
constexpr Type wide(rmalock_kind_t kind) {
    return {kind, sizeof(T), sizeof(T), table_of<T, false>(std::make_index_sequence<kOps>())};
}
template <class V>
constexpr Type pair(rmalock_kind_t kind) {
    return {kind, sizeof(V) + sizeof(int), sizeof(Pair<V>), table_of_pairs<V>()};
}

constexpr Type kTypes[] = {
    atomic<std::int32_t>(RMALOCK_KIND_SIGNED),
    atomic<std::int64_t>(RMALOCK_KIND_SIGNED),
    atomic<double>(RMALOCK_KIND_REAL),
    atomic<float>(RMALOCK_KIND_REAL),
    atomic<std::uint64_t>(RMALOCK_KIND_UNSIGNED),
    atomic<std::uint32_t>(RMALOCK_KIND_UNSIGNED),
    atomic<std::int8_t>(RMALOCK_KIND_SIGNED),
    atomic<std::int16_t>(RMALOCK_KIND_SIGNED),
    atomic<std::uint8_t>(RMALOCK_KIND_UNSIGNED),
    atomic<std::uint16_t>(RMALOCK_KIND_UNSIGNED),
    atomic<std::complex<float>>(RMALOCK_KIND_COMPLEX),
    atomic<bool>(RMALOCK_KIND_BOOL),
    wide<std::complex<double>>(RMALOCK_KIND_COMPLEX),
    wide<std::complex<long double>>(RMALOCK_KIND_COMPLEX),
    wide<long double>(RMALOCK_KIND_REAL),
    pair<int>(RMALOCK_KIND_SIGNED_INT),
    pair<double>(RMALOCK_KIND_REAL_INT),
    pair<float>(RMALOCK_KIND_REAL_INT),
    pair<long>(RMALOCK_KIND_SIGNED_INT),
    pair<short>(RMALOCK_KIND_SIGNED_INT),
    pair<long double>(RMALOCK_KIND_REAL_INT),
};

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

const Kernels* kernels_for(const rmalock_element_t& element, rmalock_op_t op) {
    const auto* const type = std::ranges::find_if(kTypes, [&](const Type& t) {
        return t.kind == element.kind && t.size == element.size && t.extent == element.extent;
    });
    if (op >= kOps || type == std::ranges::end(kTypes))
        return nullptr;
    const Kernels& kernels = type->kernels[op];
    return kernels.alone != nullptr ? &kernels : nullptr;
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
