// The search strategies: which step comes next. They know nothing of locks or memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "world.hh"

namespace rmalock::check {

struct Limits {
    std::uint64_t states = 400'000'000; ///< distinct states, 16 bytes each at the worst
    std::size_t depth = 20'000;         ///< steps of one execution; more is taken for endless
    double seconds = 3600;
    bool look_past_deadlocks = false; ///< for mutants that have something worse to show
    int preemptions = -1; ///< how often a process that could go on is interrupted; -1: any number
    std::uint64_t runs = 1000; ///< random mode
    std::uint64_t seed = 1;    ///< random mode
};

struct Outcome {
    Violation violation;
    bool complete = false; ///< nothing was left out but what Limits::preemptions says
    std::uint64_t states = 0;
    std::uint64_t steps = 0;
    std::size_t deepest = 0;
    double seconds = 0;
    Overtaken most_overtaken{};
    bool domain_matters = false;
    bool retries = false;     ///< the lock polls: see progress.hh
    std::vector<Choice> path; ///< to the violation
};

/// Every interleaving, depth first; a state seen before is not looked at twice.
Outcome explore(const Program& program, const Limits& limits);

/// Random interleavings of the whole program, `limits.runs` of them.
Outcome run_randomly(const Program& program, const Limits& limits);

/// One interleaving again, with its story. Ends early where a choice is not possible.
Outcome replay(const Program& program, const std::vector<Choice>& path, Story& story);

/// Choices as text: rank, then nothing (goes on), '!' (gives up waiting) or +k (its k-th posted
/// verb lands), times how often in a row; joined by dots. "0x3.1.0+0" is 0, 0, 0, 1, delivery.
std::string to_text(const std::vector<Choice>& path);
std::vector<Choice> from_text(const std::string& text);

} // namespace rmalock::check
