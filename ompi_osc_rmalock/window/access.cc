// Put and get, and the checks that every RMA call makes.
#include <cerrno>
#include <cstring>

#include "window/window.hh"

namespace rmalock::window {

Status Window::access(const char* call, Rank target) {
    const Guard guard(*this);
    switch (epoch_) {
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

Status Window::locate(const char* call, Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low,
                      std::ptrdiff_t high, Place& place) const {
    const Part& part = this->part(target);
    std::ptrdiff_t offset, first, end;
    const bool overflow = __builtin_mul_overflow(displacement, part.disp_unit, &offset) ||
                          __builtin_add_overflow(offset, low, &first) ||
                          __builtin_add_overflow(offset, high, &end);
    if (overflow || first < 0 || static_cast<std::uint64_t>(end) > part.size)
        return fail(RMALOCK_ERR_RANGE, call, target,
                    "displacement %td (unit %d) and %td bytes from it reach outside the %llu bytes of"
                    " its window",
                    displacement, part.disp_unit, high,
                    static_cast<unsigned long long>(part.size));
    if (part.mapped)
        place.direct = segment_.base() + part.address + offset;
    else if (target == rank())
        place.direct = reinterpret_cast<std::byte*>(part.address) + offset;
    else
        place = {nullptr, part.address + static_cast<std::uint64_t>(offset), part.pid};
    return RMALOCK_OK;
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
    if (const Status status = access(call, target); status != RMALOCK_OK)
        return status;
    if (origin_side.bytes == 0)
        return RMALOCK_OK;
    Place place;
    if (const Status status =
            locate(call, target, displacement, target_side.low, target_side.high, place);
        status != RMALOCK_OK)
        return status;
    return move(direction, call, target, origin_side, target_side, place);
}

} // namespace rmalock::window
