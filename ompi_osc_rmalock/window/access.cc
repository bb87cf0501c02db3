// Put and get.
#include <cerrno>
#include <cstring>

#include "window/access.hh"

namespace rmalock::window {

Status Window::check_epoch_in_full(const char* call, Rank target) {
    const Guard guard(*this);
    switch (epoch_.load(std::memory_order_relaxed)) {
    case Epoch::locked_all:
    case Epoch::fence:
        return RMALOCK_OK;
    case Epoch::locked:
        if (held_.find(target) != nullptr)
            return RMALOCK_OK;
        return fail(RMALOCK_ERR_SYNC, call, target, "this process has not locked it");
    case Epoch::started:
        if (access_group_[static_cast<std::size_t>(target)])
            return RMALOCK_OK;
        return fail(RMALOCK_ERR_SYNC, call, target, "it is not in the group of MPI_Win_start");
    case Epoch::none:
    case Epoch::fence_maybe:
        break;
    }
    return advance(Event::access, call, target);
}

Status Window::out_of_range(const char* call, Rank target, std::ptrdiff_t displacement,
                            std::ptrdiff_t low, std::ptrdiff_t high) const {
    const Part& part = this->part(target);
    return fail(RMALOCK_ERR_RANGE, call, target,
                "displacement %td (unit %d), bytes %td to %td from it: outside the %llu bytes of its"
                " window",
                displacement, part.disp_unit, low, high,
                static_cast<unsigned long long>(part.size));
}

Status Window::move(Direction direction, const char* call, Rank target,
                    const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                    const Place& place) const {
    const int error = copy(direction, origin_side, target_side, place);
    if (error == 0)
        return RMALOCK_OK;
    return fail(error == EFAULT ? RMALOCK_ERR_RANGE : RMALOCK_ERR_INTERN, call, target,
                "its memory at %#llx cannot be reached: %s",
                static_cast<unsigned long long>(place.address), std::strerror(error));
}

Status Window::transfer(Direction direction, const char* call, Rank target,
                        std::ptrdiff_t displacement, const rmalock_layout_t& origin_side,
                        const rmalock_layout_t& target_side) {
    Place place;
    const Status status =
        access(call, target, displacement, target_side.low, target_side.high, place);
    if (status != RMALOCK_OK || origin_side.bytes == 0)
        return status;
    return move(direction, call, target, origin_side, target_side, place);
}

Status Window::transfer_plain(Direction direction, const char* call, Rank target,
                              std::ptrdiff_t displacement, std::ptrdiff_t offset, void* origin,
                              std::size_t bytes) {
    Place place;
    const std::ptrdiff_t end = offset + static_cast<std::ptrdiff_t>(bytes);
    const Status status = access(call, target, displacement, offset, end, place);
    if (status != RMALOCK_OK || bytes == 0)
        return status;
    if (place.direct != nullptr) {
        copy_mapped(direction, origin, place.direct + offset, bytes);
        return RMALOCK_OK;
    }
    return move(direction, call, target, plain_layout(origin, bytes),
                plain_layout(reinterpret_cast<void*>(offset), bytes), place);
}

} // namespace rmalock::window
