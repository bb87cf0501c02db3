#include "window/diag/watch.hh"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "window/diag/blame.hh"
#include "host.hh"
#include "network/remote.hh"

namespace rmalock::window {
namespace {

/// The windows of this process.
struct Registry {
    std::mutex mutex; ///< held while records are looked at, so that they stay
    std::vector<Watch*> windows;
    std::uint64_t waits = 0; ///< how many have been published
};
Registry& registry() {
    // Never destroyed: exit handlers may call MPI.
    static Registry& the_one = *new Registry;
    return the_one;
}

std::uint64_t nanoseconds(Watch::Clock::time_point time) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

} // namespace

Watch::Watch(const Origin& origin)
    : origin_(origin), last_words_({origin.name, origin.window, origin.size, origin.records}) {
    mine().open(origin.process);
    const std::lock_guard lock(registry().mutex);
    registry().windows.push_back(this);
}

void Watch::retire() {
    const std::lock_guard lock(registry().mutex);
    if (std::exchange(listed_, false))
        std::erase(registry().windows, this);
}

std::vector<Seen> Watch::see() const {
    std::vector<Seen> all(static_cast<std::size_t>(origin_.size));
    std::vector<Rank> far;
    for (Rank r = 0; r < origin_.size; ++r) {
        if (origin_.records.near(r))
            all[static_cast<std::size_t>(r)] = origin_.records.of(r).see(true);
        else
            far.push_back(r);
    }
    if (far.empty())
        return all;
    // They answer at once, or not at all before they come into MPI.
    constexpr std::chrono::seconds kPatience{2};
    const auto copies =
        origin_.remote->read_states(far, origin_.records.offset, sizeof(Record), kPatience);
    for (std::size_t i = 0; i < far.size(); ++i)
        if (!copies[i].empty())
            all[static_cast<std::size_t>(far[i])] =
                reinterpret_cast<const Record*>(copies[i].data())->see(false);
    return all;
}

// ---- a wait -------------------------------------------------------------------------------------

Watch::Await::Await(Watch& watch, Lock lock)
    : watch_(watch), lock_(lock), interval_(watch.origin_.patience), next_(since_ + interval_) {
    if (!is_lock(lock.mode)) { // of these waits some are not ours, and nobody would look
        const std::lock_guard registered(registry().mutex);
        publish();
    }
}

Watch::Await::~Await() {
    if (is_lock(lock_.mode))
        watch_.mine().hold(lock_, nanoseconds(Clock::now()));
    if (published_) {
        const std::lock_guard registered(registry().mutex);
        for (Watch* window : registry().windows)
            window->mine().await_nothing();
    }
}

/// In all windows of the process. With the registry locked.
void Watch::Await::publish() {
    const std::uint64_t number = ++registry().waits;
    for (Watch* window : registry().windows)
        window->mine().await(watch_.window(), lock_, nanoseconds(since_), number);
    published_ = true;
}

namespace {

/// How people are told.
class Report {
  public:
    Report(const SeenWindow& home, Rank rank) : home_(home), rank_(rank) {}

    void print(const Blame& blame, const std::vector<std::uint64_t>& cycle) const {
        for (const BlockedProcess& waiter : blame.waiters())
            print(blame, waiter);
        for (std::size_t r = 0; r < home_.ranks.size(); ++r)
            if (!home_.ranks[r].answered)
                say("watchdog: rank %zu did not answer", r);
            else if (home_.ranks[r].more_held != 0)
                say("watchdog: rank %zu holds %llu more locks than it could publish", r,
                    static_cast<unsigned long long>(home_.ranks[r].more_held));
        if (cycle.empty())
            return;
        std::string text;
        for (const std::uint64_t process : cycle)
            text += name(process) + " -> ";
        say("watchdog: deadlock: %s%s", text.c_str(), name(cycle.front()).c_str());
    }

  private:
    static constexpr std::size_t kMostBlockers = 8;

    /// By the rank in the reporting process's window, if it has one.
    std::string name(std::uint64_t process) const {
        const std::string world = std::to_string(process & 0xffffffff);
        for (std::size_t r = 0; r < home_.ranks.size(); ++r)
            if (home_.ranks[r].answered && home_.ranks[r].process == process) {
                const std::string rank = "rank " + std::to_string(r);
                return std::to_string(r) == world ? rank
                                                  : rank + " (" + world + " in MPI_COMM_WORLD)";
            }
        return "rank " + world + " in MPI_COMM_WORLD";
    }

    std::string name(const SeenWindow& window, Rank target) const {
        const Seen& seen = window.ranks[static_cast<std::size_t>(target)];
        return seen.answered ? name(seen.process) : "its rank " + std::to_string(target);
    }

