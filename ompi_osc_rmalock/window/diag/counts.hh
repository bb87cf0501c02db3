// What a window counts of its acquisitions; what it counts of verbs is in fabric/tally.hh.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "fabric/tally.hh"
#include "rmalock_api.h"
#include "window/create/record.hh"

namespace rmalock::window {

/// By this process.
class Acquisitions {
  public:
    /// `threads`: several may acquire at a time.
    explicit Acquisitions(bool threads) : threads_(threads) {}

    void acquired(Mode mode) { acquired(mode, threads_); }
    void acquired(Mode mode, bool threads) { acquired_[index(mode)].add(threads); }
    [[gnu::noinline]] void waited(Mode mode, std::uint64_t nanoseconds) {
        waited_[index(mode)].add(threads_);
        nanoseconds_.add(threads_, nanoseconds);
        histogram_[bin(nanoseconds)].add(threads_);
    }
    void report(rmalock_counters_t& counters) const;

    /// The place of a wait in the histogram: 0 for less than a microsecond, then one for each power
    /// of two.
    static constexpr std::size_t bin(std::uint64_t nanoseconds) {
        const auto power = static_cast<std::size_t>(std::bit_width(nanoseconds / 1000));
        return power < kBins ? power : kBins - 1;
    }

  private:
    static constexpr std::size_t kBins =
        std::extent_v<decltype(rmalock_counters_t::wait_histogram)>;
    static constexpr std::size_t index(Mode mode) { return static_cast<std::size_t>(mode); }

    const bool threads_;
    std::array<fabric::Count, 3> acquired_, waited_;
    fabric::Count nanoseconds_;
    std::array<fabric::Count, kBins> histogram_;
};
static_assert(Acquisitions::bin(999) == 0 && Acquisitions::bin(1000) == 1 &&
              Acquisitions::bin(2000) == 2 && Acquisitions::bin(~std::uint64_t{0}) == 23);

/// The sum over several processes.
rmalock_counters_t total(const std::vector<rmalock_counters_t>& of_each);

/// One line for people, beginning behind the window's name.
std::string describe(const rmalock_counters_t& counters);

} // namespace rmalock::window
