// The memory attached to DYNAMIC windows: each process publishes a versioned table of its regions,
// and whoever accesses it reads the table from its memory, without its help.
//
// On the node the version is looked at before every access. From other nodes that is a round trip:
// it is made once per epoch or flush, and whenever memory is not found.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "window/memory.hh"
#include "window/plan.hh"
#include "window/remote.hh"

namespace rmalock::window {

/// One attached region, in its owner's address space.
struct Region {
    std::uint64_t begin;
    std::uint64_t end;
};

/// Regions by rising address; they do not overlap.
using RegionTable = std::vector<Region>;

/// Whether the regions hold all of [begin, end); neighbouring regions count as one.
bool covers(const RegionTable& table, std::uint64_t begin, std::uint64_t end);

/// A region as other nodes see it: with the key to it.
struct Exposure {
    std::uint64_t begin, end;
    std::uint32_t key_bytes;
    std::byte key[108];
};
static_assert(sizeof(Exposure) == 128);

/// Where a process's tables are: in its state, written by its owner only. The version is odd while
/// the owner changes anything, here or in the tables.
struct alignas(64) PublishedRegions {
    std::atomic<std::uint64_t> version;
    std::atomic<std::uint64_t> address; ///< of the first Region, in the owner's address space
    std::atomic<std::uint64_t> count;   ///< of regions
    std::uint64_t exposures;            ///< for other nodes: address of the first Exposure …
    std::uint32_t key_bytes;            ///< … and the key to them
    std::byte key[92];
};
static_assert(sizeof(PublishedRegions) == 128);

/// This process's regions.
class AttachedRegions {
  public:
    /// `worker` is null if no other node is to reach them.
    AttachedRegions(PublishedRegions& published, ucx::Worker* worker)
        : published_(published), worker_(worker) {}

    /// False: part of it is attached already. Throws ucx::Error.
    bool attach(std::uint64_t begin, std::size_t bytes);
    /// False: no region begins there.
    bool detach(std::uint64_t begin);
    const RegionTable& table() const { return *table_; }

  private:
    /// Memory of exposures that other nodes read.
    struct Room {
        std::unique_ptr<Exposure[]> exposures;
        std::size_t size = 0;
        ucx::Registration registration;
    };
    void publish(RegionTable table);
    void expose(const RegionTable& table);

    PublishedRegions& published_;
    ucx::Worker* const worker_;
    /// Never changed in place: readers of the node copy it while it is replaced, notice by the
    /// version, and try again.
    std::unique_ptr<const RegionTable> table_ = std::make_unique<RegionTable>();
    std::map<std::uint64_t, ucx::Registration> registrations_; ///< by begin
    /// The last is in use. The others stay: a reader of another node that is late makes this
    /// process read them, which must not be an access to memory that is gone. Each is twice as
    /// large as the one before.
    std::vector<Room> rooms_;
};

/// The regions of all ranks of a DYNAMIC window.
class Regions {
  public:
    /// `remote` is null if all ranks are on this node.
    Regions(const Plan& plan, std::byte* base, const Part* parts, Remote* remote);

    AttachedRegions& mine() { return mine_; }
    /// What is attached at `rank`. Null: that cannot be found out. Good until the next call.
    const RegionTable* table(Rank rank);
    /// Between `origin` and `address` at another node's rank, within a region that table() has
    /// shown.
    void move(Direction direction, Rank rank, std::byte* origin, std::size_t bytes,
              std::uint64_t address, ucx::Completion* completion);
    /// An epoch begins, or a flush: what other nodes had attached may have changed.
    void renew() { ++now_; }

  private:
    static constexpr std::uint64_t kNothing =
        ~std::uint64_t{0}; ///< a version that nobody publishes
    /// The table of a rank of this node, good as long as its version is.
    struct NearCopy {
        std::uint64_t version = kNothing;
        RegionTable table;
    };
    /// That of a rank of another node.
    struct FarCopy {
        std::uint64_t version = kNothing, checked = 0; ///< checked: at which now_
        RegionTable table;
        std::vector<Exposure> exposures;
        std::map<std::uint64_t, ucx::RemoteKey> keys; ///< unpacked, by begin
    };
    const RegionTable* near_table(Rank rank);
    const RegionTable* far_table(Rank rank);
    void refresh(Rank rank, FarCopy& copy);

    /// Tables kept of this node's ranks; when full, all are dropped.
    static constexpr std::size_t kMost = 256;

    const Plan::Regions where_;
    const Part* const parts_;
    Remote* const remote_;
    AttachedRegions mine_;
    std::uint64_t now_ = 1;
    std::map<Rank, NearCopy> near_;
    std::map<Rank, FarCopy> far_;
};

} // namespace rmalock::window
