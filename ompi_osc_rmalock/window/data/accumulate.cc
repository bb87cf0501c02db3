// The accumulate family: element-wise atomic among all origins, and in program order from each.
//
// An element has one owner, chosen by its type and address alone, so that every origin chooses
// alike:
//   - types of up to 8 bytes, naturally aligned, in memory all processes map: CPU atomics, each
//     of several elements where an array has them (kernels.cc);
//   - everything else (wider types, pairs, misaligned elements, memory of CREATE and DYNAMIC
//     windows, even one's own): read, combine, write under the target's accumulate lock.
//
// An origin that holds MPI_LOCK_EXCLUSIVE needs no atomics (Accesses::sharing): vector loops.
//
// Origins of other nodes send a message, by which the target's CPU decides alike
// (accumulate_far.cc). What only the host can combine (RMALOCK_KIND_OTHER) they lock from there.
//
// Where a network adapter does the atomics (Domain::nic), all origins take the accumulate lock for
// everything, unless the program asks for the adapter's atomics (accumulate_intrinsic.cc).
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "window/data/access.hh"
#include "window/create/scratch.hh"
#include "window/create/stream.hh"

namespace rmalock::window {
namespace {

/// An array of elements as the origin's side of a copy.
class NativeArray {
  public:
    NativeArray(const rmalock_combination_t& what, std::byte* array)
        : what_(what), array_(array), layout_{} {
        if (what.element.size == what.element.extent)
            layout_ = contiguous_layout(array, what.count * what.element.size);
        else
            what.native_layout(what.host_arg, array, &layout_);
    }
    ~NativeArray() {
        if (what_.element.size != what_.element.extent)
            what_.native_layout_done(what_.host_arg);
    }
    NativeArray(const NativeArray&) = delete;
    NativeArray& operator=(const NativeArray&) = delete;
    const rmalock_layout_t& layout() const { return layout_; }

    /// Copies the elements to an array of the program, or from one. Pairs can have gaps, and an
    /// array of theirs can end with its last data, before the extent does: no other bytes are
    /// touched.
    void copy_to(void* theirs) const {
        each_run([&](std::size_t at, std::size_t bytes) {
            std::memcpy(static_cast<std::byte*>(theirs) + at, array_ + at, bytes);
        });
    }
    void copy_from(const void* theirs) const {
        each_run([&](std::size_t at, std::size_t bytes) {
            std::memcpy(array_ + at, static_cast<const std::byte*>(theirs) + at, bytes);
        });
    }

  private:
    /// Calls use(offset in the array, bytes).
    template <class Use>
    void each_run(Use use) const {
        for (Stream runs(layout_); runs.more(); runs.advance(runs.length()))
            use(runs.address() - reinterpret_cast<std::uintptr_t>(array_), runs.length());
    }

