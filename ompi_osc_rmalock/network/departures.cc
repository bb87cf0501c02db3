#include "network/departures.hh"

#include <sys/timerfd.h>
#include <unistd.h>

#include <utility>

namespace rmalock::network {

Departures::Departures() : timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

Departures::~Departures() {
    if (timer_ >= 0)
        ::close(timer_);
}

/// With mutex_ locked. The descriptor is not readable any more, or not until it rings.
void Departures::set_timer(bool on) {
    itimerspec when{};
    when.it_value.tv_nsec = on ? std::chrono::nanoseconds(kHold).count() : 0;
    rings_.store(Clock::now() + kHold, std::memory_order_relaxed);
    set_.store(on, std::memory_order_release);
    timerfd_settime(timer_, 0, &when, nullptr);
}

void Departures::add(Departing& outbox) {
    const std::lock_guard lock(mutex_);
    outbox.place_ = holding_.size();
    holding_.push_back(&outbox);
    holds_.store(holding_.size(), std::memory_order_relaxed);
    if (!set_.load(std::memory_order_relaxed))
        set_timer(true);
}

/// With mutex_ locked. The last one takes its place.
void Departures::take_out(Departing& outbox) {
    holding_.back()->place_ = outbox.place_;
    holding_[std::exchange(outbox.place_, Departing::kNowhere)] = holding_.back();
    holding_.pop_back();
    holds_.store(holding_.size(), std::memory_order_relaxed);
}

void Departures::remove(Departing& outbox) {
    const std::lock_guard lock(mutex_);
    if (outbox.place_ != Departing::kNowhere)
        take_out(outbox);
}

/// With mutex_ locked. Those stay that a thread of the program is at.
void Departures::try_each() {
    for (std::size_t i = holding_.size(); i-- > 0;)
        if (holding_[i]->try_to_depart())
            take_out(*holding_[i]);
}

void Departures::send_each() {
    const std::lock_guard lock(mutex_);
    try_each();
}

void Departures::send_due() {
    if (!set_.load(std::memory_order_acquire) ||
        Clock::now() < rings_.load(std::memory_order_relaxed))
        return;
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return; // another thread is at it, or about to hold or send
    try_each();
    set_timer(!holding_.empty());
}

} // namespace rmalock::network
