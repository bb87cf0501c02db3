// Critical sections that wait at home: in which order they begin, and when one is refused.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "network/waiting_sections.hh"

namespace {

using namespace rmalock;
using namespace std::chrono_literals;
using network::MessageHeader;
using network::WaitingSections;

class Sections : public testing::Test {
  protected:
    static MessageHeader section(std::uint32_t window, char name) {
        MessageHeader header{};
        header.kind = network::MessageKind::section;
        header.window.number = window;
        header.ticket = static_cast<std::uint64_t>(name);
        return header;
    }
    void add(std::uint32_t window, char name, ucx::PeerId from = 7) {
        sections.add(from, section(window, name), {});
    }
    /// Those that began, of windows but `taken`, at most so many; and in capitals those refused.
    std::string retry(std::uint32_t taken = 0, std::size_t most = 100) {
        std::string names;
        still_waiting = sections.retry([&](ucx::PeerId, const MessageHeader& header,
                                           std::span<const std::byte>, bool may_wait) {
            const bool begins = header.window.number != taken && names.size() < most;
            if (begins)
                names += static_cast<char>(header.ticket);
            else if (!may_wait)
                names += static_cast<char>(header.ticket - 'a' + 'A');
            return begins;
        });
        return names;
    }

    WaitingSections sections{20s};
    bool still_waiting = false;
};

TEST_F(Sections, BeginInTheOrderInWhichTheyCame) {
    add(1, 'a', 9);
    add(1, 'b', 7);
    EXPECT_EQ(retry(0, 1), "a");
    add(1, 'c', 5); // would be the first by its origin's name
    EXPECT_TRUE(still_waiting);
    EXPECT_EQ(retry(), "bc");
    EXPECT_FALSE(still_waiting);
}

TEST_F(Sections, WaitBehindOthersOfTheirWindowOnly) {
    add(1, 'a');
    add(2, 'b');
    EXPECT_EQ(retry(1), "b");
    EXPECT_TRUE(sections.are_before(section(1, 'c').window));
    EXPECT_FALSE(sections.are_before(section(2, 'c').window));
}

TEST_F(Sections, AreRefusedOnceNoneHasBegunForTheirPatience) {
    sections = WaitingSections(1ns);
    add(1, 'a');
    add(1, 'b');
    add(2, 'c');
    std::this_thread::sleep_for(1us);
    EXPECT_EQ(retry(1), "ABc");
    EXPECT_FALSE(still_waiting);
}

TEST_F(Sections, HaveTheirPatienceAnewWhenAnotherOneBegins) {
    const auto patience = 50ms;
    sections = WaitingSections(patience);
    const auto begin = WaitingSections::Clock::now();
    add(1, 'a');
    add(1, 'b');
    std::this_thread::sleep_for(patience / 2);
    ASSERT_EQ(retry(0, 1), "a");
    const auto began = WaitingSections::Clock::now();
    while (WaitingSections::Clock::now() - begin < patience)
        ;
    const std::string refused = retry(1);
    if (WaitingSections::Clock::now() - began < patience) { // else this thread has not run
        EXPECT_EQ(refused, "");
    }
    while (WaitingSections::Clock::now() - began < 2 * patience)
        ;
    EXPECT_EQ(retry(1) + refused, "B");
}

TEST_F(Sections, KeepWhatTheyCameWith) {
    const std::vector<std::byte> data{std::byte{1}, std::byte{2}};
    sections.add(7, section(1, 'a'), data);
    EXPECT_FALSE(sections.retry(
        [&](ucx::PeerId from, const MessageHeader&, std::span<const std::byte> kept, bool) {
            EXPECT_EQ(from, 7U);
            EXPECT_EQ(std::vector(kept.begin(), kept.end()), data);
            return true;
        }));
}

} // namespace
