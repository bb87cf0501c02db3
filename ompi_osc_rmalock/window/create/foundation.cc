#include "window/create/foundation.hh"

#include <algorithm>
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

/// Opens the file of the node's segment; `file` is that of the node's first rank, there. If a
/// process cannot open one without a name (a container forbids it, or is another one), all nodes
/// make files with names. `error`, 0 or an errno, is this process's own.
Status open_file(const rmalock_spec_t& spec, const Plan& plan, std::unique_ptr<SegmentFile>& file,
                 OpenFile& opened, int& error) {
    const rmalock_comm_t& comm = spec.comm;
    bool unnamed = false;
    for (Rank r = 0; r < comm.size; ++r)
        unnamed |= plan.share(r).node == r && !plan.share(r).file.is_named();
    error = opened.open(spec.params.shm_dir, plan.share(comm.node).file);
    int first = 0;
    if (unnamed && comm.size > 1)
        if (const Status status = first_error(comm, error, &first); status != RMALOCK_OK)
            return status;
    if (first == 0)
        return RMALOCK_OK;
    SegmentFile::use_names();
    if (file != nullptr)
        file = std::make_unique<SegmentFile>(spec.params.shm_dir);
    const SegmentFile::Name mine = file != nullptr ? file->name() : SegmentFile::Name{};
    std::vector<SegmentFile::Name> names(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, names.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    error = opened.open(spec.params.shm_dir, names[static_cast<std::size_t>(comm.node)]);
    return RMALOCK_OK;
}

/// Lets other nodes reach this process; all processes return the same. `error`, 0 or an errno, is
/// this process's, which has mapped the segment if it is 0.
Status join(const rmalock_spec_t& spec, const Plan& plan, network::Remote* remote,
            const Segment& segment, int error) {
    const rmalock_comm_t& comm = spec.comm;
    int first = 0;
    Status status;
    if (remote == nullptr) {
        status = first_error(comm, error, &first);
    } else {
        if (error == 0)
            error = remote->expose(segment.base() + plan.my_state(), plan.state_bytes(),
                                   memory_of(spec, plan, segment),
                                   spec.flavor == RMALOCK_FLAVOR_DYNAMIC ? 0 : spec.size);
        const network::Exposed mine =
            error == 0 ? remote->exposed() : network::Exposed{.error = error};
        const network::Endpoints ranks = plan.endpoints();
        const network::ReachTable reaches = plan.reaches(segment.base());
        status = network::exchange(remote->network(), comm, ranks, reaches, mine, &first);
        if (status == RMALOCK_OK && first == 0) {
            remote->open(ranks, reaches, waiter_for(spec, plan));
            remote->set_domain(plan.domain());
        }
    }
    if (status != RMALOCK_OK || first == 0)
        return status;
    if (comm.rank == 0)
        report(0, "a segment of %zu bytes in '%s' could not be made: %s", plan.bytes(),
               spec.params.shm_dir, std::strerror(first));
    return RMALOCK_ERR_NO_MEM;
}

} // namespace

Status lay(const rmalock_spec_t& spec, Foundation& foundation) {
    const rmalock_comm_t& comm = spec.comm;
    // An info value is each process's own; one window has one lock.
    locks::LockRequestWire request = Plan::request(spec.params);
    if (comm.broadcast(comm.handle, &request, sizeof request, 0) != 0)
        return RMALOCK_ERR_COMM;
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
        remote = std::make_unique<network::Remote>(*network);
        mine.id = remote->id().value();
        mine.atomics = network->atomics();
    }
    std::vector<Share> shares(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, shares.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    const Plan& plan = foundation.plan.emplace(spec, request, std::move(shares));
    if (!plan.networked())
        remote.reset();

    OpenFile opened;
    int error = 0;
    if (const Status status = open_file(spec, plan, file, opened, error); status != RMALOCK_OK)
        return status;
    if (error == 0)
        error = Segment::map(opened, plan.bytes(), plan.mine(), foundation.segment);
    return join(spec, plan, remote.get(), foundation.segment,
                error); // everybody has opened the file
}

} // namespace rmalock::window
