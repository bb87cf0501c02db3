// The machine as the locks see it: levels of elements, and the ranks that keep an element's
// records.
//
// Level 1 is the whole machine, level N the smallest elements (nodes, or sockets); every element of
// level i lies in one of level i - 1. e(p, i) is the element of process p at level i. Built from
// the machine's topology in the component, from plain arrays in tests.
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "fabric/concept.hh"

namespace rmalock::topology {

using fabric::Rank;
using fabric::Slot;

/// Where an element keeps what it needs for one target: record number `record` of rank `rank`.
struct RecordPlace {
    Rank rank;
    Slot record;
};

/// A partition of the ranks into elements.
class Level {
  public:
    /// `element_of[p]` is the element of rank p; elements are numbered from 0 without gaps.
    explicit Level(std::vector<std::size_t> element_of) : element_of_(std::move(element_of)) {
        for (std::size_t p = 0; p < element_of_.size(); ++p) {
            if (element_of_[p] >= members_.size())
                members_.resize(element_of_[p] + 1);
            members_[element_of_[p]].push_back(static_cast<Rank>(p));
        }
    }

    /// Elements of `size` successive ranks each.
    static Level blocks(Rank ranks, Rank size) {
        std::vector<std::size_t> element_of;
        for (Rank p = 0; p < ranks; ++p)
            element_of.push_back(static_cast<std::size_t>(p / size));
        return Level(std::move(element_of));
    }

    Rank ranks() const { return static_cast<Rank>(element_of_.size()); }
    std::size_t elements() const { return members_.size(); }
    std::size_t element(Rank p) const { return element_of_[static_cast<std::size_t>(p)]; }
    const std::vector<Rank>& members(std::size_t element) const { return members_[element]; }

    /// Members of the largest element.
    std::size_t largest() const {
        std::size_t most = 0;
        for (const std::vector<Rank>& members : members_)
            most = std::max(most, members.size());
        return most;
    }

    /// Whether each element that has one of `ranks`, which ascend, has nobody else.
    bool made_of(const std::vector<Rank>& ranks) const {
        std::size_t before = elements();
        return std::ranges::all_of(ranks, [&](Rank rank) {
            const std::size_t its = element(rank);
            return std::exchange(before, its) == its || std::ranges::includes(ranks, members(its));
        });
    }

    /// The records of an element for the P targets are dealt out to its members in turn, so that
    /// locks on different targets do not meet at one process.
    RecordPlace place(std::size_t element, Rank target) const {
        const std::vector<Rank>& members = members_[element];
        const auto t = static_cast<std::size_t>(target);
        return {members[t % members.size()], static_cast<Slot>(t / members.size())};
    }

    /// Records that every rank has to have room for: ceil(P / members of the smallest element).
    Slot records() const {
        std::size_t smallest = element_of_.size();
        for (const std::vector<Rank>& members : members_)
            smallest = std::min(smallest, members.size());
        return static_cast<Slot>((element_of_.size() + smallest - 1) / smallest);
    }

  private:
    std::vector<std::size_t> element_of_;
    std::vector<std::vector<Rank>> members_;
};

/// Levels 2 … N; level 1, the whole machine, needs no description.
struct Tree {
    std::vector<Level> below_root;

    /// N.
    unsigned levels() const { return static_cast<unsigned>(below_root.size()) + 1; }
    /// Level i of 2 … N.
    const Level& level(unsigned i) const { return below_root[i - 2]; }

    /// How many queue at level i of 2 … N in an element at most: the processes of it, or the
    /// elements below.
    std::size_t contenders(unsigned i) const {
        std::size_t most = 0;
        for (std::size_t e = 0; e < level(i).elements(); ++e) {
            std::set<std::size_t> below;
            for (const Rank p : level(i).members(e))
                below.insert(i < levels() ? level(i + 1).element(p) : static_cast<std::size_t>(p));
            most = std::max(most, below.size());
        }
        return most;
    }
};

} // namespace rmalock::topology
