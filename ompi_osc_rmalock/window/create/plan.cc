#include "window/create/plan.hh"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "fabric/layout.hh"
#include "fabric/node_fence.hh"
#include "host.hh"
#include "locks/window_lock/configure.hh"
#include "window/create/exposure.hh"

namespace rmalock::window {
namespace {

std::size_t whole_lines(std::size_t bytes) {
    return (bytes + fabric::kCacheLine - 1) / fabric::kCacheLine * fabric::kCacheLine;
}

/// Of sizes, which can be more together than numbers go to: at most the highest number of whole pages.
/// No segment is as large.
std::size_t sum_of(std::size_t a, std::size_t b) {
    static const std::size_t most = SIZE_MAX / page_bytes() * page_bytes();
    return a < most && b < most - a ? a + b : most;
}

/// For a window, by its rank 0: another one than that of windows before. Where the system gives no
/// random ones, one that is unlikely to repeat.
std::uint64_t random_number() {
    std::uint64_t number = 0;
    ssize_t bytes;
    do
        bytes = getrandom(&number, sizeof number, 0);
    while (bytes < 0 && errno == EINTR);
    if (bytes == sizeof number)
        return number;
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return static_cast<std::uint64_t>(now) ^ static_cast<std::uint64_t>(getpid()) << 40;
}

} // namespace

locks::LockRequestWire Plan::request(const rmalock_params_t& params) {
    return locks::to_wire({.lock = params.lock,
                           .topology = params.topology,
                           .t_l = params.t_l,
                           .passes = params.passes,
                           .t_dc = params.t_dc,
                           .t_r = params.t_r,
                           .reader_batch = params.reader_batch,
                           .t_w = params.t_w,
                           .patience = params.patience,
                           .budget_remote = params.budget_remote,
                           .budget_local = params.budget_local});
}

Share Plan::share_of(const rmalock_spec_t& spec, const locks::LockRequestWire& request) {
    Share mine{};
    mine.address = reinterpret_cast<std::uint64_t>(spec.base);
    mine.size = spec.size;
    mine.disp_unit = spec.disp_unit;
    mine.pid = getpid();
    mine.node = spec.comm.node;
    mine.watchdog = spec.params.watchdog;
    mine.process = spec.process;
    mine.number = spec.comm.rank == 0 ? random_number() : 0;
    mine.summary = spec.params.summary;
    mine.noncontiguous = spec.noncontiguous;
    mine.page_aligned = spec.page_aligned;
    mine.node_fence = spec.params.membarrier && fabric::join_node_fences();
    mine.threads = spec.threads;
    mine.single_intrinsic = spec.single_intrinsic;
    mine.request = locks::fingerprint(request);
    mine.info = info_of(spec, request);
    return mine;
}

locks::ProcessInfo Plan::info_of(const rmalock_spec_t& spec,
                                 const locks::LockRequestWire& request) {
    locks::ProcessInfo info = locks::process_info(request, spec.oversubscribed);
    info.place.node = spec.comm.node;
    return info;
}

namespace {

locks::LockConfig lock_config_of(const locks::LockRequestWire& request,
                                 const std::vector<Share>& shares) {
    std::vector<locks::ProcessInfo> infos;
    for (const Share& share : shares)
        infos.push_back(share.info);
    return locks::configure(request, infos);
}

} // namespace

Plan::Plan(const rmalock_spec_t& spec, const locks::LockRequestWire& request,
           std::vector<Share> shares)
    : rank_(spec.comm.rank), shares_(std::move(shares)),
      lock_config_(lock_config_of(request, shares_)) {
    intrinsic_ = {.four = true, .eight = true};
    for (const Share& share : shares_) {
        intrinsic_.eight &= share.single_intrinsic;
        intrinsic_.four &= share.single_intrinsic && share.narrow_atomics;
        watched_ |= share.watchdog != 0;
        summary_ |= share.summary;
        node_fence_ &= share.node_fence;
        threads_ |= share.threads;
    }
    dynamic_ = spec.flavor == RMALOCK_FLAVOR_DYNAMIC;
    mapped_ = spec.flavor == RMALOCK_FLAVOR_ALLOCATE || spec.flavor == RMALOCK_FLAVOR_SHARED;
    find_members();
    // A page of its own for each rank, but for SHARED, whose parts follow one another (MPI 4.0,
    // 12.2.3) unless the program said that they need not.
    const bool shared = spec.flavor == RMALOCK_FLAVOR_SHARED;
    apart_ = shared && std::ranges::all_of(shares_, &Share::noncontiguous);
    lay_out(shared && !apart_);
}

void Plan::find_members() {
    hosts_ = 0;
    for (Rank r = 0; r < size(); ++r) {
        hosts_ += share(r).node == r ? 1 : 0;
        if (on_node(r))
            members_.push_back(r);
    }
    settle_domain();
    networked_ = hosts_ > 1 || domain() == fabric::Domain::nic;
    if (domain() == fabric::Domain::cpu)
        intrinsic_ = {};
    my_place_ = place_of(rank_);
}

/// A process that was told, or found, that CPUs do atomics keeps all to that: it is never wrong
/// where no network adapter is asked for any.
void Plan::settle_domain() {
    if (std::all_of(shares_.begin(), shares_.end(),
                    [](const Share& share) { return share.atomics == network::AtomicsBy::nic; }))
        domain_ = fabric::Domain::nic;
}

std::size_t Plan::place_of(Rank r) const {
    return static_cast<std::size_t>(std::lower_bound(members_.begin(), members_.end(), r) -
                                    members_.begin());
}

void Plan::lay_out(bool packed) {
    const std::size_t ranks = shares_.size();
    std::uint32_t key_bytes = 0;
    for (const Share& share : shares_)
        key_bytes = std::max(key_bytes, share.key_bytes);
    places_ = ranks * sizeof(Part);
    reaches_ = places_ + (networked_ ? whole_lines(ranks * sizeof(std::int32_t)) : 0);
    // Keys of different memory can differ by a few bytes.
    static constexpr std::size_t kSlack = 16;
    key_room_ = (key_bytes + kSlack + 7) / 8 * 8;
    reach_stride_ = networked_ ? sizeof(network::Reach) + 2 * key_room_ : 0;
    state_ = reaches_ + whole_lines(ranks * reach_stride_);
    static_assert(RMALOCK_MOST_RANKS == fabric::kMostRanks);
    regions_ = fabric::bytes_of(fabric::WindowSlots::count(size(), lock_config_.slots));
    records_ = regions_ + (dynamic_ ? whole_lines(PublishedRegions::bytes(key_room_)) : 0);
    stride_ = records_ + (watched_ ? sizeof(Record) : 0);
    memory_ = whole_pages(state_ + members_.size() * stride_);
    bytes_ = memory_;
    if (mapped_)
        lay_out_memory(packed);
    else
        offsets_.assign(members_.size(), 0);
}

/// Not from the beginning of a page on, unless the program asks for that. Its own arrays begin
/// there (posix_memalign), or 16 bytes behind it (what malloc maps), and then a copy between them
/// and the window reads where it has just written but for whole pages: processors compare the lower
/// 12 bits first, and wait. A get of 128 KiB took four times as long. From about the middle of a
/// page on they do not, and neither do rows of 256 bytes to 2 KiB on both sides.
void Plan::lay_out_memory(bool packed) {
    static constexpr std::size_t kIntoPage = 2048 + 256 + 64;
    const std::size_t into = std::ranges::any_of(shares_, &Share::page_aligned) ? 0 : kIntoPage;
    std::size_t at = memory_;
    for (const Rank r : members_) {
        const std::size_t size = share(r).size;
        offsets_.push_back(sum_of(at, into));
        if (packed)
            at = sum_of(at, size);
        else if (size != 0)
            at = sum_of(at, whole_pages(sum_of(into, size)));
    }
    bytes_ = whole_pages(sum_of(at, into));
}

Range Plan::mine() const {
    const std::size_t offset = offsets_[my_place_];
    const std::size_t end = mapped_ ? offset + share(rank_).size : memory_;
    if (first_of_node())
        return {0, std::max(end, memory_)};
    return mapped_ ? Range{offset, end - offset} : Range{0, 0};
}

fabric::Placement Plan::placement(std::byte* base) const {
    const bool all_here = hosts_ == 1;
    return {.self = rank_,
            .size = size(),
            .parts = all_here ? nullptr : reinterpret_cast<std::int32_t*>(base + places_),
            .whole = lock_config_.machine.nodes.made_of(members_)};
}

Part Plan::part_of(Rank r) const {
    const Share& share = this->share(r);
    if (dynamic_) // the whole address space; what of it is attached, the regions say
        return {0, PTRDIFF_MAX, 1, share.pid, false};
    const bool mapped = mapped_ && on_node(r);
    // On other nodes of a network window a displacement is all there is to know here; see Reach.
    std::uint64_t address = mapped ? offsets_[place_of(r)] : on_node(r) ? share.address : 0;
    if (apart_ && share.size == 0) // between its neighbours nothing is this rank's
        address = Part::kNowhere;
    return {address, share.size, share.disp_unit, share.pid, mapped};
}

void Plan::write_parts(std::byte* base) const {
    auto* const parts = reinterpret_cast<Part*>(base);
    auto* const places = reinterpret_cast<std::int32_t*>(base + places_);
    const auto write = [&](Rank r) {
        parts[r] = part_of(r);
        if (networked_)
            places[r] = on_node(r) ? static_cast<std::int32_t>(place_of(r)) : -1;
    };
    if (!first_of_node())
        return write(rank_);
    for (Rank r = 0; r < size(); ++r)
        if (r == rank_ || !on_node(r))
            write(r);
}

network::Endpoints Plan::endpoints() const {
    network::Endpoints ranks{rank_, {}};
    for (Rank r = 0; r < size(); ++r)
        ranks.all.push_back(endpoint(r));
    return ranks;
}

} // namespace rmalock::window
