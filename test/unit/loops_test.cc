// The loops of accumulates (window/data/loops.hh), compiled for any processor and for AVX2: a processor takes one table,
// so the MPI tests run only that.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "window/data/loops.hh"
#include "window/data/loops_avx2.hh"

namespace rmalock::window {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMost = 100;  ///< elements
constexpr std::size_t kAround = 64; ///< bytes before and behind them, which nothing may change
constexpr std::array<std::size_t, 10> kCounts{0, 1, 2, 3, 7, 8, 15, 31, 33, kMost};

std::mt19937 draws(1);

/// Small numbers: their sums and products are exact in each type.
template <class T>
T drawn() {
    if constexpr (kIsPair<T>)
        return {static_cast<decltype(T::value)>(draws() % 4), static_cast<int>(draws() % 3)};
    else if constexpr (kIsComplex<T>)
        return {static_cast<typename T::value_type>(draws() % 8),
                static_cast<typename T::value_type>(draws() % 8)};
    else
        return static_cast<T>(draws() % (std::same_as<T, bool> ? 2 : 8));
}

/// kMost elements, `shift` bytes off their alignment, with bytes of `gap` around and between them.
template <class T>
Bytes drawn_array(std::size_t shift, std::byte gap) {
    Bytes bytes(2 * kAround + sizeof(T) * kMost, gap);
    for (std::size_t i = 0; i < kMost; ++i) {
        const T value = drawn<T>();
        std::memcpy(&bytes[kAround + shift + i * sizeof(T)], &value, sizeof(T));
    }
    return bytes;
}

struct Memory {
    Bytes target, operand, result;
    bool operator==(const Memory&) const = default;
};

struct Call {
    rmalock_op_t op;
    std::size_t bytes; ///< of an element
    std::size_t count, shift;
    bool fetches;
};

/// The call by one call of the loop, or by one for each element.
Memory after(Memory memory, rmalock_kernel_t loop, const Call& call, bool together) {
    const std::size_t at_once = together ? call.count : 1;
    for (std::size_t i = 0; i < call.count; i += at_once) {
        const std::size_t at = kAround + call.shift + i * call.bytes;
        loop(&memory.target[at], call.op == RMALOCK_OP_NO_OP ? nullptr : &memory.operand[at],
             call.fetches ? &memory.result[at] : nullptr, at_once);
    }
    return memory;
}

void same_by(const LoopTable& loops, std::size_t type, const Memory& memory, const Call& call) {
    const Memory wanted = after(memory, kLoops[type][call.op], call, false);
    const Memory found = after(memory, loops[type][call.op], call, true);
    EXPECT_TRUE(found == wanted) << "type " << type << ", operation " << call.op << ", "
                                 << call.count << " elements, shifted by " << call.shift;
}

template <std::size_t kType>
void check_type(const LoopTable& loops) {
    using T = std::tuple_element_t<kType, ElementTypes>;
    for (std::size_t op = 0; op < kOps; ++op) {
        ASSERT_EQ(loops[kType][op] == nullptr, kLoops[kType][op] == nullptr);
        if (loops[kType][op] == nullptr)
            continue;
        for (const std::size_t shift : {0, 1})
            for (const std::size_t count : kCounts)
                for (const bool fetches : {false, true})
                    same_by(loops, kType,
                            {drawn_array<T>(shift, std::byte{0xa5}),
                             drawn_array<T>(shift, std::byte{0x5a}),
                             drawn_array<T>(shift, std::byte{0xc3})},
                            {static_cast<rmalock_op_t>(op), sizeof(T), count, shift, fetches});
    }
}

void check(const LoopTable& loops) {
    [&]<std::size_t... kType>(std::index_sequence<kType...>) {
        (check_type<kType>(loops), ...);
    }
    (std::make_index_sequence<kElementTypes>());
}

TEST(Loops, OfAnyProcessorDoAsElementByElement) {
    check(kLoops);
}

TEST(Loops, OfAvx2DoTheSame) {
    if (loops_avx2() == nullptr)
        GTEST_SKIP() << "this processor has no AVX2";
    check(*loops_avx2());
}

/// The loops element by element are what the others are compared with.
TEST(Loops, AnElementIsCombinedOnce) {
    double target = 2, result = 0;
    const double operand = 3;
    constexpr std::size_t kDouble = 2;
    static_assert(std::same_as<std::tuple_element_t<kDouble, ElementTypes>, double>);
    kLoops[kDouble][RMALOCK_OP_SUM](&target, &operand, &result, 1);
    EXPECT_EQ(target, 5);
    EXPECT_EQ(result, 2);
    kLoops[kDouble][RMALOCK_OP_PROD](&target, &operand, nullptr, 1);
    EXPECT_EQ(target, 15);
}

} // namespace
} // namespace rmalock::window
