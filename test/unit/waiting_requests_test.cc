// Requests that wait: what keeps back what, and in which order they are served.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "network/waiting_requests.hh"

namespace {

using namespace rmalock;
using network::MessageHeader;
using network::MessageKind;
using network::WaitingRequests;

class Waiting : public testing::Test {
  protected:
    static MessageHeader request(std::uint32_t window, char name, std::uint32_t generation = 1) {
        MessageHeader header{};
        header.kind = MessageKind::accumulate;
        header.window.number = window;
        header.window.generation = generation;
        header.ticket = static_cast<std::uint64_t>(name);
        return header;
    }
    void add(ucx::PeerId from, std::uint32_t window, char name) {
        requests.add(from, request(window, name), {});
    }
    /// Those served, if the accumulate lock of the window at `taken` is; 0: none is.
    std::string retry(std::uint32_t taken) {
        std::string names;
        still_waiting =
            requests.retry([&](ucx::PeerId, const MessageHeader& header, std::span<std::byte>) {
                if (header.window.number != taken)
                    names += static_cast<char>(header.ticket);
                return header.window.number != taken;
            });
        return names;
    }

    WaitingRequests requests;
    bool still_waiting = false;
};

TEST_F(Waiting, AWindowWhoseLockIsTakenKeepsBackNoOther) {
    add(7, 1, 'a');
    add(7, 1, 'b');
    add(7, 2, 'c');
    add(8, 2, 'd');
    EXPECT_EQ(retry(1), "cd");
    EXPECT_TRUE(still_waiting);
    EXPECT_TRUE(requests.are_before(7, request(1, 'e')));
    EXPECT_FALSE(requests.are_before(7, request(2, 'e')));
    EXPECT_FALSE(requests.are_before(8, request(1, 'e')));
    EXPECT_FALSE(requests.are_before(7, request(1, 'e', 2))) << "the next window of that number";
    EXPECT_EQ(retry(0), "ab");
    EXPECT_FALSE(still_waiting);
    EXPECT_FALSE(requests.are_before(7, request(1, 'e')));
}

TEST_F(Waiting, OriginsTakeTurnsAndKeepTheirOrder) {
    for (const char name : {'a', 'b', 'c'})
        add(7, 1, name);
    for (const char name : {'x', 'y'})
        add(8, 1, name);
    EXPECT_EQ(retry(0), "axbyc");
}

TEST_F(Waiting, DataAreKept) {
    const std::vector<std::byte> data{std::byte{1}, std::byte{2}};
    requests.add(7, request(1, 'a'), data);
    EXPECT_FALSE(requests.retry(
        [&](ucx::PeerId from, const MessageHeader&, std::span<const std::byte> kept) {
            EXPECT_EQ(from, 7U);
            EXPECT_EQ(std::vector(kept.begin(), kept.end()), data);
            return true;
        }));
}

} // namespace
