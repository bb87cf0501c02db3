// A critical section on its way: what an origin has called since it was to lock the target, kept
// until the unlock, and then sent in one message (locks/parts/section.hh).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "network/answers.hh"
#include "network/message.hh"

namespace rmalock::network {

/// One that is being collected.
class Section {
  public:
    /// A message of it is short, and so is the answer.
    static constexpr std::size_t kMost = 4U << 10;
    /// So long it waits at home while no other one begins; then its origin queues for the lock. Longer
    /// than a time slice: one that holds the lock may have lost its core. While origins queue, the lock
    /// is free for no section, and with 8 processes on 2 cores none ended that: with 1 ms, 4 x 2 had the
    /// lock 10,000 times a second, and with 5 ms 40,000 times.
    static constexpr std::chrono::milliseconds kPatience{5};

    struct Request {
        MessageHeader header;
        std::vector<std::byte> data;
        std::vector<Awaited> awaited;
    };

    /// `bytes`: of what a call says, and of what it wants back.
    bool takes(std::size_t bytes) const { return bytes <= kMost - std::min(kMost, bytes_); }
    void add(Request&& request) {
        bytes_ += sizeof(MessageHeader) + request.data.size();
        for (const Awaited& part : request.awaited) {
            bytes_ += part.bytes;
            results_ += part.bytes;
        }
        // A request that is answered needs a ticket.
        request.header.ticket = request.awaited.empty() ? 0 : 1;
        requests_.push_back(std::move(request));
    }
    bool empty() const { return requests_.empty(); }
    std::vector<Request>& requests() { return requests_; }
    std::size_t results() const { return results_; }
    /// The message's data.
    std::vector<std::byte> packed() const {
        std::vector<std::byte> all;
        const auto append = [&all](std::span<const std::byte> part) {
            all.insert(all.end(), part.begin(), part.end());
        };
        const std::uint64_t results = results_;
        append(std::as_bytes(std::span(&results, 1)));
        for (const Request& request : requests_) {
            const std::uint64_t bytes = request.data.size();
            append(bytes_of(request.header));
            append(std::as_bytes(std::span(&bytes, 1)));
            append(request.data);
        }
        return all;
    }

  private:
    std::vector<Request> requests_;
    std::size_t bytes_ = 0, results_ = 0;
};

} // namespace rmalock::network
