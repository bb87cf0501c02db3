// The memory attached to DYNAMIC windows: each process publishes a versioned table of its regions, and
// whoever accesses it reads the table from its memory, without its help.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "fabric/concept.hh"

namespace rmalock::window {

using fabric::Rank;

/// One attached region, in its owner's address space.
struct Region {
    std::uint64_t begin;
    std::uint64_t end;
};

/// Regions by rising address; they do not overlap.
using RegionTable = std::vector<Region>;

/// Whether the regions hold all of [begin, end); neighbouring regions count as one.
bool covers(const RegionTable& table, std::uint64_t begin, std::uint64_t end);

/// Where a process's table is: in the segment, one per rank, written by its owner only. The version is
/// odd while the owner changes the other two.
struct alignas(64) PublishedRegions {
    std::atomic<std::uint64_t> version;
    std::atomic<std::uint64_t> address; ///< of the first Region, in the owner's address space
    std::atomic<std::uint64_t> count;
};

/// The owner's side.
class AttachedRegions {
  public:
    explicit AttachedRegions(PublishedRegions& published) : published_(published) {}

    /// False: part of it is attached already.
    bool attach(std::uint64_t begin, std::size_t bytes);
    /// False: no region begins there.
    bool detach(std::uint64_t begin);
    const RegionTable& table() const { return *table_; }

  private:
    void publish(RegionTable table);

    PublishedRegions& published_;
    /// Never changed in place: readers of other processes copy it while it is replaced, notice by the
    /// version, and try again.
    std::unique_ptr<const RegionTable> table_ = std::make_unique<RegionTable>();
};

/// Copies of other processes' tables, each good as long as its version is.
class RegionCache {
  public:
    /// The table of `rank`, whose process is `pid`. Null: its memory cannot be read.
    const RegionTable* table(Rank rank, const PublishedRegions& published, pid_t pid);

  private:
    struct Copy {
        std::uint64_t version = 1; ///< odd: of nothing
        RegionTable table;
    };
    static bool refresh(Copy& copy, const PublishedRegions& published, pid_t pid);

    /// Tables kept; when full, all are dropped.
    static constexpr std::size_t kMost = 256;
    std::map<Rank, Copy> copies_;
};

} // namespace rmalock::window
