#include "topology/machine.hh"

#include <algorithm>
#include <map>
#include <utility>

namespace rmalock::topology {

namespace {

using Elements = std::vector<std::size_t>; ///< of each rank

/// Numbers from 0 without gaps, in the order of first appearance.
template <class Key>
Elements dense(const std::vector<Key>& keys) {
    std::map<Key, std::size_t> numbers;
    Elements elements;
    for (const Key& key : keys)
        elements.push_back(numbers.try_emplace(key, numbers.size()).first->second);
    return elements;
}

std::size_t count(const Elements& elements) {
    return elements.empty() ? 0 : *std::max_element(elements.begin(), elements.end()) + 1;
}

/// Divides each element of `parent` by `part`.
Elements within(const Elements& parent, const std::vector<std::int64_t>& part) {
    std::vector<std::pair<std::size_t, std::int64_t>> keys;
    for (std::size_t p = 0; p < parent.size(); ++p)
        keys.emplace_back(parent[p], part[p]);
    return dense(keys);
}

/// Deals the ranks of each element of `parent` out to n parts of it, as evenly as can be.
Elements dealt_out(const Elements& parent, std::int32_t n) {
    const Level level{Elements(parent)};
    std::vector<std::int64_t> part(parent.size());
    for (std::size_t e = 0; e < level.elements(); ++e) {
        const std::vector<Rank>& members = level.members(e);
        for (std::size_t i = 0; i < members.size(); ++i)
            part[static_cast<std::size_t>(members[i])] =
                static_cast<std::int64_t>(i * static_cast<std::size_t>(n) / members.size());
    }
    return within(parent, part);
}

Elements blocks_of(const Elements& what, std::int32_t n) {
    std::vector<std::int64_t> keys;
    for (const std::size_t element : what)
        keys.push_back(static_cast<std::int64_t>(element) / n);
    return dense(keys);
}

/// The elements of every kind, whether the tree has them or not.
class Census {
  public:
    Census(const Spec& spec, const std::vector<ProcessPlace>& places) {
        std::vector<std::int64_t> node, numa, l3;
        Elements ranks;
        for (const ProcessPlace& place : places) {
            node.push_back(place.node);
            numa.push_back(place.numa);
            l3.push_back(place.l3);
            ranks.push_back(ranks.size());
        }
        of_[at(Kind::node)] = number(spec, Kind::node) != 0
                                  ? blocks_of(ranks, number(spec, Kind::node))
                                  : dense(node);
        of_[at(Kind::rack)] = number(spec, Kind::rack) != 0
                                  ? blocks_of(elements(Kind::node), number(spec, Kind::rack))
                                  : found_racks(elements(Kind::node), places);
        divide(Kind::numa, elements(Kind::node), number(spec, Kind::numa), numa);
        divide(Kind::l3, elements(Kind::numa), number(spec, Kind::l3), l3);
    }

    const Elements& elements(Kind kind) const { return of_[at(kind)]; }

  private:
    static std::size_t at(Kind kind) { return static_cast<std::size_t>(kind); }
    static std::int32_t number(const Spec& spec, Kind kind) {
        for (const Spec::Item& item : spec.items)
            if (item.kind == kind)
                return item.number;
        return 0;
    }
    /// That of a node is what its first rank says: nodes that the parameter makes up may lie in
    /// several.
    static Elements found_racks(const Elements& node, const std::vector<ProcessPlace>& places) {
        const Level nodes{Elements(node)};
        std::vector<std::int64_t> rack;
        for (const std::size_t n : node)
            rack.push_back(places[static_cast<std::size_t>(nodes.members(n).front())].rack);
        return dense(rack);
    }
    void divide(Kind kind, const Elements& parent, std::int32_t n,
                const std::vector<std::int64_t>& found) {
        of_[at(kind)] = n != 0 ? dealt_out(parent, n) : within(parent, found);
    }

