// Scenarios: what the processes do with a lock. A script per process, run on the shipped header.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "checker_fabric.hh"
#include "harness/section.hh"
#include "locks/lock.hh"
#include "locks/lock_env.hh"

namespace rmalock::check {

/// One line of a script.
struct ScriptLine {
    enum Kind : std::uint8_t { acquire, release, section, send, receive, serve } kind = acquire;
    Mode mode = Mode::shared; ///< of an acquire, and of a section
    Rank target = 0;          ///< kAll: lock_all; the channel of a message
    Rank window = 0;
    unsigned holders = 0; ///< of a serve: it ends when so many have gone

    static constexpr Rank kAll = -1;
};
using Script = std::vector<ScriptLine>;

inline ScriptLine shared(Rank target) {
    return {ScriptLine::acquire, Mode::shared, target};
}
inline ScriptLine exclusive(Rank target) {
    return {ScriptLine::acquire, Mode::exclusive, target};
}
inline ScriptLine everywhere() {
    return {ScriptLine::acquire, Mode::shared, ScriptLine::kAll};
}
inline ScriptLine done(Rank target) {
    return {ScriptLine::release, Mode::shared, target};
}
/// A critical section that comes in one message (locks/parts/section.hh).
inline ScriptLine section(Mode mode, Rank target) {
    return {ScriptLine::section, mode, target};
}
/// Messages: a send does not wait, a receive waits for one.
inline ScriptLine send(Rank channel) {
    return {ScriptLine::send, Mode::shared, channel};
}
inline ScriptLine receive(Rank channel) {
    return {ScriptLine::receive, Mode::shared, channel};
}
/// The server of a home.
inline ScriptLine serve(Rank home, unsigned holders) {
    return {ScriptLine::serve, Mode::shared, home, 0, holders};
}
/// The same in another window.
inline ScriptLine in(Rank window, ScriptLine op) {
    op.window = window;
    return op;
}

/// Acquires and releases `target` `times` times.
Script repeat(Mode mode, unsigned times, Rank target = 0);
inline Script writer(unsigned times, Rank target = 0) {
    return repeat(Mode::exclusive, times, target);
}
inline Script reader(unsigned times, Rank target = 0) {
    return repeat(Mode::shared, times, target);
}

/// Critical sections that come in messages.
inline Script sections(Mode mode, unsigned times, Rank target = 0) {
    return Script(times, section(mode, target));
}

inline Script all_locker(unsigned times) {
    return repeat(Mode::shared, times, ScriptLine::kAll);
}

/// `first` once, and then another one, which may share a record with it.
Script first_then(Mode mode, Rank first, Rank second);
/// Holds two targets at once; all take them in the same order.
Script both(Mode mode);
/// Does this in order, and gives back what it has acquired in the other.
Script nested(const Script& operations);
/// The first reads 0 and wants 1, which the second reads; that one wants to read 0 as well, where a
/// writer waits by then. So a reader must not wait behind a writer that waits itself.
std::vector<Script> hold_and_wait();
/// The same with a message: the first reads 0 and waits for what the third sends after it has read.
std::vector<Script> hold_and_receive();
/// Two readers that meet inside, and a writer.
std::vector<Script> meet_inside();

/// The processes of a configuration, and the machine they are on.
struct Cast {
    std::vector<Script> scripts; ///< of rank 0, 1, …
    Rank ranks_per_node = 1;
    Slot slots = 0; ///< words per rank that the locks need
    Rank windows = 1;

    Rank ranks() const { return static_cast<Rank>(scripts.size()); }
};

/// What a process has for its script beside `lock`, a lock with its traits. Each field is a concept,
/// which the process's class has to fit if it is set, and must not fit if it is not: so a member
/// that is misspelt does not compile, instead of being passed over.
struct Offers {
    bool sections = false;      ///< SendsSections (harness/section.hh)
    bool server = false;        ///< ServesHolders
    bool second_window = false; ///< HasSecondWindow
};
template <class Local>
concept ServesHolders = requires(Local& local, Rank home, unsigned holders) {
    { local.serve(home, holders) } -> std::same_as<void>;
};
template <class Local>
concept HasSecondWindow = requires(Local& local) {
    { local.second } -> std::same_as<decltype((local.lock))>;
};

/// Runs one script on one lock, telling the ghosts.
template <class Local>
class Actor {
    using Lock = std::remove_reference_t<decltype(Local::lock)>;
    static constexpr const locks::LockTraits& kTraits = Lock::kTraits;
    static constexpr Offers kOffers = Local::kOffers;
    // Both ways: it has what it says, and says what it has.
    static_assert(kTraits.own_lock_all == locks::HasLockAll<Lock>);
    static_assert(kOffers.sections == test::SendsSections<Local>);
    static_assert(kOffers.server == ServesHolders<Local>);
    static_assert(kOffers.second_window == HasSecondWindow<Local>);

  public:
    /// Whether a process can do what the script says.
    static bool can(const Script& script) {
        return std::ranges::all_of(script, [](const ScriptLine& op) {
            return (op.target != ScriptLine::kAll || kTraits.own_lock_all) &&
                   (op.kind != ScriptLine::section || (kOffers.sections && op.window == 0)) &&
                   (op.kind != ScriptLine::serve || kOffers.server) &&
                   (op.window == 0 || (kOffers.second_window && op.window == 1));
        });
    }

    /// `channel`: the slot of each rank that counts the messages on the channel of its number.
    Actor(World& world, CheckerFabric& fabric, const Script& script, Local& local, Slot channel)
        : world_(world), fabric_(fabric), self_(fabric.self()), script_(script), local_(local),
          channel_(channel) {}

