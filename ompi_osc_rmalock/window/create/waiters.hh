// How the processes of a window wait.
#pragma once

#include "fabric/waiter.hh"
#include "rmalock_api.h"
#include "window/create/plan.hh"

namespace rmalock::window {

/// For answers of the network.
fabric::Waiter waiter_for(const rmalock_spec_t& spec, const Plan& plan);
/// For words of the node. `watch`: for windows that have to be watched, with `window`.
fabric::Waiter node_waiter_for(const rmalock_spec_t& spec, const Plan& plan, void (*watch)(void*),
                               void* window);

} // namespace rmalock::window
