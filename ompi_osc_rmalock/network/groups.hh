// Which processes of the job the windows have linked, as groups that meet before they end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace rmalock::network {

/// Sets of processes, none of them within another one.
///
/// Each process keeps those it is in itself. If all members of a window add it, all members of a
/// group agree on whether it is kept: a larger one has the same members, and they know it, too.
class Groups {
  public:
    /// By number of process (rmalock_spec_t.process), sorted.
    using Group = std::vector<std::uint64_t>;

    /// In any order. A group of one process is none.
    void add(Group group) {
        std::sort(group.begin(), group.end());
        if (group.size() < 2 || is_known(group))
            return;
        std::erase_if(all_, [&](const Group& known) { return contains(group, known); });
        all_.push_back(std::move(group));
    }

    /// Whether one of the groups contains all of these, in any order.
    bool have(Group processes) const {
        std::sort(processes.begin(), processes.end());
        return is_known(processes);
    }

    const std::vector<Group>& all() const { return all_; }

  private:
    static bool contains(const Group& larger, const Group& smaller) {
        return std::includes(larger.begin(), larger.end(), smaller.begin(), smaller.end());
    }
    bool is_known(const Group& sorted) const {
        return std::any_of(all_.begin(), all_.end(),
                           [&](const Group& known) { return contains(known, sorted); });
    }

    std::vector<Group> all_;
};

} // namespace rmalock::network
