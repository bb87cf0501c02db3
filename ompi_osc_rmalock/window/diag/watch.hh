// What is held and awaited, published by each process in its state segments (record.hh), and read
// by the one that waits too long: the watchdog. Only windows of a job with the parameter `watchdog`
// have it; without it nothing is published.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "window/create/record.hh"
#include "window/create/wait_observer.hh"
#include "window/diag/last_words.hh"

namespace rmalock::network {
class Remote;
}

namespace rmalock::window {

/// One window's part in this.
class Watch {
  public:
    using Clock = std::chrono::steady_clock;

    /// What the watch knows of its window.
    struct Origin {
        std::uint64_t
            window; ///< the window's number, the same at all its processes, and only theirs
        std::uint64_t process; ///< this process's
        Rank rank, size;
        std::chrono::seconds patience; ///< 0: this process publishes, but does not complain
        Records records;
        network::Remote* remote; ///< null: all ranks are on this node
        WindowName name;
    };

    explicit Watch(const Origin& origin);
    ~Watch() { retire(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    /// The window is about to be freed: its records are not looked at any more.
    void retire();

    /// Between beginning to acquire and having acquired, in the acquiring thread; or to wait for
    /// what is no lock. It publishes what the thread waits for, and complains once that has lasted.
    class Await final : private WaitObserver {
      public:
        Await(Watch& watch, Lock lock);
        ~Await();

      private:
        void still_waiting() override;
        void publish();

        Watch& watch_;
        const Lock lock_;
        const Clock::time_point since_ = Clock::now();
        Clock::duration interval_; ///< to the next complaint
        Clock::time_point next_;
        bool published_ = false, busy_ = false;
    };
    void let_go(Lock lock) { mine().drop(lock); }

    std::uint64_t window() const { return origin_.window; }
    std::string name() const { return origin_.name.now(); }
    /// What all ranks publish. Not all may answer in time.
    std::vector<Seen> see() const;

  private:
    void complain() const;
    Record& mine() const { return origin_.records.of(origin_.rank); }

    const Origin origin_;
    LastWords last_words_;
    bool listed_ = true;
};

} // namespace rmalock::window
