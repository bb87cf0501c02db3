// What the processes of a window ask for, and the one lock, with its thresholds, tree and memory,
// that they all get. Every process computes the same configuration from what all have contributed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "fabric/layout.hh"
#include "locks/lock_env.hh"
#include "topology/machine.hh"

namespace rmalock::locks {

/// The parameters that are about locks, checked, as texts and numbers of params.def.
struct LockRequest {
    const char* lock = "auto";
    const char* topology = "auto";
    const char* t_l = "auto";
    const char* passes = "auto";
    std::int32_t t_dc = 0, t_r = 0, reader_batch = 0, t_w = 0, patience = 0;
    std::int32_t budget_remote = Budgets{}.remote, budget_local = Budgets{}.local;
};

/// The same as plain bytes. Rank 0's count, and it sends them to all.
struct LockRequestWire {
    static constexpr std::size_t kText = topology::kLongestSpec + 1;
    char lock[24];
    char topology[kText];
    char t_l[kText];
    char passes[kText];
    std::int32_t t_dc, t_r, reader_batch, t_w, patience, budget_remote, budget_local;
};
static_assert(std::is_trivially_copyable_v<LockRequestWire>);

LockRequestWire to_wire(const LockRequest& request);

/// By which processes see whether they ask for the same, without sending all of it.
std::uint64_t fingerprint(const LockRequestWire& request);

/// What each process contributes. The window may set `place.node` to what it knows; else all are on
/// one node.
struct ProcessInfo {
    topology::ProcessPlace place;
    bool oversubscribed = false; ///< more ranks than cores on this process's node
    topology::Cpus cpus = {};
};
static_assert(std::is_trivially_copyable_v<ProcessInfo>);

struct Choice {
    const char* name;   ///< as in the parameter `lock`
    const char* reason; ///< for people
};

/// What `auto` looks at.
struct WindowTraits {
    Rank ranks = 0;
    bool one_node = true;
};

/// The choice of `auto`. The simulator asks it as well (test/sim).
Choice choose(const WindowTraits& traits);

/// Reads the text of the parameter t_l. On failure `why` says what is wrong, and is empty
/// otherwise.
std::vector<Value> parse_t_l(std::string_view text, std::string& why);
/// The same of the parameter passes.
std::optional<Value> parse_passes(std::string_view text, std::string& why);

struct LockConfig {
    Choice choice;
    Thresholds thresholds;
    topology::Machine machine;
    topology::Level counters;
    fabric::LockSlots slots;
    bool oversubscribed = false; ///< some process finds its node to be, or shares its CPUs
    bool one_node = true;        ///< whatever tree was asked for
    /// Whether the words of a node are at hand for all of its processes: not where the tree that was
    /// asked for has nodes of several hosts.
    bool nodes_on_hosts = true;

    MachineView view() const { return {machine.tree, machine.nodes, counters, one_node}; }
};

} // namespace rmalock::locks
