// The file descriptors of this process: how many it has, and how many it may have.
#pragma once

#include <chrono>
#include <cstddef>

namespace rmalock::ucx {

class Descriptors {
  public:
    struct Count {
        std::size_t used = 0;
        std::size_t limit = 0; ///< the soft one, `ulimit -n`
        std::size_t left() const { return limit > used ? limit - used : 0; }
    };

    /// Looks now: as many entries are read as there are descriptors.
    static Count count();

    /// What was there a moment ago, with those opened since; counts again once that is long ago, or
    /// may be far from the truth.
    const Count& recent();
    /// The caller is about to open one more.
    void open() {
        ++opened_;
        ++recent_.used;
    }

    /// What has to be left for the program's own files and connections. With less, the limit is
    /// near.
    static std::size_t reserve(std::size_t limit) {
        return limit / 8 > kLeast ? limit / 8 : kLeast;
    }
    static bool is_near(const Count& count) { return count.left() < reserve(count.limit); }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kLeast = 16;
    /// A count may take this part of the time.
    static constexpr int kShare = 100;

    Count recent_;
    std::size_t opened_ = 0;  ///< since the last count
    Clock::time_point again_; ///< when the next one is due
};

} // namespace rmalock::ucx
