// Small puts and gets of one call that share messages (network/outbox.hh).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "network/remote.hh"
#include "window/create/memory.hh"

namespace rmalock::window {

/// How a copy goes across the network.
struct Sending {
    ucx::Completion* completion = nullptr;
    bool collects = false; ///< one of many small ones may wait for others (Remote::collects)
};

/// The runs of a put or get that go together.
class Collector {
  public:
    /// `many`: the put or get may have more than one.
    Collector(network::Remote& remote, Direction direction, Rank target, const Sending& sending,
              bool many)
        : remote_(remote), direction_(direction), target_(target), sending_(sending), many_(many) {}

    /// False: this run is to go at once.
    bool takes(const network::Copy& run) {
        const bool small = run.bytes <= network::Outbox::kMostHeldAtOnce;
        const bool more_of_them = count_ != 0 && small;
        if (!sending_.collects ||
            (!more_of_them && !remote_.collects(direction_, target_, run.bytes, many_)))
            return false;
        runs_[count_++] = run;
        if (count_ == runs_.size())
            send();
        return true;
    }
    /// What the call has collected, behind its last run.
    void finish() {
        send();
        if (many_)
            remote_.depart(target_);
    }

  private:
    void send() {
        const std::span runs(runs_.data(), count_);
        if (count_ != 0)
            remote_.collect(direction_, target_, runs, sending_.completion);
        count_ = 0;
    }

    network::Remote& remote_;
    const Direction direction_;
    const Rank target_;
    const Sending& sending_;
    const bool many_;
    std::array<network::Copy, 64> runs_;
    std::size_t count_ = 0;
};

} // namespace rmalock::window
