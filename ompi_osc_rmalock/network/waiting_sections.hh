// Critical sections of other nodes' processes (section.hh) that wait at home for their lock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "network/message.hh"
#include "ucx_glue/types.hh"

namespace rmalock::network {

/// A queue for each window, served in the order in which they came: one that comes next behind a free
/// lock would take it from all that wait.
///
/// None waits for longer than `patience` while no other one begins. It is refused then, and its origin
/// queues for the lock: behind its holder, which has queued itself, or does not come by messages.
class WaitingSections {
  public:
    using Clock = std::chrono::steady_clock;

    explicit WaitingSections(Clock::duration patience) : patience_(patience) {}

    /// Whether one that comes has to wait behind another one.
    bool are_before(WindowId window) const { return queues_.contains(window); }

    void add(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data) {
        queues_[header.window].waiting.push_back(
            {from, header, {data.begin(), data.end()}, Clock::now()});
    }

    /// Serves by serve(origin, header, data, may_wait) what can be served: false if a section that
    /// may wait has to. Returns whether some still wait.
    template <class Serve>
    bool retry(Serve&& serve) {
        for (auto queue = queues_.begin(); queue != queues_.end();) {
            serve_first_of(queue->second, serve);
            queue = queue->second.waiting.empty() ? queues_.erase(queue) : std::next(queue);
        }
        return !queues_.empty();
    }

  private:
    struct Section {
        ucx::PeerId from;
        MessageHeader header;
        std::vector<std::byte> data;
        Clock::time_point since;
    };
    struct Queue {
        std::deque<Section> waiting;
        Clock::time_point last_begun{};
    };

    template <class Serve>
    void serve_first_of(Queue& queue, Serve& serve) {
        while (!queue.waiting.empty()) {
            const Section& first = queue.waiting.front();
            const Clock::time_point now = Clock::now();
            if (serve(first.from, first.header, std::span(first.data), true))
                queue.last_begun = now;
            else if (now - std::max(first.since, queue.last_begun) < patience_)
                return;
            else
                serve(first.from, first.header, std::span(first.data), false);
            queue.waiting.pop_front();
        }
    }

    Clock::duration patience_;
    std::map<WindowId, Queue> queues_; ///< none is empty
};

} // namespace rmalock::network
