// Memory for copies that calls make, kept for the next one.
#include "window/create/scratch.hh"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "rmalock_api.h"

namespace rmalock::window {
namespace {

constexpr std::size_t kSome = 300'000;

const std::byte* place_of(std::size_t bytes) {
    return Scratch(bytes).get();
}

TEST(Scratch, TheNextCallGetsThePieceOfTheOneBefore) {
    const std::byte* const piece = place_of(kSome);
    EXPECT_EQ(piece, place_of(kSome));
    EXPECT_EQ(piece, place_of(kSome - 4096));
    EXPECT_EQ(piece, place_of(Scratch::kLeastKept));
}

TEST(Scratch, IsAlignedAndNobodyElses) {
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{4096}, kSome, 2 * Scratch::kMostKept}) {
        const Scratch first(bytes), second(bytes);
        for (const Scratch* piece : {&first, &second})
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece->get()) % 64, 0U);
        std::memset(first.get(), 1, bytes);
        std::memset(second.get(), 2, bytes);
        EXPECT_EQ(first.get()[bytes - 1], std::byte{1});
    }
}

/// Pieces that are too small for a call stay for others, as long as there is a place for them.
TEST(Scratch, ASmallPieceIsNotLostToALargeCall) {
    std::vector<std::unique_ptr<Scratch>> all; // of the tests before
    for (std::size_t i = 0; i < Scratch::kPiecesKept; ++i)
        all.push_back(std::make_unique<Scratch>(kSome));
    const std::byte* const small = place_of(Scratch::kLeastKept);
    const Scratch large(2 * kSome);
    EXPECT_NE(small, large.get());
    EXPECT_EQ(small, place_of(Scratch::kLeastKept));
}

/// Pieces of which there are more than places go; the memory of those that stay is at hand.
TEST(Scratch, WhatIsKeptIsNotFaultedInAgain) {
    const auto faults = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_minflt;
    };
    constexpr int kTimes = 100;
    const auto use = [] {
        const Scratch one(kSome), two(kSome), three(kSome);
        for (const Scratch* piece : {&one, &two, &three})
            std::memset(piece->get(), 1, kSome);
    };
    use();
    const long before = faults();
    for (int i = 0; i < kTimes; ++i)
        use();
    EXPECT_LT(faults() - before, kTimes); // of 220 pages each time
}

TEST(Scratch, ThreadsNeverShareAPiece) {
    std::atomic<int> shared{0};
    std::vector<std::thread> threads;
    for (int t = 1; t <= 4; ++t)
        threads.emplace_back([t, &shared] {
            for (int i = 0; i < 2000; ++i) {
                const std::size_t bytes = Scratch::kLeastKept << (i % 3);
                const Scratch piece(bytes);
                std::memset(piece.get(), t, bytes);
                for (std::size_t at = 0; at < bytes; at += 512)
                    shared += piece.get()[at] != static_cast<std::byte>(t);
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(shared, 0);
}

#ifndef __SANITIZE_ADDRESS__ // which ends the process
TEST(Scratch, TheHostIsToldOfALackOfMemory) {
    EXPECT_EQ(rmalock_scratch_take(SIZE_MAX / 4), nullptr);
    rmalock_scratch_give(nullptr);
    void* const piece = rmalock_scratch_take(kSome);
    ASSERT_NE(piece, nullptr);
    rmalock_scratch_give(piece);
    EXPECT_THROW(Scratch(SIZE_MAX / 4), std::bad_alloc);
}
#endif

} // namespace
} // namespace rmalock::window
