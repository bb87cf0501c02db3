// The accumulate family towards other nodes where CPUs do all atomics: messages that the target's
// CPU applies with the kernels of the on-node path. One way for all of them, so that what one
// origin does to an element stays in order. (Where a network adapter does atomics, all accumulates
// take the target's accumulate lock.)
#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "window/data/access.hh"
#include "window/data/kernels.hh"
#include "network/message_check.hh"
#include "network/message.hh"
#include "network/remote.hh"
#include "window/create/stream.hh"

namespace rmalock::window {
namespace {

/// Of an accumulate from another node; null: there is none.
Kernel shared_kernel_of(const network::MessageHeader& header) {
    const rmalock_element_t element{static_cast<rmalock_kind_t>(header.element_kind),
                                    header.element_size, header.element_size};
    const Kernels* const kernels = kernels_for(element, static_cast<rmalock_op_t>(header.op));
    return kernels != nullptr ? kernels->shared : nullptr;
}

/// Collects runs and their operands, and sends as much as fits into a message at a time.
class Batch {
  public:
    Batch(network::Remote& remote, Rank target, network::MessageHeader header,
          const rmalock_combination_t& what, ucx::Completion* completion)
        : remote_(remote), target_(target), header_(header), size_(what.element.size),
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
        data_.resize(runs_.size() * sizeof(network::MessageRun));
        std::memcpy(data_.data(), runs_.data(), data_.size());
        if (operand_ != nullptr) {
            data_.insert(data_.end(), operand_, operand_ + values);
            operand_ += values;
        }
        header_.runs = runs_.size();
        remote_.send(target_, header_, data_, result_, result_ != nullptr ? values : 0,
                     completion_);
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
    std::size_t size_;
    const std::byte* operand_;
    std::byte* result_;
    ucx::Completion* completion_;
    std::size_t room_;
    std::vector<network::MessageRun> runs_;
    std::size_t elements_ = 0;
    std::vector<std::byte> data_;
};

/// Takes `bytes` from the front of a message's data.
std::span<const std::byte> take(std::span<const std::byte>& data, std::size_t bytes) {
    if (bytes > data.size())
        throw std::runtime_error("a message that is too short");
    const auto front = data.first(bytes);
    data = data.subspan(bytes);
    return front;
}

std::vector<network::MessageRun> take_runs(std::span<const std::byte>& data, std::size_t count) {
    std::vector<network::MessageRun> runs(count);
    const auto bytes = take(data, count * sizeof(network::MessageRun));
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
    header.element_size = what.element.size;
    Batch batch(*remote_, target, header, what, network::as_completion(what.completion));
    const rmalock_layout_t& side = *what.target_side;
    if (side.contiguous) {
        batch.add(place.address + side.base, what.count);
    } else {
        for (Stream runs(side); runs.more(); runs.advance(runs.length()))
            batch.add(place.address + runs.address(), runs.length() / what.element.size);
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
    header.element_size = static_cast<std::uint32_t>(size);
    header.runs = 1;
    remote_->send(target, header, std::span(data).first(sizeof run + 2 * size),
                  static_cast<std::byte*>(result), size, nullptr);
}

bool Accesses::apply_message(const network::MessageHeader& header, std::span<const std::byte> data,
                             std::vector<std::byte>& result) {
    const std::size_t size = header.element_size;
    const Part& mine = part(rank());
    std::byte* const memory =
        mine.mapped ? segment_.base() + mine.address : reinterpret_cast<std::byte*>(mine.address);
    const std::vector<network::MessageRun> runs = take_runs(data, header.runs);
    const auto misaligned = [&](const network::MessageRun& run) {
        return !aligned(memory + run.offset, size);
    };
    // The same rule as for origins of this node (accumulate.cc): a process that is not
    // alone in deciding how an element is accessed locks.
    const bool locks = !mine.mapped || std::any_of(runs.begin(), runs.end(), misaligned);
    const Kernel kernel = shared_kernel_of(header);
    if (locks && !accumulate_lock_.try_acquire_exclusive(rank()))
        return false;
    for (const network::MessageRun& run : runs)
        apply_run(header, kernel, memory + run.offset, run.count, data, result);
    if (locks)
        accumulate_lock_.release_exclusive(rank(), {});
    return true;
}

std::string Accesses::flaw_of_message(ucx::PeerId from, const network::MessageHeader& header,
                                      std::span<const std::byte> data) const {
    const auto here = [this](const std::string& flaw) {
        return flaw + " window '" + name() + "', rank " + std::to_string(rank());
    };
    if (!remote_->reaches(from, comm_.size))
        return here("the sender has no part in");
    if (header.kind == network::MessageKind::accumulate && shared_kernel_of(header) == nullptr)
        return here("the operation is not defined for the type, in");
    const std::size_t size = part(rank()).size;
    for (const network::MessageRun& run : runs_of(header, data)) {
        const std::uint64_t bytes = run.count * header.element_size;
        const bool within = regions_ != nullptr ? regions_->mine().has(run.offset, bytes)
                                                : run.offset <= size && bytes <= size - run.offset;
        if (!within)
            return here(std::to_string(bytes) + " bytes at displacement " +
                        std::to_string(run.offset) + " are outside the memory of");
    }
    return "";
}

void Accesses::apply_run(const network::MessageHeader& header, Kernel kernel, std::byte* place,
                         std::size_t count, std::span<const std::byte>& data,
                         std::vector<std::byte>& result) {
    const std::size_t size = header.element_size, bytes = count * size;
    std::byte* before = nullptr;
    if (header.ticket != 0) {
        result.resize(result.size() + bytes);
        before = result.data() + (result.size() - bytes);
    }
    // Elements that no atomic can reach are combined in a copy, under the lock.
    std::array<std::uint64_t, 64> copy;
    std::byte* const aside = reinterpret_cast<std::byte*>(copy.data());
    const std::size_t at_once = aligned(place, size) ? count : sizeof copy / size;
    for (std::size_t done = 0; done < count; done += at_once) {
        const std::size_t now = std::min(at_once, count - done), n = now * size;
        std::byte* const target = aligned(place, size) ? place : aside;
        if (target == aside)
            std::memcpy(aside, place, n);
        if (header.kind == network::MessageKind::compare_swap) {
            const auto compare = take(data, n), desired = take(data, n);
            atomic_compare_swap(target, size, compare.data(), desired.data(), before);
        } else {
            const std::byte* const operand =
                header.has_operand != 0 ? take(data, n).data() : nullptr;
            kernel(target, operand, before, now);
        }
        if (target == aside)
            std::memcpy(place, aside, n);
        place += n;
        before = before != nullptr ? before + n : nullptr;
    }
}

} // namespace rmalock::window
