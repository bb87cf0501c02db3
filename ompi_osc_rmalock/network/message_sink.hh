// What the network knows of a window: it takes messages, and processes may sleep in it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ucx_glue/types.hh"

namespace rmalock::network {

struct MessageHeader;

/// The receiver of a window's messages in this process. Handlers call it with the worker locked.
class MessageSink {
  public:
    /// Applies a request of another node's process. What it brings back goes into `result`. False:
    /// it cannot be applied yet, and nothing has happened; it comes again.
    /// Without `may_wait` a section whose lock is not free is refused, which serves it.
    virtual bool apply(ucx::PeerId from, const MessageHeader& header,
                       std::span<const std::byte> data, bool may_wait,
                       std::vector<std::byte>& result) = 0;
    /// What is wrong with such a request, whose runs and data belong together, for this window.
    /// Empty: nothing.
    virtual std::string flaw_of(ucx::PeerId from, const MessageHeader& header,
                                std::span<const std::byte> data) const = 0;
    /// This process has changed words of its own rank on behalf of another node: wakes all that
    /// sleep until they change.
    virtual void wake_neighbours() = 0;

  protected:
    ~MessageSink() = default;
};

} // namespace rmalock::network
