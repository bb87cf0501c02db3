// What a window has put off, as its completing calls and progress see it. The other process is this
// one.
#include "window/create/held_back.hh"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "window/data/kernels.hh"

namespace rmalock::window {
namespace {

/// A lock that is free, or not.
struct Gate : ElementGate {
    void lock_near(Rank) override { ++locked; }
    bool try_lock_near(Rank) override {
        locked += free ? 1 : 0;
        return free;
    }
    void unlock_near(Rank) override { ++unlocked; }

    bool free = true;
    int locked = 0, unlocked = 0;
};

class HeldOfAWindow : public testing::Test {
  protected:
    explicit HeldOfAWindow() { held.guard_by(gate); }
    void put(HeldBack& by, std::size_t i, std::uint64_t value) {
        by.copies().hold(Direction::put, 0, getpid(), address(i), &value, sizeof value);
    }
    void add(HeldBack& by, std::size_t i, std::uint64_t value) {
        const Kernels* const kernels =
            kernels_for({.kind = RMALOCK_KIND_UNSIGNED, .size = 8, .extent = 8}, RMALOCK_OP_SUM);
        by.accumulates().hold({"MPI_Accumulate", 0, getpid(), address(i), kernels->alone, &value,
                               nullptr, 1, sizeof value});
    }
    std::uintptr_t address(std::size_t i) const {
        return reinterpret_cast<std::uintptr_t>(&memory[i]);
    }

    std::array<std::uint64_t, 8> memory{};
    Gate gate;
    HeldBack held;
};

TEST_F(HeldOfAWindow, ACompletingCallSendsBoth) {
    put(held, 0, 1);
    add(held, 1, 2);
    EXPECT_TRUE(held.any());
    held.send(1);
    EXPECT_TRUE(held.any());
    EXPECT_EQ(memory[0] + memory[1], 0U);
    held.send(0);
    EXPECT_FALSE(held.any());
    EXPECT_EQ(memory[0], 1U);
    EXPECT_EQ(memory[1], 2U);
    EXPECT_EQ(gate.unlocked, gate.locked);
}

TEST_F(HeldOfAWindow, CopiesAloneTakeNoLock) {
    put(held, 0, 1);
    held.send_all();
    EXPECT_EQ(memory[0], 1U);
    EXPECT_EQ(gate.locked, 0);
}

TEST_F(HeldOfAWindow, ProgressSendsThatOfAllWindows) {
    HeldBack other;
    other.guard_by(gate);
    put(held, 0, 1);
    put(other, 1, 9);
    add(other, 2, 4);
    HeldBack::send_of_all_windows();
    EXPECT_EQ(memory[0], 1U);
    EXPECT_EQ(memory[1], 9U);
    EXPECT_EQ(memory[2], 4U);
}

TEST_F(HeldOfAWindow, ProgressDoesNotWaitForALock) {
    gate.free = false;
    add(held, 2, 4);
    HeldBack::send_of_all_windows();
    EXPECT_EQ(memory[2], 0U);
    gate.free = true;
    HeldBack::send_of_all_windows();
    EXPECT_EQ(memory[2], 4U);
    EXPECT_EQ(gate.unlocked, gate.locked);
}

TEST_F(HeldOfAWindow, WhatIsDroppedIsForgotten) {
    put(held, 0, 1);
    add(held, 1, 1);
    held.drop();
    EXPECT_FALSE(held.any());
    held.send_all();
    HeldBack::send_of_all_windows();
    EXPECT_EQ(memory[0] + memory[1], 0U);
    add(held, 1, 3); // and may go on
    HeldBack::send_of_all_windows();
    EXPECT_EQ(memory[1], 3U);
}

} // namespace
} // namespace rmalock::window
