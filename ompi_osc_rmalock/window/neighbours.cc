#include "window/neighbours.hh"

namespace rmalock::window {

Neighbours::Neighbours(Network& network, const Plan& plan)
    : Dormitory(mark_of(plan.my_place())), doorbell_(network.doorbell()), self_(network.self()) {
    for (const Rank r : plan.members())
        peers_.push_back(plan.share(r).peer);
}

void Neighbours::wake(Marks marks) {
    for (std::size_t place = 0; place < peers_.size(); ++place)
        if ((marks & mark_of(place)) != 0 && peers_[place] != self_)
            doorbell_.ring(peers_[place]);
}

} // namespace rmalock::window
