// Put, get and accumulates of a window, and the checks that every RMA call makes before it touches
// memory: those are inline, since they are a good part of what a small put costs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/message.hh"
#include "window/data/collector.hh"
#include "window/data/elements.hh"
#include "window/data/kernels.hh"
#include "window/sync/epochs.hh"

namespace rmalock::window {

/// The fourth of a window's layers (window.hh).
class Accesses : public Epochs {
  public:
    /// Put and get. `completion` may be null; it is done when the operation is complete at this
    /// side.
    Status transfer(Direction direction, const char* call, Rank target, std::ptrdiff_t displacement,
                    const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                    ucx::Completion* completion);
    /// See rmalock_direct_address.
    std::byte* direct_address(Direction direction, Rank target, std::ptrdiff_t displacement,
                              std::ptrdiff_t offset, std::size_t bytes);
    /// See rmalock_combine_element and rmalock_combine_array.
    template <class Combine>
    bool combine_element(Rank target, std::ptrdiff_t displacement, std::size_t size,
                         Combine combine);
    bool combine_array(Rank target, std::ptrdiff_t displacement, const rmalock_array_t& array);
    /// Where the caller may copy itself, or null; see rmalock_find_memory.
    Status find_memory(Direction direction, const char* call, Rank target,
                       std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                       void*& memory);
    /// One contiguous range at `origin`, and at `offset` bytes from the displacement.
    Status transfer_contiguous(Direction direction, const char* call, Rank target,
                               std::ptrdiff_t displacement, std::ptrdiff_t offset, void* origin,
                               std::size_t bytes, ucx::Completion* completion);
    /// What waits for others to a target of the node.
    Status complete_held(Rank target);
    Status accumulate(const char* call, Rank target, std::ptrdiff_t displacement,
                      const rmalock_combination_t& what);
    /// By what single elements are changed where a network adapter does the atomics.
    IntrinsicSizes intrinsic() const { return intrinsic_; }
    Status compare_and_swap(Rank target, std::ptrdiff_t displacement, std::size_t size,
                            const void* compare, const void* desired, void* result);

  protected:
    Accesses(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
             std::unique_ptr<network::Remote> remote);
    ~Accesses();

    /// See network::MessageSink. False: the accumulate lock is taken.
    bool apply_message(const network::MessageHeader& header, std::span<const std::byte> data,
                       std::vector<std::byte>& result);
    /// A critical section of another node's process. False: the lock is not free, and it `may_wait`.
    bool do_section(ucx::PeerId from, const network::MessageHeader& header,
                    std::span<const std::byte> data, bool may_wait, std::vector<std::byte>& result);
    std::string flaw_of_message(ucx::PeerId from, const network::MessageHeader& header,
                                std::span<const std::byte> data) const;

  private:
    /// Holds the target's accumulate lock for a scope.
    class AccumulateGuard {
      public:
        AccumulateGuard(Accesses& window, Rank target)
            : elements_(window.elements_), target_(target), hold_(elements_.lock(target)) {}
        ~AccumulateGuard() { elements_.unlock(target_, hold_); }
        AccumulateGuard(const AccumulateGuard&) = delete;
        AccumulateGuard& operator=(const AccumulateGuard&) = delete;

      private:
        ElementLock& elements_;
        Rank target_;
        locks::Hold hold_;
    };

    /// What every RMA call checks first: whether it fits the epoch (a fence epoch is opened if need
    /// be), and where the displacement is. The call touches the bytes [low, high) from there, or
    /// those of `side`, if given; it fails if they reach outside the target's memory.
    Status access(const char* call, Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low,
                  std::ptrdiff_t high, TargetAddress& place,
                  const rmalock_layout_t* side = nullptr);
    bool locate(Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                TargetAddress& place) const;
    /// DYNAMIC: whether the bytes of `side` from the address `displacement`, or [low, high) from
    /// it, are attached at the target.
    bool attached(Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low, std::ptrdiff_t high,
                  const rmalock_layout_t* side);
    Status out_of_range(const char* call, Rank target, std::ptrdiff_t displacement,
                        std::ptrdiff_t low, std::ptrdiff_t high) const;
    /// A copy that reports what failed. Across the network it is only begun.
    Status move(Direction direction, const char* call, Rank target,
                const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                const TargetAddress& place, const Sending& sending = {});
    /// Whether the copy, through the kernel, waits for others.
    bool holds_copy(Direction direction, Rank target, const rmalock_layout_t& origin_side,
                    const rmalock_layout_t& target_side, const TargetAddress& place,
                    const Sending& sending);
    [[gnu::noinline]] Status move_contiguous(Direction direction, const char* call, Rank target,
                                             std::ptrdiff_t offset, const void* origin,
                                             std::size_t bytes, const TargetAddress& place,
                                             ucx::Completion* completion);
    /// The same, complete on return.
    Status move_and_wait(Direction direction, const char* call, Rank target,
                         const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                         const TargetAddress& place);
    /// A put under the target's accumulate lock, which is given back next: the next holder finds it.
    Status store_back(const char* call, Rank target, const rmalock_layout_t& origin_side,
                      const rmalock_layout_t& target_side, const TargetAddress& place);
    Status move_far(Direction direction, const char* call, Rank target,
                    const rmalock_layout_t& origin_side, const rmalock_layout_t& target_side,
                    const TargetAddress& place, const Sending& sending);

    /// Calls combine(sharing) with what that needs: a mark, the lock, or neither.
    template <class Combine>
    void with_elements(Rank target, const ElementAmount& amount, Combine combine);
    void combine_here(Rank target, const rmalock_combination_t& what, std::byte* place);