    static std::string duration(const SeenLock& lock, bool near) {
        if (!near)
            return ""; // another node's clock
        const std::uint64_t now = nanoseconds(Watch::Clock::now());
        char text[32];
        std::snprintf(text, sizeof text, " %.1f s",
                      1e-9 * static_cast<double>(now - std::min(now, lock.since)));
        return text;
    }

    static std::string awaited(Lock lock, const std::string& target) {
        switch (lock.mode) {
        case Mode::all:
            return "lock_all";
        case Mode::fence:
            return "all to come to MPI_Win_fence";
        case Mode::post:
            return "MPI_Win_post of " + target;
        case Mode::completes:
            return "MPI_Win_complete of its origins";
        default:
            return std::string("the ") + mode(lock) + " lock of " + target;
        }
    }

    static const char* mode(Lock lock) {
        return lock.mode == Mode::exclusive ? "exclusive" : "shared";
    }

    void print(const Blame& blame, const BlockedProcess& waiter) const {
        const Lock awaits = waiter.awaits.lock;
        const SeenWindow* const window = blame.window(waiter.window);
        const std::string target = window == nullptr ? "its rank " + std::to_string(awaits.target)
                                                     : name(*window, awaits.target);
        const std::string what = awaited(awaits, target);
        say("watchdog: %s has waited%s for %s%s", name(waiter.process).c_str(),
            duration(waiter.awaits, waiter.near).c_str(), what.c_str(),
            window == nullptr ? ", in another window"
                              : (", window '" + window->name + "'").c_str());
        if (window == nullptr)
            say("watchdog:   rank %d is not in it, and cannot see which locks are held", rank_);
        else if (waiter.blockers.empty() && is_lock(awaits.mode))
            say("watchdog:   nobody says that it holds it");
        std::size_t printed = 0;
        for (const BlockedProcess::Blocker& blocker : waiter.blockers)
            if (printed++ < kMostBlockers)
                print(blame, awaits, blocker);
        if (printed > kMostBlockers)
            say("watchdog:   and %zu more", printed - kMostBlockers);
    }

    static std::string in_the_way(Lock awaits, const BlockedProcess::Blocker& blocker) {
        const Lock lock = blocker.lock.lock;
        if (blocker.way == BlockedProcess::Way::absent)
            return "has not come";
        std::string what =
            std::string("it ") + (lock.mode == Mode::exclusive ? "exclusively" : "shared");
        if (lock.mode == Mode::all || awaits.mode == Mode::all ||
            blocker.way == BlockedProcess::Way::awaits)
            what = awaited(lock, "rank " + std::to_string(lock.target));
        const std::string time = duration(blocker.lock, blocker.near);
        return (blocker.way == BlockedProcess::Way::holds ? "has held " : "waits itself for ") +
               what + (time.empty() ? "" : ", for" + time);
    }

    void print(const Blame& blame, Lock awaits, const BlockedProcess::Blocker& blocker) const {
        say("watchdog:   %s %s%s", name(blocker.process).c_str(),
            in_the_way(awaits, blocker).c_str(),
            blame.waits(blocker.process) ? "" : ", and waits for nothing in rmalock");
    }

    const SeenWindow& home_;
    const Rank rank_;
};

/// The windows that this process is in, each as it was when first asked for.
class Views {
  public:
    const SeenWindow* see(std::uint64_t number) {
        if (const auto known = seen_.find(number); known != seen_.end())
            return &known->second;
        for (const Watch* window : registry().windows)
            if (window->window() == number)
                return &seen_.emplace(number, SeenWindow{number, window->name(), window->see()})
                            .first->second;
        return nullptr;
    }

  private:
    std::map<std::uint64_t, SeenWindow> seen_;
};

} // namespace

void Watch::Await::still_waiting() {
    const Clock::time_point now = Clock::now();
    if (busy_ || (published_ && (watch_.origin_.patience.count() == 0 || now < next_)))
        return;
    busy_ = true; // reading from other nodes comes here again
    const std::lock_guard lock(registry().mutex);
    if (!published_) {
        publish();
    } else {
        interval_ *= 2;
        next_ = now + interval_;
        watch_.complain();
    }
    busy_ = false;
}

/// With the registry locked.
void Watch::complain() const {
    const auto blame = [this](Views& views) {
        return Blame(origin_.process, window(), [&](auto number) { return views.see(number); });
    };
    try {
        Views views;
        const Blame now = blame(views);
        std::vector<std::uint64_t> cycle = now.cycle();
        if (!cycle.empty()) {
            // What was read in pieces, while others moved, may look like one: look again.
            Views later;
            if (blame(later).cycle_numbers() != now.cycle_numbers())
                cycle.clear();
        }
        Report(*views.see(window()), origin_.rank).print(now, cycle);
    } catch (const std::exception& error) {
        say("watchdog: %s", error.what());
    }
}

} // namespace rmalock::window
