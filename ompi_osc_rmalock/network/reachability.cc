// The trial, by all processes of a communicator: whether they reach each other, and what does
// atomics on words of other nodes: network adapters, or the target's CPU.
//
// A process that gave up in the middle would keep the others waiting. So each takes part in every
// collective operation, whatever UCX has refused to it, and waits for others for a bounded time.
// What one has failed in all learn, and another component serves the window.
//
// Each pair (trial_pairs) connects two workers that nothing else uses, and one of the two posts an
// atomic.
//
// CPUs do atomics where UCX tells every process that no adapter does: it takes none towards a
// process that has none for it. Where UCX tells one process this and another one that, adapters and
// CPUs would change the same words, and no domain is right: the window is left to other components.
// All else is the domain `nic`, which is right for both. There some pairs try each kind of atomic
// while its target waits in an operation of MPI and does not serve its worker. What is answered
// then, an adapter has done. What is not proves nothing, since a packet may have been lost; it is
// told to people. All other communication goes on, so that threads may try side by side, for
// several windows. The parameter `domain` can say what holds, and none of that is done then.
#include "network/reachability.hh"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host.hh"
#include "network/network.hh"
#include "network/trial.hh"
#include "network/trial_pairs.hh"
#include "together.hh"

namespace rmalock::network {

namespace {

/// All ranks' values, by rank; empty: the communicator failed.
template <class Value>
std::vector<Value> gather(const rmalock_comm_t& comm, const Value& mine) {
    std::vector<Value> all(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, all.data(), sizeof mine) != 0)
        all.clear();
    return all;
}

std::vector<ucx::Bytes> gather_bytes(const rmalock_comm_t& comm, const ucx::Bytes& mine) {
    const std::vector<std::size_t> bytes = gather(comm, mine.size());
    if (bytes.empty())
        return {};
    const std::size_t room =
        std::max<std::size_t>(1, *std::max_element(bytes.begin(), bytes.end()));
    ucx::Bytes padded = mine, all(room * bytes.size());
    padded.resize(room);
    if (comm.allgather(comm.handle, padded.data(), all.data(), room) != 0)
        return {};
    std::vector<ucx::Bytes> each;
    for (std::size_t r = 0; r < bytes.size(); ++r)
        each.emplace_back(all.data() + r * room, all.data() + r * room + bytes[r]);
    return each;
}

} // namespace

/// One process's way through the trial. Each function that returns whether all can go on is
/// collective, and throws CommFailed if the communicator does.
class Survey {
  public:
    struct CommFailed {};

    Survey(const rmalock_comm_t& comm, const Station& mine)
        : comm_(comm), stations_(or_fail(gather(comm, mine))), pairs_(trial_pairs(stations_)) {}

    bool are_all_open() const {
        return std::all_of(stations_.begin(), stations_.end(),
                           [](const Station& station) { return station.peer != 0; });
    }

    /// What those say that know what does atomics. A process that was told, or found, that CPUs do
    /// keeps all to that: see Plan::settle_domain.
    AtomicsBy known_atomics() const {
        const auto say = [this](AtomicsBy by) {
            return std::count_if(stations_.begin(), stations_.end(),
                                 [by](const Station& station) { return station.atomics == by; });
        };
        if (say(AtomicsBy::cpu) != 0)
            return AtomicsBy::cpu;
        return say(AtomicsBy::nic) == comm_.size ? AtomicsBy::nic : AtomicsBy::unknown;
    }

    /// What UCX tells all of them; unknown unless it is that CPUs do.
    AtomicsBy told_atomics() const {
        return tells(ucx::Atomics::By::cpus) == stations_.size() ? AtomicsBy::cpu
                                                                 : AtomicsBy::unknown;
    }

    /// Whether UCX does atomics alike everywhere. Where only some adapters have atomics of 32 bits,
    /// it would take adapters in one direction, and CPUs in the other one.
    bool do_atomics_alike() {
        const Station& mine = station(comm_.rank);
        const auto other =
            std::find_if(stations_.begin(), stations_.end(),
                         [&](const Station& station) { return are_unlike(mine, station); });
        const auto said = std::find_if(stations_.begin(), stations_.end(), [](const Station& each) {
            return each.told != ucx::Atomics::By::unsaid;
        });
        const bool alike =
            std::none_of(stations_.begin(), stations_.end(), [&](const Station& station) {
                return said != stations_.end() && are_unlike(*said, station);
            });
        speaker_ = static_cast<Rank>(said - stations_.begin());
        if (other != stations_.end()) {
            unlike_ = other->process;
            why_ = "atomics are done by " + describe(mine) + " and by " + describe(*other) +
                   ": they would not exclude each other (UCX_TLS and UCX_NET_DEVICES say which "
                   "devices UCX takes)";
        }
        return alike;
    }

