// Where everything lies in the memory that the processes of a window share on a node. Every process
// computes the same from what all have contributed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/hybrid.hh"
#include "locks/window_lock/registry.hh"
#include "network/reach.hh"
#include "rmalock_api.h"
#include "window/create/memory.hh"
#include "window/create/record.hh"
#include "window/create/segment.hh"

namespace rmalock::window {

/// What a process contributes before the window exists.
struct Share {
    std::uint64_t address, size;
    std::int64_t disp_unit;
    std::int32_t pid;
    std::int32_t node;      ///< the lowest rank of the process's node
    std::int32_t watchdog;  ///< the parameter
    std::uint64_t process;  ///< rmalock_spec_t.process
    std::uint64_t number;   ///< of the window, at its rank 0
    SegmentFile::Name file; ///< of the process that is the lowest of its node
    // Across the network.
    ucx::PeerId peer;        ///< the process's name there
    network::WindowId id;    ///< the window's there
    std::uint32_t key_bytes; ///< what a key takes
    network::AtomicsBy
        atomics; ///< on words of other nodes, as far as the process knows or was told
    bool noncontiguous, page_aligned, summary;
    bool node_fence, threads; ///< may be fenced by others of its node; has several threads in MPI
    bool single_intrinsic,
        narrow_atomics;    ///< see rmalock_spec_t; the network does those of 32 bits
    std::uint64_t request; ///< locks::fingerprint of what this process asks for
    locks::ProcessInfo info;
};

/// The order in a segment:
///   parts (a line per rank) | places, reaches (windows on the network) | state of the node's ranks
///   | memory of the node's first rank | of its second | …
/// State: the words of fabric/layout.hh, for DYNAMIC windows the table of regions, and for the
/// watchdog the record of locks.
class Plan {
  public:
    static locks::LockRequestWire request(const rmalock_params_t& params);
    static locks::ProcessInfo info_of(const rmalock_spec_t& spec,
                                      const locks::LockRequestWire& request);
    static Share share_of(const rmalock_spec_t& spec, const locks::LockRequestWire& request);
    Plan(const rmalock_spec_t& spec, const locks::LockRequestWire& request,
         std::vector<Share> shares);

    /// The lock of all.
    const locks::LockConfig& lock_config() const { return lock_config_; }
    fabric::Domain domain() const { return domain_; }

    Rank rank() const { return rank_; }
    Rank size() const { return static_cast<Rank>(shares_.size()); }
    Rank hosts() const { return hosts_; }
    /// Whether the window needs the network.
    bool networked() const { return networked_; }
    const Share& share(Rank r) const { return shares_[static_cast<std::size_t>(r)]; }
    bool on_node(Rank r) const { return share(r).node == share(rank_).node; }
    bool alone_on_node() const { return members_.size() == 1; }
    /// The ranks of this node, ascending, and which of them this one is.
    const std::vector<Rank>& members() const { return members_; }
    std::size_t my_place() const { return my_place_; }
    bool first_of_node() const { return share(rank_).node == rank_; }

    std::size_t bytes() const { return bytes_; }
    std::size_t state_bytes() const { return stride_; }
    /// The pages this process reserves: its own memory, and the node's first rank all before the
    /// memory. Packed neighbours may share a page; both then reserve it.
    Range mine() const;
    /// Where in the segment this process's state and memory (of ALLOCATE and SHARED windows) are.
    std::size_t my_state() const { return state_ + my_place_ * stride_; }
    std::size_t my_memory() const { return offsets_[my_place_]; }
    bool mapped() const { return mapped_; }

    fabric::WordSpace words(std::byte* base) const {
        return {base + state_, stride_, static_cast<Rank>(members_.size()),
                fabric::WindowSlots::bell};
    }
    fabric::Placement placement(std::byte* base) const;
    /// DYNAMIC: where ranks publish what is attached: `offset` bytes into their state.
    struct Regions {
        Rank self;
        std::byte* states; ///< of the node's ranks, `stride` bytes apart
        std::size_t stride, offset;
        const std::int32_t* places; ///< by rank: place on the node, or -1; null: rank = place
        std::size_t key_room;       ///< bytes that a key to memory takes at most
    };
    Regions regions(std::byte* base) const {
        return {rank_, base + state_, stride_, regions_, placement(base).parts, key_room_};
    }
    /// Where processes publish their locks, if any of them wants to be told about deadlocks.
    bool watched() const { return watched_; }
    Records records(std::byte* base) const {
        return {base + state_, stride_, records_, placement(base).parts};
    }
    /// The window's number, which no other window has.
    std::uint64_t number() const { return share(0).number; }
    /// Of single elements (locks/parts/element_marks.hh): whether all can be fenced by others of
    /// their node, and how many marks a process uses.
    bool node_fence() const { return node_fence_; }
    fabric::Slot mark_lines() const {
        return threads_ ? fabric::WindowSlots::kMarkLines : networked_ ? 2 : 1;
    }
    /// Which elements the network's own atomics change, in the domain nic, at any origin.
    IntrinsicSizes intrinsic() const { return intrinsic_; }
    /// Whether the processes want a line at the end.
    bool summary() const { return summary_; }
    /// What the network has to know of the ranks.
    network::Endpoint endpoint(Rank r) const {
        return {share(r).peer, share(r).process, share(r).node, share(r).id};
    }
    network::Endpoints endpoints() const;
    network::ReachTable reaches(std::byte* base) const { return {base + reaches_, reach_stride_}; }

    /// Fills in what everybody of the node reads: each rank its own part, the first rank those of
    /// other nodes.
    void write_parts(std::byte* base) const;

  private:
    Part part_of(Rank r) const;
    void find_members();
    void settle_domain();
    void lay_out(bool packed);
    void lay_out_memory(bool packed);
    std::size_t place_of(Rank r) const;

    Rank rank_;
    std::vector<Share> shares_;
    locks::LockConfig lock_config_;
    std::vector<Rank> members_;        ///< of this node, ascending
    std::vector<std::size_t> offsets_; ///< by place on the node: of the memory
    std::size_t my_place_ = 0;
    Rank hosts_ = 1;
    fabric::Domain domain_ = fabric::Domain::cpu;
    bool apart_ = false; ///< SHARED: the parts need not follow one another
    bool mapped_ = false, dynamic_ = false, networked_ = false, watched_ = false, summary_ = false;
    bool node_fence_ = true, threads_ = false;
    IntrinsicSizes intrinsic_;
    std::size_t places_ = 0, key_room_ = 0, reaches_ = 0, reach_stride_ = 0, state_ = 0,
                stride_ = 0, regions_ = 0, records_ = 0, memory_ = 0, bytes_ = 0;
};

} // namespace rmalock::window
