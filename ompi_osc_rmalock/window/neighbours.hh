// Where processes sleep that wait for words of their node which other nodes change as well.
#pragma once

#include <vector>

#include "fabric/bell.hh"
#include "window/network.hh"
#include "window/plan.hh"

namespace rmalock::window {

/// Who sleeps here is woken by what arrives from the network, and by the processes of its node. A
/// process that does, for another node, what changes a word rings when it is done
/// (Network::after_progress).
class Neighbours final : public fabric::Dormitory {
  public:
    Neighbours(Network& network, const Plan& plan);
    void wake(Marks marks) override;
    void sleep() override { Network::park(); }

  private:
    static Marks mark_of(std::size_t place) { return Marks{1} << place % 32; }

    const Doorbell& doorbell_;
    const ucx::PeerId self_;
    std::vector<ucx::PeerId> peers_; ///< by place on the node
};

} // namespace rmalock::window
