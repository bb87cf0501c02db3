// The memory attached to DYNAMIC windows: each process publishes a versioned table of its regions,
// and the processes that access it read the table from its memory, without its help.
//
// On the node the version is looked at before every access. From other nodes that is a round trip:
// it is made once per epoch or flush, and whenever memory is not found. Where an adapter takes keys,
// it is made for each access: memory that was attached again at the same place has another key, an old
// one ends the job, and of how the program hears of it nothing is known here.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "window/create/exposure.hh"
#include "window/create/memory.hh"
#include "window/create/plan.hh"
#include "network/remote.hh"
#include "ucx_glue/memory.hh"

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

/// This process's regions.
class AttachedRegions {
  public:
    /// `worker` is null if no other node is to reach them. Keys have up to `key_room` bytes.
    AttachedRegions(PublishedRegions& published, ucx::Worker* worker, std::size_t key_room)
        : published_(published), worker_(worker), key_room_(key_room) {}

    /// False: part of it is attached already. Throws ucx::Error, and nothing has changed then.
    bool attach(std::uint64_t begin, std::size_t bytes);
    /// False: no region begins there. Of several that do, an empty one goes first.
    bool detach(std::uint64_t begin);
    const RegionTable& table() const { return *table_; }
    /// Whether all these bytes are attached. Any thread may ask.
    bool has(std::uint64_t begin, std::uint64_t bytes) const;

  private:
    /// Memory of exposures that other nodes read.
    struct Room {
        std::unique_ptr<std::byte[]> exposures;
        std::size_t size = 0; ///< exposures
        ucx::Registration registration;
        ucx::Bytes key;
    };
    using Table = std::unique_ptr<const RegionTable>;
    std::byte* exposure(const Room& room, std::size_t n) const {
        return room.exposures.get() + n * Exposure::bytes(key_room_);
    }
    ucx::Bytes key_of(const ucx::Registration& registration) const;
    bool is_full() const { return rooms_.empty() || rooms_.back().size <= table_->size(); }
    Room larger_room() const;
    /// Shows `next`, which differs by what `change` does to the exposures. Neither fails.
    template <class Change>
    void publish(Table next, Change change);

    PublishedRegions& published_;
    ucx::Worker* const worker_;
    const std::size_t key_room_;
    /// Never changed in place: readers of the node copy it while it is replaced, notice by the
    /// version, and try again.
    Table table_ = std::make_unique<RegionTable>();
    mutable std::mutex mutex_; ///< of table_ where it is replaced, and for has()
    std::map<std::uint64_t, ucx::Registration> registrations_; ///< by begin
    std::multiset<std::uint64_t> empty_; ///< regions of no bytes, which nobody can access, by begin
    /// The last is in use. The others stay: a reader of another node that is late makes this
    /// process read them, which must not be an access to memory that is gone. Each is twice as
    /// large as the one before.
    std::vector<Room> rooms_;
};

/// What was read of the regions of a rank of another node. Never changed but for the keys.
class FarTable {
  public:
    explicit FarTable(network::Remote& remote, Rank rank) : remote_(remote), rank_(rank) {}
    /// Waits until nothing under way needs the keys any more.
    ~FarTable();
    FarTable(const FarTable&) = delete;
    FarTable& operator=(const FarTable&) = delete;

    const RegionTable& regions() const { return regions_; }
    /// Between `origin` and `address`. Throws ucx::Error, where part of it is not attached, too.
    void move(Direction direction, std::byte* origin, std::size_t bytes, std::uint64_t address,
              ucx::Completion* completion);
    /// Whether one region has all of these bytes: memory may be attached in any pieces.
    bool has_in_one(std::uint64_t address, std::size_t bytes) const;
    /// Changes the element at `address`, which has to be in one region. Throws alike.
    void element(const ucx::ElementAtomic& what, std::uint64_t address,
                 ucx::Completion* completion);

  private:
    friend class Regions;
    /// The first that does not end before it, if that has begun; else throws.
    std::size_t region_of(std::uint64_t address) const;
    const ucx::RemoteKey& key(const Exposure& exposure);
    const Exposure& exposure(std::size_t n) const {
        return *reinterpret_cast<const Exposure*>(exposures_.data() + n * stride_);
    }

    network::Remote& remote_;
    const Rank rank_;
    std::uint64_t version_ = 0;
    RegionTable regions_;
    std::vector<std::byte> exposures_;
    std::size_t stride_ = 0; ///< of the exposures
    std::mutex mutex_;
    std::map<std::uint64_t, ucx::RemoteKey> keys_; ///< unpacked, by begin; they stay where they are
};

/// The regions of all ranks of a DYNAMIC window.
class Regions {
  public:
    /// `remote` is null if all ranks are on this node.
    Regions(const Plan::Regions& where, const Part* parts, network::Remote* remote);

    // One thread at a time.
    AttachedRegions& mine() { return mine_; }
    /// What is attached at `rank`, of this node. Null: that cannot be found out. Good until the
    /// next call.
    const RegionTable* near(Rank rank);

    // Any thread; to be called without locks, since they wait for the network.
    /// The same for a rank of another node; as new as the epoch or the last flush, if not newer.
    std::shared_ptr<FarTable> far(Rank rank);
    /// What far() has returned last.
    std::shared_ptr<FarTable> known(Rank rank);
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
        std::uint64_t checked = 0; ///< at which now_
        std::shared_ptr<FarTable> table;
    };
    std::uint64_t version_of(Rank rank);
    std::shared_ptr<FarTable> read(Rank rank);

    /// Tables kept of this node's ranks; when full, all are dropped.
    static constexpr std::size_t kMost = 256;

    const Plan::Regions where_;
    const Part* const parts_;
    network::Remote* const remote_;
    const bool keys_; ///< adapters take them
    AttachedRegions mine_;
    std::map<Rank, NearCopy> near_;
    /// A thread that finds a number here reads tables that are no older. For that an acquire would do,
    /// and a release where it grows. Beside the round trips of far() the difference does not show.
    std::atomic<std::uint64_t> now_{1};
    std::mutex mutex_; ///< of the map
    std::map<Rank, FarCopy> far_;
};

} // namespace rmalock::window
