// What this process does for other nodes without being sent a message: its windows' lock servers.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "fabric/waiter.hh"

namespace rmalock::network {

/// The program's thread that runs the network's progress calls each, and so does the progress
/// thread. Any thread.
class Servers {
  public:
    struct Server {
        void (*serve)(void* lock); ///< does not wait; may use the network
        void* lock;
        bool operator==(const Server&) const = default;
    };

    /// One of them, while it lives. Its end waits until nobody is in it.
    class Entry {
      public:
        Entry(Servers& servers, const Server& server) : servers_(servers), server_(server) {
            servers_.change([&](auto& all) { all.push_back(server_); });
        }
        ~Entry() {
            servers_.change([&](auto& all) { std::erase(all, server_); });
        }
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;

      private:
        Servers& servers_;
        const Server server_;
    };

    void serve() {
        if (how_many_.load(std::memory_order_relaxed) == 0 || !enter())
            return; // another thread is at it, or this one, from within
        for (const Server& server : all_)
            server.serve(server.lock);
        leave();
    }

  private:
    bool enter() { return !busy_.exchange(true, std::memory_order_acquire); }
    void leave() { busy_.store(false, std::memory_order_release); }
    template <class Change>
    void change(Change change_it) {
        while (!enter())
            fabric::cpu_relax();
        change_it(all_);
        how_many_.store(all_.size(), std::memory_order_relaxed);
        leave();
    }

    std::vector<Server> all_;              ///< under busy_
    std::atomic<std::size_t> how_many_{0}; ///< relaxed: a server that is missed serves later
    /// A lock of all_ that nobody waits for but change(): the exchange acquires what the thread before
    /// has released.
    std::atomic<bool> busy_{false};
};

} // namespace rmalock::network
