#include "window/create/wait_observer.hh"

#include <utility>

namespace rmalock::window {
namespace {

thread_local WaitObserver* innermost = nullptr;

} // namespace

WaitObserver::WaitObserver() : outer_(std::exchange(innermost, this)) {}

WaitObserver::~WaitObserver() {
    innermost = outer_;
}

void WaitObserver::look(void* /*unused*/) {
    if (innermost != nullptr)
        innermost->still_waiting();
}

} // namespace rmalock::window
