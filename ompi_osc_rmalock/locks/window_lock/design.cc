#include "locks/window_lock/design.hh"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "locks/former_names.hh"
#include "locks/window_lock/registry.hh"

namespace rmalock::locks {

namespace {

template <std::size_t N>
void keep(char (&field)[N], const char* text) {
    std::snprintf(field, N, "%s", text);
}

Thresholds thresholds(const Asked& asked) {
    std::string why;
    return {.t_l = parse_t_l(asked.t_l, why),
            .t_dc = static_cast<Value>(asked.t_dc),
            .t_r = static_cast<Value>(asked.t_r),
            .t_w = static_cast<Value>(asked.t_w),
            .patience = fabric::Duration(asked.patience)};
}

} // namespace

std::vector<Value> parse_t_l(std::string_view text, std::string& why) {
    why.clear();
    if (text == "auto")
        return {};
    std::vector<Value> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        Value value = 0;
        const auto read = std::from_chars(text.data() + begin, text.data() + end, value);
        if (read.ec != std::errc() || read.ptr != text.data() + end || value > kLargestTurn ||
            values.size() == topology::kMostItems) {
            why = "it is auto, or up to " + std::to_string(topology::kMostItems) +
                  " numbers from 0 to " + std::to_string(kLargestTurn) + ", separated by commas";
            return {};
        }
        values.push_back(value);
        begin = end + 1;
    }
    return values;
}

Asked asked(const Wishes& wishes) {
    Asked mine{};
    keep(mine.lock, std::string(present_name(wishes.lock)).c_str());
    keep(mine.topology, wishes.topology);
    keep(mine.t_l, wishes.t_l);
    mine.t_dc = wishes.t_dc;
    mine.t_r = wishes.t_r;
    mine.t_w = wishes.t_w;
    mine.patience = wishes.patience;
    return mine;
}

Site site(const Asked& asked, bool oversubscribed) {
    Site mine{.place = {}, .oversubscribed = oversubscribed};
    std::string why;
    if (needs_of(asked.lock).tree && topology::parse(asked.topology, why).looks_around())
        topology::look_around(mine.place);
    return mine;
}

Design design(const Asked& asked, const std::vector<Site>& sites) {
    std::vector<topology::Place> places;
    bool oversubscribed = false, one_node = true;
    for (const Site& s : sites) {
        places.push_back(s.place);
        one_node = one_node && s.place.node == sites.front().place.node;
        oversubscribed = oversubscribed || s.oversubscribed;
    }
    const Rank ranks = static_cast<Rank>(sites.size());
    std::string why;
    topology::Machine machine = topology::build(topology::parse(asked.topology, why), places);
    const Thresholds limits = thresholds(asked);
    topology::Level counters = topology::counters(machine, static_cast<Rank>(limits.t_dc));
    const WindowTraits traits{.ranks = ranks, .one_node = one_node};
    Design made{choose(asked.lock, traits),
                limits,
                std::move(machine),
                std::move(counters),
                {},
                oversubscribed,
                one_node};
    made.slots = slots_of(made, ranks);
    return made;
}

std::string summary(const Design& design) {
    if (needs_of(design.choice.name).nodes) {
        const std::size_t nodes = design.machine.nodes.elements();
        return ", " + std::to_string(nodes) + (nodes == 1 ? " node" : " nodes");
    }
    if (!needs_of(design.choice.name).tree)
        return "";
    const std::size_t groups = design.counters.elements();
    const std::string levels = topology::describe(design.machine);
    return (levels == "flat" ? ", flat tree, " : ", tree of " + levels + ", ") +
           std::to_string(groups) + (groups == 1 ? " counter" : " counters");
}

std::vector<std::string> describe(const Design& design) {
    std::vector<std::string> lines;
    if (needs_of(design.choice.name).tree)
        lines = topology::list(design.machine);
    lines.push_back(
        "lines of 64 bytes at each rank: 1 home record, " + std::to_string(design.slots.nodes) +
        " queue nodes, " + std::to_string(design.slots.elements / fabric::kWordsPerLine) +
        " for elements and counters, " + std::to_string(design.slots.ledgers) + " for ledgers");
    return lines;
}

} // namespace rmalock::locks
