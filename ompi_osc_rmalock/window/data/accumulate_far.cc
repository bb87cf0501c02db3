// Messages that the target's CPU applies: the accumulate family towards other nodes where CPUs do
// all atomics, with the kernels of the on-node path, and puts and gets that were collected.
// Accumulates all go this way, so that what one origin does to an element stays in order. (Where a
// network adapter does atomics, all accumulates take the target's accumulate lock.)
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "window/data/access.hh"
#include "window/data/element_starts.hh"
#include "window/data/kernels.hh"
#include "network/message_check.hh"
#include "network/message.hh"
#include "network/remote.hh"
#include "window/create/stream.hh"

namespace rmalock::window {
namespace {

using network::take;

const Kernels* kernels_of(const network::MessageHeader& header) {
    const rmalock_element_t element{static_cast<rmalock_kind_t>(header.element_kind),
                                    header.element_size, header.element_extent};
    return kernels_for(element, static_cast<rmalock_op_t>(header.op));
}

/// Collects runs and their operands, and sends as much as fits into a message at a time.
class Batch {
  public:
    Batch(network::Remote& remote, Rank target, network::MessageHeader header,
          const rmalock_combination_t& what, ucx::Completion* completion)
        : remote_(remote), target_(target), header_(header), size_(what.element.extent),
          operand_(static_cast<const std::byte*>(what.operand)),
          result_(static_cast<std::byte*>(what.result)), completion_(completion),
          room_(remote.worker().most_message_bytes() - sizeof(network::MessageHeader)) {}

    void add(std::uint64_t offset, std::size_t count) {
        while (count != 0) {
            std::size_t fits = room_ - std::min(room_, bytes());
            fits = fits < sizeof(network::MessageRun) + size_
                       ? 0
                       : (fits - sizeof(network::MessageRun)) / size_;
            const std::size_t now = std::min(fits, count);
            if (now == 0) {
                send();
                continue;
            }
            runs_.push_back({offset, now});
            elements_ += now;
            offset += now * size_;
            count -= now;
        }
    }

    void send() {
        if (elements_ == 0)
            return;
        const std::size_t values = elements_ * size_;
        header_.runs = runs_.size();
        if (result_ == nullptr && operand_ != nullptr && remote_.holds(bytes())) {
            remote_.hold(target_, header_, runs_, {operand_, values});
            operand_ += values;
            runs_.clear();
            elements_ = 0;
            return;
        }
        data_.resize(runs_.size() * sizeof(network::MessageRun));
        std::memcpy(data_.data(), runs_.data(), data_.size());
        if (operand_ != nullptr) {
            data_.insert(data_.end(), operand_, operand_ + values);
            operand_ += values;
        }
        remote_.send(target_, header_, data_,
                     {result_, result_ != nullptr ? values : 0, completion_});
        result_ = result_ != nullptr ? result_ + values : nullptr;
        runs_.clear();
        elements_ = 0;
    }

  private:
    /// Of the message so far; the answer takes no more.
    std::size_t bytes() const {
        return runs_.size() * sizeof(network::MessageRun) + elements_ * size_;
    }

    network::Remote& remote_;
    Rank target_;
    network::MessageHeader header_;
    std::size_t size_; ///< of an element with its gaps
    const std::byte* operand_;
    std::byte* result_;
    ucx::Completion* completion_;
    std::size_t room_;
    std::vector<network::MessageRun> runs_;
    std::size_t elements_ = 0;
    std::vector<std::byte> data_;
};

/// `bytes` more at the end of an answer.
std::byte* room_for(std::vector<std::byte>& result, std::size_t bytes) {
    result.resize(result.size() + bytes);
    return result.data() + (result.size() - bytes);
}

void swap_element(Sharing sharing, std::byte* place, std::span<const std::byte> compare,
                  std::span<const std::byte> desired, std::byte* before) {
    if (sharing == Sharing::shared) {
        atomic_compare_swap(place, compare.size(), compare.data(), desired.data(), before);
        return;
    }
    std::memcpy(before, place, compare.size());
    if (std::memcmp(before, compare.data(), compare.size()) == 0)
        std::memcpy(place, desired.data(), desired.size());
}

/// What the handler of a message has while it changes elements of its own process, for a scope.
class HandlerAccess {
  public:
    HandlerAccess(ElementLock& elements, Rank self) : elements_(elements), self_(self) {}
    HandlerAccess(const HandlerAccess&) = delete;
    HandlerAccess& operator=(const HandlerAccess&) = delete;
    ~HandlerAccess() {
        if (mark_ != nullptr)
            elements_.end(mark_);
        if (!locked_)
            return;
        if (counts_)
            elements_.count_single(self_);
        elements_.unlock_near(self_);
    }