    void run() {
        for (next_ = 0; next_ < script_.size(); ++next_) {
            forget();
            const ScriptLine& op = script_[next_];
            if (op.kind == ScriptLine::acquire)
                acquire(op);
            else if (op.kind == ScriptLine::release)
                release(op);
            else if (op.kind == ScriptLine::section)
                go_through(op);
            else if (op.kind == ScriptLine::serve)
                be_server(op);
            else
                pass_message(op);
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
        ScriptLine op;
        locks::Hold hold;
    };

    /// What an operation is about: of each window one resource per target.
    Rank first_resource(const ScriptLine& op) const {
        return op.window * fabric_.size() + (op.target == ScriptLine::kAll ? 0 : op.target);
    }
    Rank resources(const ScriptLine& op) const {
        return op.target == ScriptLine::kAll ? fabric_.size() : 1;
    }

    void acquire(const ScriptLine& op) {
        world_.wait(self_, first_resource(op), op.mode, resources(op));
        locks::Hold hold;
        with_lock_of(op.window, [&](Lock& lock) { hold = acquired(lock, op); });
        world_.enter(self_);
        held_[count_++] = {op, hold};
    }

    static locks::Hold acquired(Lock& lock, const ScriptLine& op) {
        if constexpr (kTraits.own_lock_all)
            if (op.target == ScriptLine::kAll)
                return lock.acquire_all();
        return as_shared(op.mode) ? lock.acquire_shared(op.target)
                                  : lock.acquire_exclusive(op.target);
    }

    void release(const ScriptLine& op) {
        std::size_t i = 0;
        while (held_[i].op.target != op.target || held_[i].op.window != op.window)
            ++i;
        const Held held = held_[i];
        held_[i] = held_[--count_];
        world_.leave(self_, first_resource(op), held.op.mode, resources(op));
        with_lock_of(op.window, [&](Lock& lock) { released(lock, held); });
    }

    /// `data`: of the holder are under way.
    void released(Lock& lock, const Held& held, bool data = true) {
        const ScriptLine& op = held.op;
        if constexpr (kTraits.own_lock_all)
            if (op.target == ScriptLine::kAll)
                return lock.release_all(held.hold);
        if (kTraits.delivers && data)
            world_.leave_data(self_, first_resource(op), op.target, op.mode);
        if (as_shared(op.mode))
            lock.release_shared(op.target, held.hold);
        else
            lock.release_exclusive(op.target, held.hold);
    }

    /// Data are there when they are written: at home.
    void go_through(const ScriptLine& op) {
        if constexpr (kOffers.sections) {
            const bool exclusive = op.mode == Mode::exclusive;
            const auto inside = [&] {
                world_.enter(self_);
                world_.leave(self_, first_resource(op), op.mode, 1);
            };
            world_.wait(self_, first_resource(op), op.mode);
            const auto [done, over, hold] =
                test::send_section(local_, op.target, exclusive, inside);
            if (done && over)
                return;
            const locks::Hold mine = over ? acquired(local_.lock, op) : hold;
            if (!done)
                inside();
            released(local_.lock, {op, mine}, !done);
        }
    }

    template <class Use>
    void with_lock_of(Rank window, Use&& use) {
        if constexpr (kOffers.second_window)
            if (window != 0)
                return use(local_.second);
        use(local_.lock);
    }

    void be_server(const ScriptLine& op) {
        if constexpr (kOffers.server)
            local_.serve(op.target, op.holders);
    }

    void pass_message(const ScriptLine& op) {
        const Word messages{op.target, channel_};
        if (op.kind == ScriptLine::receive)
            fabric_.await(messages, fabric::differs(0));
        fabric_.fetch_add(messages, op.kind == ScriptLine::send ? 1 : Value{0} - 1);
    }

    /// Between two operations the process is its place in the script, what it holds, and the bytes
    /// of its lock object: what it saw on the way there no longer matters, and states merge.
    void forget() {
        static_assert(std::is_trivially_destructible_v<Local>,
                      "the lock keeps state outside the object; its bytes do not tell its state");
        Fingerprint f = next_;
        for (std::size_t i = 0; i < count_; ++i)
            f = mix(mix(mix(f, static_cast<std::uint64_t>(first_resource(held_[i].op))),
                        held_[i].hold.opaque),
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
    CheckerFabric& fabric_;
    Rank self_;
    const Script& script_;
    Local& local_;
    Slot channel_;
    std::size_t next_ = 0;
    std::array<Held, kMaxHeld> held_{};
    std::size_t count_ = 0;
};

/// The program of a cast whose processes each build a Local from (fabric, setup). A Local has a
/// member `lock` and says as kOffers what else; it lives on its process's stack, and keeps all that
/// changes in itself.
template <class Local, class Setup>
Program make_program(const Cast& cast, const Setup& setup) {
    if (!std::ranges::all_of(cast.scripts, Actor<Local>::can))
        throw std::logic_error("a script says what its process cannot do");
    Program program;
    program.ranks = cast.ranks();
    program.resources = cast.ranks() * cast.windows;
    program.slots = cast.slots + 1; // of messages
    program.ranks_per_node = cast.ranks_per_node;
    const auto scripts = std::make_shared<const std::vector<Script>>(cast.scripts);
    const auto shared_setup = std::make_shared<const Setup>(setup);
    program.process = [scripts, shared_setup, channel = cast.slots](World& world, Rank rank) {
        CheckerFabric fabric(world, rank);
        Local local(fabric, *shared_setup);
        const Script& script = (*scripts)[static_cast<std::size_t>(rank)];
        Actor<Local>(world, fabric, script, local, channel).run();
    };
    return program;
}

} // namespace rmalock::check
