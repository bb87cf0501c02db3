#include "window/diag/observed.hh"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "host.hh"

namespace rmalock::window {

Observed::Observed(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
                   std::unique_ptr<network::Remote> remote)
    : Body(spec, std::move(segment), plan, std::move(remote)), acquisitions_(threads_),
      summary_(plan.summary()), watch_(watch(spec, plan)) {}

std::unique_ptr<Watch> Observed::watch(const rmalock_spec_t& spec, const Plan& plan) const {
    if (!plan.watched())
        return nullptr;
    return std::make_unique<Watch>(Watch::Origin{
        .window = plan.number(),
        .process = spec.process,
        .rank = rank(),
        .size = comm_.size,
        .patience = std::chrono::seconds(spec.params.watchdog),
        .records = plan.records(segment_.base()),
        .remote = remote_.get(),
        .name = named(),
    });
}

std::unique_ptr<Watch::Await> Observed::awaiting(Lock what) const {
    return watch_ != nullptr ? std::make_unique<Watch::Await>(*watch_, what) : nullptr;
}

rmalock_counters_t Observed::counters() const {
    rmalock_counters_t all{};
    acquisitions_.report(all);
    const fabric::Tally& tally = fabric_.tally();
    *all.handovers_on_node = tally.near_handovers.value();
    *all.handovers_off_node = tally.far_handovers.value();
    *all.mode_changes = tally.mode_changes.value();
    *all.verbs_on_node = tally.near_verbs.value();
    *all.verbs_off_node = remote_ != nullptr ? remote_->verbs() : 0;
    *all.round_trips = remote_ != nullptr ? remote_->round_trips() : 0;
    return all;
}

Status Observed::sum_up(const char* lock) const {
    if (!summary_)
        return agree_to_end();
    const rmalock_counters_t mine = counters();
    std::vector<rmalock_counters_t> all(static_cast<std::size_t>(comm_.size));
    // Nobody has the others' numbers before all have come here: as good as a barrier.
    if (comm_.allgather(comm_.handle, &mine, all.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    if (rank() == 0)
        say("window '%s', %d ranks, lock %s: %s", name(), comm_.size, lock,
            describe(total(all)).c_str());
    return RMALOCK_OK;
}

Status Observed::agree_to_end() const {
    return comm_.barrier(comm_.handle) == 0 ? RMALOCK_OK : RMALOCK_ERR_COMM;
}

} // namespace rmalock::window
