// Where processes sleep that wait for words of their node which other nodes change as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/bell.hh"
#include "network/network.hh"
#include "network/reach.hh"

namespace rmalock::network {

/// A process that sleeps here is woken by what arrives from the network, and by the processes of
/// its node. A process that does, for another node, what changes a word rings when it is done
/// (Network::after_progress), in the windows that it watches: sleepers ask all neighbours for that,
/// before they sleep for the first time and then now and then.
class Neighbours final : public fabric::Dormitory {
  public:
    /// `members`: the ranks of this node; this process is the one at `place`.
    Neighbours(Network& network, std::span<const Endpoint> members, std::size_t place);
    void wake(Marks marks) override;
    void sleep() override;

  private:
    bool ask_to_watch();
    static Marks mark_of(std::size_t place) { return Marks{1} << place % 32; }

    const Doorbell& doorbell_;
    const ucx::PeerId self_;
    const std::vector<Endpoint> members_; ///< by place on the node
    /// When, on the clock's own scale. Relaxed: two threads may ask twice.
    std::atomic<Network::Clock::rep> asked_{0};
};

} // namespace rmalock::network
