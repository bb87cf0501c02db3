// Numbers of threads.
#include "window/data/thread_number.hh"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

namespace rmalock::window {
namespace {

/// The numbers of so many threads that live at the same time.
std::vector<unsigned> numbers_of(std::size_t threads) {
    std::vector<unsigned> numbers(threads);
    std::barrier<> all(static_cast<std::ptrdiff_t>(threads));
    std::vector<std::thread> running;
    for (unsigned& number : numbers)
        running.emplace_back([&] {
            number = thread_number();
            all.arrive_and_wait();
        });
    for (std::thread& thread : running)
        thread.join();
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

/// One after the other, more than there are numbers: each takes what the one before gave back.
TEST(ThreadNumber, ThreadsHaveOneEachAndGiveItBack) {
    const unsigned mine = thread_number();
    ASSERT_LT(mine, kNumberedThreads);
    for (unsigned times = 0; times < 2 * kNumberedThreads; ++times) {
        const std::vector<unsigned> others = numbers_of(kNumberedThreads + 1);
        for (unsigned i = 0; i + 1 < kNumberedThreads; ++i) {
            EXPECT_NE(others[i], mine);
            EXPECT_LT(others[i], others[i + 1]);
        }
        EXPECT_EQ(others[kNumberedThreads - 1], kNumberedThreads)
            << "as is " << mine << "'s thread";
        EXPECT_EQ(others[kNumberedThreads], kNumberedThreads);
    }
    EXPECT_EQ(thread_number(), mine);
}

/// Made before a thread has a number, so it is destroyed when the number has been given back.
struct Late {
    unsigned* number = nullptr;
    ~Late() {
        if (number != nullptr)
            *number = thread_number();
    }
};
thread_local Late late;

/// Another thread may have its number by then: two with one mark would undo each other's.
TEST(ThreadNumber, AThreadThatEndsHasNone) {
    unsigned before = kNumberedThreads, after = 0;
    std::thread([&] {
        late.number = &after;
        before = thread_number();
    }).join();
    EXPECT_LT(before, kNumberedThreads);
    EXPECT_EQ(after, kNumberedThreads);
}

} // namespace
} // namespace rmalock::window
