// The windows of this process that messages are for.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "network/message_sink.hh"
#include "network/window_id.hh"

namespace rmalock::network {

/// Gives windows their names, and finds them by those. Any thread may call.
class WindowDirectory {
  public:
    /// The name of a window, taken before the window exists, since it takes part in the exchange
    /// that creates it.
    class ClaimedId {
      public:
        explicit ClaimedId(WindowDirectory& directory);
        ClaimedId(ClaimedId&& other) noexcept;
        ClaimedId& operator=(ClaimedId&&) = delete;
        ~ClaimedId();
        WindowId value() const { return id_; }
        /// From here on messages go there.
        void give_to(MessageSink& window);
        /// Nor from here on: find() finds none.
        void withdraw();

      private:
        WindowDirectory* directory_;
        WindowId id_;
    };

    /// Null: no such window; one that had the number may have been freed. Good while the worker is
    /// locked: a window is not freed while messages for it may be under way.
    MessageSink* find(WindowId id) const;
    /// Wakes those that sleep in it, if it still is one.
    void wake_neighbours(std::uint32_t number) const;

  private:
    struct Entry {
        MessageSink* window = nullptr; ///< null: given back, or the window is not there yet
        bool taken = false;
        std::uint32_t generation = 0; ///< of the last window that had the number, from 1
    };
    mutable std::mutex mutex_;
    std::vector<Entry> entries_; ///< by number
};

} // namespace rmalock::network
