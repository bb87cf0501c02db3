// The properties: which processes are inside, wait, or were overtaken, and where. Ghosts are seen
// by no lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "fabric/concept.hh"
#include "model/occupancy.hh"

namespace rmalock::check {

using fabric::Rank;

using model::index_of;
using model::kModes;
using model::Mode;
using model::name_of;
using model::Occupancy;

/// What went wrong. contrib/reference makes a table of it (docs/checked.md).
enum class Failure : std::uint8_t {
    none,
    exclusion,  ///< a process enters beside one that it excludes
    deadlock,   ///< no process can go on, or no way leads to the end any more
    bypass,     ///< a waiter sees more others enter than its bound, or loses a chance to go on
    data,       ///< a process enters before the data of its predecessor are there
    word_class, ///< a verb is used on a word whose class does not permit it
    wild_word,  ///< a verb names a word that is not there
    endless,    ///< an execution does not end
};

constexpr const char* name_of(Failure failure) {
    constexpr const char* names[] = {"clean", "mutual exclusion", "deadlock",  "bypass",
                                     "data",  "word class",       "wild word", "endless"};
    return names[static_cast<unsigned>(failure)];
}

struct Violation {
    Failure failure = Failure::none;
    std::string text;
};

/// One process's wait for one resource. Being overtaken counts from its first read-modify-write
/// (of one word, if Program::announcing_slot says so): before that nobody can know that it waits.
struct Wait {
    Rank resource = -1; ///< the first one; -1: does not wait
    Rank resources = 1; ///< how many at once: all of them for lock_all
    Mode mode = Mode::shared;
    bool announced = false;
    std::uint16_t overtaken = 0;
};

/// The most entries of others that anybody saw while waiting, per mode of the waiter.
using Overtaken = std::array<std::uint32_t, kModes>;
/// The bound a lock declares for it, where it declares one.
using OvertakenBound = std::array<std::optional<std::uint32_t>, kModes>;

} // namespace rmalock::check
