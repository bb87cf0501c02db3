// What is going to happen, in the order of virtual time; at one time in the order in which it was
// noted, so that the same run is the same again.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "sim/costs.hh"

namespace rmalock::sim {

struct Event {
    enum Kind : std::uint8_t {
        resume,  ///< process `what` goes on
        verb,    ///< its CPU's verb takes effect, and it goes on
        look,    ///< it looks at the word that it awaits
        timeout, ///< its wait number `wait` may end
        arrive,  ///< message `what` is at what serves it
        serve,   ///< it takes effect
    };
    Time time{};
    std::uint64_t order = 0;
    std::uint32_t what = 0;
    std::uint32_t wait = 0;
    Kind kind = resume;
};

class EventQueue {
  public:
    void push(Time time, Event::Kind kind, std::uint32_t what, std::uint32_t wait = 0) {
        events_.push({time, noted_++, what, wait, kind});
    }
    Event pop() {
        const Event next = events_.top();
        events_.pop();
        return next;
    }
    bool empty() const { return events_.empty(); }

  private:
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return a.time != b.time ? a.time > b.time : a.order > b.order;
        }
    };
    std::priority_queue<Event, std::vector<Event>, Later> events_;
    std::uint64_t noted_ = 0;
};

} // namespace rmalock::sim
