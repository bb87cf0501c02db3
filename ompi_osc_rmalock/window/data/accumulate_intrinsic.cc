// Accumulates by the network's own atomics, element by element (acc_single_intrinsic): where an
// adapter does the atomics on words, for elements of the sizes that it has them of.
//
//   SUM of integers, REPLACE, compare_and_swap            one atomic: 1 round trip, or posted
//   NO_OP                                                 a get in the atomics' order: 1 round trip;
//                                                         aligned elements are not torn, nor are words
//   all others                                            get, combine here, compare_and_swap until
//                                                         nobody came between: 2 round trips at least
//
// Elements of an array are under way together. All origins take this way, those on the target's
// node as well, since an adapter's atomic does not exclude a CPU's. What it cannot reach, all origins
// change under the target's accumulate lock: elements that are misaligned, or that lie across two
// attached regions.
//
// Open MPI's osc/ucx and osc/rdma have the same promise under the same name.
#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "window/create/stream.hh"
#include "window/data/access.hh"
#include "window/data/element_starts.hh"

namespace rmalock::window {
namespace {

/// The atomic that does the operation, if there is one.
std::optional<ucx::ElementOp> atomic_for(rmalock_op_t op, rmalock_kind_t kind) {
    const bool integer = kind == RMALOCK_KIND_SIGNED || kind == RMALOCK_KIND_UNSIGNED;
    if (op == RMALOCK_OP_NO_OP)
        return ucx::ElementOp::read; // the window's memory may be readable only
    if (op == RMALOCK_OP_SUM && integer)
        return ucx::ElementOp::add;
    if (op == RMALOCK_OP_REPLACE)
        return ucx::ElementOp::swap;
    return std::nullopt;
}

std::uint64_t load(const void* element, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, element, size);
    return value;
}

/// If `run` throws, what is under way may still write to the object: it stays for ever.
template <class Object, class Run>
void keep_if_thrown(std::unique_ptr<Object>& object, Run run) {
    try {
        run();
    } catch (...) {
        (void)object.release();
        throw;
    }
}

} // namespace

/// A target's memory as the network reaches it, from any node.
class Accesses::NetworkElements {
  public:
    NetworkElements(Accesses& window, Rank target, std::ptrdiff_t displacement)
        : remote_(*window.remote_), target_(target),
          table_(window.regions_ != nullptr ? window.regions_->known(target) : nullptr),
          base_(table_ != nullptr ? 0 : remote_.memory_of(target)),
          start_(base_ + static_cast<std::uint64_t>(displacement * window.part(target).disp_unit)) {
    }
    /// The address that the displacement stands for.
    std::uint64_t start() const { return start_; }

    /// Whether there are atomics of all these elements.
    bool has_atomics(std::uint64_t address, std::size_t size, std::size_t count = 1) const {
        return address % size == 0 &&
               (table_ == nullptr || table_->has_in_one(address, count * size));
    }
    void change(const ucx::ElementAtomic& what, std::uint64_t address,
                ucx::Completion* completion) {
        if (table_ != nullptr)
            table_->element(what, address, completion);
        else
            remote_.element(target_, what, address - base_, completion);
    }
    void compare_and_swap(std::uint64_t address, std::size_t size, const void* compare,
                          const void* desired, void* result) {
        struct Swap {
            std::uint64_t before;
            ucx::Completion answered;
        };
        auto swap = std::make_unique<Swap>();
        swap->before = load(desired, size);
        keep_if_thrown(swap, [&] {
            change({ucx::ElementOp::compare_swap, size, load(compare, size), &swap->before},
                   address, &swap->answered);
            wait_for(swap->answered);
        });
        std::memcpy(result, &swap->before, size);
    }
    void move_and_wait(Direction direction, std::byte* mine, std::size_t bytes,
                       std::uint64_t address) {
        if (table_ != nullptr)
            table_->move(direction, mine, bytes, address, nullptr);
        else
            remote_.move(direction, target_, mine, bytes, address - base_, nullptr);
        remote_.complete(target_);
    }
    void wait_for(const ucx::Completion& completion) { remote_.wait_for(completion); }

