// The parameter `topology`: which elements the locks' trees are made of.
//
//     topology = "auto" | "flat" | level { "," level }      from the smallest elements to the largest
//     level    = ( "l3" | "numa" ) [ ":" n ]                the caches or memories that hwloc finds
//              | "node" [ ":" n ]                           the nodes of the job
//              | "rack" [ ":" n ]                           the nodes on one switch, as Slurm says
//
// With n: of numa, each node's processes dealt out to n elements, in order (of l3, each numa's); of
// node, n successive ranks each; of rack, n successive nodes each.
//
// At most three levels. "auto" takes those of rack, node, numa and l3 that divide the processes;
// "flat" none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rmalock::topology {

/// Kinds of elements, from small to large.
enum class Kind : std::uint8_t { l3, numa, node, rack };

constexpr const char* name_of(Kind kind) {
    constexpr const char* names[] = {"l3", "numa", "node", "rack"};
    return names[static_cast<unsigned>(kind)];
}

struct Spec {
    struct Item {
        Kind kind;
        std::int32_t number = 0; ///< 0: none was given
        friend bool operator==(const Item&, const Item&) = default;
    };
    bool automatic = false;
    std::vector<Item> items; ///< from small to large

    /// Whether it matters where hwloc or the job's scheduler say that a process runs.
    bool looks_around() const;
};

inline constexpr std::size_t kMostItems = 3;
inline constexpr std::size_t kLongestSpec = 63; ///< characters
inline constexpr std::int32_t kLargestNumber = 65536;

/// Reads the text of the parameter. On failure `why` says what is wrong, and is empty otherwise.
Spec parse(std::string_view text, std::string& why);

} // namespace rmalock::topology
