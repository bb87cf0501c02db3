// The accumulate family: element-wise atomic among all origins, and in program order from each.
//
// An element has one owner, chosen by its type and address alone, so that every origin chooses alike:
//   - types of up to 8 bytes, naturally aligned, in memory all processes map: CPU atomics;
//   - everything else (wider types, pairs, misaligned elements, memory of CREATE and DYNAMIC windows,
//     even one's own): read, combine, write under the target's accumulate lock.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <complex>
#include <concepts>
#include <cstring>
#include <memory>
#include <new>

#include "window/access.hh"
#include "window/stream.hh"

namespace rmalock::window {
namespace {

template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

template <rmalock_op_t kOp, class T>
constexpr bool defined() {
    switch (kOp) {
    case RMALOCK_OP_REPLACE:
    case RMALOCK_OP_NO_OP:
        return true;
    case RMALOCK_OP_SUM:
    case RMALOCK_OP_PROD:
        return !std::same_as<T, bool>;
    case RMALOCK_OP_MAX:
    case RMALOCK_OP_MIN:
        return Integer<T> || std::floating_point<T>;
    case RMALOCK_OP_LAND:
    case RMALOCK_OP_LOR:
    case RMALOCK_OP_LXOR:
        return std::integral<T>;
    case RMALOCK_OP_BAND:
    case RMALOCK_OP_BOR:
    case RMALOCK_OP_BXOR:
        return Integer<T>;
    case RMALOCK_OP_OTHER:
        return false;
    }
    return false;
}

/// target op operand. Integers wrap: they are computed as 64-bit unsigned ones.
template <rmalock_op_t kOp, class T>
T combined(T target, T operand) {
    if constexpr (kOp == RMALOCK_OP_REPLACE)
        return operand;
    else if constexpr (kOp == RMALOCK_OP_NO_OP)
        return target;
    else if constexpr (kOp == RMALOCK_OP_SUM && Integer<T>)
        return static_cast<T>(static_cast<std::uint64_t>(target) + static_cast<std::uint64_t>(operand));
    else if constexpr (kOp == RMALOCK_OP_SUM)
        return target + operand;
    else if constexpr (kOp == RMALOCK_OP_PROD && Integer<T>)
        return static_cast<T>(static_cast<std::uint64_t>(target) * static_cast<std::uint64_t>(operand));
    else if constexpr (kOp == RMALOCK_OP_PROD)
        return target * operand;
    else if constexpr (kOp == RMALOCK_OP_MAX)
        return target > operand ? target : operand;
    else if constexpr (kOp == RMALOCK_OP_MIN)
        return target < operand ? target : operand;
    else if constexpr (kOp == RMALOCK_OP_LAND)
        return static_cast<T>(target && operand);
    else if constexpr (kOp == RMALOCK_OP_LOR)
        return static_cast<T>(target || operand);
    else if constexpr (kOp == RMALOCK_OP_LXOR)
        return static_cast<T>(!target != !operand);
    else if constexpr (kOp == RMALOCK_OP_BAND)
        return static_cast<T>(target & operand);
    else if constexpr (kOp == RMALOCK_OP_BOR)
        return static_cast<T>(target | operand);
    else
        return static_cast<T>(target ^ operand);
}

/// Does it atomically; returns the value before.
template <rmalock_op_t kOp, class T>
T fetch_combine(T& target, T operand) {
    std::atomic_ref<T> element(target);
    if constexpr (kOp == RMALOCK_OP_NO_OP)
        return element.load();
    else if constexpr (kOp == RMALOCK_OP_REPLACE)
        return element.exchange(operand);
    else if constexpr (kOp == RMALOCK_OP_SUM && Integer<T>)
        return element.fetch_add(operand);
    else {
        T seen = element.load();
        while (!element.compare_exchange_weak(seen, combined<kOp>(seen, operand)))
            ;
        return seen;
    }
}

/// Combines `count` aligned elements. operand: as many, null for NO_OP; result: null or as many.
using Kernel = void (*)(std::byte* target, const std::byte* operand, std::byte* result,
                        std::size_t count);

template <rmalock_op_t kOp, class T>
void kernel(std::byte* target, const std::byte* operand, std::byte* result, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        T mine{};
        if (operand != nullptr)
            std::memcpy(&mine, operand + i * sizeof(T), sizeof(T));
        const T before = fetch_combine<kOp>(reinterpret_cast<T*>(target)[i], mine);
        if (result != nullptr)
            std::memcpy(result + i * sizeof(T), &before, sizeof(T));
    }
}

constexpr std::size_t kOps = RMALOCK_OP_OTHER;
using Kernels = std::array<Kernel, kOps>;

template <class T, std::size_t... kOp>
constexpr Kernels kernels_of(std::index_sequence<kOp...>) {
    Kernels all{};
    (
        [&] {
            constexpr auto op = static_cast<rmalock_op_t>(kOp);
            if constexpr (defined<op, T>())
                all[kOp] = kernel<op, T>;
        }(),
        ...);
    return all;
}

template <class T>
constexpr Kernels kKernels = kernels_of<T>(std::make_index_sequence<kOps>());

template <class T1, class T2, class T4, class T8>
const Kernels* by_size(std::uint32_t size) {
    switch (size) {
    case 1:
        return &kKernels<T1>;
    case 2:
        return &kKernels<T2>;
    case 4:
        return &kKernels<T4>;
    case 8:
        return &kKernels<T8>;
    default:
        return nullptr;
    }
}

const Kernels* kernels_for(const rmalock_element_t& element) {
    switch (element.kind) {
    case RMALOCK_KIND_SIGNED:
        return by_size<std::int8_t, std::int16_t, std::int32_t, std::int64_t>(element.size);
    case RMALOCK_KIND_UNSIGNED:
        return by_size<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(element.size);
    case RMALOCK_KIND_REAL:
        return element.size == sizeof(float)    ? &kKernels<float>
               : element.size == sizeof(double) ? &kKernels<double>
                                                : nullptr;
    case RMALOCK_KIND_COMPLEX:
        return element.size == sizeof(std::complex<float>) ? &kKernels<std::complex<float>> : nullptr;
    case RMALOCK_KIND_BOOL:
        return element.size == sizeof(bool) ? &kKernels<bool> : nullptr;
    case RMALOCK_KIND_OTHER:
        return nullptr;
    }
    return nullptr;
}

/// The kernel of an operation on a type; null: there is none.
Kernel kernel_for(const rmalock_element_t& element, rmalock_op_t op) {
    const Kernels* const kernels = op < kOps ? kernels_for(element) : nullptr;
    return kernels != nullptr ? (*kernels)[static_cast<std::size_t>(op)] : nullptr;
}

bool aligned(const std::byte* address, std::size_t size) {
    return (reinterpret_cast<std::uintptr_t>(address) & (size - 1)) == 0;
}

/// Memory for copies of elements, aligned for any of them.
struct ScratchDelete {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{64}); }
};
using Scratch = std::unique_ptr<std::byte[], ScratchDelete>;
Scratch scratch(std::size_t bytes) {
    return Scratch(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
}

/// An array of elements as the origin's side of a copy.
class NativeArray {
  public:
    NativeArray(const rmalock_combination_t& what, std::byte* array) : what_(what), layout_{} {
        if (what.element.size == what.element.extent)
            layout_ = plain_layout(array, what.count * what.element.size);
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

  private:
    const rmalock_combination_t& what_;
    rmalock_layout_t layout_;
};

template <class T>
bool atomic_compare_swap(std::byte* place, const void* compare, const void* desired, void* result) {
    T expected, wanted;
    std::memcpy(&expected, compare, sizeof(T));
    std::memcpy(&wanted, desired, sizeof(T));
    std::atomic_ref<T>(*reinterpret_cast<T*>(place)).compare_exchange_strong(expected, wanted);
    std::memcpy(result, &expected, sizeof(T));
    return true;
}

/// False: no CPU atomic does it.
bool atomic_compare_swap(std::byte* place, std::size_t size, const void* compare,
                         const void* desired, void* result) {
    if (!std::has_single_bit(size) || !aligned(place, size))
        return false;
    switch (size) {
    case 1:
        return atomic_compare_swap<std::uint8_t>(place, compare, desired, result);
    case 2:
        return atomic_compare_swap<std::uint16_t>(place, compare, desired, result);
    case 4:
        return atomic_compare_swap<std::uint32_t>(place, compare, desired, result);
    case 8:
        return atomic_compare_swap<std::uint64_t>(place, compare, desired, result);
    default:
        return false;
    }
}

} // namespace

Status Window::accumulate(const char* call, Rank target, std::ptrdiff_t displacement,
                          const rmalock_combination_t& what) {
    Place place;
    const rmalock_layout_t& side = *what.target_side;
    const Status status = access(call, target, displacement, side.low, side.high, place, &side);
    if (status != RMALOCK_OK || what.count == 0)
        return status;
    const Kernel kernel = part(target).mapped ? kernel_for(what.element, what.op) : nullptr;
    if (kernel == nullptr)
        return accumulate_locked(call, target, what, place);

    const std::size_t size = what.element.size;
    auto* operand = static_cast<const std::byte*>(what.operand);
    auto* result = static_cast<std::byte*>(what.result);
    const auto run = [&](std::byte* elements, std::size_t count) {
        if (aligned(elements, size)) {
            kernel(elements, operand, result, count);
        } else {
            const AccumulateGuard guard(accumulate_lock_, target);
            const Scratch copy = scratch(count * size);
            std::memcpy(copy.get(), elements, count * size);
            kernel(copy.get(), operand, result, count);
            std::memcpy(elements, copy.get(), count * size);
        }
        operand = operand != nullptr ? operand + count * size : nullptr;
        result = result != nullptr ? result + count * size : nullptr;
    };
    if (side.contiguous) {
        run(place.direct + static_cast<std::ptrdiff_t>(side.base), what.count);
        return RMALOCK_OK;
    }
    for (Stream runs(side); runs.more(); runs.advance(runs.length()))
        run(place.direct + static_cast<std::ptrdiff_t>(runs.address()), runs.length() / size);
    return RMALOCK_OK;
}

Status Window::accumulate_locked(const char* call, Rank target, const rmalock_combination_t& what,
                                 const Place& place) {
    const std::size_t bytes = what.count * what.element.extent;
    const Scratch array = scratch(bytes);
    const NativeArray native(what, array.get());
    const AccumulateGuard guard(accumulate_lock_, target);
    if (const Status status =
            move(Direction::get, call, target, native.layout(), *what.target_side, place);
        status != RMALOCK_OK)
        return status;
    if (what.result != nullptr)
        std::memcpy(what.result, array.get(), bytes);
    if (what.op == RMALOCK_OP_NO_OP)
        return RMALOCK_OK;
    // Our own code wherever there is any, so that an element behaves alike on every path: Open MPI's
    // vectorised sums of 8- and 16-bit integers saturate where others wrap.
    if (const Kernel kernel = kernel_for(what.element, what.op))
        kernel(array.get(), static_cast<const std::byte*>(what.operand), nullptr, what.count);
    else if (what.op == RMALOCK_OP_REPLACE)
        std::memcpy(array.get(), what.operand, bytes);
    else
        what.combine(what.host_arg, what.operand, array.get(), what.count);
    return move(Direction::put, call, target, native.layout(), *what.target_side, place);
}

Status Window::accumulate_plain(const char* call, Rank target, std::ptrdiff_t displacement,
                                rmalock_element_t element, rmalock_op_t op, const void* operand,
                                void* result, std::size_t count, bool& done) {
    const Kernel kernel = part(target).mapped ? kernel_for(element, op) : nullptr;
    done = false;
    if (kernel == nullptr)
        return RMALOCK_OK;
    Place place;
    const auto end = static_cast<std::ptrdiff_t>(count * element.size);
    const Status status = access(call, target, displacement, 0, end, place);
    if (status == RMALOCK_OK && !aligned(place.direct, element.size))
        return RMALOCK_OK;
    done = true;
    if (status == RMALOCK_OK)
        kernel(place.direct, static_cast<const std::byte*>(operand),
               static_cast<std::byte*>(result), count);
    return status;
}

Status Window::compare_and_swap(Rank target, std::ptrdiff_t displacement, std::size_t size,
                                const void* compare, const void* desired, void* result) {
    static constexpr char kCall[] = "MPI_Compare_and_swap";
    Place place;
    if (const Status status =
            access(kCall, target, displacement, 0, static_cast<std::ptrdiff_t>(size), place);
        status != RMALOCK_OK)
        return status;
    if (part(target).mapped && atomic_compare_swap(place.direct, size, compare, desired, result))
        return RMALOCK_OK;

    std::array<std::byte, 16> before, wanted; // the widest type the call allows
    if (size > before.size())
        return fail(RMALOCK_ERR_TYPE, kCall, target, "a type of %zu bytes", size);
    std::memcpy(wanted.data(), desired, size);
    const auto there = plain_layout(nullptr, size);
    const AccumulateGuard guard(accumulate_lock_, target);
    Status status =
        move(Direction::get, kCall, target, plain_layout(before.data(), size), there, place);
    if (status == RMALOCK_OK && std::memcmp(before.data(), compare, size) == 0)
        status =
            move(Direction::put, kCall, target, plain_layout(wanted.data(), size), there, place);
    if (status == RMALOCK_OK)
        std::memcpy(result, before.data(), size);
    return status;
}

} // namespace rmalock::window
