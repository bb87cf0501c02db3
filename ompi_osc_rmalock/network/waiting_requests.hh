// Requests of other nodes' processes that a handler could not serve when they came.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "network/message.hh"
#include "ucx_glue/types.hh"

namespace rmalock::network {

/// A queue for each origin and window: accumulates of one origin to one window are ordered, and no
/// others. So an accumulate that waits for a window's accumulate lock keeps back no other origin's
/// that needs none, and none to other windows.
///
/// What an origin may have waiting in a queue, Outbox bounds.
class WaitingRequests {
  public:
    /// Whether a request has to wait because one of the same origin and window does.
    bool are_before(ucx::PeerId from, const MessageHeader& header) const {
        return queues_.contains(Queue{from, header.window});
    }

    void add(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data) {
        queues_[{from, header.window}].push_back(
            {header, {data.begin(), data.end()}, Clock::now()});
    }

    /// Serves by serve(origin, header, data, waited), which returns false if it cannot yet, what can
    /// be served, one of each queue in turn: those of a window share its accumulate lock. `waited`:
    /// since the request was added. Returns whether some still wait.
    template <class Serve>
    bool retry(Serve&& serve) {
        for (bool any = true; any;) {
            any = false;
            for (auto queue = queues_.begin(); queue != queues_.end();) {
                auto& [key, requests] = *queue;
                const Request& first = requests.front();
                const bool served = serve(key.from, first.header, std::span(first.data),
                                          Clock::now() - first.since);
                any |= served;
                if (served)
                    requests.pop_front();
                queue = requests.empty() ? queues_.erase(queue) : std::next(queue);
            }
        }
        return !queues_.empty();
    }

  private:
    using Clock = std::chrono::steady_clock;
    struct Queue {
        ucx::PeerId from;
        WindowId window;
        auto operator<=>(const Queue&) const = default;
    };
    struct Request {
        MessageHeader header;
        std::vector<std::byte> data;
        Clock::time_point since;
    };
    std::map<Queue, std::deque<Request>> queues_; ///< none is empty
};

} // namespace rmalock::network
