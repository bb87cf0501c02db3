// Put and get, and the memory they may touch.
#include <algorithm>
#include <cinttypes>
#include <utility>

#include "window/data/access.hh"
#include "window/create/stream.hh"

namespace rmalock::window {
namespace {

/// Whether the regions hold the bytes [low, high) from the address `displacement`, or those of
/// `side`, if given.
bool covers_all(const RegionTable& table, std::ptrdiff_t displacement, std::ptrdiff_t low,
                std::ptrdiff_t high, const rmalock_layout_t* side) {
    const auto at = [displacement](std::ptrdiff_t offset) {
        return static_cast<std::uint64_t>(displacement) + static_cast<std::uint64_t>(offset);
    };
    if (covers(table, at(low), at(high)))
        return true;
    // A type may step from region to region (displacement 0 and absolute addresses, for one).
    if (side == nullptr || side->contiguous)
        return false;
    for (Stream runs(*side); runs.more(); runs.advance(runs.length())) {
        const auto run = static_cast<std::ptrdiff_t>(runs.address());
        if (!covers(table, at(run), at(run) + runs.length()))
            return false;
    }
    return true;
}

} // namespace

Accesses::Accesses(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
                   std::unique_ptr<network::Remote> remote)
    : Epochs(spec, std::move(segment), plan, std::move(remote)), elements_(fabric_, plan, threads_),
      intrinsic_(plan.intrinsic()) {
    held_back_.guard_by(elements_);
}

Accesses::~Accesses() {
    held_back_.drop(); // progress of another thread may be about to take the lock
}

bool Accesses::attached(Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low,
                        std::ptrdiff_t high, const rmalock_layout_t* side) {
    // As the network finds the memory, for its atomics on the node, too.
    if (is_far(target) || intrinsic_.eight) { // waits for it, so that no guard is held
        const auto found = [&] {
            return covers_all(regions_->far(target)->regions(), displacement, low, high, side);
        };
        if (found())
            return true;
        regions_->renew(); // the target may have attached it since the epoch or the flush
        return found();
    }
    const Guard guard(*this);
    const RegionTable* const table = regions_->near(target);
    return table != nullptr && covers_all(*table, displacement, low, high, side);
}

Status Accesses::out_of_range(const char* call, Rank target, std::ptrdiff_t displacement,
                              std::ptrdiff_t low, std::ptrdiff_t high) const {
    const Part& part = this->part(target);
    if (regions_ != nullptr)
        return fail(RMALOCK_ERR_RANGE, call, target,
                    "the bytes %td to %td from address %#tx are not all attached to its window",
                    low, high, displacement);
    return fail(RMALOCK_ERR_RANGE, call, target,
                "displacement %td (unit %" PRId64
                "), bytes %td to %td from it: outside the %llu bytes of its"
                " window",
                displacement, part.disp_unit, low, high,
                static_cast<unsigned long long>(part.size));
}

Status Accesses::move(Direction direction, const char* call, Rank target,
                      const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                      const TargetAddress& place, const Sending& sending) {
    if (place.network)
        return move_far(direction, call, target, origin_side, target_side, place, sending);
    order(direction);
    if (place.pid != 0 && holds_copy(direction, target, origin_side, target_side, place, sending))
        return RMALOCK_OK;
    const int error = copy(direction, origin_side, target_side, place);
    return error == 0 ? RMALOCK_OK : copy_failed(call, target, place.address, error);
}

/// What is not overtakes nothing.
bool Accesses::holds_copy(Direction direction, Rank target, const rmalock_layout_t& origin_side,
                          const rmalock_layout_t& target_side, const TargetAddress& place,
                          const Sending& sending) {
    const std::size_t bytes = std::min(origin_side.bytes, target_side.bytes);
    if (!sending.collects || !origin_side.contiguous || !target_side.contiguous ||
        bytes > HeldCopies::kMost) {
        held_back_.send_copies(target); // no accumulates: the caller may hold the accumulate lock
        return false;
    }
    leave_short_ways();
    held_back_.copies().hold(direction, target, place.pid, place.address + target_side.base,
                             reinterpret_cast<void*>(origin_side.base), bytes);
    return true;
}

Status Accesses::complete_held(Rank target) {
    held_back_.send(target);
    return copied();
}

Status Accesses::move_far(Direction direction, const char* call, Rank target,
                          const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                          const TargetAddress& place, const Sending& sending) {
    // Of runs apart each is named.
    const bool apart = !origin_side.contiguous || !target_side.contiguous;
    go_along(target, target_side.bytes * (apart ? sizeof(network::CopyRun) + 1 : 1),
             sending.completion != nullptr || !sending.collects);
    const std::shared_ptr<FarTable> table = regions_ != nullptr ? regions_->known(target) : nullptr;
    Collector collector(*remote_, direction, target, sending, apart);
    try {
        for_each_run(origin_side, target_side,
                     [&](std::uintptr_t origin, std::uintptr_t offset, std::size_t bytes) {
                         auto* const mine = reinterpret_cast<std::byte*>(origin);
                         const std::uint64_t there = place.address + offset;
                         if (collector.takes({mine, bytes, there}))
                             return 0;
                         if (table == nullptr)
                             remote_->move(direction, target, mine, bytes, there,
                                           sending.completion);
                         else
                             table->move(direction, mine, bytes, there, sending.completion);
                         return 0;
                     });
        collector.finish();
    } catch (const ucx::Error& error) {
        return fail(RMALOCK_ERR_INTERN, call, target, "%s", error.what());
    }
    return RMALOCK_OK;
}

Status Accesses::move_and_wait(Direction direction, const char* call, Rank target,
                               const rmalock_layout_t& origin_side,
                               const rmalock_layout_t& target_side, const TargetAddress& place) {
    const Status status = move(direction, call, target, origin_side, target_side, place);
    if (place.network)
        remote_->flush(target);
    return status;
}

Status Accesses::transfer(Direction direction, const char* call, Rank target,
                          std::ptrdiff_t displacement, const rmalock_layout_t& origin_side,
                          const rmalock_layout_t& target_side, ucx::Completion* completion) {
    TargetAddress place;
    const Status status =
        access(call, target, displacement, target_side.low, target_side.high, place, &target_side);
    if (status != RMALOCK_OK || origin_side.bytes == 0)
        return status;
    return move(direction, call, target, origin_side, target_side, place, {completion, true});
}

Status Accesses::find_memory(Direction direction, const char* call, Rank target,
                             std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                             void*& memory) {
    memory = nullptr;
    if (!part(target).mapped)
        return RMALOCK_OK;
    TargetAddress place;
    const Status status = access(call, target, displacement, low, high, place);
    order(direction);
    memory = place.direct;
    return status;
}

Status Accesses::transfer_contiguous(Direction direction, const char* call, Rank target,
                                     std::ptrdiff_t displacement, std::ptrdiff_t offset,
                                     void* origin, std::size_t bytes, ucx::Completion* completion) {
    TargetAddress place;
    const std::ptrdiff_t end = offset + static_cast<std::ptrdiff_t>(bytes);
    const Status status = access(call, target, displacement, offset, end, place);
    if (status != RMALOCK_OK || bytes == 0)
        return status;
    if (place.direct == nullptr)
        return move_contiguous(direction, call, target, offset, origin, bytes, place, completion);
    order(direction);
    copy_mapped(direction, origin, place.direct + offset, bytes);
    return RMALOCK_OK;
}

Status Accesses::move_contiguous(Direction direction, const char* call, Rank target,
                                 std::ptrdiff_t offset, const void* origin, std::size_t bytes,
                                 const TargetAddress& place, ucx::Completion* completion) {
    return move(direction, call, target, contiguous_layout(origin, bytes),
                contiguous_layout(reinterpret_cast<void*>(offset), bytes), place,
                {completion, true});
}

} // namespace rmalock::window
