// What is found wrong with messages that no call of rmalock's sends.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "network/message_check.hh"

namespace {

using namespace rmalock;
using network::MessageHeader;
using network::MessageKind;
using network::MessageRun;

/// A request for doubles at two places, three elements in all; good as it is.
struct SentRequest {
    MessageHeader header{.kind = MessageKind::accumulate,
                         .op = RMALOCK_OP_SUM,
                         .element_kind = RMALOCK_KIND_REAL,
                         .has_operand = 1,
                         .element_size = 8,
                         .element_extent = 8,
                         .window = {.number = 3, .generation = 2},
                         .runs = 2,
                         .ticket = 0};
    std::vector<MessageRun> runs{{16, 2}, {64, 1}};
    std::size_t operands = 3; ///< elements

    std::vector<std::byte> data() const {
        const std::size_t bytes = runs.size() * sizeof(MessageRun);
        std::vector<std::byte> all(bytes + operands * header.element_extent);
        std::memcpy(all.data(), runs.data(), bytes);
        return all;
    }
    std::string flaw() const { return network::flaw_of(header, data()); }
};

/// A message without data.
MessageHeader bare(MessageKind kind, std::uint64_t ticket) {
    MessageHeader header{};
    header.kind = kind;
    header.ticket = ticket;
    return header;
}

/// One element, to be compared with another and replaced by a third.
SentRequest swap() {
    SentRequest request;
    request.header.kind = MessageKind::compare_swap;
    request.header.element_size = request.header.element_extent = 4;
    request.header.runs = 1;
    request.header.ticket = 0x100;
    request.runs = {{4, 1}};
    request.operands = 2;
    return request;
}

/// Puts of two bytes, three times, and of one.
struct SentPuts {
    MessageHeader header{.kind = MessageKind::put,
                         .op = 0,
                         .element_kind = 0,
                         .has_operand = 1,
                         .element_size = 1,
                         .element_extent = 1,
                         .window = {.number = 3, .generation = 2},
                         .runs = 2,
                         .ticket = 0};
    std::array<network::CopyRun, 2> runs{{{16, 2, 4, 3}, {64, 1, 0, 1}}};
    std::size_t bytes = 7;

    std::string flaw() const {
        std::vector<std::byte> all(sizeof runs + bytes);
        std::memcpy(all.data(), runs.data(), sizeof runs);
        return network::flaw_of(header, all);
    }
};

/// Gets of the same.
SentPuts gets() {
    SentPuts request;
    request.header.kind = MessageKind::get;
    request.header.has_operand = 0;
    request.header.ticket = 0x100;
    request.bytes = 0;
    return request;
}

TEST(MessageCheck, WhatCallsSendIsGood) {
    SentRequest request;
    EXPECT_EQ(request.flaw(), "");
    request.header.ticket = 0x100; // fetches as well
    EXPECT_EQ(request.flaw(), "");
    request.header.op = RMALOCK_OP_NO_OP;
    request.header.has_operand = 0;
    request.operands = 0;
    EXPECT_EQ(request.flaw(), "");
    EXPECT_EQ(swap().flaw(), "");
    EXPECT_EQ(SentPuts().flaw(), "");
    EXPECT_EQ(gets().flaw(), "");
    EXPECT_EQ(network::flaw_of(bare(MessageKind::flush, 0x100), {}), "");
    EXPECT_EQ(network::flaw_of(bare(MessageKind::complete, 0), {}), "");
}

TEST(MessageCheck, OperationsThatAreNotThere) {
    SentRequest request;
    request.header.element_kind = 77;
    EXPECT_EQ(request.flaw(), "the operation is not defined for the type");
    request = {};
    request.header.has_operand = 0;
    EXPECT_EQ(request.flaw(), "the operand is missing");
    request = swap();
    request.header.element_size = 0;
    EXPECT_EQ(request.flaw(), "no element of this size can be swapped");
    request = {};
    request.header.element_size = 0;
    EXPECT_EQ(request.flaw(), "elements of 0 bytes, 8 apart");
    request.header.element_size = 8;
    request.header.element_extent = 4;
    EXPECT_EQ(request.flaw(), "elements of 8 bytes, 4 apart");
    request = {};
    request.header.kind = static_cast<MessageKind>(77);
    EXPECT_EQ(request.flaw(), "no kind of message");
}

TEST(MessageCheck, TicketsThatAreMissing) {
    static constexpr char kMissing[] = "the ticket for the answer is missing";
    SentRequest request = swap();
    request.header.ticket = 0;
    EXPECT_EQ(request.flaw(), kMissing);
    request = {};
    request.header.op = RMALOCK_OP_NO_OP;
    EXPECT_EQ(request.flaw(), kMissing);
    SentPuts copies = gets();
    copies.header.ticket = 0;
    EXPECT_EQ(copies.flaw(), kMissing);
    copies = {};
    copies.header.kind = MessageKind::put_flush;
    EXPECT_EQ(copies.flaw(), kMissing);
    EXPECT_EQ(network::flaw_of(bare(MessageKind::flush, 0), {}), kMissing);
}

TEST(MessageCheck, LengthsThatDoNotAgree) {
    SentRequest request;
    request.operands = 2;
    EXPECT_EQ(request.flaw(), "16 bytes of operands where 24 belong to the runs");
    request = {};
    request.header.runs = 200;
    EXPECT_EQ(request.flaw(), "not as many runs as the header says");
    request.header.runs = 0;
    EXPECT_EQ(request.flaw(), "not as many runs as the header says");
    request = {};
    request.runs[1].count = std::uint64_t{1} << 61; // of 8 bytes: 0 bytes, modulo 2^64
    EXPECT_EQ(request.flaw(), "a run of 2305843009213693952 elements");
    request = swap();
    request.runs[0].count = 2;
    request.operands = 4;
    EXPECT_EQ(request.flaw(), "more than one element to be swapped");
}

TEST(MessageCheck, PutsAndGetsThatDoNotAgree) {
    SentPuts request;
    request.header.element_size = request.header.element_extent = 8;
    EXPECT_EQ(request.flaw(), "bytes are copied, not elements of 8 bytes, 8 apart");
    request = gets();
    request.header.has_operand = 1;
    EXPECT_EQ(request.flaw(), "an operand where none is used");
    request = {};
    request.bytes = 6;
    EXPECT_EQ(request.flaw(), "6 bytes of operands where 7 belong to the runs");
    request.header.runs = 200;
    EXPECT_EQ(request.flaw(), "not as many runs as the header says");
    request = {};
    request.runs[0].times = std::uint64_t{1} << 63; // twice as many: 0 bytes, modulo 2^64
    EXPECT_EQ(request.flaw(), "a run of 9223372036854775808 times 2 bytes");
}

/// A critical section of two puts and what they fetch.
struct SentSection {
    MessageHeader header = bare(MessageKind::section, 0x100);
    std::uint64_t results = 7;
    std::array<SentPuts, 2> requests{SentPuts(), gets()};
    std::size_t missing = 0;

