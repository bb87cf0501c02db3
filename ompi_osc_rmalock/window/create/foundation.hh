// A window before it is one: what its processes lay together.
#pragma once

#include <memory>
#include <optional>

#include "network/remote.hh"
#include "rmalock_api.h"
#include "window/create/plan.hh"
#include "window/create/segment.hh"

namespace rmalock::window {

struct Foundation {
    std::optional<Plan> plan; ///< there, when it is laid
    Segment segment;
    std::unique_ptr<network::Remote> remote; ///< null: the window needs no network
};

/// Collective: all processes return the same. The memory is mapped, and other nodes reach it.
rmalock_status_t lay(const rmalock_spec_t& spec, Foundation& foundation);

} // namespace rmalock::window
