#include "window/create/foundation.hh"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "host.hh"
#include "network/exchange.hh"
#include "network/network.hh"
#include "window/create/waiters.hh"

namespace rmalock::window {
namespace {

using Status = rmalock_status_t;

/// The first error any process had, in rank order; 0 if none had one.
Status first_error(const rmalock_comm_t& comm, int mine, int* first) {
    std::vector<int> all(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, all.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    const auto failed = std::find_if(all.begin(), all.end(), [](int error) { return error != 0; });
    *first = failed == all.end() ? 0 : *failed;
    return RMALOCK_OK;
}

/// The part of a window that is this process's, in the segment or the program's own.
void* memory_of(const rmalock_spec_t& spec, const Plan& plan, const Segment& segment) {
    return plan.mapped() ? segment.base() + plan.my_memory() : spec.base;
}

/// In place of an errno: a process cannot open a file that has no name (a container forbids it, or
/// is another one). A file with a name helps.
constexpr int kNeedsName = -1;

/// A name would not help.
bool is_shortage(int error) {
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/// Opens and maps the node's segment, whose first rank has made `file`. Returns 0, an errno or
/// kNeedsName, for this process alone.
int map(const rmalock_spec_t& spec, const Plan& plan, const SegmentFile::Name& file,
        OpenFile& opened, Segment& segment) {
    if (const int error = opened.open(spec.params.shm_dir, file); error != 0)
        return file.is_named() || is_shortage(error) ? error : kNeedsName;
    return Segment::map(opened, plan.bytes(), plan.mine(), segment);
}

/// Lets other nodes reach this process. `error` is what map() returned here; *first becomes the
/// first one of all processes. When this returns, everybody has opened the file.
Status join(const rmalock_spec_t& spec, const Plan& plan, network::Remote* remote,
            const Segment& segment, int error, int* first) {
    const rmalock_comm_t& comm = spec.comm;
    if (remote == nullptr)
        return first_error(comm, error, first);
    network::Exposed mine{.error = error};
    if (error == 0)
        mine = remote->expose(segment.base() + plan.my_state(), plan.state_bytes(),
                              memory_of(spec, plan, segment),
                              spec.flavor == RMALOCK_FLAVOR_DYNAMIC ? 0 : spec.size);
    const network::Endpoints ranks = plan.endpoints();
    const network::ReachTable reaches = plan.reaches(segment.base());
    const Status status = network::exchange(remote->network(), comm, ranks, reaches, mine, first);
    if (status == RMALOCK_OK && *first == 0) {
        remote->open(ranks, reaches, waiter_for(spec, plan));
        remote->set_domain(plan.domain());
    }
    return status;
}

/// Maps the segment and joins, by files with names, for the rest of the program.
Status join_by_names(const rmalock_spec_t& spec, const Plan& plan, Foundation& foundation,
                     int* first) {
    const rmalock_comm_t& comm = spec.comm;
    std::unique_ptr<SegmentFile> file;
    SegmentFile::use_names();
    if (plan.first_of_node())
        file = std::make_unique<SegmentFile>(spec.params.shm_dir);
    const SegmentFile::Name mine = file != nullptr ? file->name() : SegmentFile::Name{};
    std::vector<SegmentFile::Name> names(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, names.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    OpenFile opened;
    const int error =
        map(spec, plan, names[static_cast<std::size_t>(comm.node)], opened, foundation.segment);
    return join(spec, plan, foundation.remote.get(), foundation.segment, error, first);
}

/// What all ranks contribute. `request` becomes that of rank 0: an info value is each process's
/// own, and one window has one lock. What follows from it goes round once more where they differ.
Status gather_shares(const rmalock_spec_t& spec, const Share& mine, locks::LockRequestWire& request,
                     std::vector<Share>& shares) {
    const rmalock_comm_t& comm = spec.comm;
    shares.resize(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, shares.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    if (std::all_of(shares.begin(), shares.end(),
                    [&](const Share& share) { return share.request == shares.front().request; }))
        return RMALOCK_OK;
    if (comm.broadcast(comm.handle, &request, sizeof request, 0) != 0)
        return RMALOCK_ERR_COMM;
    const locks::ProcessInfo info = Plan::info_of(spec, request);
    std::vector<locks::ProcessInfo> infos(shares.size());
    if (comm.allgather(comm.handle, &info, infos.data(), sizeof info) != 0)
        return RMALOCK_ERR_COMM;
    for (std::size_t r = 0; r < shares.size(); ++r)
        shares[r].info = infos[r];
    return RMALOCK_OK;
}

} // namespace

Status lay(const rmalock_spec_t& spec, Foundation& foundation) {
    const rmalock_comm_t& comm = spec.comm;
    locks::LockRequestWire request = Plan::request(spec.params);
    std::unique_ptr<network::Remote>& remote = foundation.remote;
    std::unique_ptr<SegmentFile> file;
    Share mine = Plan::share_of(spec, request);
    if (comm.node == comm.rank) {
        file = std::make_unique<SegmentFile>(spec.params.shm_dir);
        mine.file = file->name();
    }
    if (network::Network* const network = network::Network::get(); network != nullptr) {
        mine.peer = network->self();
        mine.key_bytes = static_cast<std::uint32_t>(network->worker().key_bytes());
        remote = std::make_unique<network::Remote>(*network, spec.threads);
        mine.id = remote->id().value();
        mine.atomics = network->atomics();
        mine.narrow_atomics = network->worker().atomics().narrow;
    }
    std::vector<Share> shares;
    if (const Status status = gather_shares(spec, mine, request, shares); status != RMALOCK_OK)
        return status;
    const Plan& plan = foundation.plan.emplace(spec, request, std::move(shares));
    if (!plan.networked())
        remote.reset();

    int first = 0;
    OpenFile opened;
    const int error = map(spec, plan, plan.share(comm.node).file, opened, foundation.segment);
    Status status = join(spec, plan, remote.get(), foundation.segment, error, &first);
    if (status == RMALOCK_OK && first == kNeedsName)
        status = join_by_names(spec, plan, foundation, &first);
    if (status != RMALOCK_OK || first == 0)
        return status;
    if (comm.rank == 0)
        report(0, "a segment of %zu bytes in '%s' could not be made: %s", plan.bytes(),
               spec.params.shm_dir, std::strerror(first));
    return RMALOCK_ERR_NO_MEM;
}

} // namespace rmalock::window