    const rmalock_combination_t& what_;
    std::byte* const array_;
    rmalock_layout_t layout_;
};

} // namespace

/// From where they are.
bool Accesses::takes_runs(Rank target, const rmalock_combination_t& what) const {
    return cpu_atomics() && part(target).mapped && what.kernels->alone != nullptr &&
           what.result == nullptr;
}

/// The operands as an array.
Status Accesses::accumulate_packed(const char* call, Rank target, std::ptrdiff_t displacement,
                                   const rmalock_combination_t& what) {
    const std::size_t bytes = what.count * what.element.size;
    const Scratch operand(bytes);
    copy(Direction::get, contiguous_layout(operand.get(), bytes), *what.operand_side, {});
    rmalock_combination_t packed = what;
    packed.operand = operand.get();
    packed.operand_side = nullptr;
    return accumulate(call, target, displacement, packed);
}

Status Accesses::accumulate(const char* call, Rank target, std::ptrdiff_t displacement,
                            const rmalock_combination_t& what) {
    TargetAddress place;
    const rmalock_layout_t& side = *what.target_side;
    const Status status = access(call, target, displacement, side.low, side.high, place, &side);
    if (status != RMALOCK_OK || what.count == 0)
        return status;
    if (what.operand_side != nullptr && !takes_runs(target, what))
        return accumulate_packed(call, target, displacement, what);
    if (is_intrinsic(what))
        return accumulate_intrinsic(call, target, displacement, what);
    const bool by_kernel = cpu_atomics() && (part(target).mapped || place.network);
    if (place.network) {
        const bool padded = what.element.size != what.element.extent;
        const std::size_t bytes = what.count * (what.element.extent + sizeof(network::MessageRun));
        go_along(target, 2 * bytes,
                 !by_kernel || what.kernels->alone == nullptr || padded ||
                     what.completion != nullptr);
    }
    if (!by_kernel || what.kernels->alone == nullptr)
        return accumulate_locked(call, target, what, place);
    if (place.network) {
        what.element.size == what.element.extent ? send_accumulate(target, what, place)
                                                 : send_padded(target, what, place);
        return RMALOCK_OK;
    }
    // Elements with gaps are in one piece only where nothing but their array is.
    if (what.element.size != what.element.extent && !what.target_is_array)
        return accumulate_locked(call, target, what, place);
    combine_here(target, what, place.direct);
    return RMALOCK_OK;
}

/// An exclusive lock excludes all others, those of other nodes, too: their unlock has waited for
/// theirs.
template <class Combine>
void Accesses::with_elements(Rank target, const ElementAmount& amount, Combine combine) {
    order(Direction::get);
    if (has_alone(target)) {
        order(Direction::put); // no atomic follows its stores
        return combine(Sharing::alone);
    }
    const bool few =
        amount.count == 1 || (!elements_.raised(target) && !elements_.worth_raising(amount.bytes));
    if (few && amount.by_mark)
        if (const ElementLock::Mark mark = elements_.begin(target); mark != nullptr) {
            combine(Sharing::shared);
            return elements_.end(mark);
        }
    const AccumulateGuard guard(*this, target);
    if (!amount.atomics)
        return combine(Sharing::alone); // no mark is ever of such elements
    if (amount.count > 1)
        return combine(elements_.exclude(target, few));
    combine(Sharing::shared);
    elements_.count_single(target);
}

bool Accesses::combine_array(Rank target, std::ptrdiff_t displacement,
                             const rmalock_array_t& array) {
    const std::size_t bytes = (array.count - 1) * array.extent + array.size;
    std::byte* const place =
        cpu_atomics() ? direct_address(Direction::get, target, displacement, 0, bytes) : nullptr;
    if (place == nullptr)
        return false;
    const Kernels& kernels = *array.kernels;
    const bool atomics = kernels.shared != nullptr;
    const bool regular = atomics && aligned(place, array.size);
    with_elements(target, {array.count, bytes, atomics, regular}, [&](Sharing sharing) {
        const Kernel kernel =
            sharing == Sharing::shared && regular ? kernels.shared : kernels.alone;
        kernel(place, array.operand, array.result, array.count);
    });
    return true;
}

namespace {

/// Whether copies of runs do it.
bool moves_runs(const rmalock_combination_t& what) {
    return (what.op == RMALOCK_OP_REPLACE || what.op == RMALOCK_OP_NO_OP) &&
           !what.target_is_array && !what.target_side->contiguous;
}

void move_runs(const rmalock_combination_t& what, std::byte* place) {
    const std::size_t bytes = what.count * what.element.size;
    const auto here = [&](const void* array) { return contiguous_layout(array, bytes); };
    if (what.result != nullptr)
        copy(Direction::get, here(what.result), *what.target_side, {.direct = place});
    if (what.op == RMALOCK_OP_REPLACE)
        copy(Direction::put, here(what.operand), *what.target_side, {.direct = place});
}

} // namespace

void Accesses::combine_here(Rank target, const rmalock_combination_t& what, std::byte* place) {
    const Kernels& kernels = *what.kernels;
    const std::size_t size = what.element.size;
    const rmalock_layout_t side =
        what.target_is_array ? contiguous_layout(nullptr, what.count * size) : *what.target_side;
    const auto combine = [&](Sharing sharing) {
        Elements mine{static_cast<const std::byte*>(what.operand),
                      static_cast<std::byte*>(what.result)};
        const auto run = [&](std::byte* theirs, std::size_t bytes) {
            const bool shared = sharing == Sharing::shared && aligned(theirs, size);
            (shared ? kernels.shared : kernels.alone)(theirs, mine.operand, mine.result,
                                                      bytes / size);
            mine.advance(bytes);
        };
        if (what.operand_side != nullptr) // each run is whole elements
            for_each_run(*what.operand_side, side,
                         [&](std::uintptr_t operand, std::uintptr_t at, std::size_t bytes) {
                             mine.operand = reinterpret_cast<const std::byte*>(operand);
                             run(place + at, bytes);
                             return 0;
                         });
        else if (sharing == Sharing::alone && moves_runs(what))
            move_runs(what, place);
        else if (side.contiguous)
            run(place + side.base, what.count * size);
        else
            for (Stream runs(side); runs.more(); runs.advance(runs.length()))
                run(place + runs.address(), runs.length());
    };
    const bool atomics = kernels.shared != nullptr;
    const std::byte* const first = place + (side.contiguous ? side.base : 0);
    with_elements(target,
                  {what.count, what.count * size, atomics,
                   atomics && side.contiguous && aligned(first, size)},
                  combine);
}

namespace {

/// Fetches an array's elements and combines them, under the accumulate lock.
void combine_fetched(const rmalock_combination_t& what, const NativeArray& native,
                     std::byte* array) {
    if (what.result != nullptr)
        native.copy_to(what.result);
    // Our own code wherever there is any, so that an element behaves alike on every path: Open
    // MPI's vectorised sums of 8- and 16-bit integers saturate where others wrap.
    if (what.kernels->alone != nullptr)
        what.kernels->alone(array, what.operand, nullptr, what.count);
    else if (what.op == RMALOCK_OP_REPLACE)
        native.copy_from(what.operand);
    else if (what.op != RMALOCK_OP_NO_OP)
        what.combine(what.host_arg, what.operand, array, what.count);
}

/// Whether the host can combine the elements where they are.
bool is_array_of_host(const rmalock_combination_t& what, const std::byte* place) {
    const std::size_t extent = what.element.extent;
    return what.target_is_array && place != nullptr &&
           aligned(place, std::min<std::size_t>(extent & -extent, alignof(std::max_align_t)));
}

} // namespace

void Accesses::send_padded(Rank target, const rmalock_combination_t& what,
                           const TargetAddress& place) {
    const std::size_t bytes = what.count * what.element.extent;
    const Scratch operand(bytes), result(bytes);
    rmalock_combination_t padded = what;
    ucx::Completion arrived;
    if (what.operand != nullptr) {
        std::memset(operand.get(), 0, bytes);
        NativeArray(what, operand.get()).copy_from(what.operand);
        padded.operand = operand.get();
    }
    if (what.result != nullptr) {
        padded.result = result.get();
        padded.completion = reinterpret_cast<rmalock_completion_t*>(&arrived);
    }
    send_accumulate(target, padded, place);
    if (what.result == nullptr)
        return;
    remote_->wait_for(arrived);
    NativeArray(what, result.get()).copy_to(what.result);
}

/// A flush would be a round trip. Without it the origin's buffer has to stay, but a short one is
/// copied at once.
Status Accesses::store_back(const char* call, Rank target, const rmalock_layout_t& origin_side,
                            const rmalock_layout_t& target_side, const TargetAddress& place) {
    ucx::Completion copied;
    const Status status =
        move(Direction::put, call, target, origin_side, target_side, place, {&copied});
    if (!place.network)
        return status;
    if (remote_->put_words_behind_data(target))
        remote_->wait_for(copied);
    else
        remote_->flush(target);
    return status;
}

namespace {

/// Calls use(part) for parts of the elements, where those of the target are in one piece; else for all
/// of them. Another origin then waits for a part, and the copy of a part stays in the cache. Through
/// the network a part takes some round trips more. The first status that is no success ends it.
template <class Use>
Status each_part(const rmalock_combination_t& what, const TargetAddress& place, Use use) {
    static constexpr std::size_t kPart = 256U << 10, kFarPart = 4U << 20; // bytes
    const std::size_t size = what.element.size;
    if (!what.target_side->contiguous || size != what.element.extent)
        return use(what);
    const std::size_t most = (place.network ? kFarPart : kPart) / size;
    rmalock_layout_t side = *what.target_side;
    Elements mine{static_cast<const std::byte*>(what.operand),
                  static_cast<std::byte*>(what.result)};
    rmalock_combination_t part = what;
    part.target_side = &side;
    Status status = RMALOCK_OK;
    for (std::size_t left = what.count; left != 0 && status == RMALOCK_OK; left -= part.count) {
        part.count = std::min(left, most);
        part.operand = mine.operand;
        part.result = mine.result;
        side.bytes = part.count * size;
        status = use(part);
        mine.advance(side.bytes);
        side.base += side.bytes;
    }
    return status;
}

} // namespace

/// What is not comes behind those that do.
bool Accesses::holds_accumulate(const char* call, Rank target, const rmalock_combination_t& what,
                                const TargetAddress& place) {
    const std::size_t bytes = what.count * what.element.size;
    const bool is_awaited = what.result != nullptr && what.completion != nullptr;
    const bool is_run = what.target_side->contiguous && what.element.size == what.element.extent;
    const bool is_ours = cpu_atomics() && what.kernels->alone != nullptr;
    if (!is_ours || !is_run || is_awaited || bytes > HeldAccumulates::kMost) {
        held_back_.send_accumulates(target);
        return false;
    }
    order(Direction::get);
    order(Direction::put);
    leave_short_ways();
    held_back_.accumulates().hold({call, target, place.pid, place.address + what.target_side->base,
                                   what.kernels->alone, what.operand, what.result, what.count,
                                   bytes});
    return true;
}

Status Accesses::accumulate_locked(const char* call, Rank target, const rmalock_combination_t& what,
                                   const TargetAddress& place) {
    if (place.pid != 0 && !place.network && holds_accumulate(call, target, what, place))
        return RMALOCK_OK;
    // Where CPUs do the atomics the lock orders plain accesses, too, and nothing of this process is
    // under way to the target by the network.
    if (cpu_atomics() && !place.network && is_array_of_host(what, place.direct)) {
        const NativeArray native(what, place.direct);
        order(Direction::get);
        order(Direction::put);
        const AccumulateGuard guard(*this, target);
        combine_fetched(what, native, place.direct);
        return RMALOCK_OK;
    }
    if (place.network && cpu_atomics())
        remote_->complete(target); // messages that were sent before go before
    return each_part(what, place, [&](const rmalock_combination_t& part) {
        return accumulate_copied(call, target, part, place);
    });
}

Status Accesses::accumulate_copied(const char* call, Rank target, const rmalock_combination_t& what,
                                   const TargetAddress& place) {
    const Scratch array(what.count * what.element.extent);
    const NativeArray native(what, array.get());
    const AccumulateGuard guard(*this, target);
    if (const Status status =
            move_and_wait(Direction::get, call, target, native.layout(), *what.target_side, place);
        status != RMALOCK_OK)
        return status;
    combine_fetched(what, native, array.get());
    if (what.op == RMALOCK_OP_NO_OP)
        return RMALOCK_OK;
    return store_back(call, target, native.layout(), *what.target_side, place);
}

Status Accesses::compare_and_swap(Rank target, std::ptrdiff_t displacement, std::size_t size,
                                  const void* compare, const void* desired, void* result) {
    const auto swap = [&](std::byte* element) {
        atomic_compare_swap(element, size, compare, desired, result);
    };
    if (can_swap(size) && combine_element(target, displacement, size, swap)) [[likely]]
        return RMALOCK_OK;
    return swap_in_full(target, displacement, size, compare, desired, result);
}

Status Accesses::swap_in_full(Rank target, std::ptrdiff_t displacement, std::size_t size,
                              const void* compare, const void* desired, void* result) {
    static constexpr char kCall[] = "MPI_Compare_and_swap";
    TargetAddress place;
    if (const Status status =
            access(kCall, target, displacement, 0, static_cast<std::ptrdiff_t>(size), place);
        status != RMALOCK_OK)
        return status;
    if (intrinsic_.has(size))
        return compare_and_swap_intrinsic(kCall, target, displacement, size, compare, desired,
                                          result, place);
    if (place.network)
        go_along(target, 4 * size, !cpu_atomics() || !can_swap(size));
    if (cpu_atomics() && place.network && can_swap(size)) {
        send_compare_and_swap(target, size, compare, desired, result, place);
        return RMALOCK_OK;
    }
    if (cpu_atomics() && part(target).mapped && can_swap(size) && aligned(place.direct, size)) {
        with_elements(target, {1, size, true, true}, [&](Sharing) {
            atomic_compare_swap(place.direct, size, compare, desired, result);
        });
        return RMALOCK_OK;
    }
    return compare_and_swap_locked(kCall, target, size, compare, desired, result, place);
}

Status Accesses::compare_and_swap_locked(const char* call, Rank target, std::size_t size,
                                         const void* compare, const void* desired, void* result,
                                         const TargetAddress& place) {
    std::array<std::byte, 16> before, wanted; // the widest type the call allows
    if (size > before.size())
        return fail(RMALOCK_ERR_TYPE, call, target, "a type of %zu bytes", size);
    std::memcpy(wanted.data(), desired, size);
    const auto there = contiguous_layout(nullptr, size);
    if (place.network && cpu_atomics())
        remote_->complete(target); // messages that were sent before go before
    held_back_.send_accumulates(target);
    const AccumulateGuard guard(*this, target);
    Status status = move_and_wait(Direction::get, call, target,
                                  contiguous_layout(before.data(), size), there, place);
    if (status == RMALOCK_OK && std::memcmp(before.data(), compare, size) == 0)
        status = store_back(call, target, contiguous_layout(wanted.data(), size), there, place);
    if (status == RMALOCK_OK)
        std::memcpy(result, before.data(), size);
    return status;
}

} // namespace rmalock::window
