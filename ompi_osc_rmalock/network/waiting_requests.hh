// Requests of other nodes' processes that a handler could not serve when they came.
#pragma once

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
        queues_[{from, header.window}].push_back({header, {data.begin(), data.end()}});
    }

    /// Serves by serve(origin, header, data), which returns false if it cannot yet, what can be
    /// served, one of each queue in turn: those of a window share its accumulate lock. Returns
    /// whether some still wait.
    template <class Serve>
    bool retry(Serve&& serve) {
        for (bool any = true; any;) {
            any = false;
            for (auto queue = queues_.begin(); queue != queues_.end();) {
                auto& [key, requests] = *queue;
                const bool served =
                    serve(key.from, requests.front().header, std::span(requests.front().data));
                any |= served;
                if (served)
                    requests.pop_front();
                queue = requests.empty() ? queues_.erase(queue) : std::next(queue);
            }
        }
        return !queues_.empty();
    }

  private:
    struct Queue {
        ucx::PeerId from;
        WindowId window;
        auto operator<=>(const Queue&) const = default;
    };
    struct WaitingRequest {
        MessageHeader header;
        std::vector<std::byte> data;
    };
    std::map<Queue, std::deque<WaitingRequest>> queues_; ///< none is empty
};

} // namespace rmalock::network
