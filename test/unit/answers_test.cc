#include "network/answers.hh"

#include <gtest/gtest.h>

#include <array>

namespace rmalock::network {
namespace {

constexpr ucx::PeerId kOne = 1, kOther = 2;

/// What an origin keeps while it waits for `bytes` of an answer.
struct Origin {
    std::atomic<std::uint64_t> acknowledged{0};
    ucx::Completion part, results;
    std::array<std::byte, 8> memory{};

    std::uint64_t ask(Answers& answers, ucx::PeerId peer) {
        part.expect();
        results.expect();
        return answers.expect(
            peer, {&acknowledged, 1, {{memory.data(), memory.size(), &part}}, &results});
    }
};

void answer(Answers& answers, ucx::PeerId peer, std::uint64_t ticket) {
    static constexpr std::array<std::byte, 8> kData{std::byte{7}};
    MessageHeader header{};
    header.ticket = ticket;
    answers.take(peer, header, kData);
}

TEST(Answers, OfAPeerThatHasGoneAreLost) {
    Answers answers(false, true);
    Origin one, other;
    one.ask(answers, kOne);
    const std::uint64_t ticket = other.ask(answers, kOther);
    answers.lose(kOne);
    EXPECT_TRUE(one.part.done() && one.part.lost());
    EXPECT_TRUE(one.results.done());
    EXPECT_FALSE(other.part.done()) << "that one is there";
    answer(answers, kOther, ticket);
    EXPECT_TRUE(other.part.done() && !other.part.lost());
    EXPECT_EQ(other.memory[0], std::byte{7});
}

TEST(Answers, ThatHaveComeAreNotLost) {
    Answers answers(false, true);
    Origin one;
    answer(answers, kOne, one.ask(answers, kOne));
    answers.lose(kOne);
    EXPECT_TRUE(one.part.done() && !one.part.lost());
    EXPECT_EQ(one.acknowledged, 1u);
}

} // namespace
} // namespace rmalock::network
