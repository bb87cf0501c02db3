#include "window/neighbours.hh"

namespace rmalock::window {

Neighbours::Neighbours(Network& network, const Plan& plan)
    : Dormitory(mark_of(plan.my_place())), doorbell_(network.doorbell()), self_(network.self()) {
    for (const Rank r : plan.members()) {
        peers_.push_back(plan.share(r).peer);
        seats_.push_back(plan.share(r).seat);
    }
}

/// The first time it does not sleep: what the neighbours did before they were asked, the caller
/// sees when it looks once more.
void Neighbours::sleep() {
    const auto now = Network::Clock::now().time_since_epoch().count();
    const auto renewal = Network::Clock::duration(Network::kWatch / 4).count();
    if (now - asked_.load(std::memory_order_relaxed) < renewal || !ask_to_watch())
        Network::park();
    else
        asked_.store(now, std::memory_order_relaxed);
}

bool Neighbours::ask_to_watch() {
    bool all = true;
    for (std::size_t place = 0; place < peers_.size(); ++place)
        if (peers_[place] != self_)
            all = doorbell_.ask_to_watch(peers_[place], seats_[place]) && all;
    return all;
}

void Neighbours::wake(Marks marks) {
    for (std::size_t place = 0; place < peers_.size(); ++place)
        if ((marks & mark_of(place)) != 0 && peers_[place] != self_)
            doorbell_.ring(peers_[place]);
}

} // namespace rmalock::window
