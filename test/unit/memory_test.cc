// Copies between a process and memory that it maps.
#include "window/create/memory.hh"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

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
    using Room = std::array<Element, 32>; // of any copy, as far as the compiler knows
    alignas(64) Room memory{};
    const std::atomic_ref<Element> word(memory[0]);
    std::atomic<bool> enough{false};
    std::thread origin([&] {
        const volatile std::size_t bytes = sizeof(Element); // not known where the copy is compiled
        for (Room number{1}; !enough; ++number[0])
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
    constexpr std::size_t kRoom = 100, kMost = 70;
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

/// Runs of a side, in the order given.
class Runs {
  public:
    explicit Runs(std::vector<iovec> runs) : runs_(std::move(runs)) {}
    void add(std::uintptr_t begin, std::size_t bytes) {
        runs_.push_back({reinterpret_cast<void*>(begin), bytes});
    }
    rmalock_layout_t layout() {
        rmalock_layout_t layout{};
        layout.state = this;
        layout.rewind = [](void* state) { static_cast<Runs*>(state)->at_ = 0; };
        layout.next = [](void* state, iovec* out, std::size_t most) {
            Runs& runs = *static_cast<Runs*>(state);
            const std::size_t n = std::min(most, runs.runs_.size() - runs.at_);
            std::copy_n(runs.runs_.begin() + static_cast<std::ptrdiff_t>(runs.at_), n, out);
            runs.at_ += n;
            return n;
        };
        return layout;
    }

  private:
    std::vector<iovec> runs_;
    std::size_t at_ = 0;
};

/// Through the kernel, to memory of this process: every second of many bytes, by pieces of several
/// lengths at the origin, both ways.
class KernelCopies : public testing::Test {
  protected:
    static constexpr std::size_t kBytes = 5000;

    KernelCopies() {
        for (std::size_t i = 0; i < 2 * kBytes; ++i)
            memory[i] = static_cast<unsigned char>(i % 251);
        for (std::size_t i = 0; i < kBytes; ++i)
            runs.add(2 * (kBytes - 1 - i), 1); // from the last to the first
        for (std::size_t at = 0, length = 1; at < kBytes; at += length, length = length % 7 + 1)
            pieces.add(reinterpret_cast<std::uintptr_t>(&buffer[at]),
                       std::min(length, kBytes - at));
        place.address = reinterpret_cast<std::uintptr_t>(memory.data());
        place.pid = getpid();
    }

    std::vector<unsigned char> memory = std::vector<unsigned char>(2 * kBytes);
    std::vector<unsigned char> buffer = std::vector<unsigned char>(kBytes);
    Runs runs{{}}, pieces{{}};
    TargetAddress place;
};

TEST_F(KernelCopies, AGetTakesTheRunsAndNothingBetween) {
    ASSERT_EQ(copy(Direction::get, pieces.layout(), runs.layout(), place), 0);
    for (std::size_t i = 0; i < kBytes; ++i)
        ASSERT_EQ(buffer[i], memory[2 * (kBytes - 1 - i)]) << i;
}

TEST_F(KernelCopies, APutChangesTheRunsAndNothingBetween) {
    const std::vector<unsigned char> before = memory;
    for (std::size_t i = 0; i < kBytes; ++i)
        buffer[i] = static_cast<unsigned char>(~before[2 * (kBytes - 1 - i)]);
    ASSERT_EQ(copy(Direction::put, pieces.layout(), runs.layout(), place), 0);
    for (std::size_t i = 0; i < memory.size(); ++i)
        ASSERT_EQ(memory[i], i % 2 == 0 ? static_cast<unsigned char>(~before[i]) : before[i]) << i;
}

/// Runs on two pages, and no page in between: what lies there cannot be read along.
TEST(KernelCopy, AGetReachesOverAHole) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const pages =
        mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    auto* const bytes = static_cast<unsigned char*>(pages);
    bytes[page - 1] = 1;
    bytes[2 * page] = 2;
    ASSERT_EQ(munmap(bytes + page, page), 0);
    Runs runs({{reinterpret_cast<void*>(page - 1), 1}, {reinterpret_cast<void*>(2 * page), 1}});
    std::array<unsigned char, 2> seen{};
    const TargetAddress place{nullptr, reinterpret_cast<std::uintptr_t>(pages), getpid(), false};
    EXPECT_EQ(
        copy(Direction::get, contiguous_layout(seen.data(), seen.size()), runs.layout(), place), 0);
    EXPECT_EQ(seen, (std::array<unsigned char, 2>{1, 2}));
    munmap(bytes, page);
    munmap(bytes + 2 * page, page);
}

} // namespace
} // namespace rmalock::window