    /// False: somebody else is at work, and the handler cannot wait.
    bool begin(const ElementAmount& amount) {
        const bool few = amount.count == 1 || !elements_.worth_raising(amount.bytes);
        if (few && amount.by_mark && (mark_ = elements_.begin_beside(self_)) != nullptr)
            return true;
        if (!elements_.try_lock_near(self_))
            return false;
        locked_ = true;
        counts_ = amount.atomics && amount.count == 1;
        if (!amount.atomics)
            sharing_ = Sharing::alone; // no mark is ever of such elements
        return !amount.atomics || counts_ || elements_.try_exclude(self_, few, sharing_);
    }
    Sharing sharing() const { return sharing_; }

  private:
    ElementLock& elements_;
    const Rank self_;
    ElementLock::Mark mark_ = nullptr;
    bool locked_ = false, counts_ = false;
    Sharing sharing_ = Sharing::shared;
};

template <class Run>
std::vector<Run> take_runs(std::span<const std::byte>& data, std::size_t count) {
    std::vector<Run> runs(count);
    const auto bytes = take(data, count * sizeof(Run));
    std::memcpy(runs.data(), bytes.data(), bytes.size());
    return runs;
}

} // namespace

void Accesses::send_accumulate(Rank target, const rmalock_combination_t& what,
                               const TargetAddress& place) {
    network::MessageHeader header{};
    header.kind = network::MessageKind::accumulate;
    header.op = static_cast<std::uint8_t>(what.op);
    header.element_kind = static_cast<std::uint8_t>(what.element.kind);
    header.has_operand = what.operand != nullptr;
    header.element_size = static_cast<std::uint16_t>(what.element.size);
    header.element_extent = static_cast<std::uint16_t>(what.element.extent);
    Batch batch(*remote_, target, header, what, network::as_completion(what.completion));
    const rmalock_layout_t& side = *what.target_side;
    const bool padded = what.element.size != what.element.extent;
    if (what.target_is_array || (side.contiguous && !padded)) { // a type can pack padded elements
        batch.add(place.address + (side.contiguous ? side.base : 0), what.count);
    } else {
        ElementStarts starts(what.element, [&](std::uintptr_t at, std::size_t count) {
            batch.add(place.address + at, count);
        });
        for (Stream runs(side); runs.more(); runs.advance(runs.length()))
            starts.add(runs.address(), runs.length());
    }
    batch.send();
}

void Accesses::send_compare_and_swap(Rank target, std::size_t size, const void* compare,
                                     const void* desired, void* result,
                                     const TargetAddress& place) {
    const network::MessageRun run{place.address, 1};
    std::array<std::byte, sizeof run + 2 * sizeof(std::uint64_t)> data;
    std::memcpy(data.data(), &run, sizeof run);
    std::memcpy(data.data() + sizeof run, compare, size);
    std::memcpy(data.data() + sizeof run + size, desired, size);
    network::MessageHeader header{};
    header.kind = network::MessageKind::compare_swap;
    header.element_size = header.element_extent = static_cast<std::uint16_t>(size);
    header.runs = 1;
    remote_->send(target, header, std::span(data).first(sizeof run + 2 * size),
                  {static_cast<std::byte*>(result), size});
}

/// Puts and gets.
void Accesses::copy_by_message(const network::MessageHeader& header,
                               std::span<const std::byte> data, std::vector<std::byte>& result) {
    const bool puts = network::is_put(header.kind);
    const Direction direction = puts ? Direction::put : Direction::get;
    for (const network::CopyRun& run : take_runs<network::CopyRun>(data, header.runs)) {
        std::byte* place = own_memory() + run.offset;
        const std::size_t all = run.bytes * run.times;
        // copy_mapped only reads what it puts.
        std::byte* other =
            puts ? const_cast<std::byte*>(take(data, all).data()) : room_for(result, all);
        for (std::uint64_t n = run.times; n-- > 0; place += run.stride, other += run.bytes)
            copy_mapped(direction, other, place, run.bytes);
    }
}

std::byte* Accesses::own_memory() const {
    const Part& mine = part(rank());
    return mine.mapped ? segment_.base() + mine.address
                       : reinterpret_cast<std::byte*>(mine.address);
}

bool Accesses::apply_message(const network::MessageHeader& header, std::span<const std::byte> data,
                             std::vector<std::byte>& result) {
    if (header.kind == network::MessageKind::complete) {
        complete_by_message();
        return true;
    }
    if (network::is_copy(header.kind)) {
        copy_by_message(header, data, result);
        return true;
    }
    const Part& mine = part(rank());
    std::byte* const memory = own_memory();
    const std::vector<network::MessageRun> runs = take_runs<network::MessageRun>(data, header.runs);
    const bool swaps = header.kind == network::MessageKind::compare_swap;
    const Kernels kernels = swaps ? Kernels{} : *kernels_of(header);
    const bool fetches = header.ticket != 0 && !network::asks_for_word(header.kind);
    // The same rule as for origins of this node (accumulate.cc): a process that is not
    // alone in deciding how an element is accessed locks.
    const bool atomics = mine.mapped && (swaps || kernels.shared != nullptr);
    const auto regular = [&](const network::MessageRun& run) {
        return atomics && aligned(memory + run.offset, header.element_size);
    };
    std::size_t elements = 0;
    for (const network::MessageRun& run : runs)
        elements += run.count;
    HandlerAccess access(elements_, rank());
    if (!access.begin({elements, elements * header.element_size, atomics,
                       std::all_of(runs.begin(), runs.end(), regular)}))
        return false;
    for (const network::MessageRun& run : runs) {
        std::byte* const place = memory + run.offset;
        const Sharing sharing = regular(run) ? access.sharing() : Sharing::alone;
        const std::size_t bytes = run.count * header.element_extent;
        std::byte* const before = fetches ? room_for(result, bytes) : nullptr;
        if (swaps) {
            const auto compare = take(data, bytes), desired = take(data, bytes); // in this order
            swap_element(sharing, place, compare, desired, before);
            continue;
        }
        const auto operand = take(data, header.has_operand != 0 ? bytes : 0);
        kernel_of(kernels, sharing)(place, operand.data(), before, run.count);
    }
    return true;
}

std::string Accesses::flaw_of_message(ucx::PeerId from, const network::MessageHeader& header,
                                      std::span<const std::byte> data) const {
    const auto here = [this](const std::string& flaw) {
        return flaw + " window '" + name() + "', rank " + std::to_string(rank());
    };
    if (!remote_->reaches(from, comm_.size))
        return here("the sender has no part in");
    if (header.kind == network::MessageKind::complete)
        return "";
    if (header.kind == network::MessageKind::section)
        return flaw_of_section(from, header, data);
    if (network::is_accumulate(header.kind) && kernels_of(header) == nullptr)
        return here("the operation is not defined for the type, in");
    const std::size_t size = part(rank()).size;
    std::string flaw;
    const auto look = [&](std::uint64_t offset, std::uint64_t bytes) {
        const bool within = regions_ != nullptr ? regions_->mine().has(offset, bytes)
                                                : offset <= size && bytes <= size - offset;
        if (!within && flaw.empty())
            flaw = here(std::to_string(bytes) + " bytes at displacement " + std::to_string(offset) +
                        " are outside the memory of");
    };
    if (network::is_copy(header.kind)) {
        for (const auto& run : network::runs_of<network::CopyRun>(header, data))
            for (std::uint64_t n = 0; n < run.times; ++n)
                look(run.offset + n * run.stride, run.bytes);
        return flaw;
    }
    // The gap behind the last element may lie outside.
    for (const auto& run : network::runs_of(header, data))
        look(run.offset, (run.count - 1) * header.element_extent + header.element_size);
    return flaw;
}

} // namespace rmalock::window
