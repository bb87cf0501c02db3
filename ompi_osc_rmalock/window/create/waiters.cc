#include "window/create/waiters.hh"

#include <string_view>

#include "host.hh"
#include "network/network.hh"
#include "window/create/wait_observer.hh"

namespace rmalock::window {

fabric::Waiter waiter_for(const rmalock_spec_t& spec, const Plan& plan) {
    const std::string_view yield = spec.params.yield;
    return {.progress = host().progress,
            .progress_yields = spec.progress_yields,
            .spins = static_cast<unsigned>(spec.params.spin),
            .yield = yield == "always" || (yield == "auto" && plan.lock_config().oversubscribed),
            .waiting = plan.networked() ? network::Network::get()->worker().waiting() : nullptr,
            .watch = plan.watched() ? WaitObserver::look : nullptr};
}

fabric::Waiter node_waiter_for(const rmalock_spec_t& spec, const Plan& plan, void (*watch)(void*),
                               void* window) {
    const std::string_view sleep = spec.params.sleep;
    fabric::Waiter waiter = waiter_for(spec, plan);
    if (plan.watched() || spec.comm.failed != nullptr) {
        waiter.watch = watch;
        waiter.watched = window;
    }
    if (plan.networked() && plan.alone_on_node())
        waiter.spins = 1; // only progress brings what is waited for
    // A network adapter that changes a word rings no bell, and makes no event.
    const bool is_told = !plan.networked() ||
                         (plan.domain() == fabric::Domain::cpu &&
                          (plan.alone_on_node() || network::Network::get()->doorbell().works()));
    if (is_told && (sleep == "always" || (sleep == "auto" && waiter.yield)))
        waiter.polls_before_sleep =
            waiter.yield ? fabric::Waiter::kPollsBeforeSleep : fabric::Waiter::kPatientPolls;
    return waiter;
}

} // namespace rmalock::window