    void send_accumulate(Rank target, const rmalock_combination_t& what,
                         const TargetAddress& place);
    void copy_by_message(const network::MessageHeader& header, std::span<const std::byte> data,
                         std::vector<std::byte>& result);
    std::byte* own_memory() const;
    std::string flaw_of_section(ucx::PeerId from, const network::MessageHeader& header,
                                std::span<const std::byte> data) const;
    /// Before an operation on a target of another node: it goes along with the target's lock, if
    /// that is deferred and the operation is short and nobody waits for it; else the lock is
    /// acquired now. `bytes`: of its message and the answer.
    void go_along(Rank target, std::size_t bytes, bool somebody_waits);
    /// For pairs with gaps: a message takes gaps along, which the program's arrays may lack at their
    /// end, and must keep. What is fetched is there on return.
    void send_padded(Rank target, const rmalock_combination_t& what, const TargetAddress& place);
    void send_compare_and_swap(Rank target, std::size_t size, const void* compare,
                               const void* desired, void* result, const TargetAddress& place);
    // By the network's own atomics (accumulate_intrinsic.cc).
    class NetworkElements;
    class IntrinsicAccumulate;
    bool is_intrinsic(const rmalock_combination_t& what) const;
    template <class Change>
    Status change_elements(const char* call, Rank target, std::ptrdiff_t displacement,
                           Change change);
    Status accumulate_intrinsic(const char* call, Rank target, std::ptrdiff_t displacement,
                                const rmalock_combination_t& what);
    Status compare_and_swap_intrinsic(const char* call, Rank target, std::ptrdiff_t displacement,
                                      std::size_t size, const void* compare, const void* desired,
                                      void* result, const TargetAddress& place);

    bool takes_runs(Rank target, const rmalock_combination_t& what) const;
    Status accumulate_packed(const char* call, Rank target, std::ptrdiff_t displacement,
                             const rmalock_combination_t& what);
    /// Whether it waits for others, as it changes memory that only the kernel reaches.
    bool holds_accumulate(const char* call, Rank target, const rmalock_combination_t& what,
                          const TargetAddress& place);
    Status accumulate_locked(const char* call, Rank target, const rmalock_combination_t& what,
                             const TargetAddress& place);
    Status accumulate_copied(const char* call, Rank target, const rmalock_combination_t& what,
                             const TargetAddress& place);
    [[gnu::noinline]] Status swap_in_full(Rank target, std::ptrdiff_t displacement,
                                          std::size_t size, const void* compare,
                                          const void* desired, void* result);
    Status compare_and_swap_locked(const char* call, Rank target, std::size_t size,
                                   const void* compare, const void* desired, void* result,
                                   const TargetAddress& place);

    ElementLock elements_;
    const IntrinsicSizes intrinsic_;
};

/// Where [low, high) from the displacement begins, in bytes from the start of a part that has all of
/// it.
[[gnu::always_inline]] inline bool within(const Part& part, std::ptrdiff_t displacement,
                                          std::ptrdiff_t low, std::ptrdiff_t high,
                                          std::ptrdiff_t& offset) {
    std::ptrdiff_t first, end;
    return !__builtin_mul_overflow(displacement, part.disp_unit, &offset) &&
           !__builtin_add_overflow(offset, low, &first) &&
           !__builtin_add_overflow(offset, high, &end) && first >= 0 &&
           static_cast<std::uint64_t>(end) <= part.size;
}

[[gnu::always_inline]] inline bool Accesses::locate(Rank target, std::ptrdiff_t displacement,
                                                    std::ptrdiff_t low, std::ptrdiff_t high,
                                                    TargetAddress& place) const {
    const Part& part = this->part(target);
    std::ptrdiff_t offset;
    if (!within(part, displacement, low, high, offset))
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

[[gnu::always_inline]] inline Status
Accesses::access(const char* call, Rank target, std::ptrdiff_t displacement, std::ptrdiff_t low,
                 std::ptrdiff_t high, TargetAddress& place, const rmalock_layout_t* side) {
    const bool first_of_fence = may_open_fence();
    if (const Status status = check_epoch(call, target); status != RMALOCK_OK)
        return status;
    if (low == high || (locate(target, displacement, low, high, place) &&
                        (regions_ == nullptr || attached(target, displacement, low, high, side))))
        return RMALOCK_OK;
    if (first_of_fence)
        leave_fence();
    return out_of_range(call, target, displacement, low, high);
}

/// What is not mapped is not looked at further: the longer way checks it, once.
[[gnu::always_inline]] inline std::byte* Accesses::direct_address(Direction direction, Rank target,
                                                                  std::ptrdiff_t displacement,
                                                                  std::ptrdiff_t offset,
                                                                  std::size_t bytes) {
    const Part& part = this->part(target);
    std::ptrdiff_t start;
    const std::ptrdiff_t end = offset + static_cast<std::ptrdiff_t>(bytes);
    if (!part.mapped || !is_open_to(target) || !within(part, displacement, offset, end, start))
        [[unlikely]]
        return nullptr;
    order(direction);
    return segment_.base() + part.address + start + offset;
}

/// Ordered as a get, for MPI_NO_OP, which loads; all other kernels are atomics, which nothing
/// overtakes.
template <class Combine>
[[gnu::always_inline]] inline bool Accesses::combine_element(Rank target,
                                                             std::ptrdiff_t displacement,
                                                             std::size_t size, Combine combine) {
    std::byte* const element = direct_address(Direction::get, target, displacement, 0, size);
    if (element == nullptr || !aligned(element, size)) [[unlikely]]
        return false;
    const ElementLock::Mark mark =
        elements_.has_own_mark() ? elements_.begin_by_own_mark(target) : elements_.begin(target);
    if (mark == ElementLock::Mark{}) [[unlikely]]
        return false;
    combine(element);
    elements_.end(mark);
    return true;
}

} // namespace rmalock::window
