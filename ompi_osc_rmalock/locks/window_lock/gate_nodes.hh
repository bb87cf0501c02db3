// The nodes of a window as its gate wants to know them.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "locks/parts/holder_records.hh"
#include "topology/tree.hh"

namespace rmalock::locks {

/// By their first ranks.
struct GateNodes {
    static constexpr Rank kOne[] = {0};
    Rank mine = 0;                    ///< the calling process's
    std::span<const Rank> all = kOne; ///< outlives the gate
    HolderPlaces holders = {};
};

/// What GateNodes refers to.
class NodeTable {
  public:
    explicit NodeTable(const topology::Level& nodes) {
        for (std::size_t node = 0; node < nodes.elements(); ++node) {
            const std::vector<Rank>& members = nodes.members(node);
            firsts_.push_back(members.front());
            for (std::size_t i = 0; i < members.size(); i += kTogether)
                hosts_.push_back(members[i]);
        }
    }

    /// `holder records`: the slot of the first of them, if there are any. `nodes` as they were.
    GateNodes seen_by(Rank self, const topology::Level& nodes, std::optional<Slot> holders) const {
        const std::size_t node = nodes.element(self);
        GateNodes seen{.mine = firsts_[node], .all = firsts_};
        if (holders) {
            const std::vector<Rank>& members = nodes.members(node);
            const auto place = std::lower_bound(members.begin(), members.end(), self);
            const auto number = static_cast<std::size_t>(place - members.begin());
            const auto line = static_cast<Slot>(number % kTogether);
            seen.holders = {.first = *holders,
                            .mine = {members[number - line], *holders + fabric::line(line)},
                            .hosts = hosts_,
                            .largest = records(nodes)};
        }
        return seen;
    }

    /// Holder records at a rank at most.
    static Slot records(const topology::Level& nodes) {
        return std::min(kTogether, static_cast<Slot>(nodes.largest()));
    }

  private:
    static constexpr Slot kTogether = HolderPlaces::kTogether;

    std::vector<Rank> firsts_, hosts_;
};

} // namespace rmalock::locks
