#include "window/window.hh"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "fabric/layout.hh"
#include "window/host.hh"

namespace rmalock::window {

/// Where everything lies in a window's segment:
///   parts (one line per rank) | published regions (the same; DYNAMIC only) |
///   state (lock words …, per rank) | memory of rank 0 | of rank 1 | …
/// Every process computes the same from what all have contributed.
class Plan {
  public:
    /// What a process contributes.
    struct Share {
        std::uint64_t address, size;
        std::int32_t disp_unit, pid;
        locks::Site site;
        bool noncontiguous;
    };
    static locks::Asked asked(const rmalock_params_t& params) {
        return locks::asked({.lock = params.lock,
                             .topology = params.topology,
                             .t_l = params.t_l,
                             .t_dc = params.t_dc,
                             .t_r = params.t_r,
                             .t_w = params.t_w});
    }
    static Share share_of(const rmalock_spec_t& spec, const locks::Asked& asked) {
        Share mine{};
        mine.address = reinterpret_cast<std::uint64_t>(spec.base);
        mine.size = spec.size;
        mine.disp_unit = spec.disp_unit;
        mine.pid = getpid();
        mine.site = locks::site(asked, spec.oversubscribed);
        mine.noncontiguous = spec.noncontiguous;
        return mine;
    }

    Plan(const rmalock_spec_t& spec, const locks::Asked& asked, std::vector<Share> shares)
        : rank_(spec.comm.rank), shares_(std::move(shares)), design_(design_of(asked, shares_)),
          offsets_(shares_.size()) {
        const std::size_t ranks = shares_.size();
        regions_ = ranks * sizeof(Part);
        dynamic_ = spec.flavor == RMALOCK_FLAVOR_DYNAMIC;
        state_ = regions_ + (dynamic_ ? ranks * sizeof(PublishedRegions) : 0);
        stride_ = fabric::bytes_of(
            fabric::WindowSlots::count(static_cast<Rank>(ranks), design_.slots));
        memory_ = whole_pages(state_ + ranks * stride_);
        mapped_ = spec.flavor == RMALOCK_FLAVOR_ALLOCATE || spec.flavor == RMALOCK_FLAVOR_SHARED;
        // A page of its own for each rank, but for SHARED, whose parts follow one another (MPI 4.0,
        // 12.2.3) unless the program said that they need not.
        const bool packed = spec.flavor == RMALOCK_FLAVOR_SHARED && !shares_[0].noncontiguous;
        std::size_t at = memory_;
        for (std::size_t r = 0; mapped_ && r < ranks; ++r) {
            offsets_[r] = at;
            at += packed ? shares_[r].size : whole_pages(shares_[r].size);
        }
        bytes_ = whole_pages(std::max(at, memory_));
    }

    /// The lock of all.
    const locks::Design& design() const { return design_; }

    std::size_t bytes() const { return bytes_; }
    std::size_t state_bytes() const { return stride_; }

    /// The pages this process reserves: its own memory, and rank 0 the parts and the state as well.
    /// Packed neighbours may share a page; both then reserve it.
    Range mine() const {
        const std::size_t begin = rank_ == 0 ? 0 : mapped_ ? offset(rank_) : 0;
        const std::size_t end = mapped_ ? offset(rank_) + share(rank_).size : memory_;
        return {begin, rank_ == 0 ? std::max(end, memory_) : mapped_ ? end - begin : 0};
    }

    fabric::WordSpace words(std::byte* base) const {
        return {base + state_, stride_, static_cast<Rank>(shares_.size())};
    }

    PublishedRegions* published_regions(std::byte* base) const {
        return dynamic_ ? reinterpret_cast<PublishedRegions*>(base + regions_) : nullptr;
    }

    Part my_part() const {
        const Share& mine = share(rank_);
        if (dynamic_) // the whole address space; what of it is attached, the regions say
            return {0, PTRDIFF_MAX, 1, mine.pid, false};
        const std::uint64_t address = mapped_ ? offset(rank_) : mine.address;
        return {address, mine.size, mine.disp_unit, mine.pid, mapped_};
    }

  private:
    static locks::Design design_of(const locks::Asked& asked, const std::vector<Share>& shares) {
        std::vector<locks::Site> sites;
        for (const Share& share : shares)
            sites.push_back(share.site);
        return locks::design(asked, sites);
    }
    const Share& share(Rank r) const { return shares_[static_cast<std::size_t>(r)]; }
    std::size_t offset(Rank r) const { return offsets_[static_cast<std::size_t>(r)]; }

