// Copies between this process and another one of the node, by the kernel.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "network/reach.hh"
#include "window/create/scratch.hh"

namespace rmalock::window {

using network::Direction;

/// Collects runs and moves them with one system call for many.
///
/// The kernel pins the target's pages anew for each run there, which takes as long as to copy some
/// thousand bytes. So runs that follow one another there are one, whatever they are at the origin;
/// and a get reads what lies between runs as well, where that is little.
class KernelCopy {
  public:
    static constexpr std::size_t kMostRuns = 256;

    KernelCopy(Direction direction, pid_t pid) : direction_(direction), pid_(pid) {}

    bool empty() const { return runs_ == 0; }
    /// `theirs` is an address of the other process. Returns an errno value, of runs before perhaps.
    int add(std::uintptr_t origin, std::uintptr_t theirs, std::size_t bytes) {
        while (bytes != 0) {
            const std::size_t now = std::min(bytes, kMostBytes - bytes_);
            mine_[runs_++] = {reinterpret_cast<void*>(origin), now};
            add_theirs(theirs, now);
            bytes_ += now;
            origin += now;
            theirs += now;
            bytes -= now;
            if (runs_ == kMostRuns || bytes_ == kMostBytes)
                if (const int error = flush())
                    return error;
        }
        return 0;
    }

    /// The same; nothing is left.
    int flush() {
        if (runs_ == 0)
            return 0;
        const int error = reads_span() ? 0 : move_runs();
        runs_ = their_runs_ = bytes_ = 0;
        return error;
    }

  private:
    static constexpr std::size_t kMostBytes = std::size_t{1}
                                              << 30; // the kernel moves 2 GiB at most
    static constexpr std::size_t kBytesWorthARun = 2048;

    static std::uintptr_t begin_of(const iovec& run) {
        return reinterpret_cast<std::uintptr_t>(run.iov_base);
    }
    static std::uintptr_t end_of(const iovec& run) { return begin_of(run) + run.iov_len; }

    void add_theirs(std::uintptr_t address, std::size_t bytes) {
        if (their_runs_ != 0 && end_of(theirs_[their_runs_ - 1]) == address)
            theirs_[their_runs_ - 1].iov_len += bytes;
        else
            theirs_[their_runs_++] = {reinterpret_cast<void*>(address), bytes};
    }

    int move_runs() const {
        const auto move = direction_ == Direction::put ? process_vm_writev : process_vm_readv;
        const ssize_t moved = move(pid_, mine_.data(), runs_, theirs_.data(), their_runs_, 0);
        return moved == static_cast<ssize_t>(bytes_) ? 0
               : moved < 0                           ? errno
                           : EFAULT; // short: a page behind the first is missing
    }

    /// False: nothing was read, since it is no get, would not pay, or there is no memory in between.
    bool reads_span() {
        if (direction_ != Direction::get || their_runs_ == 1)
            return false;
        std::uintptr_t begin = begin_of(theirs_[0]), end = 0;
        for (std::size_t i = 0; i < their_runs_; ++i) {
            begin = std::min(begin, begin_of(theirs_[i]));
            end = std::max(end, end_of(theirs_[i]));
        }
        if (end - begin > bytes_ + their_runs_ * kBytesWorthARun)
            return false;
        try {
            return reads_all_of(begin, end);
        } catch (const std::bad_alloc&) {
            return false; // without room for what lies between: a lock may be about to be released
        }
    }

    bool reads_all_of(std::uintptr_t begin, std::uintptr_t end) {
        const Scratch span(end - begin);
        const iovec here{span.get(), end - begin};
        const iovec there{reinterpret_cast<void*>(begin), end - begin};
        if (process_vm_readv(pid_, &here, 1, &there, 1, 0) != static_cast<ssize_t>(end - begin))
            return false;
        scatter(begin, span.get());
        return true;
    }

    /// From a copy of what begins at the target's address `begin`.
    void scatter(std::uintptr_t begin, const std::byte* span) const {
        std::size_t run = 0, at = 0; // of theirs
        for (std::size_t i = 0; i < runs_; ++i) {
            if (at == theirs_[run].iov_len) {
                ++run;
                at = 0;
            }
            const std::byte* const from = span + (begin_of(theirs_[run]) - begin) + at;
            std::memcpy(mine_[i].iov_base, from, mine_[i].iov_len); // within one of theirs
            at += mine_[i].iov_len;
        }
    }

    const Direction direction_;
    const pid_t pid_;
    std::array<iovec, kMostRuns> mine_, theirs_;
    std::size_t runs_ = 0, their_runs_ = 0, bytes_ = 0;
};

} // namespace rmalock::window