    SentSection() { header.runs = 2; }
    std::string flaw() const {
        std::vector<std::byte> all;
        const auto append = [&all](const void* from, std::size_t bytes) {
            const auto* const first = static_cast<const std::byte*>(from);
            all.insert(all.end(), first, first + bytes);
        };
        append(&results, sizeof results);
        for (const SentPuts& request : requests) {
            const std::vector<std::byte> operands(request.bytes);
            const std::uint64_t bytes = sizeof request.runs + request.bytes;
            append(&request.header, sizeof request.header);
            append(&bytes, sizeof bytes);
            append(request.runs.data(), sizeof request.runs);
            append(operands.data(), operands.size());
        }
        all.resize(all.size() - missing);
        return network::flaw_of(header, all);
    }
};

TEST(MessageCheck, SectionsThatDoNotAgree) {
    SentSection section;
    EXPECT_EQ(section.flaw(), "");
    section.header.op = network::SectionFlags::all + 1;
    EXPECT_EQ(section.flaw(), "a section with flags that there are not");
    section = {};
    section.header.ticket = 0;
    EXPECT_EQ(section.flaw(), "the ticket for the answer is missing");
    section = {};
    section.results = 8;
    EXPECT_EQ(section.flaw(), "a section whose requests have other results than it says");
    section = {};
    section.missing = 1;
    EXPECT_EQ(section.flaw(), "a section that is too short");
    section = {};
    section.header.runs = 1;
    EXPECT_EQ(section.flaw(), "data behind the last request of a section");
    section = {};
    section.requests[1].header.kind = MessageKind::section;
    EXPECT_EQ(section.flaw(), "no kind of request, in a section");
    section = {};
    section.requests[0].header.has_operand = 0;
    EXPECT_EQ(section.flaw(), "the operand is missing, in a section");
}

TEST(MessageCheck, AMessageIsDescribed) {
    const SentRequest request;
    EXPECT_EQ(network::describe(request.header, request.data()),
              "accumulate (sum of real) of elements of 8 bytes, the first at displacement 16 in "
              "window 3 of generation 2, ticket 0");
}

TEST(MessageCheck, ATicketIsTakenOnceByItsPeer) {
    network::Tickets tickets;
    const MessageHeader result = bare(MessageKind::result, 0x100);
    tickets.give(0x100, 1, 24);
    EXPECT_EQ(tickets.take_back(result, 2, 24),
              "the request with the ticket went to another process");
    EXPECT_EQ(tickets.take_back(result, 1, 16), "16 bytes where the request wants 24");
    EXPECT_EQ(tickets.take_back(result, 1, 24), "");
    EXPECT_EQ(tickets.take_back(result, 1, 24), "no request of this process waits with the ticket");
    tickets.give(0x200, 1, 0);
    EXPECT_EQ(tickets.take_back(bare(MessageKind::result, 0x200), 1, 0),
              "the request with the ticket wants another kind of answer");
    EXPECT_EQ(tickets.take_back(bare(MessageKind::flushed, 0x200), 1, 0), "");
}

} // namespace
