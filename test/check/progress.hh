// Whether every state can still come to the end. Where nobody polls, a search that finds no
// deadlock has shown it: each step uses something up. A lock that retries can go round in circles
// instead, with everybody "able to go on" and nobody ever getting anywhere; then it takes the graph
// of all states.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "fingerprint.hh"

namespace rmalock::check {

/// The steps between states, and the states in which everybody has finished.
class StateGraph {
  public:
    /// More steps than this are not kept: 16 bytes each.
    static constexpr std::size_t kMaxSteps = 150'000'000;

    void step(Fingerprint from, Fingerprint to) {
        if (complete())
            steps_.push_back({to, from});
    }
    void end(Fingerprint state) { ends_.push_back(state); }
    bool complete() const { return steps_.size() < kMaxSteps; }

    /// All states from which an end can be reached.
    FingerprintSet that_can_end() {
        std::sort(steps_.begin(), steps_.end());
        FingerprintSet found;
        std::vector<Fingerprint> todo = ends_;
        for (const Fingerprint f : ends_)
            found.insert(f);
        while (!todo.empty()) {
            const Fingerprint to = todo.back();
            todo.pop_back();
            for (auto s = std::lower_bound(steps_.begin(), steps_.end(), Step{to, 0});
                 s != steps_.end() && s->to == to; ++s)
                if (found.insert(s->from))
                    todo.push_back(s->from);
        }
        return found;
    }

  private:
    struct Step {
        Fingerprint to, from;
        bool operator<(const Step& other) const {
            return to != other.to ? to < other.to : from < other.from;
        }
    };

    std::vector<Step> steps_;
    std::vector<Fingerprint> ends_;
};

} // namespace rmalock::check