    bool has_nothing_to_try() const { return pairs_.empty(); }

    bool connect() {
        open();
        const std::vector<ucx::Bytes> offers =
            or_fail(gather_bytes(comm_, trial_ ? trial_->offer() : ucx::Bytes()));
        if (trial_)
            trial_->connect(stations_, offers);
        return agree(!trial_ || trial_->result() != Trial::Result::refused);
    }

    bool meet() {
        if (trial_)
            trial_->meet();
        return agree(!trial_ || trial_->result() == Trial::Result::reached);
    }

    /// Between meet(), whose last collective operation all have left only when all were through
    /// with their workers, and the next one, those that do not ask are idle.
    /// Returns how many kinds all targets' adapters have answered, in the order of ucx::Atomic.
    std::size_t try_atomics() {
        std::size_t answered = 0;
        try {
            answered = trial_ ? trial_->atomics_answered() : ucx::kAtomics;
        } catch (const ucx::Error&) { // lost meanwhile, as it may be at any time later
        }
        const auto all = or_fail(gather(comm_, answered));
        try {
            if (trial_)
                trial_->part();
        } catch (const ucx::Error&) { // what was to be found out is known
        }
        if (comm_.barrier(comm_.handle) != 0) // no worker goes while its partner waits
            throw CommFailed();
        return *std::min_element(all.begin(), all.end());
    }

    /// What this process has to say about the failure, if it has.
    const std::string& why() const { return why_; }
    /// Of those that say something only one needs to.
    bool speaks_for_all() const { return speaker_ == comm_.rank; }
    /// The process that was not reached.
    std::optional<std::uint64_t> missed() const {
        if (unlike_)
            return unlike_;
        return trial_ && !why_.empty() ? std::optional(station(trial_->partner()).process)
                                       : std::nullopt;
    }

  private:
    template <class All>
    static All or_fail(All all) {
        if (all.empty())
            throw CommFailed();
        return all;
    }

    std::size_t tells(ucx::Atomics::By by) const {
        return static_cast<std::size_t>(
            std::count_if(stations_.begin(), stations_.end(),
                          [by](const Station& station) { return station.told == by; }));
    }

    static bool are_unlike(const Station& one, const Station& other) {
        if (one.told == ucx::Atomics::By::unsaid || other.told == ucx::Atomics::By::unsaid)
            return false;
        return one.told != other.told ||
               (one.told == ucx::Atomics::By::adapters && one.narrow != other.narrow);
    }

    static std::string describe(const Station& station) {
        const char* const by = station.told == ucx::Atomics::By::cpus ? "the CPU"
                               : station.narrow ? "an adapter, of 32 and 64 bits,"
                                                : "an adapter, of 64 bits,";
        return std::string(by) + " at " + name_of(station.process);
    }

    const Station& station(Rank r) const { return stations_[static_cast<std::size_t>(r)]; }

    void open() {
        const auto is_mine = [this](const TrialPair& pair) {
            return pair.asks == comm_.rank || pair.answers == comm_.rank;
        };
        if (std::none_of(pairs_.begin(), pairs_.end(), is_mine))
            return;
        try {
            trial_ = std::make_unique<Trial>(station(comm_.rank).peer, comm_.rank, pairs_,
                                             station(comm_.rank).narrow);
        } catch (const ucx::Error& error) {
            why_ = error.what();
        }
    }

    /// Whether this process and all others are content. Else the lowest rank to which UCX has
    /// refused something speaks, before those that have only waited in vain.
    bool agree(bool content) {
        if (!content && why_.empty())
            why_ = describe();
        const bool refused = !trial_ || trial_->result() == Trial::Result::refused;
        const std::uint8_t mine = why_.empty() ? 0 : refused ? 2 : 1;
        const auto all = or_fail(gather(comm_, mine));
        const auto worst = std::max_element(all.begin(), all.end());
        speaker_ = static_cast<Rank>(worst - all.begin());
        return *worst == 0;
    }

    std::string describe() const {
        return "no connection (" + (trial_->why().empty() ? "no answer" : trial_->why()) +
               ") between here (" + Trial::place() + ") and " +
               name_of(station(trial_->partner()).process) + " (" + trial_->place_of_partner() +
               ")";
    }

