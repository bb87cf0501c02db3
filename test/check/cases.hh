// The table of what is checked: (lock, configuration, expectation).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explore.hh"

namespace rmalock::check {

/// How long a case takes, and with it which runs include it.
enum class Size { small, deep };
enum class Search { exhaustive, random };

struct Case {
    std::string lock;          ///< its name, or name/mutant
    std::string configuration; ///< "2W+1R x2", one word for --run: lock:configuration
    Program program;
    Failure expected = Failure::none;
    Size size = Size::small;
    Search search = Search::exhaustive;
    Limits limits{};

    std::string name() const { return lock + ":" + configuration; }
    bool mutant() const { return lock.find('/') != std::string::npos; }
};

/// The same case on processors with store buffers.
Case with_store_buffer(Case c);

/// The same case where adapters do the atomics, and the CPUs of the node on which one writes see
/// that later; on processors with store buffers.
Case with_late_adapters(Case c);

/// The same case with at most so many rounds, in which a writer that has announced itself by a read-modify-write of this
/// slot (-1: by its first one) is overtaken `most` times.
Case in_at_most(std::uint32_t rounds, Case c, std::uint32_t most,
                std::int64_t announcing_slot = -1);

/// All cases, in the order of the table.
const std::vector<Case>& all_cases();

/// The parts of the table: those of each lock, of the accumulates' locks, of the gate and how it waits, and what is
/// too large to search whole.
#define RMALOCK_LOCK(name, Class) void add_##name(std::vector<Case>& cases);
#include "locks/all.def"
#undef RMALOCK_LOCK
void add_ticket(std::vector<Case>& cases);
void add_elements(std::vector<Case>& cases);
void add_event_count(std::vector<Case>& cases);
void add_all_gate(std::vector<Case>& cases);
void add_large(std::vector<Case>& cases);
/// Some of those before it, with_late_adapters.
void add_lingering(std::vector<Case>& cases);

} // namespace rmalock::check
