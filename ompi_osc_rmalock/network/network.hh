// What the process has of the network, for all its windows: the worker, the thread that serves
// others while this process computes, and the windows that messages are for.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rmalock_api.h"
#include "ucx_glue/progress_thread.hh"
#include "ucx_glue/worker.hh"
#include "network/departures.hh"
#include "network/doorbell.hh"
#include "network/groups.hh"
#include "network/answers.hh"
#include "network/inbox.hh"
#include "network/reach.hh"
#include "network/servers.hh"
#include "network/window_directory.hh"

namespace rmalock::network {

/// Opened by the first window that needs it, closed at the end.
class Network {
  public:
    /// The process's; null until it is open.
    static Network* get() { return the_one.load(std::memory_order_acquire); }
    /// Opens it, unless it is open; any thread may call. False: `why` says what UCX refused.
    /// `opened`: it was this call that opened it.
    static bool open(const rmalock_params_t& params, bool& opened, char* why, std::size_t why_size);
    /// No process may still send to this one.
    static void close();

    ucx::Worker& worker() { return worker_; }
    ucx::PeerId self() const { return self_; }
    /// What does atomics on words of other nodes, as far as this process knows.
    AtomicsBy atomics() const { return atomics_; }
    /// What UCX tells of it; nothing where the parameter says what holds.
    ucx::Atomics::By told_atomics() const {
        return forced_ ? ucx::Atomics::By::unsaid : worker_.atomics().by;
    }
    /// What a trial has found, of several threads' maybe; the progress thread starts if it is
    /// needed and wanted. If the system refuses it, the process does without, says so, and tells
    /// others that it has none.
    void settle(AtomicsBy by);
    bool has_thread() const { return has_thread_; }
    /// A number for the transports that this process may take.
    std::uint64_t transports() const { return transports_; }

    /// These processes, this one among them, were found to reach each other: all of them remember,
    /// and a window of some of them tries nothing.
    void has_reached(Groups::Group processes);
    /// This process has not reached that one, and does not try again.
    void has_missed(std::uint64_t process, std::string why);
    /// What is known of these. `why`: of the first one that was missed.
    rmalock_reach_t reach(const Groups::Group& processes, char* why, std::size_t why_size) const;

    /// How many connections the limit of file descriptors allows: none to some, one to each
    /// process, or two for moments and for words (ucx::WordsWay).
    enum class Room { none, one, two };
    /// The room for connections to these processes, and those of the windows so far.
    Room room(std::span<const std::uint64_t> processes, ucx::Descriptors::Count& now) const;
    /// Room for a trial with so many others, for a moment.
    bool has_room_to_try(std::size_t others) const;
    /// A window has reached these, which are on other nodes.
    void reaches(std::span<const std::uint64_t> processes);
    /// No window reaches these any more, and their job may end.
    void forget(const std::vector<std::uint64_t>& processes);
    /// `peer` has gone: nothing that waits for its answer will be done.
    static void lost(ucx::PeerId peer);
    /// Tells once that the limit is near; any thread may come here, which a later progress() tells
    /// for: Open MPI's output is for its own.
    static void descriptors_near(const ucx::Descriptors::Count& now);

    /// A window has linked these processes of the job, this one among them.
    void link(Groups::Group processes);
    /// Those that have to meet before one of them closes the network.
    const Groups& linked() const { return linked_; }

    /// Closes the connections. A failure ends the job before, and nothing afterwards.
    void disconnect();
    /// What Open MPI's progress calls.
    bool progress();
    /// Sleeps until something arrives or a process of the node rings, for a bounded time: Open
    /// MPI's progress has to be run as well.
    static void park();
    const Doorbell& doorbell() const { return doorbell_; }
    using Clock = std::chrono::steady_clock;
    /// For how long a process watches a window that it was asked to watch: it wakes sleepers there
    /// after what it did for other nodes. Not in all windows, whose bells it would have to look at
    /// each time. A sleeper that is missed has slept its half millisecond.
    static constexpr std::chrono::milliseconds kWatch{200};

    /// The windows that messages are for.
    WindowDirectory& windows() { return windows_; }
    /// What this process's requests wait for.
    Answers& answers() { return answers_; }
    /// What outboxes hold back. They may if a thread sends it when the program does not come back.
    Departures& departures() { return departures_; }
    /// The lock servers of its windows.
    Servers& servers() { return servers_; }
    bool may_hold() const { return has_thread_ && departures_.timer() >= 0; }

  private:
    Network(const rmalock_params_t& params, ucx::PeerId self);
    /// `any`: something arrived, and may have changed a word that a process of this node waits for.
    static bool after_progress(bool any);
    static void handle(ucx::PeerId from, std::span<const std::byte> header,
                       std::span<const std::byte> data);
    void start_thread(std::chrono::seconds peer_timeout);
    void check_peers();
    /// In each iteration of the progress thread.
    static void look_around();
    void wake_neighbours();
    void hear_neighbours();
    void tell_of_descriptors();
    static void lose(std::uint64_t process);
    /// What exit() runs.
    static void stop_thread();

    /// Owned, but not by a static object, whose destructor exit() would run. Without MPI_Finalize
    /// UCX aborts there, since windows are still registered. In a forked process it would end what
    /// the two share: sockets, event descriptors.
    ///
    /// get() acquires what the constructor has made, for which a release would do. To set it and to take
    /// it away is sequentially consistent: that comes once in a process.
    static std::atomic<Network*> the_one;
    static std::mutex opening; ///< where it is opened

    const pid_t process_; ///< the one that has opened it
    const ucx::PeerId self_;
    /// Nothing comes with it, and relaxed would do. Sequentially consistent, as all that names no order
    /// here: seldom changed, and a load is a plain one on x86.
    std::atomic<AtomicsBy> atomics_ = AtomicsBy::unknown;
    const std::chrono::seconds peer_timeout_;   ///< 0: peers may be silent for ever
    const bool wants_thread_, may_want_thread_; ///< parameter: on; on or auto
    const bool forced_;                         ///< parameter: domain is not auto
    WindowDirectory windows_;
    Answers answers_;
    mutable std::mutex mutex_; ///< of what is known of processes, and of watched_
    Groups linked_, reached_;
    std::unordered_map<std::uint64_t, std::string> missed_; ///< by process: why
    std::unordered_set<std::uint64_t> far_; ///< processes on other nodes that windows reach
    /// Of descriptors; 0: there is nothing to tell. limit_ brings used_ along, for which a release and
    /// an acquire would do: both come once in a process. progress() asks relaxed, and then exchanges.
    std::atomic<std::size_t> used_{0}, limit_{0};
    /// Windows that neighbours may sleep in, by number, and until when they are to be watched.
    std::unordered_map<std::uint32_t, Clock::time_point> watched_;
    std::size_t failed_seen_ = 0; ///< rmalock_host_t.each_failed's
    Doorbell doorbell_;
    ucx::Worker worker_;
    Inbox inbox_; ///< with worker_ locked
    Departures departures_;
    Servers servers_;
    const int event_;
    const std::uint64_t transports_;
    bool thread_refused_ = false; ///< under settling_
    /// Brings thread_ along, for which a release and an acquire would do.
    std::atomic<bool> has_thread_{false};
    /// Disconnected. Relaxed would do: the worker's lock orders it before failures of what was closed.
    std::atomic<bool> ending_{false};
    std::mutex settling_;                         ///< of thread_
    std::unique_ptr<ucx::ProgressThread> thread_; ///< last: it uses everything above
};

} // namespace rmalock::network
