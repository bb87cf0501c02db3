// What this process's requests wait for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "network/message.hh"
#include "network/message_check.hh"
#include "ucx_glue/completion.hh"
#include "ucx_glue/types.hh"

namespace rmalock::network {

/// What an answer brings, and what it completes.
struct Awaited {
    std::atomic<std::uint64_t>* acknowledged; ///< becomes `number`
    std::uint64_t number;
    std::byte* result = nullptr; ///< receives `bytes`
    std::size_t bytes = 0;
    ucx::Completion* results = nullptr;
    ucx::Completion* completion = nullptr;
};

/// The answers that a process waits for, by their tickets.
class Answers {
  public:
    /// `checks`: debug parameter check_messages.
    explicit Answers(bool checks) : checks_(checks) {}

    /// The ticket that an answer of `peer` is to bring. Any thread may call.
    std::uint64_t expect(ucx::PeerId peer, const Awaited& awaited);
    /// For the debug parameter: what is wrong with an answer. Empty: nothing; then its ticket is
    /// taken back.
    std::string flaw_of(ucx::PeerId from, const MessageHeader& answer, std::size_t bytes) {
        return tickets_.take_back(answer, from, bytes);
    }
    /// An answer has come. With the worker locked.
    static void take(const MessageHeader& answer, std::span<const std::byte> data);

  private:
    const bool checks_;
    Tickets tickets_;
};

} // namespace rmalock::network
