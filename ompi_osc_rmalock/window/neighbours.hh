// Where processes sleep that wait for words of their node which other nodes change as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "fabric/bell.hh"
#include "window/network.hh"
#include "window/plan.hh"

namespace rmalock::window {

/// A process that sleeps here is woken by what arrives from the network, and by the processes of
/// its node. A process that does, for another node, what changes a word rings when it is done
/// (Network::after_progress), in the windows that it watches: sleepers ask all neighbours for that,
/// before they sleep for the first time and then now and then.
class Neighbours final : public fabric::Dormitory {
  public:
    Neighbours(Network& network, const Plan& plan);
    void wake(Marks marks) override;
    void sleep() override;

  private:
    bool ask_to_watch();
    static Marks mark_of(std::size_t place) { return Marks{1} << place % 32; }

    const Doorbell& doorbell_;
    const ucx::PeerId self_;
    std::vector<ucx::PeerId> peers_;            ///< by place on the node
    std::vector<std::uint32_t> seats_;          ///< the window's number there
    std::atomic<Network::Clock::rep> asked_{0}; ///< when, on the clock's own scale
};

} // namespace rmalock::window
