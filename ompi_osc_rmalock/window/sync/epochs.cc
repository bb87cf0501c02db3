#include "window/sync/epochs.hh"

#include <cinttypes>
#include <string_view>
#include <utility>

#include "host.hh"
#include "network/network.hh"

namespace rmalock::window {

Epochs::Epochs(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
               std::unique_ptr<network::Remote> remote)
    : Observed(spec, std::move(segment), plan, std::move(remote)),
      check_nocheck_(spec.params.check_nocheck), choice_(plan.lock_config().choice),
      made_lock_(make_lock(plan)), lock_(word_lock_ ? &*word_lock_ : made_lock_.get()),
      fast_path_(word_lock_ && !plan.watched() && flavor_ != RMALOCK_FLAVOR_DYNAMIC),
      courteous_(plan.hosts() > 1 && !threads_),
      only_lock_(fast_path_ ? kFastPathFree : kFastPathOff),
      may_defer_(std::string_view(spec.params.defer) == "auto" && remote_ != nullptr && !threads_ &&
                 !failures_.tolerated() && plan.domain() == fabric::Domain::cpu &&
                 flavor_ != RMALOCK_FLAVOR_DYNAMIC && lock_->takes_sections()) {
    if (remote_ == nullptr || !lock_->has_server())
        return;
    remote_->share_with_threads();
    const auto serve = [](void* lock) { static_cast<locks::WindowLock*>(lock)->serve(); };
    served_.emplace(network::Network::get()->servers(), network::Servers::Server{serve, lock_});
}

std::unique_ptr<locks::WindowLock> Epochs::make_lock(const Plan& plan) {
    if (!threads_ && remote_ == nullptr)
        locks::make_word_lock(plan.lock_config(), fabric_.node(), word_lock_);
    return word_lock_ ? nullptr : locks::make(plan.lock_config(), fabric_);
}

Status Epochs::wrong_epoch(const char* call, Rank target) const {
    return fail(RMALOCK_ERR_SYNC, call, target, "%s",
                describe(epoch_.load(std::memory_order_relaxed)));
}

Status Epochs::check_epoch_in_full(const char* call, Rank target) {
    materialize_fast_lock();
    const Guard guard(*this);
    switch (epoch_.load(std::memory_order_relaxed)) {
    case Epoch::locked_all:
    case Epoch::fence:
        return RMALOCK_OK;
    case Epoch::locked:
        if (held_.find(target) != nullptr) {
            opened_.store(target, std::memory_order_relaxed);
            return RMALOCK_OK;
        }
        return fail(RMALOCK_ERR_SYNC, call, target, "this process has not locked it");
    case Epoch::started:
        if (access_group_[static_cast<std::size_t>(target)])
            return RMALOCK_OK;
        return fail(RMALOCK_ERR_SYNC, call, target, "it is not in the group of MPI_Win_start");
    case Epoch::none:
    case Epoch::fence_maybe:
        break;
    }
    return advance(Event::access, call, target);
}

Status Epochs::end() {
    if (exposed_)
        return fail(RMALOCK_ERR_SYNC, "MPI_Win_free", -1, "an exposure epoch is open");
    const Status status = advance(Event::free, "MPI_Win_free");
    if (const std::uint64_t changes = lock_->gate_changes(); status == RMALOCK_OK && changes != 0)
        report(2,
               "window '%s': rank %d has changed %" PRIu64
               " times whether lock_all or exclusive locks are favoured",
               name(), rank(), changes);
    return status;
}

} // namespace rmalock::window
