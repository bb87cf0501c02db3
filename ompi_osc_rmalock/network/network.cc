#include "network/network.hh"

#include <poll.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "fabric/cpu.hh"
#include "host.hh"

namespace rmalock::network {

namespace {

/// Over TCP each remote process takes one file descriptor or two, and where there are none left UCX
/// fails. A process may raise its soft limit (`ulimit -n`) to the hard one by itself.
void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
        return;
    const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
        report(2, "network: up to %llu file descriptors, where the soft limit was %llu",
               static_cast<unsigned long long>(limit.rlim_cur),
               static_cast<unsigned long long>(before));
}

std::uint64_t number_of(const std::vector<std::string>& transports) {
    std::string all;
    for (const std::string& transport : transports)
        all += transport + ' ';
    report(2, "network: transports %s", all.c_str());
    std::uint64_t number = 0xcbf29ce484222325; // FNV-1a, alike in every process
    for (const char letter : all)
        number = (number ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
    return number;
}

/// Descriptors left for what else the process may open in the midst of a window's use.
constexpr std::size_t kSpare = 8;
/// What the trial takes for a moment: a worker, and a connection; and for each one more.
constexpr std::size_t kProbe = 24, kProbeOfOneMore = 4;

} // namespace

std::atomic<Network*> Network::the_one;
std::mutex Network::opening;

Network::Network(const rmalock_params_t& params, ucx::PeerId self)
    : process_(getpid()), self_(self), peer_timeout_(params.peer_timeout),
      wants_thread_(std::string_view(params.progress_thread) == "on"),
      may_want_thread_(std::string_view(params.progress_thread) != "off"),
      forced_(std::string_view(params.domain) != "auto"),
      answers_(params.check_messages, host().each_failed != nullptr), doorbell_(self),
      worker_({.self = self,
               .most_outstanding = static_cast<std::size_t>(params.most_outstanding),
               .handler = handle,
               .after_progress = after_progress,
               .goes_on_without_peers = host().each_failed != nullptr,
               .lost = lost,
               .name_of = name_of,
               .descriptors_near = descriptors_near}),
      inbox_(worker_, windows_, answers_, params.check_messages),
      event_(worker_.event_descriptor()), transports_(number_of(worker_.transports())) {
    const std::string_view domain = params.domain;
    if (forced_)
        settle(domain == "nic" ? AtomicsBy::nic : AtomicsBy::cpu);
    if (domain == "cpu" && worker_.atomics().by == ucx::Atomics::By::adapters)
        report(1,
               "the parameter domain is cpu, but UCX has adapters do atomics (%s): they and "
               "those of CPUs do not exclude each other",
               worker_.atomics().adapters.c_str());
}

void Network::settle(AtomicsBy by) {
    const std::lock_guard lock(settling_);
    atomics_ = by;
    // With remote atomics and puts in hardware nobody needs this process's CPU but for accumulates,
    // which then take another way (accumulate.cc).
    const bool wanted = wants_thread_ || (may_want_thread_ && by == AtomicsBy::cpu);
    if (wanted && thread_ == nullptr && !thread_refused_)
        start_thread(by == AtomicsBy::cpu ? peer_timeout_ : std::chrono::seconds(0));
    has_thread_ = thread_ != nullptr;
}

/// With settling_ locked. One that was refused is not tried again: the others have been told.
void Network::start_thread(std::chrono::seconds peer_timeout) {
    try {
        thread_ = std::make_unique<ucx::ProgressThread>(
            worker_, peer_timeout, ucx::Alarm{departures_.timer(), look_around});
    } catch (const ucx::Error& error) {
        thread_refused_ = true;
        report(1,
               "no progress thread in this process (%s): it serves other nodes while it is in MPI, "
               "not while it computes",
               error.what());
    }
}

/// The thread may come here before the network is known as the one.
void Network::look_around() {
    Network* const network = get();
    if (network == nullptr)
        return;
    network->departures_.send_due();
    network->servers_.serve();
}

void Network::park() {
    static constexpr timespec kMost{0, 500'000};
    Network& network = *get();
    if (!network.worker_.arm())
        return;
    // A doorbell that does not work is -1, which poll passes over.
    pollfd events[] = {{network.event_, POLLIN, 0}, {network.doorbell_.descriptor(), POLLIN, 0}};
    if (ppoll(events, 2, &kMost, nullptr) > 0 && events[1].revents != 0) {
        const std::lock_guard lock(network.mutex_);
        network.hear_neighbours();
    }
}

/// With mutex_ locked.
void Network::hear_neighbours() {
    doorbell_.answer([this](std::uint32_t number) { watched_[number] = Clock::now() + kWatch; });
}

bool Network::after_progress(bool any) {
    Network* const network = get();
    if (network == nullptr)
        return false;
    if (any)
        network->wake_neighbours();
    return network->inbox_.retry();
}

void Network::handle(ucx::PeerId from, std::span<const std::byte> header,
                     std::span<const std::byte> data) {
    get()->inbox_.handle(from, header, data);
}

void Network::wake_neighbours() {
    fabric::full_fence(); // between what UCX has stored and a look for sleepers: see Bell::ring
    const std::lock_guard lock(mutex_);
    if (doorbell_.works() && atomics_ != AtomicsBy::nic) // whose changes wake no sleeper
        hear_neighbours();
    if (watched_.empty())
        return;
    const Clock::time_point now = Clock::now();
    std::erase_if(watched_, [&](const auto& watched) {
        const auto& [number, end] = watched;
        windows_.wake_neighbours(number);
        return end < now;
    });
}

/// Waits for it, and there may be some in this call, find that in vain.
void Network::lose(std::uint64_t process) {
    get()->worker_.lose(process, "it has failed");
}

/// Whether those that this process waits for are there: where no thread of its own asks, which has
/// been refused or is not wanted.
void Network::check_peers() {
    if (!has_thread_ && atomics_ == AtomicsBy::cpu && peer_timeout_.count() != 0)
        worker_.check_peers(peer_timeout_);
}

/// Once the network has failed no wait for another node need end, be it for a word of this node.
bool Network::progress() {
    if (limit_.load(std::memory_order_relaxed) != 0)
        tell_of_descriptors();
    try {
        departures_.send_all();
        if (host().each_failed != nullptr)
            host().each_failed(&failed_seen_, lose);
        check_peers();
        const bool any = worker_.progress();
        servers_.serve();
        return any;
    } catch (const std::exception& error) {
        if (ending_)
            return false;
        report(0, "%s: the job ends", error.what());
        std::abort();
    }
}

bool Network::open(const rmalock_params_t& params, bool& opened, char* why, std::size_t why_size) {
    const std::lock_guard lock(opening);
    opened = false;
    if (the_one != nullptr)
        return true;
    ucx::PeerId self = 0;
    if (getrandom(&self, sizeof self, 0) != sizeof self) {
        std::snprintf(why, why_size, "no random number for the name of this process");
        return false;
    }
    raise_descriptor_limit();
    try {
        the_one = new Network(params, self);
    } catch (const ucx::Error& error) {
        std::snprintf(why, why_size, "%s", error.what());
        return false;
    } catch (const std::bad_alloc&) {
        std::snprintf(why, why_size, "no memory for the network");
        return false;
    }
    opened = true;
    std::atexit(stop_thread); // run when the library is unloaded, too
    report(2,
           "network open: an address of %zu bytes, a key of %zu, messages of up to %zu bytes, %s",
           get()->worker_.address().size(), get()->worker_.key_bytes(),
           get()->worker_.most_message_bytes(),
           get()->has_thread() ? "a progress thread" : "no progress thread yet");
    return true;
}

void Network::has_reached(Groups::Group processes) {
    const std::lock_guard lock(mutex_);
    reached_.add(std::move(processes));
}

void Network::has_missed(std::uint64_t process, std::string why) {
    const std::lock_guard lock(mutex_);
    missed_.emplace(process, std::move(why));
}

rmalock_reach_t Network::reach(const Groups::Group& processes, char* why,
                               std::size_t why_size) const {
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t process : processes) {
        const auto missed = missed_.find(process);
        if (missed == missed_.end())
            continue;
        std::snprintf(why, why_size, "%s", missed->second.c_str());
        return RMALOCK_REACH_NOT_ALL;
    }
    return reached_.have(processes) ? RMALOCK_REACH_ALL : RMALOCK_REACH_UNTRIED;
}

Network::Room Network::room(std::span<const std::uint64_t> processes,
                            ucx::Descriptors::Count& now) const {
    if (!worker_.takes_descriptors())
        return Room::two;
    now = ucx::Descriptors::count();
    const ucx::Connections connected = worker_.connections();
    const auto besides = [&now](std::size_t connections) {
        return kSpare + (now.used > connections ? now.used - connections : 0);
    };
    const std::lock_guard lock(mutex_);
    std::unordered_set<std::uint64_t> all(processes.begin(), processes.end());
    all.insert(far_.begin(), far_.end());
    const std::size_t for_now = atomics_ == AtomicsBy::unknown ? kProbe : 0;
    if (besides(connected.first) + all.size() + for_now > now.limit)
        return Room::none;
    const bool two = besides(connected.first + connected.second) + 2 * all.size() <= now.limit;
    return two ? Room::two : Room::one;
}

bool Network::has_room_to_try(std::size_t others) const {
    return !worker_.takes_descriptors() ||
           ucx::Descriptors::count().left() >= kSpare + kProbe + kProbeOfOneMore * others;
}

void Network::reaches(std::span<const std::uint64_t> processes) {
    const std::lock_guard lock(mutex_);
    far_.insert(processes.begin(), processes.end());
}

void Network::forget(const std::vector<std::uint64_t>& processes) {
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t process : processes)
        far_.erase(process);
}