    const rmalock_comm_t& comm_;
    const std::vector<Station> stations_;
    const std::vector<TrialPair> pairs_;
    std::unique_ptr<Trial> trial_; ///< null: this process is in no pair, or UCX has refused it
    std::string why_;              ///< empty: nothing has failed here
    std::optional<std::uint64_t> unlike_{}; ///< the process whose atomics are done otherwise
    Rank speaker_ = 0;
};

namespace {

Station station_of(const rmalock_comm_t& comm, std::uint64_t process) {
    Station mine{};
    mine.process = process;
    mine.node = comm.node;
    if (Network* const network = Network::get(); network != nullptr) {
        mine.peer = network->self();
        mine.transports = network->transports();
        mine.atomics = network->atomics();
        mine.told = network->told_atomics();
        mine.narrow = network->worker().atomics().narrow;
        mine.has_room = network->has_room_to_try(kFewTry);
    }
    return mine;
}

/// What the trial has found, for people.
void report_cpus() {
    report(2, "probe: atomics on words of other nodes are done by CPUs (domain cpu): UCX has no "
              "adapter with all kinds of them");
}

void report_adapters(std::size_t answered) {
    const ucx::Atomics& atomics = Network::get()->worker().atomics();
    std::string kinds;
    for (std::size_t kind = 0; kind < answered; ++kind)
        kinds += (kind == 0 ? "" : ", ") + std::string(name(static_cast<ucx::Atomic>(kind)));
    const std::string first = answered < ucx::kAtomics
                                  ? std::string("; not answered in time: ") +
                                        name(static_cast<ucx::Atomic>(answered)) +
                                        " (the domain nic is right for CPUs, too)"
                                  : "";
    report(2,
           "probe: atomics on words of other nodes are done by network adapters (domain nic): %s, "
           "of %s; answered by themselves: %s%s",
           atomics.adapters.empty() ? "UCX does not tell which" : atomics.adapters.c_str(),
           atomics.narrow ? "32 and 64 bits" : "64 bits", kinds.empty() ? "none" : kinds.c_str(),
           first.c_str());
}

AtomicsBy find_out(Survey& survey) {
    if (survey.told_atomics() == AtomicsBy::cpu) {
        report_cpus();
        return AtomicsBy::cpu;
    }
    report_adapters(survey.try_atomics());
    return AtomicsBy::nic;
}

/// Whether all is well. Then it is known what does atomics between nodes.
bool carry_out(Survey& survey) {
    if (!survey.are_all_open())
        return false;
    if (survey.has_nothing_to_try())
        return true;
    if (!survey.connect() || !survey.meet() || !survey.do_atomics_alike())
        return false;
    AtomicsBy by = survey.known_atomics();
    if (by == AtomicsBy::unknown)
        by = find_out(survey);
    Network::get()->settle(by);
    return true;
}

} // namespace

rmalock_status_t try_to_reach(const rmalock_comm_t& comm, std::span<const std::uint64_t> processes,
                              bool& reached, std::string& why) {
    try {
        Survey survey(comm, station_of(comm, processes[static_cast<std::size_t>(comm.rank)]));
        reached = carry_out(survey);
        if (reached)
            Network::get()->has_reached({processes.begin(), processes.end()});
        else if (const auto missed = survey.missed(); missed)
            Network::get()->has_missed(*missed, survey.why());
        if (survey.speaks_for_all())
            why = survey.why();
    } catch (const Survey::CommFailed&) {
        return RMALOCK_ERR_COMM;
    }
    return RMALOCK_OK;
}

} // namespace rmalock::network

extern "C" rmalock_reach_t rmalock_network_reach(const uint64_t* processes, size_t count, char* why,
                                                 size_t why_size) {
    const rmalock::network::Network* const network = rmalock::network::Network::get();
    try {
        return network == nullptr ? RMALOCK_REACH_UNTRIED
                                  : network->reach({processes, processes + count}, why, why_size);
    } catch (const std::bad_alloc&) {
        return RMALOCK_REACH_UNTRIED; // to try takes memory as well, and says so
    }
}

extern "C" rmalock_status_t rmalock_network_try(const rmalock_comm_t* comm,
                                                const uint64_t* processes, bool* reached, char* why,
                                                size_t why_size) {
    std::string said;
    *reached = false;
    const rmalock_status_t status = rmalock::together(*comm, [&] {
        return rmalock::network::try_to_reach(
            *comm, {processes, static_cast<std::size_t>(comm->size)}, *reached, said);
    });
    if (!said.empty())
        std::snprintf(why, why_size, "%s", said.c_str());
    return status;
}