    Rank rank_;
    std::vector<Share> shares_;
    locks::Design design_;
    std::vector<std::size_t> offsets_;
    std::size_t regions_ = 0, state_ = 0, stride_ = 0, memory_ = 0, bytes_ = 0;
    bool mapped_ = false, dynamic_ = false;
};

namespace {

fabric::Waiter waiter_for(const rmalock_spec_t& spec, bool oversubscribed) {
    const std::string_view yield = spec.params.yield;
    return {.progress = host().progress,
            .spins = static_cast<unsigned>(spec.params.spin),
            .yield = yield == "always" || (yield == "auto" && oversubscribed)};
}

} // namespace

Window::Window(const rmalock_spec_t& spec, Segment segment, const Plan& plan)
    : name_(spec.name), label_(spec.label), flavor_(spec.flavor), comm_(spec.comm), threads_(host().threads),
      check_nocheck_(spec.params.check_nocheck),
      segment_(std::move(segment)), parts_(reinterpret_cast<Part*>(segment_.base())),
      published_regions_(plan.published_regions(segment_.base())),
      fabric_(plan.words(segment_.base()), spec.comm.rank,
              waiter_for(spec, plan.design().oversubscribed)),
      choice_(plan.design().choice), lock_(locks::make(plan.design(), fabric_)),
      accumulate_lock_(fabric_, fabric::WindowSlots::accumulate) {
    parts_[rank()] = plan.my_part();
    if (published_regions_ != nullptr)
        attached_regions_ = std::make_unique<AttachedRegions>(published_regions_[rank()]);
}

Status Window::create(const rmalock_spec_t& spec, std::unique_ptr<Window>& window) {
    const rmalock_comm_t& comm = spec.comm;
    // An info value is each process's own; one window has one lock.
    locks::Asked asked = Plan::asked(spec.params);
    if (comm.broadcast(comm.handle, &asked, sizeof asked, 0) != 0)
        return RMALOCK_ERR_COMM;
    const Plan::Share mine = Plan::share_of(spec, asked);
    std::vector<Plan::Share> shares(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, shares.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    const Plan plan(spec, asked, std::move(shares));

    Segment segment;
    const Status status =
        Segment::create(comm, spec.params.shm_dir, plan.bytes(), plan.mine(), segment);
    if (status != RMALOCK_OK)
        return status;
    window.reset(new Window(spec, std::move(segment), plan));
    // Everybody's part is written before anybody reads it, and before the window is used.
    if (comm.barrier(comm.handle) != 0)
        return RMALOCK_ERR_COMM;
    if (comm.rank == 0) {
        report(1, "window '%s' selected: lock %s (%s)%s; %d ranks on one node%s", window->name(),
               window->choice_.name, window->choice_.reason,
               locks::summary(plan.design()).c_str(), comm.size,
               window->fabric_.waiter().yield ? ", waits yield the core" : "");
        report(2, "window '%s': segment of %zu bytes, of it %zu per rank for locks and epochs",
               window->name(), plan.bytes(), plan.state_bytes());
        for (const std::string& line : locks::describe(plan.design()))
            report(2, "window '%s': %s", window->name(), line.c_str());
    }
    return RMALOCK_OK;
}

Status Window::free() {
    if (exposed_)
        return fail(RMALOCK_ERR_SYNC, "MPI_Win_free", -1, "an exposure epoch is open");
    if (const Status status = advance(Event::free, "MPI_Win_free"); status != RMALOCK_OK)
        return status;
    // No process unmaps while another one may still be in an operation on its memory.
    fabric_.flush_all();
    return comm_.barrier(comm_.handle) == 0 ? RMALOCK_OK : RMALOCK_ERR_COMM;
}

void* Window::base() const {
    const Part& mine = part(rank());
    return mine.mapped ? segment_.base() + mine.address : reinterpret_cast<void*>(mine.address);
}

Status Window::shared_query(Rank rank, std::size_t& size, int& disp_unit, void*& base) const {
    if (flavor_ != RMALOCK_FLAVOR_SHARED)
        return fail(RMALOCK_ERR_FLAVOR, "MPI_Win_shared_query", -1,
                    "not a window of MPI_Win_allocate_shared");
    // MPI_PROC_NULL: the lowest rank that has memory.
    for (Rank r = 0; rank < 0 && r < comm_.size; ++r)
        if (part(r).size != 0)
            rank = r;
    const Part none{};
    const Part& found = rank < 0 ? none : part(rank);
    size = found.size;
    disp_unit = found.disp_unit;
    base = rank < 0 ? nullptr : segment_.base() + found.address;
    return RMALOCK_OK;
}

Status Window::fail(Status status, const char* call, Rank target, const char* format, ...) const {
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    char to[32] = "";
    if (target >= 0)
        std::snprintf(to, sizeof to, " to rank %d", target);
    report(0, "window '%s', rank %d, %s%s: %s", name(), rank(), call, to, what);
    return status;
}

Status Window::advance(Event event, const char* call, Rank target) {
    const Epoch epoch = epoch_.load(std::memory_order_relaxed);
    const std::optional<Epoch> next = transition(epoch, event);
    if (!next)
        return fail(RMALOCK_ERR_SYNC, call, target, "%s", describe(epoch));
    epoch_.store(*next, std::memory_order_relaxed);
    return RMALOCK_OK;
}

} // namespace rmalock::window
