#include "window/window.hh"

#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "fabric/layout.hh"
#include "locks/former_names.hh"
#include "host.hh"

namespace rmalock::window {

namespace {

fabric::Waiter waiter_for(const rmalock_spec_t& spec, const Plan& plan) {
    const std::string_view yield = spec.params.yield;
    return {.progress = host().progress,
            .progress_yields = spec.progress_yields,
            .spins = static_cast<unsigned>(spec.params.spin),
            .yield = yield == "always" || (yield == "auto" && plan.design().oversubscribed),
            .waiting = plan.networked() ? network::Network::get()->worker().waiting() : nullptr,
            .watch = plan.watched() ? Watch::look : nullptr};
}

/// The same for words of the node.
fabric::Waiter node_waiter_for(const rmalock_spec_t& spec, const Plan& plan) {
    const std::string_view sleep = spec.params.sleep;
    fabric::Waiter waiter = waiter_for(spec, plan);
    if (plan.networked() && plan.alone_on_node())
        waiter.spins = 1; // only progress brings what is waited for
    // A network adapter that changes a word rings no bell, and makes no event.
    const bool is_told = !plan.networked() ||
                         (plan.domain() == fabric::Domain::cpu &&
                          (plan.alone_on_node() || network::Network::get()->doorbell().works()));
    if (is_told && (sleep == "always" || (sleep == "auto" && waiter.yield)))
        waiter.polls_before_sleep =
            waiter.yield ? fabric::Waiter::kPollsBeforeSleep : fabric::Waiter::kPatientPolls;
    return waiter;
}

fabric::WordSpace words_of(const Plan& plan, std::byte* base, fabric::Dormitory* dormitory) {
    fabric::WordSpace words = plan.words(base);
    words.dormitory = dormitory;
    return words;
}

/// The first error any process had, in rank order; 0 if none had one.
Status first_error(const rmalock_comm_t& comm, int mine, int* first) {
    std::vector<int> all(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, all.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    const auto failed = std::find_if(all.begin(), all.end(), [](int error) { return error != 0; });
    *first = failed == all.end() ? 0 : *failed;
    return RMALOCK_OK;
}

std::unique_ptr<network::Neighbours> neighbours_of(const Plan& plan) {
    if (!plan.networked())
        return nullptr;
    std::vector<network::Endpoint> members;
    for (const Rank r : plan.members())
        members.push_back(plan.endpoint(r));
    return std::make_unique<network::Neighbours>(*network::Network::get(), members,
                                                 plan.my_place());
}

/// The part of a window that is this process's, in the segment or the program's own.
void* memory_of(const rmalock_spec_t& spec, const Plan& plan, const Segment& segment) {
    return plan.mapped() ? segment.base() + plan.my_memory() : spec.base;
}

/// Once in a process: the user calls a lock by a name that the next release will not take.
void hint_at_present_name(const char* asked) {
    static std::atomic<bool> hinted{false};
    const std::string present(locks::present_name(asked));
    if (present != asked && !hinted.exchange(true))
        tell("the lock '%s' is called %s by now; the next release takes only that", asked,
             present.c_str());
}

} // namespace

Window::Window(const rmalock_spec_t& spec, Segment segment, const Plan& plan,
               std::unique_ptr<network::Remote> remote)
    : name_(spec.name), label_(spec.label), flavor_(spec.flavor), comm_(spec.comm),
      threads_(host().threads), check_nocheck_(spec.params.check_nocheck),
      segment_(std::move(segment)), parts_(reinterpret_cast<Part*>(segment_.base())),
      remote_(std::move(remote)), neighbours_(neighbours_of(plan)),
      fabric_(words_of(plan, segment_.base(), neighbours_.get()), plan.placement(segment_.base()),
              node_waiter_for(spec, plan), plan.domain(), remote_.get(),
              threads_ || remote_ != nullptr),
      choice_(plan.design().choice), made_lock_(make_lock(plan)),
      lock_(plain_lock_ ? &*plain_lock_ : made_lock_.get()),
      plain_(plain_lock_ && !plan.watched() && flavor_ != RMALOCK_FLAVOR_DYNAMIC),
      accumulate_lock_(fabric_, fabric::WindowSlots::accumulate),
      accumulate_queue_(fabric_, fabric::WindowSlots::accumulate), acquisitions_(threads_),
      summary_(plan.summary()), courteous_(plan.hosts() > 1 && !threads_),
      only_lock_(plain_ ? kMayLock : kAskFurther) {
    plan.write_parts(segment_.base());
    watch_ = watch(spec, plan); // publishes where the parts say
    if (flavor_ == RMALOCK_FLAVOR_DYNAMIC)
        regions_ = std::make_unique<Regions>(plan, segment_.base(), parts_, remote_.get());
}

std::unique_ptr<locks::WindowLock> Window::make_lock(const Plan& plan) {
    if (!threads_ && remote_ == nullptr)
        locks::make_plain(plan.design(), fabric_.node(), plain_lock_);
    return plain_lock_ ? nullptr : locks::make(plan.design(), fabric_);
}

std::unique_ptr<Watch> Window::watch(const rmalock_spec_t& spec, const Plan& plan) const {
    if (!plan.watched())
        return nullptr;
    return std::make_unique<Watch>(Watch::Origin{
        .window = plan.number(),
        .process = spec.process,
        .rank = rank(),
        .size = comm_.size,
        .patience = std::chrono::seconds(spec.params.watchdog),
        .records = plan.records(segment_.base()),
        .remote = remote_.get(),
        .name = [this] { return std::string(name()); },
    });
}

Status Window::create(const rmalock_spec_t& spec, std::unique_ptr<Window>& window) {
    const rmalock_comm_t& comm = spec.comm;
    // An info value is each process's own; one window has one lock.
    locks::Asked asked = Plan::asked(spec.params);
    if (comm.broadcast(comm.handle, &asked, sizeof asked, 0) != 0)
        return RMALOCK_ERR_COMM;
    std::unique_ptr<network::Remote> remote;
    std::unique_ptr<SegmentFile> file;
    Share mine = Plan::share_of(spec, asked);
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
    const Plan plan(spec, asked, std::move(shares));
    if (!plan.networked())
        remote.reset();

    Segment segment;
    OpenFile opened;
    int error = 0;
    if (const Status status = open_file(spec, plan, file, opened, error); status != RMALOCK_OK)
        return status;
    if (error == 0)
        error = Segment::map(opened, plan.bytes(), plan.mine(), segment);
    if (const Status status = join(spec, plan, remote.get(), segment, error); status != RMALOCK_OK)
        return status;
    file.reset(); // everybody has opened it
    window.reset(new Window(spec, std::move(segment), plan, std::move(remote)));
    if (window->remote_ != nullptr)
        window->remote_->id().give_to(*window);
    // Everybody's part is written before anybody reads it, and before the window is used.
    if (comm.barrier(comm.handle) != 0)
        return RMALOCK_ERR_COMM;
    if (comm.rank == 0) {
        hint_at_present_name(spec.params.lock);
        window->announce(plan);
    }
    return RMALOCK_OK;
}

/// Opens the file of the node's segment; `file` is that of the node's first rank, there. If a
/// process cannot open one without a name (a container forbids it, or is another one), all nodes
/// make files with names. `error`, 0 or an errno, is this process's own.
Status Window::open_file(const rmalock_spec_t& spec, const Plan& plan,
                         std::unique_ptr<SegmentFile>& file, OpenFile& opened, int& error) {
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
Status Window::join(const rmalock_spec_t& spec, const Plan& plan, network::Remote* remote,
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

void Window::announce(const Plan& plan) const {
    char where[96] = "on one node";
    if (plan.hosts() > 1)
        std::snprintf(where, sizeof where, "on %d nodes, %s between them", plan.hosts(),
                      plan.domain() == fabric::Domain::nic ? "atomics by network adapters"
                                                           : "atomics by CPUs");
    report(1, "window '%s' selected: lock %s (%s)%s; %d ranks %s%s", name(), choice_.name,
           choice_.reason, locks::summary(plan.design()).c_str(), comm_.size, where,
           fabric_.waiter().yield ? ", waits yield the core" : "");
    report(2, "window '%s': segment of %zu bytes, of it %zu per rank for locks and epochs", name(),
           plan.bytes(), plan.state_bytes());
    for (const std::string& line : locks::describe(plan.design()))
        report(2, "window '%s': %s", name(), line.c_str());
}

Status Window::free() {
    if (exposed_)
        return fail(RMALOCK_ERR_SYNC, "MPI_Win_free", -1, "an exposure epoch is open");
    if (const Status status = advance(Event::free, "MPI_Win_free"); status != RMALOCK_OK)
        return status;
    if (watch_ != nullptr)
        watch_->retire();
    if (const std::uint64_t changes = lock_->gate_changes(); changes != 0)
        report(2,
               "window '%s': rank %d has changed %" PRIu64
               " times whether lock_all or exclusive locks are favoured",
               name(), rank(), changes);
    // No process unmaps while another one may still be in an operation on its memory.
    complete_everywhere();
    if (const Status status = summary_ ? sum_up() : agree_to_end(); status != RMALOCK_OK)
        return status;
    // Nor ends, and takes its connections down, while another one still closes them.
    return remote_ != nullptr && remote_->part_from_strangers() ? agree_to_end() : RMALOCK_OK;
}

Status Window::agree_to_end() const {
    return comm_.barrier(comm_.handle) == 0 ? RMALOCK_OK : RMALOCK_ERR_COMM;
}

Status Window::sum_up() const {
    const rmalock_counters_t mine = counters();
    std::vector<rmalock_counters_t> all(static_cast<std::size_t>(comm_.size));
    // Nobody has the others' numbers before all have come here: as good as a barrier.
    if (comm_.allgather(comm_.handle, &mine, all.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    if (rank() == 0)
        tell("window '%s', %d ranks, lock %s: %s", name(), comm_.size, choice_.name,
             describe(total(all)).c_str());
    return RMALOCK_OK;
}

rmalock_counters_t Window::counters() const {
    rmalock_counters_t all{};
    acquisitions_.report(all);
    const fabric::Tally& tally = fabric_.tally();
    *all.handovers_on_node = tally.near_handovers.value();
    *all.handovers_off_node = tally.far_handovers.value();
    *all.mode_changes = tally.mode_changes.value();
    *all.verbs_on_node = tally.near_verbs.value();
    *all.verbs_off_node = remote_ != nullptr ? remote_->verbs() : 0;
    *all.round_trips = remote_ != nullptr ? remote_->round_trips() : 0;
    return all;
}

void* Window::base_of(const Part& part) const {
    if (!part.mapped)
        return reinterpret_cast<void*>(part.address);
    return part.address == Part::kNowhere ? nullptr : segment_.base() + part.address;
}

Status Window::shared_query(Rank rank, std::size_t& size, int& disp_unit, void*& base) const {
    if (flavor_ != RMALOCK_FLAVOR_SHARED)
        return fail(RMALOCK_ERR_FLAVOR, "MPI_Win_shared_query", -1,
                    "not a window of MPI_Win_allocate_shared");
    // MPI_PROC_NULL: the lowest rank that has memory.
    for (Rank r = 0; rank < 0 && r < comm_.size; ++r)
        if (part(r).size != 0)
            rank = r;
    const Part none{};
    const Part& found = rank < 0 ? none : part(rank);
    size = found.size;
    disp_unit = found.disp_unit;
    base = rank < 0 ? nullptr : base_of(found);
    return RMALOCK_OK;
}

Status Window::fail(Status status, const char* call, Rank target, const char* format, ...) const {
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    char to[32] = "";
    if (target >= 0)
        std::snprintf(to, sizeof to, " to rank %d", target);
    report(0, "window '%s', rank %d, %s%s: %s", name(), rank(), call, to, what);
    return status;
}

Status Window::wrong_epoch(const char* call, Rank target) const {
    return fail(RMALOCK_ERR_SYNC, call, target, "%s",
                describe(epoch_.load(std::memory_order_relaxed)));
}

} // namespace rmalock::window
