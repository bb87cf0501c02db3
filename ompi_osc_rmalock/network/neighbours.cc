#include "network/neighbours.hh"

namespace rmalock::network {

Neighbours::Neighbours(Network& network, std::span<const Endpoint> members, std::size_t place)
    : Dormitory(mark_of(place)), doorbell_(network.doorbell()), self_(network.self()),
      members_(members.begin(), members.end()) {}

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
    for (const Endpoint& member : members_)
        if (member.peer != self_)
            all = doorbell_.ask_to_watch(member.peer, member.window.number) && all;
    return all;
}

void Neighbours::wake(Marks marks) {
    for (std::size_t place = 0; place < members_.size(); ++place)
        if ((marks & mark_of(place)) != 0 && members_[place].peer != self_)
            doorbell_.ring(members_[place].peer);
}

} // namespace rmalock::network
