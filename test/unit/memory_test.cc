// Copies between a process and memory that it maps.
#include "window/create/memory.hh"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>

namespace rmalock::window {
namespace {

template <class Element>
class Copy : public testing::Test {};
using Elements = testing::Types<std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Copy, Elements);

/// One thread puts numbers, the other takes what it finds and leaves 0: it finds nothing a second
/// time. Only while both run is anything found out, and on a busy machine they seldom do: then some
/// seconds have to do.
TYPED_TEST(Copy, APollerSeesEachPutOnce) {
    using Element = TypeParam;
    constexpr int kTakes = 1'000'000;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    alignas(64) std::array<Element, 8> memory{};
    const std::atomic_ref<Element> word(memory[0]);
    std::atomic<bool> enough{false};
    std::thread origin([&] {
        const volatile std::size_t bytes = sizeof(Element); // not known where the copy is compiled
        for (std::array<Element, 8> number{1}; !enough; ++number[0])
            copy_mapped(Direction::put, number.data(), reinterpret_cast<std::byte*>(memory.data()),
                        bytes);
    });
    int seen_again = 0, taken = 0;
    Element last = 0;
    for (unsigned polls = 1; taken < kTakes; ++polls) {
        if (polls % 65536 == 0 && std::chrono::steady_clock::now() > end)
            break;
        Element seen = word.load();
        if (seen == 0)
            continue;
        seen_again += seen == last;
        last = seen;
        taken += word.compare_exchange_strong(seen, 0);
    }
    enough = true;
    origin.join();
    EXPECT_GT(taken, 0);
    EXPECT_EQ(seen_again, 0) << "of " << taken;
}

/// Every length, every alignment, both ways, nothing beside it.
TEST(CopyMapped, CopiesWhatItShouldAndNothingBeside) {
    constexpr std::size_t kRoom = 48, kMost = 17;
    for (std::size_t at = 8; at < 16; ++at)
        for (std::size_t from = 8; from < 16; ++from)
            for (std::size_t bytes = 0; bytes <= kMost; ++bytes)
                for (const Direction direction : {Direction::put, Direction::get}) {
                    alignas(8) std::array<unsigned char, kRoom> origin, target;
                    std::iota(origin.begin(), origin.end(), 1);
                    std::iota(target.begin(), target.end(), 101);
                    auto expected_origin = origin, expected_target = target;
                    for (std::size_t n = 0; n < bytes; ++n)
                        direction == Direction::put ? expected_target[at + n] = origin[from + n]
                                                    : expected_origin[from + n] = target[at + n];
                    copy_mapped(direction, &origin[from], reinterpret_cast<std::byte*>(&target[at]),
                                bytes);
                    ASSERT_EQ(origin, expected_origin) << from << " " << at << " " << bytes;
                    ASSERT_EQ(target, expected_target) << from << " " << at << " " << bytes;
                }
}

} // namespace
} // namespace rmalock::window
