// What is wrong with a message from another process. Processes trust one another's messages, which
// none but rmalock sends; the debug parameter check_messages has them look (messages.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ucx_glue/types.hh"
#include "network/message.hh"

namespace rmalock::network {

/// The runs that a request's data begin with: as many as the header says, but no more than there
/// are.
template <class Run = MessageRun>
std::vector<Run> runs_of(const MessageHeader& header, std::span<const std::byte> data) {
    const std::uint64_t there = data.size() / sizeof(Run);
    std::vector<Run> runs(std::min(header.runs, there));
    if (!runs.empty())
        std::memcpy(runs.data(), data.data(), runs.size() * sizeof(Run));
    return runs;
}

/// What a message wants, in words: kind, operation, window, displacement and ticket.
std::string describe(const MessageHeader& header, std::span<const std::byte> data);

/// What is wrong with a request (no answer), whatever its window. Empty: nothing.
std::string flaw_of(const MessageHeader& header, std::span<const std::byte> data);

/// The requests of this process that wait for an answer. Any thread may call.
class Tickets {
  public:
    /// `bytes` is the length of the answer's data.
    void give(std::uint64_t ticket, ucx::PeerId to, std::size_t bytes);
    /// Takes the ticket of an answer back, unless something is wrong with it: returns that.
    std::string take_back(const MessageHeader& answer, ucx::PeerId from, std::size_t bytes);

  private:
    struct GivenTicket {
        ucx::PeerId to;
        std::size_t bytes;
    };
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, GivenTicket> given_;
};

} // namespace rmalock::network
