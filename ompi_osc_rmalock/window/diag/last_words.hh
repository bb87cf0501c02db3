// What the processes of a node held and waited for, said when the job is ended from outside. A launcher
// names the process that has failed, and ends the others by SIGTERM; nobody is left then to say what
// that one had locked. Only windows with a watchdog have it, since only their processes publish that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "window/create/record.hh"
#include "window/create/window_name.hh"

namespace rmalock::window {

/// One window's part: from its construction on one process of the node prints, at SIGTERM, a line for
/// each process of the node that holds or awaits something. The process ends then as it would have.
/// Nothing is done where the program has a handler of its own, or ignores the signal.
class LastWords {
  public:
    struct Of {
        WindowName window;
        std::uint64_t number;
        Rank size;
        Records records;
    };

    explicit LastWords(const Of& of);
    ~LastWords(); ///< the records may be gone behind it
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;

    /// For the handler: it takes no memory and no lock.
    void print() const;

  private:
    bool is_first() const;
    bool says_anything(Rank rank) const;
    void print(Rank rank) const;

    const Of of_;
    std::size_t place_; ///< among those that the handler knows
};

} // namespace rmalock::window
