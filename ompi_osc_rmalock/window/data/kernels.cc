// What the accumulate family does to elements, on memory that this process can address.
#include "window/data/kernels.hh"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "window/data/element_ops.hh"
#include "window/data/loops_avx2.hh"

// Vector loops want -O3 of GCC 12.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
#include "window/data/loops.hh"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif

namespace rmalock::window {
namespace {

// Atomics of elements are sequentially consistent, but for the stores of whole words. A program may
// wait for an element, and get then: for that the load needs an acquire. A flush on x86 has no fence
// and rests on it that nothing passes an atomic (stores.hh). Elsewhere it has one, and weaker atomics
// would do. They are sequentially consistent for x86, where all orders are the same instruction.

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

/// Several elements that one atomic changes. Loads and stores need not be atomic for more than an
/// element. Stores are releases: as a program's flag they come behind its puts. Later loads may pass
/// them, and combine_array ends with another atomic.
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

Word load_word(const std::byte* array, std::size_t i) {
    Word word;
    std::memcpy(&word, array + i * sizeof word, sizeof word);
    return word;
}
void store_word(std::byte* array, std::size_t i, const Word& word) {
    std::memcpy(array + i * sizeof word, &word, sizeof word);
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
            mine = load_element<T>(operand, i);
        const T before = fetch_combine<kOp>(reinterpret_cast<T*>(target)[i], mine);
        if (result != nullptr)
            store_element<T>(result, i, before);
    }

    /// `count` whole words, of which element i is the first.
    void combine_words(std::size_t i, std::size_t count) const {
        const std::size_t at = i * sizeof(T);
        auto* const words = reinterpret_cast<Word*>(target + at);
        if (kOp == RMALOCK_OP_REPLACE && result == nullptr) {
            for (std::size_t w = 0; w < count; ++w)
                store_elements(words[w], load_word(operand + at, w));
            return;
        }
        if constexpr (kOp == RMALOCK_OP_NO_OP) {
            for (std::size_t w = 0; result != nullptr && w < count; ++w)
                store_word(result + at, w, load_elements(words[w]));
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
        loop<kOp, T>(next.data(), operand, nullptr, count * kElements);
        for (std::size_t w = 0; w < count; ++w)
            // What changes no element is a load of each; MAX, MIN, BAND and BOR often are.
            while (next[w] != seen[w] && !compare_exchange(words[w], seen[w], next[w])) {
                next[w] = seen[w];
                loop<kOp, T>(&next[w], operand + w * sizeof(Word), nullptr, kElements);
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

struct Type {
    rmalock_element_t element;
    std::array<Kernel, kOps> shared;
};

template <rmalock_op_t kOp, class T>
constexpr Kernel shared_kernel() {
    if constexpr (kIsAtomic<T> && defined<kOp, T>())
        return kernel<kOp, T>;
    else
        return nullptr;
}

template <class T, std::size_t... kOp>
constexpr Type type_of(std::index_sequence<kOp...>) {
    return {element_of<T>(), {shared_kernel<static_cast<rmalock_op_t>(kOp), T>()...}};
}

template <std::size_t... kType>
constexpr std::array<Type, kElementTypes> types(std::index_sequence<kType...>) {
    return {
        type_of<std::tuple_element_t<kType, ElementTypes>>(std::make_index_sequence<kOps>())...};
}

constexpr auto kTypes = types(std::make_index_sequence<kElementTypes>());

/// By type and operation, with the loops of this processor.
using KernelTable = std::array<std::array<Kernels, kOps>, kElementTypes>;
KernelTable kernel_table() {
    const LoopTable& loops = loops_avx2() != nullptr ? *loops_avx2() : kLoops;
    KernelTable table;
    for (std::size_t type = 0; type < kElementTypes; ++type)
        for (std::size_t op = 0; op < kOps; ++op)
            table[type][op] = {kTypes[type].shared[op], loops[type][op]};
    return table;
}

template <class T>
void compare_swap(std::byte* place, const void* compare, const void* desired, void* result) {
    T expected, wanted;
    std::memcpy(&expected, compare, sizeof(T));
    std::memcpy(&wanted, desired, sizeof(T));
    std::atomic_ref<T>(*reinterpret_cast<T*>(place)).compare_exchange_strong(expected, wanted);
    std::memcpy(result, &expected, sizeof(T));
}

} // namespace

const Kernels* kernels_for(const rmalock_element_t& element, rmalock_op_t op) {
    static const KernelTable table = kernel_table();
    const auto* const type = std::ranges::find_if(kTypes, [&](const Type& t) {
        return t.element.kind == element.kind && t.element.size == element.size &&
               t.element.extent == element.extent;
    });
    if (op >= kOps || type == std::ranges::end(kTypes))
        return nullptr;
    const Kernels& kernels = table[static_cast<std::size_t>(type - kTypes.begin())][op];
    return kernels.alone != nullptr ? &kernels : nullptr;
}

void atomic_compare_swap(std::byte* place, std::size_t size, const void* compare,
                         const void* desired, void* result) {
    if (size == 8)
        compare_swap<std::uint64_t>(place, compare, desired, result);
    else if (size == 4)
        compare_swap<std::uint32_t>(place, compare, desired, result);
    else if (size == 2)
        compare_swap<std::uint16_t>(place, compare, desired, result);
    else
        compare_swap<std::uint8_t>(place, compare, desired, result);
}

} // namespace rmalock::window
