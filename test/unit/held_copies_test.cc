// Small copies through the kernel that wait for others. The other process is this one.
#include "window/create/held_copies.hh"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

namespace rmalock::window {
namespace {

class Held : public testing::Test {
  protected:
    void put(Rank target, std::size_t i, std::uint64_t value) {
        held.hold(Direction::put, target, getpid(), address(i), &value, sizeof value);
    }
    void get(Rank target, std::size_t i, std::uint64_t& into) {
        held.hold(Direction::get, target, getpid(), address(i), &into, sizeof into);
    }
    std::uintptr_t address(std::size_t i) const {
        return reinterpret_cast<std::uintptr_t>(&memory[i]);
    }

    std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(4096);
    std::atomic<std::size_t> of_all{0};
    HeldFailure failure;
    HeldCopies held{of_all, failure};
};

TEST_F(Held, APutWaitsAndKeepsItsBytes) {
    put(0, 7, 42); // its origin is gone with the call
    EXPECT_TRUE(held.any());
    EXPECT_EQ(memory[7], 0U);
    EXPECT_EQ(of_all, 1U);
    held.send(0);
    EXPECT_EQ(memory[7], 42U);
    EXPECT_FALSE(held.any());
    EXPECT_EQ(of_all, 0U);
    EXPECT_FALSE(failure.any());
}

TEST_F(Held, AGetWaits) {
    std::uint64_t seen = 0;
    memory[3] = 5;
    get(1, 3, seen);
    memory[3] = 6;
    EXPECT_EQ(seen, 0U);
    held.send_all();
    EXPECT_EQ(seen, 6U);
}

TEST_F(Held, WhatIsForAnotherTargetStays) {
    put(0, 0, 1);
    put(1, 1, 1);
    held.send(1);
    EXPECT_EQ(memory[0], 0U);
    EXPECT_EQ(memory[1], 1U);
    held.send(2);
    EXPECT_EQ(memory[0], 0U);
    held.send_all();
    EXPECT_EQ(memory[0], 1U);
}

TEST_F(Held, TheLastOfTwoPutsStays) {
    put(0, 0, 1);
    put(0, 0, 2);
    held.send(0);
    EXPECT_EQ(memory[0], 2U);
}

TEST_F(Held, AGetSendsThePutsBeforeIt) {
    std::uint64_t seen = 0;
    put(0, 0, 8);
    get(0, 0, seen);
    EXPECT_EQ(memory[0], 8U);
    held.send(0);
    EXPECT_EQ(seen, 8U);
}

TEST_F(Held, ManyGoByThemselves) {
    for (std::size_t i = 0; i < memory.size(); ++i)
        put(0, (i * 7) % memory.size(), i + 1);
    std::size_t there = 0;
    for (const std::uint64_t word : memory)
        there += word != 0;
    EXPECT_GT(there, memory.size() - 100);
    EXPECT_LT(there, memory.size());
    held.send(0);
    for (std::size_t i = 0; i < memory.size(); ++i)
        ASSERT_EQ(memory[(i * 7) % memory.size()], i + 1);
}

TEST_F(Held, LargeOnesFillUpSooner) {
    std::array<std::uint64_t, HeldCopies::kMost / 8> block{};
    for (std::size_t k = 0; k < 7; ++k) {
        block.fill(k + 1);
        held.hold(Direction::put, 0, getpid(), address(k * block.size()), block.data(),
                  sizeof block);
    }
    held.send(0);
    for (std::size_t i = 0; i < 7 * block.size(); ++i)
        ASSERT_EQ(memory[i], i / block.size() + 1);
}

TEST_F(Held, MoreTargetsThanPlaces) {
    constexpr Rank kTargets = 100;
    for (int round = 1; round <= 2; ++round)
        for (Rank t = 0; t < kTargets; ++t)
            put(t, static_cast<std::size_t>(t), static_cast<std::uint64_t>(100 * round + t));
    held.send_all();
    for (Rank t = 0; t < kTargets; ++t)
        EXPECT_EQ(memory[static_cast<std::size_t>(t)], static_cast<std::uint64_t>(200 + t));
}

TEST_F(Held, WhatIsDroppedIsNotCopied) {
    put(0, 0, 1);
    held.drop();
    EXPECT_FALSE(held.any());
    held.send_all();
    EXPECT_EQ(memory[0], 0U);
    put(0, 1, 2);
    held.send_all();
    EXPECT_EQ(memory[1], 2U);
}

TEST_F(Held, TheFirstFailureIsTold) {
    void* const gone =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(gone, MAP_FAILED);
    munmap(gone, 4096);
    std::uint64_t value = 1;
    const auto address = reinterpret_cast<std::uintptr_t>(gone);
    held.hold(Direction::put, 3, getpid(), address, &value, sizeof value);
    held.send_all();
    ASSERT_TRUE(failure.any());
    const HeldFailure::Failure first = failure.take();
    EXPECT_EQ(first.error, EFAULT);
    EXPECT_EQ(first.target, 3);
    EXPECT_STREQ(first.call, "MPI_Put");
    EXPECT_EQ(first.address, address);
    EXPECT_FALSE(failure.any());
    EXPECT_EQ(failure.take().error, 0);
    put(3, 0, 1);
    held.send(3);
    EXPECT_EQ(memory[0], 1U);
    EXPECT_FALSE(failure.any());
}

TEST_F(Held, ThreadsHoldAndSend) {
    constexpr std::size_t kThreads = 3, kEach = 1000;
    std::atomic<bool> end{false};
    std::thread progress([&] {
        while (!end)
            held.try_to_send_all();
    });
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([this, t] {
            for (std::size_t i = 0; i < kEach; ++i) {
                put(static_cast<Rank>(i % 2), t * kEach + i, i + 1);
                if (i % 50 == 0)
                    held.send(static_cast<Rank>(i % 2));
            }
            held.send_all();
        });
    for (std::thread& thread : threads)
        thread.join();
    end = true;
    progress.join();
    for (std::size_t i = 0; i < kThreads * kEach; ++i)
        ASSERT_EQ(memory[i], i % kEach + 1);
}

} // namespace
} // namespace rmalock::window
