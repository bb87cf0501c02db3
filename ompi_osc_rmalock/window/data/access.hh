// The checks that every RMA call makes before it touches memory, inline: they are a good part of
// what a small put costs.
#pragma once

#include "window/window.hh"

namespace rmalock::window {

[[gnu::always_inline]] inline bool Window::is_open_to(Rank target) {
    if (only_lock_ == target)
        return true;
    // Epochs that open every target; no other thread can close one while an RMA call is under way,
    // so a Guard would protect nothing.
    const Epoch epoch = epoch_.load(std::memory_order_relaxed);
    if (epoch == Epoch::locked_all || epoch == Epoch::fence)
        return true;
    return epoch == Epoch::locked && !threads_ && held_.find(target) != nullptr;
}

[[gnu::always_inline]] inline Status Window::check_epoch(const char* call, Rank target) {
    return is_open_to(target) ? RMALOCK_OK : check_epoch_in_full(call, target);
}

[[gnu::always_inline]] inline bool Window::locate(Rank target, std::ptrdiff_t displacement,
                                                  std::ptrdiff_t low, std::ptrdiff_t high,
                                                  Place& place) const {
    const Part& part = this->part(target);
    std::ptrdiff_t offset, first, end;
    if (__builtin_mul_overflow(displacement, part.disp_unit, &offset) ||
        __builtin_add_overflow(offset, low, &first) || __builtin_add_overflow(offset, high, &end) ||
        first < 0 || static_cast<std::uint64_t>(end) > part.size)
        return false;
    if (part.mapped)
        place.direct = segment_.base() + part.address + offset;
    else if (target == rank())
        place.direct =
            reinterpret_cast<std::byte*>(part.address + static_cast<std::uint64_t>(offset));
    else
        place = {nullptr, part.address + static_cast<std::uint64_t>(offset), part.pid,
                 !fabric_.same_node(target)};
    return true;
}

[[gnu::always_inline]] inline Status Window::access(const char* call, Rank target,
                                                    std::ptrdiff_t displacement, std::ptrdiff_t low,
                                                    std::ptrdiff_t high, Place& place,
                                                    const rmalock_layout_t* side) {
    if (const Status status = check_epoch(call, target); status != RMALOCK_OK)
        return status;
    if (low == high || (locate(target, displacement, low, high, place) &&
                        (regions_ == nullptr || attached(target, displacement, low, high, side))))
        return RMALOCK_OK;
    return out_of_range(call, target, displacement, low, high);
}

[[gnu::always_inline]] inline std::byte* Window::at_hand(Direction direction, Rank target,
                                                         std::ptrdiff_t displacement,
                                                         std::ptrdiff_t offset, std::size_t bytes) {
    const Part& part = this->part(target);
    Place place;
    const std::ptrdiff_t end = offset + static_cast<std::ptrdiff_t>(bytes);
    if (!is_open_to(target) || !part.mapped || !locate(target, displacement, offset, end, place))
        [[unlikely]]
        return nullptr;
    order(direction);
    return place.direct + offset;
}

/// For MPI_NO_OP, which loads; all other kernels are atomics, which nothing overtakes.
[[gnu::always_inline]] inline std::byte*
Window::elements_at_hand(Rank target, std::ptrdiff_t displacement, std::size_t bytes) {
    return cpu_atomics() ? at_hand(Direction::get, target, displacement, 0, bytes) : nullptr;
}

} // namespace rmalock::window
