#include "locks/window_lock/configure.hh"

#include <algorithm>
#include <map>
#include <utility>

#include "locks/parts/counter_room.hh"
#include "locks/window_lock/registry.hh"

namespace rmalock::locks {
namespace {

Thresholds thresholds(const LockRequestWire& request) {
    std::string why;
    return {.t_l = parse_t_l(request.t_l, why),
            .t_dc = static_cast<Value>(request.t_dc),
            .t_r = static_cast<Value>(request.t_r),
            .reader_batch = static_cast<Value>(request.reader_batch),
            .t_w = static_cast<Value>(request.t_w),
            .passes = parse_passes(request.passes, why),
            .patience = fabric::Duration(request.patience),
            .budgets = {static_cast<Value>(request.budget_remote),
                        static_cast<Value>(request.budget_local)}};
}

/// Whether each element lies on one host.
bool lie_on_hosts(const topology::Level& level, const std::vector<topology::ProcessPlace>& places) {
    for (std::size_t element = 0; element < level.elements(); ++element) {
        const std::vector<Rank>& members = level.members(element);
        const auto host = [&](Rank rank) { return places[static_cast<std::size_t>(rank)].node; };
        if (std::ranges::any_of(members, [&](Rank rank) { return host(rank) != host(members[0]); }))
            return false;
    }
    return true;
}

/// Whether more processes of a node may run on the same CPUs, and no others, than these are: a job
/// within a part of the machine, or several processes bound to one core. Each on a core of its own
/// is not.
bool share_cpus(const std::vector<ProcessInfo>& infos) {
    std::map<std::pair<std::int32_t, std::uint64_t>, std::int32_t> processes;
    return std::ranges::any_of(infos, [&](const ProcessInfo& info) {
        return info.cpus.count != 0 &&
               ++processes[{info.place.node, info.cpus.which}] > info.cpus.count;
    });
}

} // namespace

ProcessInfo process_info(const LockRequestWire& request, bool oversubscribed) {
    ProcessInfo mine{.place = {}, .oversubscribed = oversubscribed, .cpus = topology::own_cpus()};
    std::string why;
    if (needs_of(request.lock).tree && topology::parse(request.topology, why).looks_around())
        topology::look_around(mine.place);
    return mine;
}

LockConfig configure(const LockRequestWire& request, const std::vector<ProcessInfo>& infos) {
    std::vector<topology::ProcessPlace> places;
    bool oversubscribed = share_cpus(infos), one_node = true;
    for (const ProcessInfo& s : infos) {
        places.push_back(s.place);
        one_node = one_node && s.place.node == infos.front().place.node;
        oversubscribed = oversubscribed || s.oversubscribed;
    }
    const Rank ranks = static_cast<Rank>(infos.size());
    std::string why;
    topology::Machine machine = topology::build(topology::parse(request.topology, why), places);
    const Thresholds limits = thresholds(request);
    topology::Level counters = counters_within(machine, static_cast<Rank>(limits.t_dc));
    const WindowTraits traits{.ranks = ranks, .one_node = one_node};
    const bool on_hosts = lie_on_hosts(machine.nodes, places);
    LockConfig made{choose(request.lock, traits),
                    limits,
                    std::move(machine),
                    std::move(counters),
                    {},
                    oversubscribed,
                    one_node,
                    on_hosts};
    made.slots = slots_of(made, ranks);
    return made;
}

std::string summary(const LockConfig& config) {
    if (needs_of(config.choice.name).nodes) {
        const std::size_t nodes = config.machine.nodes.elements();
        return ", " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
    }
    if (!needs_of(config.choice.name).tree)
        return "";
    const std::size_t groups = config.counters.elements();
    const std::string levels = topology::describe(config.machine);
    return (levels == "flat" ? ", flat tree, " : ", tree of " + levels + ", ") +
           std::to_string(groups) + (groups == 1 ? " counter" : " counters");
}

std::vector<std::string> describe(const LockConfig& config) {
    std::vector<std::string> lines;
    if (needs_of(config.choice.name).tree)
        lines = topology::list(config.machine);
    lines.push_back("lines of 64 bytes at each rank: 1 home record, " +
                    std::to_string(config.slots.qnodes) + " queue nodes, " +
                    std::to_string(config.slots.elements / fabric::kWordsPerLine) +
                    " for elements and counters, " + std::to_string(config.slots.holders) +
                    " for holder records");
    return lines;
}

} // namespace rmalock::locks
