// Connections while file descriptors are scarce: over TCP each takes one, and where a process has
// none left UCX fails. Told words do without one of their own first.
#include <chrono>
#include <mutex>
#include <utility>
#include <vector>

#include "ucx_glue/callbacks.hh"

namespace rmalock::ucx {

Connections Worker::connections() const {
    const Lock lock = locked();
    Connections all;
    peers_.each([&](const Peer& peer) {
        if (peer.id() == options_.self)
            return;
        all.first += peer.endpoint_ != nullptr;
        all.second += peer.words_endpoint_ != nullptr || peer.their_words() == TheirWords::apart;
    });
    return all;
}

void Worker::connect(const fabric::Waiter& waiter, Peer& peer) {
    {
        const Lock lock = locked();
        if (peer.begins_contact())
            greet(peer, 0);
    }
    wait_for(waiter, [&] {
        const Lock lock = locked();
        return peer.met();
    });
}

void Worker::keep_together(Peer& peer) {
    const Lock lock = locked();
    peer.refuse_second();
}

void Worker::check_descriptors() {
    constexpr std::chrono::seconds kEach{1};
    const Clock::time_point now = Clock::now();
    if (!takes_descriptors_ || now - looked_ < kEach)
        return;
    const Lock lock = locked();
    looked_ = now;
    look_at_descriptors();
}

/// Near the limit this process opens no second connections, and asks the peers for none. Those that
/// are there stay: UCX keeps what is closed until the worker is, since the peer may use it.
void Worker::look_at_descriptors() {
    const Descriptors::Count now = descriptors_.recent();
    const bool were_near = std::exchange(near_, Descriptors::is_near(now));
    if (!near_ || were_near)
        return;
    if (options_.descriptors_near != nullptr && !std::exchange(warned_, true))
        options_.descriptors_near(now);
    // An answer to this process itself comes at once, and looks for the peer.
    std::vector<Peer*> all;
    peers_.each([&all](Peer& peer) { all.push_back(&peer); });
    for (Peer* const peer : all)
        if (peer->met() && peer->endpoint_ != nullptr && peer->their_words() == TheirWords::shared)
            answer(*peer, Peer::kTogether);
}

/// A peer greets over its first connection, or its second one.
void Worker::meet(Peer& peer, std::uint64_t greeting) {
    if (greeting == Peer::kWordsGreeting)
        peer.their_words_greeted();
    if (greeting != 0 || !takes_descriptors_)
        return;
    look_at_descriptors();
    if (near_)
        answer(peer, Peer::kTogether);
}

void Worker::take_descriptor() {
    if (!takes_descriptors_)
        return;
    look_at_descriptors();
    descriptors_.open();
}

/// The connections that words may do without leave room for one to every peer.
bool Worker::has_room_for_words() {
    if (!takes_descriptors_)
        return true;
    const Descriptors::Count& now = descriptors_.recent();
    const std::size_t known = peers_.count(), done_with = connected_ + parted_;
    const std::size_t unconnected = known > done_with ? known - done_with : 0;
    return now.left() >= unconnected + 2 * Descriptors::reserve(now.limit);
}

} // namespace rmalock::ucx