  private:
    network::Remote& remote_;
    const Rank target_;
    const std::shared_ptr<FarTable> table_; ///< DYNAMIC
    const std::uint64_t base_, start_;
};

namespace {

/// Changes elements by a loop of compare-and-swaps each, some at a time.
template <class Elements>
class SwapLoop {
  public:
    static constexpr std::size_t kAtOnce = 1024;

    SwapLoop(Elements& elements, const rmalock_combination_t& what, std::uint64_t address,
             std::size_t count)
        : elements_(elements), kernel_(what.kernels->alone), size_(what.element.size),
          address_(address), count_(count), seen_(count * size_), wanted_(seen_.size()),
          before_(count), left_(count) {
        std::iota(left_.begin(), left_.end(), 0);
    }

    /// Returns what was there.
    const std::vector<std::byte>& run(const std::byte* operand) {
        elements_.move_and_wait(Direction::get, seen_.data(), seen_.size(), address_);
        while (!left_.empty()) {
            wanted_ = seen_;
            kernel_(wanted_.data(), operand, nullptr, count_);
            swap();
            std::erase_if(left_, [&](std::size_t i) {
                const bool swapped = before_[i] == load(&seen_[i * size_], size_);
                std::memcpy(&seen_[i * size_], &before_[i], size_);
                return swapped;
            });
        }
        return seen_;
    }

  private:
    void swap() {
        for (const std::size_t i : left_) {
            before_[i] = load(&wanted_[i * size_], size_);
            elements_.change(
                {ucx::ElementOp::compare_swap, size_, load(&seen_[i * size_], size_), &before_[i]},
                address_ + i * size_, &answered_);
        }
        elements_.wait_for(answered_);
    }

    Elements& elements_;
    const Kernel kernel_;
    const std::size_t size_;
    const std::uint64_t address_;
    const std::size_t count_;
    std::vector<std::byte> seen_, wanted_;
    std::vector<std::uint64_t> before_; ///< by element: what the swap found
    std::vector<std::size_t> left_;     ///< elements that are not changed yet
    ucx::Completion answered_;
};

} // namespace

/// An accumulate on its way through the target's elements.
class Accesses::IntrinsicAccumulate {
  public:
    IntrinsicAccumulate(Accesses& window, Rank target, const rmalock_combination_t& what,
                        NetworkElements& elements)
        : window_(window), target_(target), what_(what), size_(what.element.size),
          atomic_(atomic_for(what.op, what.element.kind)),
          elements_(elements), mine_{static_cast<const std::byte*>(what.operand),
                                     static_cast<std::byte*>(what.result)} {}

    /// Whether they are all adds that fetch nothing.
    bool adds() const { return what_.op == RMALOCK_OP_SUM && atomic_ && what_.result == nullptr; }
    /// The next `count` elements are at `address`.
    void change(std::uint64_t address, std::size_t count) {
        if (elements_.has_atomics(address, size_, count))
            return atomic_ ? by_atomics(address, count) : by_loops(address, count);
        for (std::size_t i = 0; i < count; ++i, address += size_) {
            if (!elements_.has_atomics(address, size_))
                under_lock(address);
            else
                atomic_ ? by_atomics(address, 1) : by_loops(address, 1);
        }
    }

  private:
    void by_atomics(std::uint64_t address, std::size_t count) {
        if (what_.op == RMALOCK_OP_NO_OP && what_.result == nullptr)
            return;
        for (; count != 0; --count, address += size_) {
            const std::uint64_t operand =
                what_.op == RMALOCK_OP_NO_OP ? 0 : load(mine_.operand, size_);
            elements_.change({*atomic_, size_, operand, mine_.result}, address,
                             network::as_completion(what_.completion));
            mine_.advance(size_);
        }
    }

