#include "window/window.hh"

#include <atomic>
#include <cstdio>
#include <string>
#include <utility>

#include "host.hh"
#include "locks/window_lock/configure.hh"
#include "locks/window_lock/registry.hh"
#include "network/network.hh"
#include "window/create/foundation.hh"

namespace rmalock::window {

namespace {

/// Once in a process: a parameter had another meaning up to 0.2. To go with 0.4.
void hint_at_reader_batch(std::int32_t t_r) {
    // One thread finds false, for which relaxed would do; a creation takes far longer.
    static std::atomic<bool> hinted{false};
    if (t_r != 0 && !hinted.exchange(true))
        say("parameter 't_r' is a cap on the readers of a counter of rma_rw by now; what it was is "
            "'reader_batch'");
}

} // namespace

Status Window::create(const rmalock_spec_t& spec, std::unique_ptr<Window>& window) {
    Foundation foundation;
    if (const Status status = lay(spec, foundation); status != RMALOCK_OK)
        return status;
    window.reset(new Window(spec, std::move(foundation.segment), *foundation.plan,
                            std::move(foundation.remote)));
    window->be_known();
    // Everybody's part is written before anybody reads it, and before the window is used.
    if (spec.comm.barrier(spec.comm.handle) != 0)
        return RMALOCK_ERR_COMM;
    if (spec.comm.rank == 0) {
        hint_at_reader_batch(spec.params.t_r);
        window->announce(*foundation.plan);
    }
    return RMALOCK_OK;
}

namespace {

const char* how(const IntrinsicSizes& sizes) {
    if (sizes.four)
        return "elements of 4 and 8 bytes are the adapter's atomics, others lock the target's";
    return sizes.eight ? "elements of 8 bytes are the adapter's atomics, others lock the target's"
                       : "all elements lock the target's (acc_single_intrinsic is not set, or not "
                         "by all)";
}

} // namespace

void Window::announce(const Plan& plan) const {
    char where[96] = "on one node";
    if (plan.hosts() > 1)
        std::snprintf(where, sizeof where, "on %d nodes, %s between them", plan.hosts(),
                      plan.domain() == fabric::Domain::nic ? "atomics by network adapters"
                                                           : "atomics by CPUs");
    report(1, "window '%s' selected: lock %s (%s)%s; %d ranks %s%s", name(), choice().name,
           choice().reason, locks::summary(plan.lock_config()).c_str(), comm_.size, where,
           fabric_.waiter().yield ? ", waits yield the core" : "");
    const bool threads = plan.hosts() > 1 && network::Network::get()->has_thread();
    const char* const lacks = locks::lacks(choice().name, plan.domain(), threads);
    if (plan.hosts() > 1 && lacks != nullptr)
        report(1, "window '%s': lock %s: %s", name(), choice().name, lacks);
    report(2, "window '%s': segment of %zu bytes, of it %zu per rank for locks and epochs", name(),
           plan.bytes(), plan.state_bytes());
    if (!plan.node_fence())
        report(2,
               "window '%s': each accumulate of a single element fences for itself: membarrier"
               " is switched off (osc_rmalock_membarrier), or refused to one of the processes",
               name());
    if (plan.domain() == fabric::Domain::nic)
        report(2, "window '%s': accumulates of %s", name(), how(plan.intrinsic()));
    if (may_defer())
        report(2, "window '%s': short critical sections between nodes go in one message", name());
    for (const std::string& line : locks::describe(plan.lock_config()))
        report(2, "window '%s': %s", name(), line.c_str());
}

Status Window::free() {
    if (const Status status = end(); status != RMALOCK_OK)
        return status;
    retire();
    // No process unmaps while another one may still be in an operation on its memory.
    complete_everywhere();
    if (const Status status = sum_up(choice().name); status != RMALOCK_OK)
        return status;
    // Nor ends, and takes its connections down, while another one still closes them.
    return remote_ != nullptr && remote_->part_from_other_jobs() ? agree_to_end() : RMALOCK_OK;
}

/// A message of a process that has failed may come late, and a thread of this library's may be about to
/// serve the window.
Window::~Window() {
    if (remote_ != nullptr)
        remote_->withdraw();
}

void Window::leave() {
    unwatch();
    held_back_.drop(); // the target may have other uses for its memory by now
    finish_stores();
    abandon_deferred();
    report(1, "window '%s', rank %d: the program ends without MPI_Win_free", name(), rank());
    name_ = ""; // the host's goes now
}

/// Whatever the survivors have begun at each other is complete when all are here.
void Window::abandon() {
    retire();
    try {
        complete_everywhere();
    } catch (const ucx::PeerLost&) {
        finish_stores();
    }
    if (comm_.meet_survivors(comm_.handle) != 0)
        report(1, "window '%s', rank %d: another process has failed while the window was freed",
               name(), rank());
}

} // namespace rmalock::window
