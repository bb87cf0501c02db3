// Whether peers are still there: a question now and then, while a thread waits. TCP itself gives a
// silent host up after a quarter of an hour, and where nothing is under way never.
#include <chrono>
#include <string>
#include <utility>

#include "ucx_glue/callbacks.hh"

namespace rmalock::ucx {

/// A pulse that is not answered is late only if this process ran all the time: one that was
/// stopped, as its peers may have been, begins anew. So does one in which no thread waited. The pulse may
/// stand behind data that take longer; as long as some of these arrive, the peer is there.
void Worker::check_peers(Clock::duration timeout) {
    const Clock::time_point now = Clock::now();
    const Clock::duration since = now - checked_.load(std::memory_order_relaxed);
    if (since < timeout / kPulses)
        return;
    const Lock lock = locked();
    checked_.store(now, std::memory_order_relaxed);
    const bool anew = since > 2 * timeout / kPulses || !somebody_inside();
    peers_.each([&](Peer& peer) {
        const bool asked = peer.contact() == Contact::pulsed;
        const bool gave_a_sign = std::exchange(peer.gave_a_sign_, false);
        if (asked && (anew || gave_a_sign))
            peer.pulsed(now);
        else if (asked && now - peer.pulsed_at() > timeout)
            lose(peer,
                 name_of(peer) + " has not answered for " +
                     std::to_string(std::chrono::round<std::chrono::seconds>(timeout).count()) +
                     " s (parameter peer_timeout)");
        else if (!anew && peer.contact() == Contact::met && peer.answers_ &&
                 peer.endpoint_ != nullptr)
            ask_for_pulse(peer, now);
    });
}

void Worker::ask_for_pulse(Peer& peer, Clock::time_point now) {
    peer.pulsed(now);
    try {
        greet(peer, Peer::kPulse);
    } catch (const Error& error) {
        lose(peer, error.what());
    }
}

} // namespace rmalock::ucx
