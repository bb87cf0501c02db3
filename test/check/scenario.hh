// Scenarios: what the processes do with a lock. A script per process, run on the shipped header.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "checker_fabric.hh"
#include "locks/lock.hh"

namespace rmalock::check {

/// One line of a script.
struct Operation {
    enum Kind : std::uint8_t { acquire, release } kind = acquire;
    Mode mode = Mode::shared; ///< of an acquire
    Rank target = 0;          ///< kAll: lock_all
    bool joins = false;       ///< shared: as if another lock were held

    static constexpr Rank kAll = -1;
};
using Script = std::vector<Operation>;

inline Operation shared(Rank target) {
    return {Operation::acquire, Mode::shared, target};
}
inline Operation exclusive(Rank target) {
    return {Operation::acquire, Mode::exclusive, target};
}
inline Operation done(Rank target) {
    return {Operation::release, Mode::shared, target};
}

/// Acquires and releases `target` `times` times.
Script repeat(Mode mode, unsigned times, Rank target = 0);
inline Script writer(unsigned times, Rank target = 0) {
    return repeat(Mode::exclusive, times, target);
}
inline Script reader(unsigned times, Rank target = 0) {
    return repeat(Mode::shared, times, target);
}

/// Reads as if it held a lock elsewhere.
Script joiner(unsigned times);
inline Script all_locker(unsigned times) {
    return repeat(Mode::shared, times, Operation::kAll);
}

/// Holds two targets at once; all take them in the same order.
Script both(Mode mode);
/// Takes targets in this order, and gives them back in the other.
Script nested(const Script& acquires);
/// The first reads 0 and wants 1, which the second reads; that one wants to read 0 as well, where a
/// writer waits by then. So a reader that holds something must not wait behind writers.
std::vector<Script> hold_and_wait();

/// The processes of a configuration, and the machine they are on.
struct Cast {
    std::vector<Script> scripts; ///< of rank 0, 1, …
    Rank ranks_per_node = 1;
    Slot slots = 0; ///< words per rank that the lock needs

    Rank ranks() const { return static_cast<Rank>(scripts.size()); }
};

/// Runs one script on one lock, telling the ghosts.
template <class Local>
class Actor {
  public:
    Actor(World& world, Rank self, const Script& script, Local& local)
        : world_(world), self_(self), script_(script), local_(local) {}

    void run() {
        for (next_ = 0; next_ < script_.size(); ++next_) {
            forget();
            const Operation& op = script_[next_];
            if (op.kind == Operation::acquire)
                acquire(op);
            else
                release(op);
        }
        forget();
    }

  private:
    static constexpr std::size_t kMaxHeld = 4;
    /// A gate offers its rooms under the names of a lock's modes.
    static constexpr bool as_shared(Mode mode) {
        return mode == Mode::shared || mode == Mode::room1;
    }
    struct Held {
        Rank target;
        Mode mode;
        locks::Hold hold;
    };

    void acquire(const Operation& op) {
        if (op.target == Operation::kAll)
            world_.wait(self_, 0, op.mode, world_.program().resources);
        else
            world_.wait(self_, op.target, op.mode);
        const locks::Hold hold = locked(op);
        world_.enter(self_);
        held_[count_++] = {op.target, op.mode, hold};
    }

    locks::Hold locked(const Operation& op) {
        if (op.target == Operation::kAll)
            return lock_all();
        return as_shared(op.mode) ? shared(op) : local_.lock.acquire_exclusive(op.target);
    }

    // Some locks want to know whether the process may have to go past waiting writers.
    locks::Hold shared(const Operation& op) {
        if constexpr (requires { local_.lock.acquire_shared(op.target, true); })
            return local_.lock.acquire_shared(op.target, op.joins || count_ != 0);
        else
            return local_.lock.acquire_shared(op.target);
    }

    void release(const Operation& op) {
        std::size_t i = 0;
        while (held_[i].target != op.target)
            ++i;
        const Held held = held_[i];
        held_[i] = held_[--count_];
        if (op.target == Operation::kAll) {
            world_.leave(self_, 0, held.mode, world_.program().resources);
            unlock_all(held.hold);
            return;
        }
        world_.leave(self_, op.target, held.mode);
        if constexpr (locks::delivers<std::remove_cvref_t<decltype(local_.lock)>>)
            world_.leave_data(self_, op.target, held.mode);
        if (as_shared(held.mode))
            local_.lock.release_shared(op.target, held.hold);
        else
            local_.lock.release_exclusive(op.target, held.hold);
    }

    // Not every lock has a lock_all; scripts for those that have none do not contain it.
    locks::Hold lock_all() {
        if constexpr (requires { local_.lock.acquire_all(); })
            return local_.lock.acquire_all();
        return {};
    }
    void unlock_all([[maybe_unused]] locks::Hold hold) {
        if constexpr (requires { local_.lock.release_all(hold); })
            local_.lock.release_all(hold);
    }

    /// Between two operations the process is its place in the script, what it holds, and the bytes
    /// of its lock object: what it saw on the way there no longer matters, and states merge.
    void forget() {
        static_assert(std::is_trivially_destructible_v<Local>,
                      "the lock keeps state outside the object; its bytes do not tell its state");
        Fingerprint f = next_;
        for (std::size_t i = 0; i < count_; ++i)
            f = mix(mix(mix(f, static_cast<std::uint64_t>(held_[i].target)), held_[i].hold.opaque),
                    held_[i].hold.in_room);
        const auto* bytes = reinterpret_cast<const unsigned char*>(&local_);
        for (std::size_t i = 0; i < sizeof(Local); i += sizeof(std::uint64_t)) {
            std::uint64_t part = 0;
            std::memcpy(&part, bytes + i, std::min(sizeof part, sizeof(Local) - i));
            f = mix(f, part);
        }
        world_.between_operations(self_, f);
    }

    World& world_;
    Rank self_;
    const Script& script_;
    Local& local_;
    std::size_t next_ = 0;
    std::array<Held, kMaxHeld> held_{};
    std::size_t count_ = 0;
};

/// The program of a cast whose processes each build a Local from (fabric, setup). A Local has a
/// member `lock`, lives on its process's stack, and keeps all that changes in itself.
template <class Local, class Setup>
Program make_program(const Cast& cast, const Setup& setup) {
    Program program;
    program.ranks = cast.ranks();
    program.resources = cast.ranks();
    program.slots = cast.slots;
    program.ranks_per_node = cast.ranks_per_node;
    const auto scripts = std::make_shared<const std::vector<Script>>(cast.scripts);
    const auto shared_setup = std::make_shared<const Setup>(setup);
    program.process = [scripts, shared_setup](World& world, Rank rank) {
        CheckerFabric fabric(world, rank);
        Local local(fabric, *shared_setup);
        Actor<Local>(world, rank, (*scripts)[static_cast<std::size_t>(rank)], local).run();
    };
    return program;
}

} // namespace rmalock::check
