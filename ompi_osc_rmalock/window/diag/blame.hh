// Which processes wait for which, from what those of some windows publish: a graph of processes,
// and a cycle in it. Knows no clock and no memory, so that a test can make up what is seen.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "window/create/record.hh"

namespace rmalock::window {

/// A window as the graph needs it.
struct SeenWindow {
    std::uint64_t number = 0;
    std::string name;
    std::vector<Seen> ranks;
};

/// One process that waits, and those it waits for.
struct BlockedProcess {
    std::uint64_t process = 0;
    SeenLock awaits;
    bool near = false;
    std::uint64_t window = 0, number = 0;
    /// How a process is in the way: it holds a lock, or awaits it itself, or has not come to do
    /// what is waited for.
    enum class Way { holds, awaits, absent };
    struct Blocker {
        std::uint64_t process;
        SeenLock lock; ///< unless absent
        Way way;
        bool near;
    };
    std::vector<Blocker> blockers;
    bool known = true; ///< this process can see the window
};

class Blame {
  public:
    /// `see` shows a window, or returns null if this process is not in it.
    using See = std::function<const SeenWindow*(std::uint64_t window)>;

    /// Begins with the process `start`, which waits in `window`.
    Blame(std::uint64_t start, std::uint64_t window, See see);

    /// From the start on, each process that waits once, at most kMost.
    const std::vector<BlockedProcess>& waiters() const { return waiters_; }
    /// The processes of a cycle that the start waits for, or is in: each waits for the next, the
    /// last for the first. Empty: there is none.
    std::vector<std::uint64_t> cycle() const;
    /// The cycle's waits; two of the same numbers are the same cycle, in which nobody has moved.
    std::vector<std::uint64_t> cycle_numbers() const;

    bool waits(std::uint64_t process) const { return find(process) != nullptr; }
    const SeenWindow* window(std::uint64_t number) const { return see_(number); }

    static constexpr std::size_t kMost = 64;

  private:
    void add(std::uint64_t process, const Seen& seen);
    const BlockedProcess* find(std::uint64_t process) const;
    bool search(std::uint64_t process, std::vector<std::uint64_t>& path,
                std::vector<std::uint64_t>& done) const;

    See see_;
    std::vector<BlockedProcess> waiters_;
};

/// What is in the way of the `waiter`, in its window.
std::vector<BlockedProcess::Blocker> blockers(const SeenWindow& window, std::uint64_t waiter,
                                              Lock awaits);

} // namespace rmalock::window
