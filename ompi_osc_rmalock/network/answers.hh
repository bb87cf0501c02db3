// What this process's requests wait for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "network/message.hh"
#include "network/message_check.hh"
#include "ucx_glue/completion.hh"
#include "ucx_glue/types.hh"

namespace rmalock::network {

/// Where bytes of an answer belong.
struct Awaited {
    std::byte* result = nullptr;
    std::size_t bytes = 0;
    ucx::Completion* completion = nullptr; ///< may be null
};

/// What an answer brings, and what it completes.
struct AwaitedAnswer {
    std::atomic<std::uint64_t>* acknowledged; ///< becomes `number`, unless it is more
    std::uint64_t number;
    std::vector<Awaited> parts; ///< in the order in which the answer has them
    ucx::Completion* results = nullptr;

    std::size_t bytes() const;
};

/// Answers may come after an atomic that has said the same. Release: a thread that acquires the number
/// sees the results that came before. A later number continues the release sequence of an earlier one.
inline void acknowledge(std::atomic<std::uint64_t>& acknowledged, std::uint64_t number) {
    std::uint64_t known = acknowledged.load(std::memory_order_relaxed);
    while (known < number &&
           !acknowledged.compare_exchange_weak(known, number, std::memory_order_release)) {
    }
}

/// The answers that a process waits for, by their tickets.
class Answers {
  public:
    /// `checks`: debug parameter check_messages. `may_lose`: the program goes on when a process
    /// fails.
    Answers(bool checks, bool may_lose) : checks_(checks), may_lose_(may_lose) {}

    /// The ticket that an answer of `peer` is to bring. Any thread may call.
    std::uint64_t expect(ucx::PeerId peer, AwaitedAnswer&& awaited);
    /// For the debug parameter: what is wrong with an answer. Empty: nothing; then its ticket is
    /// taken back.
    std::string flaw_of(ucx::PeerId from, const MessageHeader& answer, std::size_t bytes) {
        return tickets_.take_back(answer, from, bytes);
    }
    /// An answer of `peer` has come. With the worker locked.
    void take(ucx::PeerId peer, const MessageHeader& answer, std::span<const std::byte> data);
    /// `peer` has gone, and answers nothing any more: what waits for it is lost. Any thread may call.
    void lose(ucx::PeerId peer);

  private:
    const bool checks_, may_lose_;
    Tickets tickets_;
    std::mutex mutex_; ///< of by_peer_
    /// Where processes may be lost: what each is to answer.
    std::unordered_map<ucx::PeerId, std::unordered_set<AwaitedAnswer*>> by_peer_;
};

} // namespace rmalock::network