void Network::lost(ucx::PeerId peer) {
    if (Network* const network = get(); network != nullptr)
        network->answers_.lose(peer);
}

void Network::descriptors_near(const ucx::Descriptors::Count& now) {
    static std::atomic<bool> noted; // one thread finds false: relaxed would do, and this is rare
    if (Network* const network = get(); network != nullptr && !noted.exchange(true)) {
        network->used_ = now.used;
        network->limit_ = now.limit;
    }
}

void Network::tell_of_descriptors() {
    if (const std::size_t limit = limit_.exchange(0); limit != 0)
        say("warning: process %d uses %zu of its %zu file descriptors (ulimit -n): it takes fewer "
            "connections to other nodes, which makes locks slower; with none left the job ends",
            static_cast<int>(process_), used_.load(), limit);
}

void Network::link(Groups::Group processes) {
    const std::lock_guard lock(mutex_);
    linked_.add(std::move(processes));
}

void Network::disconnect() {
    ending_ = true;
    worker_.disconnect();
}

void Network::close() {
    delete the_one.exchange(nullptr);
}

/// The thread must not be in UCX when that cleans up behind exit().
void Network::stop_thread() {
    Network* const network = get();
    if (network != nullptr && network->process_ == getpid() && network->has_thread())
        network->thread_->stop();
}

} // namespace rmalock::network

