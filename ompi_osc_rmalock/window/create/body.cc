#include "window/create/body.hh"

#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "host.hh"
#include "window/create/wait_observer.hh"
#include "window/create/waiters.hh"

namespace rmalock::window {
namespace {

fabric::WordSpace words_of(const Plan& plan, std::byte* base, fabric::Dormitory* dormitory) {
    fabric::WordSpace words = plan.words(base);
    words.dormitory = dormitory;
    return words;
}

std::unique_ptr<network::Neighbours> neighbours_of(const Plan& plan) {
    if (!plan.networked())
        return nullptr;
    std::vector<network::Endpoint> members;
    for (const Rank r : plan.members())
        members.push_back(plan.endpoint(r));
    return std::make_unique<network::Neighbours>(*network::Network::get(), members,
                                                 plan.my_place());
}

} // namespace

Body::Body(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
           std::unique_ptr<network::Remote> remote)
    : name_(spec.name), label_(spec.label), flavor_(spec.flavor), comm_(spec.comm),
      threads_(spec.threads), failures_(comm_), segment_(std::move(segment)),
      parts_(reinterpret_cast<Part*>(segment_.base())), remote_(std::move(remote)),
      neighbours_(neighbours_of(plan)),
      fabric_(words_of(plan, segment_.base(), neighbours_.get()), plan.placement(segment_.base()),
              node_waiter_for(spec, plan, watch, this), plan.domain(), remote_.get(),
              threads_ || remote_ != nullptr) {
    plan.write_parts(segment_.base());
    if (flavor_ == RMALOCK_FLAVOR_DYNAMIC)
        regions_ = std::make_unique<Regions>(plan.regions(segment_.base()), parts_, remote_.get());
}

void* Body::base_of(const Part& part) const {
    if (!part.mapped)
        return reinterpret_cast<void*>(part.address);
    return part.address == Part::kNowhere ? nullptr : segment_.base() + part.address;
}

Status Body::shared_query(Rank rank, std::size_t& size, std::ptrdiff_t& disp_unit,
                          void*& base) const {
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
    base = rank < 0 ? nullptr : base_of(found);
    return RMALOCK_OK;
}

Status Body::attach(void* base, std::size_t size) {
    static constexpr char kCall[] = "MPI_Win_attach";
    const Guard guard(*this);
    if (regions_ == nullptr)
        return fail(RMALOCK_ERR_FLAVOR, kCall, -1, "not a window of MPI_Win_create_dynamic");
    // What -1 becomes, or a base too high.
    const auto begin = reinterpret_cast<std::uint64_t>(base);
    if (size > std::numeric_limits<std::ptrdiff_t>::max() || begin + size < begin)
        return fail(RMALOCK_ERR_ARG, kCall, -1, "%zu bytes at %p are no memory", size, base);
    if (!regions_->mine().attach(begin, size))
        return fail(RMALOCK_ERR_ATTACH, kCall, -1,
                    "part of the %zu bytes at %p is attached already", size, base);
    return RMALOCK_OK;
}

Status Body::detach(const void* base) {
    static constexpr char kCall[] = "MPI_Win_detach";
    const Guard guard(*this);
    if (regions_ == nullptr)
        return fail(RMALOCK_ERR_FLAVOR, kCall, -1, "not a window of MPI_Win_create_dynamic");
    if (!regions_->mine().detach(reinterpret_cast<std::uint64_t>(base)))
        return fail(RMALOCK_ERR_ATTACH, kCall, -1, "no attached memory begins at %p", base);
    return RMALOCK_OK;
}

void Body::complete_at(Rank target) {
    if (!fabric_.same_node(target))
        remote_->complete(target);
    else
        held_back_.send(target); // on the node nothing else is ever outstanding
}

void Body::complete_everywhere() {
    held_back_.send_all();
    if (remote_ != nullptr)
        remote_->complete_all();
    finish_stores();
}

void Body::wait_for(const ucx::Completion& completion) {
    if (remote_ != nullptr)
        remote_->wait_for(completion);
}

void Body::watch(void* window) {
    Body& mine = *static_cast<Body*>(window);
    WaitObserver::look();
    if (mine.failures_.seen(mine.name()))
        throw ProcessFailed();
}

Status Body::survives(bool look) {
    if (look && failures_.first() < 0)
        host().progress();
    return failures_.seen(name()) ? RMALOCK_ERR_PROC_FAILED : RMALOCK_OK;
}

void Body::await_failure() {
    constexpr std::chrono::seconds kPatience{60};
    const fabric::Waiter waiter{.progress = host().progress};
    if (waiter.until([this] { return failures_.seen(name()); }, fabric::Moment::in(kPatience)))
        return;
    report(0,
           "window '%s', rank %d: a process has gone, and is not said to have failed: the job ends",
           name(), rank());
    std::abort();
}

Status Body::held_failed() {
    const HeldFailure::Failure first = held_back_.failure();
    return first.error != 0 ? copy_failed(first.call, first.target, first.address, first.error)
                            : RMALOCK_OK;
}

Status Body::copy_failed(const char* call, Rank target, std::uintptr_t address, int error) const {
    if (error == ESRCH && failures_.tolerated())
        return RMALOCK_ERR_PROC_FAILED;
    return fail(error == EFAULT ? RMALOCK_ERR_RANGE : RMALOCK_ERR_INTERN, call, target,
                "its memory at %#llx cannot be reached: %s",
                static_cast<unsigned long long>(address), std::strerror(error));
}

Status Body::fail(Status status, const char* call, Rank target, const char* format, ...) const {
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

} // namespace rmalock::window
