// Small accumulates through the kernel that wait for others. The other process is this one.
#include "window/create/held_accumulates.hh"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "window/create/failures.hh"
#include "window/data/kernels.hh"

namespace rmalock::window {
namespace {

/// The targets' locks.
class Gate : public ElementGate {
  public:
    void lock_near(Rank target) override {
        if (failed)
            throw ProcessFailed();
        of(target).lock();
        ++taken;
    }
    bool try_lock_near(Rank target) override { return of(target).try_lock(); }
    void unlock_near(Rank target) override { of(target).unlock(); }

    std::atomic<int> taken{0};
    bool failed = false;

  private:
    std::mutex& of(Rank target) { return mutexes_[static_cast<std::size_t>(target) % 4]; }
    std::array<std::mutex, 4> mutexes_;
};

template <class T>
rmalock_kernel_t kernel(rmalock_kind_t kind, rmalock_op_t op) {
    return kernels_for({.kind = kind, .size = sizeof(T), .extent = sizeof(T)}, op)->alone;
}

std::uint64_t* between;

class HeldChanges : public testing::Test {
  protected:
    HeldChanges() { held.guard_by(gate); }
    template <class T>
    void change(rmalock_op_t op, Rank target, std::uintptr_t at, const std::vector<T>& operand) {
        const rmalock_kind_t kind =
            std::is_floating_point_v<T> ? RMALOCK_KIND_REAL : RMALOCK_KIND_UNSIGNED;
        held.hold({"MPI_Accumulate", target, getpid(), at, kernel<T>(kind, op), operand.data(),
                   nullptr, operand.size(), operand.size() * sizeof(T)});
    }
    void add(Rank target, std::size_t i, std::uint64_t value) {
        change<std::uint64_t>(RMALOCK_OP_SUM, target, address(i), {value});
    }
    /// What was there goes to `result`, of one element.
    void fetch(rmalock_op_t op, std::uintptr_t at, std::uint64_t operand, std::uint64_t& result) {
        held.hold({"MPI_Fetch_and_op", 0, getpid(), at,
                   kernel<std::uint64_t>(RMALOCK_KIND_UNSIGNED, op),
                   op == RMALOCK_OP_NO_OP ? nullptr : &operand, &result, 1, sizeof operand});
    }
    std::uintptr_t address(std::size_t i) const {
        return reinterpret_cast<std::uintptr_t>(&memory[i]);
    }