    void by_loops(std::uint64_t address, std::size_t count) {
        using Loop = SwapLoop<NetworkElements>;
        while (count != 0) {
            const std::size_t now = std::min(count, Loop::kAtOnce), bytes = now * size_;
            auto loop = std::make_unique<Loop>(elements_, what_, address, now);
            keep_if_thrown(loop, [&] { give(loop->run(mine_.operand).data(), bytes); });
            address += bytes;
            count -= now;
        }
    }

    void under_lock(std::uint64_t address) {
        std::byte element[sizeof(std::uint64_t)], before[sizeof element];
        window_.remote_->complete(target_); // what this process sent before goes before
        const AccumulateGuard guard(window_, target_);
        elements_.move_and_wait(Direction::get, element, size_, address);
        std::memcpy(before, element, size_);
        if (what_.op != RMALOCK_OP_NO_OP) {
            what_.kernels->alone(element, mine_.operand, nullptr, 1);
            elements_.move_and_wait(Direction::put, element, size_, address);
        }
        give(before, size_);
    }

    void give(const std::byte* before, std::size_t bytes) {
        if (mine_.result != nullptr)
            std::memcpy(mine_.result, before, bytes);
        mine_.advance(bytes);
    }

    Accesses& window_;
    const Rank target_;
    const rmalock_combination_t& what_;
    const std::size_t size_;
    const std::optional<ucx::ElementOp> atomic_;
    NetworkElements& elements_;
    Elements mine_;
};

bool Accesses::is_intrinsic(const rmalock_combination_t& what) const {
    return what.kernels->alone != nullptr && intrinsic_.has(what.element.size) &&
           what.element.size == what.element.extent;
}

/// On the node, a flush has nothing to wait for.
template <class Change>
Status Accesses::change_elements(const char* call, Rank target, std::ptrdiff_t displacement,
                                 Change change) {
    try {
        NetworkElements elements(*this, target, displacement);
        change(elements);
        if (fabric_.same_node(target))
            remote_->complete(target);
    } catch (const ucx::Error& error) {
        return fail(RMALOCK_ERR_INTERN, call, target, "%s", error.what());
    }
    return RMALOCK_OK;
}

Status Accesses::accumulate_intrinsic(const char* call, Rank target, std::ptrdiff_t displacement,
                                      const rmalock_combination_t& what) {
    return change_elements(call, target, displacement, [&](NetworkElements& elements) {
        IntrinsicAccumulate accumulate(*this, target, what, elements);
        remote_->order_elements(target, accumulate.adds());
        const rmalock_layout_t& side = *what.target_side;
        if (what.target_is_array || side.contiguous)
            return accumulate.change(elements.start() + (side.contiguous ? side.base : 0),
                                     what.count);
        ElementStarts starts(what.element, [&](std::uintptr_t at, std::size_t count) {
            accumulate.change(elements.start() + at, count);
        });
        for (Stream runs(side); runs.more(); runs.advance(runs.length()))
            starts.add(runs.address(), runs.length());
    });
}

/// Waits: what is to be stored lies where the answer comes, which the program's result may not be,
/// as it may be another call's, too.
Status Accesses::compare_and_swap_intrinsic(const char* call, Rank target,
                                            std::ptrdiff_t displacement, std::size_t size,
                                            const void* compare, const void* desired, void* result,
                                            const TargetAddress& place) {
    bool reached = false;
    const Status status =
        change_elements(call, target, displacement, [&](NetworkElements& elements) {
            reached = elements.has_atomics(elements.start(), size);
            if (!reached)
                return;
            remote_->order_elements(target, false);
            elements.compare_and_swap(elements.start(), size, compare, desired, result);
        });
    return reached || status != RMALOCK_OK
               ? status
               : compare_and_swap_locked(call, target, size, compare, desired, result, place);
}

} // namespace rmalock::window
