// Cost models: what verbs take in the simulator.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "fabric/concept.hh"

namespace rmalock::sim {

/// Virtual time.
using Time = std::chrono::duration<std::int64_t, std::pico>;

constexpr Time nanoseconds(double ns) {
    return Time(static_cast<std::int64_t>(ns * 1000 + 0.5));
}

/// What serves the messages for a rank: one adapter for each node, or the rank's own CPU. Adapters
/// acknowledge what they have done; CPUs have to be asked.
enum class ServedBy { adapter, cpu };

struct Costs {
    std::string model;
    fabric::Domain domain = fabric::Domain::cpu;
    ServedBy served_by = ServedBy::adapter;

    // One member for each row, of the type that its unit says.
    using ns = Time;
    using bytes_per_ns = double;
    using fraction = double;
#define RMALOCK_COST(name, unit, meaning) unit name{};
#include "sim/costs.def"
#undef RMALOCK_COST

    Time moving(std::size_t bytes) const {
        return nanoseconds(static_cast<double>(bytes) / bandwidth);
    }
};

/// The model of that name in a file like models.json. Throws std::runtime_error that names what is
/// wrong with the file, and what is allowed.
Costs read_costs(const std::filesystem::path& file, std::string_view model);

} // namespace rmalock::sim