    std::vector<std::uint64_t> memory = std::vector<std::uint64_t>(4096);
    std::atomic<std::size_t> of_all{0};
    HeldFailure failure;
    Gate gate;
    HeldAccumulates held{of_all, failure};
};

TEST_F(HeldChanges, OneWaitsAndKeepsItsOperand) {
    memory[7] = 2;
    add(0, 7, 40); // the operand is gone with the call
    EXPECT_TRUE(held.any());
    EXPECT_EQ(of_all, 1U);
    EXPECT_EQ(memory[7], 2U);
    held.send(0);
    EXPECT_EQ(memory[7], 42U);
    EXPECT_FALSE(held.any());
    EXPECT_EQ(of_all, 0U);
    EXPECT_FALSE(failure.any());
}

TEST_F(HeldChanges, ManyToOneElementTakeTheLockOnce) {
    for (int i = 0; i < 50; ++i)
        add(0, 3, 1);
    EXPECT_EQ(gate.taken, 0);
    held.send(0);
    EXPECT_EQ(memory[3], 50U);
    EXPECT_EQ(gate.taken, 1);
}

TEST_F(HeldChanges, OperationsOnAnElementKeepTheirOrder) {
    memory[1] = 5;
    add(0, 1, 2);
    change<std::uint64_t>(RMALOCK_OP_PROD, 0, address(1), {10});
    add(0, 1, 3);
    change<std::uint64_t>(RMALOCK_OP_REPLACE, 0, address(2), {9});
    add(0, 2, 1);
    change<std::uint64_t>(RMALOCK_OP_MAX, 0, address(2), {4});
    held.send_all();
    EXPECT_EQ(memory[1], 73U);
    EXPECT_EQ(memory[2], 10U);
}

/// Adds 10, while another process changes what lies between.
void add_while_between_changes(void* element, const void*, void*, std::size_t) {
    ++*between;
    *static_cast<std::uint64_t*>(element) += 10;
}

TEST_F(HeldChanges, NothingBetweenIsStored) {
    memory = {0, 1, 2, 3, 4, 5, 6, 7};
    between = &memory[4];
    const std::uint64_t operand = 0;
    for (const std::size_t i : {6, 2, 3})
        held.hold({"MPI_Accumulate", 0, getpid(), address(i), add_while_between_changes, &operand,
                   nullptr, 1, sizeof operand});
    held.send(0);
    EXPECT_EQ(memory, (std::vector<std::uint64_t>{0, 1, 12, 13, 7, 5, 16, 7}));
}

TEST_F(HeldChanges, EachFetchesWhatThoseBeforeItHaveMade) {
    std::array<std::uint64_t, 4> seen{99, 99, 99, 99};
    memory[1] = 5;
    fetch(RMALOCK_OP_SUM, address(1), 10, seen[0]);
    fetch(RMALOCK_OP_NO_OP, address(1), 0, seen[1]);
    fetch(RMALOCK_OP_REPLACE, address(1), 7, seen[2]);
    fetch(RMALOCK_OP_NO_OP, address(1), 0, seen[3]);
    EXPECT_EQ(seen[0], 99U);
    held.send(0);
    EXPECT_EQ(seen, (std::array<std::uint64_t, 4>{5, 15, 15, 7}));
    EXPECT_EQ(memory[1], 7U);
}

TEST_F(HeldChanges, NoOpStoresNothing) {
    auto* const page = static_cast<std::uint64_t*>(
        mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(page, MAP_FAILED);
    std::uint64_t seen = 99;
    add(0, 0, 1);
    fetch(RMALOCK_OP_NO_OP, reinterpret_cast<std::uintptr_t>(page), 0, seen);
    held.send(0);
    EXPECT_EQ(seen, 0U);
    EXPECT_EQ(memory[0], 1U);
    EXPECT_FALSE(failure.any());
    munmap(page, 4096);
}

/// Elements that one of several changes only fetches stay out of what is stored.
TEST_F(HeldChanges, NoOpBesideOthersStoresNothing) {
    memory = {0, 1, 2, 3};
    between = &memory[0];
    std::array<std::uint64_t, 3> seen{};
    const std::uint64_t operand = 0;
    held.hold({"MPI_Get_accumulate", 0, getpid(), address(0),
               kernel<std::uint64_t>(RMALOCK_KIND_UNSIGNED, RMALOCK_OP_NO_OP), nullptr, seen.data(),
               3, sizeof seen});
    held.hold({"MPI_Accumulate", 0, getpid(), address(1), add_while_between_changes, &operand,
               nullptr, 1, sizeof operand});
    held.send(0);
    EXPECT_EQ(seen, (std::array<std::uint64_t, 3>{0, 1, 2}));
    EXPECT_EQ(memory, (std::vector<std::uint64_t>{1, 11, 2, 3}));
}

TEST_F(HeldChanges, OverlappingArraysOfTwoTypes) {
    std::vector<double> places(8, 1.0);
    const auto at = [&](std::size_t i) { return reinterpret_cast<std::uintptr_t>(&places[i]); };
    change<double>(RMALOCK_OP_SUM, 0, at(2), {1, 1, 1, 1});
    change<double>(RMALOCK_OP_PROD, 0, at(0), {2, 2, 2, 2});
    change<double>(RMALOCK_OP_SUM, 0, at(3), {0.5});
    change<std::uint64_t>(RMALOCK_OP_REPLACE, 0, at(7), {0});
    held.send(0);
    EXPECT_EQ(places, (std::vector<double>{2, 2, 4, 4.5, 2, 2, 1, 0}));
}

TEST_F(HeldChanges, MisalignedElements) {
    std::array<std::byte, 32> bytes{};
    const auto at = reinterpret_cast<std::uintptr_t>(bytes.data() + 3);
    change<std::uint32_t>(RMALOCK_OP_SUM, 0, at, {7, 8});
    change<std::uint32_t>(RMALOCK_OP_SUM, 0, at + 4, {100});
    held.send(0);
    std::array<std::uint32_t, 2> seen;
    std::memcpy(seen.data(), bytes.data() + 3, sizeof seen);
    EXPECT_EQ(seen, (std::array<std::uint32_t, 2>{7, 108}));
    EXPECT_EQ(bytes[2], std::byte{0});
    EXPECT_EQ(bytes[11], std::byte{0});
}

TEST_F(HeldChanges, AsManyAsTheyLikeInAnyOrder) {
    std::vector<std::uint64_t> expected(memory.size());
    std::mt19937 random(1);
    for (int i = 0; i < 5000; ++i) {
        const std::size_t first = random() % 40, count = 1 + random() % 8;
        std::vector<std::uint64_t> operand(count);
        const auto op = i % 5 == 0 ? RMALOCK_OP_REPLACE : RMALOCK_OP_SUM;
        for (std::size_t k = 0; k < count; ++k) {
            operand[k] = random();
            expected[first + k] =
                op == RMALOCK_OP_REPLACE ? operand[k] : expected[first + k] + operand[k];
        }
        change(op, 0, address(first), operand);
    }
    held.send(0);
    EXPECT_EQ(memory, expected);
    EXPECT_FALSE(failure.any());
}

TEST_F(HeldChanges, LargeOnesFillUpSooner) {
    const std::vector<std::uint64_t> block(HeldAccumulates::kMost / 8, 1);
    for (std::size_t k = 0; k < 17; ++k)
        change(RMALOCK_OP_SUM, 0, address(k * block.size() / 2), block);
    EXPECT_EQ(gate.taken, 2);
    held.send(0);
    EXPECT_EQ(memory[0], 1U);
    EXPECT_EQ(memory[block.size()], 2U);
}

TEST_F(HeldChanges, MoreTargetsThanPlaces) {
    constexpr Rank kTargets = 100;
    for (int round = 0; round < 2; ++round)
        for (Rank t = 0; t < kTargets; ++t)
            add(t, static_cast<std::size_t>(t), static_cast<std::uint64_t>(t) + 1);
    held.send(99);
    EXPECT_EQ(memory[99], 200U);
    held.send_all();
    for (Rank t = 0; t < kTargets; ++t)
        EXPECT_EQ(memory[static_cast<std::size_t>(t)], 2 * static_cast<std::uint64_t>(t) + 2);
}

TEST_F(HeldChanges, WhatIsDroppedIsNotDone) {
    add(0, 0, 1);
    held.drop();
    EXPECT_FALSE(held.any());
    EXPECT_EQ(of_all, 0U);
    held.send_all();
    EXPECT_EQ(memory[0], 0U);
}

TEST_F(HeldChanges, TheFirstFailureIsTold) {
    void* const gone =
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(gone, MAP_FAILED);
    munmap(gone, 4096);
    const auto nowhere = reinterpret_cast<std::uintptr_t>(gone);
    change<std::uint64_t>(RMALOCK_OP_SUM, 3, nowhere, {1});
    held.send_all();
    ASSERT_TRUE(failure.any());
    const HeldFailure::Failure first = failure.take();
    EXPECT_EQ(first.error, EFAULT);
    EXPECT_EQ(first.target, 3);
    EXPECT_STREQ(first.call, "MPI_Accumulate");
    EXPECT_EQ(first.address, nowhere);
    EXPECT_FALSE(held.any());
    EXPECT_TRUE(gate.try_lock_near(3)); // it was given back
    gate.unlock_near(3);
    add(3, 0, 1);
    held.send(3);
    EXPECT_EQ(memory[0], 1U);
    EXPECT_FALSE(failure.any());
}

TEST_F(HeldChanges, AProcessThatFailsIsAFailureToo) {
    add(1, 0, 1);
    gate.failed = true;
    held.send_all(); // does not throw: its caller has a lock to release
    EXPECT_FALSE(held.any());
    EXPECT_EQ(failure.take().error, ESRCH);
    EXPECT_EQ(memory[0], 0U);
}

TEST_F(HeldChanges, ThreadsHoldAndSend) {
    constexpr std::size_t kThreads = 3, kEach = 1000;
    std::atomic<bool> end{false};
    std::thread progress([&] {
        while (!end)
            held.try_to_send_all();
    });
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < kThreads; ++t)
        threads.emplace_back([this] {
            for (std::size_t i = 0; i < kEach; ++i) {
                const auto target = static_cast<Rank>(i % 40);
                add(target, i % 40, 1);
                if (i % 50 == 0)
                    held.send(target);
            }
            held.send_all();
        });
    for (std::thread& thread : threads)
        thread.join();
    end = true;
    progress.join();
    for (std::size_t i = 0; i < 40; ++i)
        ASSERT_EQ(memory[i], kThreads * kEach / 40) << i;
}

} // namespace
} // namespace rmalock::window