    Elements of_[4];
};

/// What divides the processes further, from the largest elements on.
std::vector<Kind> found_out(const Census& census) {
    std::vector<Kind> kinds;
    std::size_t parts = 1;
    for (const Kind kind : {Kind::rack, Kind::node, Kind::numa, Kind::l3}) {
        const std::size_t n = count(census.elements(kind));
        if (n <= parts || kinds.size() == kMostItems)
            continue;
        kinds.push_back(kind);
        parts = n;
    }
    return kinds;
}

std::pair<std::size_t, std::size_t> sizes(const Level& level) {
    std::size_t least = level.members(0).size(), most = least;
    for (std::size_t e = 1; e < level.elements(); ++e) {
        least = std::min(least, level.members(e).size());
        most = std::max(most, level.members(e).size());
    }
    return {least, most};
}

} // namespace

std::int32_t rack_in(std::string_view address, std::string_view pattern) {
    const std::size_t node = pattern.rfind('.');
    const std::size_t last = address.rfind('.');
    if (node == std::string_view::npos || last == std::string_view::npos ||
        pattern.substr(0, node).find("switch") == std::string_view::npos)
        return -1;
    // All switches above the node: names of the lowest need only differ below one of the next.
    std::uint32_t hash = 2166136261U; // FNV-1a
    for (const char c : address.substr(0, last))
        hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return static_cast<std::int32_t>(hash & 0x7fffffffU);
}

Machine build(const Spec& spec, const std::vector<ProcessPlace>& places) {
    const Census census(spec, places);
    Machine machine{{}, {}, Level(Elements(census.elements(Kind::node)))};
    if (spec.automatic)
        machine.kinds = found_out(census);
    for (auto item = spec.items.rbegin(); item != spec.items.rend(); ++item)
        machine.kinds.push_back(item->kind);
    for (const Kind kind : machine.kinds)
        machine.tree.below_root.emplace_back(Elements(census.elements(kind)));
    return machine;
}

Level counters(const Machine& machine, Rank t_dc) {
    const std::size_t wanted = static_cast<std::size_t>(t_dc);
    std::size_t ranks = 0;
    for (std::size_t n = 0; n < machine.nodes.elements(); ++n)
        ranks += machine.nodes.members(n).size();
    Elements group(ranks);
    std::size_t next = 0, in_group = 0; // the group that is being filled
    for (std::size_t n = 0; n < machine.nodes.elements(); ++n) {
        const std::vector<Rank>& members = machine.nodes.members(n);
        const bool cut = t_dc != 0 && wanted < members.size();
        if (in_group != 0 && (cut || in_group >= wanted)) {
            ++next;
            in_group = 0;
        }
        for (const Rank p : members) {
            if (cut && in_group == wanted) {
                ++next;
                in_group = 0;
            }
            group[static_cast<std::size_t>(p)] = next;
            ++in_group;
        }
        if (cut) {
            ++next;
            in_group = 0;
        }
    }
    return Level(std::move(group));
}

Level shared_counters(const Machine& machine, std::size_t most) {
    const std::size_t ranks = static_cast<std::size_t>(machine.nodes.ranks());
    std::vector<std::size_t> group(ranks);
    std::size_t before = 0; // processes of the nodes before
    for (std::size_t n = 0; n < machine.nodes.elements(); ++n) {
        const std::vector<Rank>& members = machine.nodes.members(n);
        for (const Rank p : members)
            group[static_cast<std::size_t>(p)] = before * most / ranks;
        before += members.size();
    }
    return Level(dense(group));
}

std::string describe(const Machine& machine) {
    std::string text;
    for (std::size_t i = 0; i < machine.kinds.size(); ++i) {
        const Level& level = machine.tree.below_root[i];
        const auto [least, most] = sizes(level);
        text += (text.empty() ? "" : ", ") + std::to_string(level.elements()) + " " +
                name_of(machine.kinds[i]) + (level.elements() == 1 ? " of " : "s of ") +
                std::to_string(least) + (most != least ? " to " + std::to_string(most) : "");
    }
    return text.empty() ? "flat" : text + " ranks";
}

std::vector<std::string> list(const Machine& machine) {
    constexpr std::size_t kMost = 64; // elements of a line
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < machine.kinds.size(); ++i) {
        const Level& level = machine.tree.below_root[i];
        std::string line =
            "level " + std::to_string(i + 2) + ", " + name_of(machine.kinds[i]) + ":";
        for (std::size_t e = 0; e < std::min(level.elements(), kMost); ++e) {
            line += " {";
            for (const Rank p : level.members(e))
                line += (line.back() == '{' ? "" : " ") + std::to_string(p);
            line += "}";
        }
        lines.push_back(line + (level.elements() > kMost ? " ..." : ""));
    }
    return lines;
}

} // namespace rmalock::topology