extern "C" bool rmalock_network_open(const rmalock_params_t* params, bool* opened, char* why,
                                     size_t why_size) {
    return rmalock::network::Network::open(*params, *opened, why, why_size);
}

extern "C" bool rmalock_network_has_room(const uint64_t* processes, size_t count, char* why,
                                         size_t why_size) {
    using rmalock::network::Network;
    try {
        rmalock::ucx::Descriptors::Count now;
        if (Network::get()->room({processes, count}, now) != Network::Room::none)
            return true;
        std::snprintf(why, why_size,
                      "%zu file descriptors are used, and the limit (ulimit -n) of %zu leaves too "
                      "few for connections to %zu processes of other nodes",
                      now.used, now.limit, count);
    } catch (const std::bad_alloc&) {
        std::snprintf(why, why_size, "no memory");
    }
    return false;
}

extern "C" int rmalock_network_progress(void) {
    using rmalock::network::Network;
    Network* const network = Network::get();
    return network != nullptr && network->progress() ? 1 : 0;
}

extern "C" void rmalock_network_disconnect(void) {
    if (rmalock::network::Network::get() != nullptr)
        rmalock::network::Network::get()->disconnect();
}

extern "C" void rmalock_network_each_group(void (*visit)(const uint64_t* processes, size_t count,
                                                         void* argument),
                                           void* argument) {
    using rmalock::network::Network;
    if (Network::get() == nullptr)
        return;
    for (const rmalock::network::Groups::Group& group : Network::get()->linked().all())
        visit(group.data(), group.size(), argument);
}

extern "C" void rmalock_network_close(void) {
    rmalock::network::Network::close();
}
