// Endpoints, progress, failures; the end of a worker.
#include "ucx_glue/worker.hh"

#include <ucs/debug/log_def.h>

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "ucx_glue/printed.hh"
#include "ucx_glue/status.hh"

namespace rmalock::ucx {

namespace {

/// Calls of ucp_worker_progress in one round: what another thread may have to wait for the lock.
constexpr unsigned kMostCalls = 32;
/// Peers may be gone by now, and an endpoint that waits for one would keep the process for ever.
constexpr std::chrono::milliseconds kMostClosingTime{500};

ucs_log_func_rc_t swallow_flushes(const char* file, unsigned, const char*, ucs_log_level_t,
                                  const ucs_log_component_config_t*, const char*, va_list) {
    return std::string_view(file).ends_with("flush.c") ? UCS_LOG_FUNC_RC_STOP
                                                       : UCS_LOG_FUNC_RC_CONTINUE;
}

} // namespace

Worker::QuietFlushes::QuietFlushes() {
    ucs_log_push_handler(&swallow_flushes);
}
Worker::QuietFlushes::~QuietFlushes() {
    ucs_log_pop_handler();
}

Worker::~Worker() {
    {
        const Lock lock = locked();
        closing_ = true;
    }
    if (!options_.ends_abruptly)
        disconnect();
}

/// All endpoints side by side; what has not closed in time closes with the worker. Over TCP that
/// flushes, which waits for an answer if anything was ever sent: from a peer that closes as well,
/// or has gone, it comes (or is an error) at once.
void Worker::close(const std::vector<Peer*>& peers) {
    std::vector<void*> closing;
    {
        const Lock lock = locked();
        for (Peer* peer : peers) {
            connected_ -= peer->endpoint_ != nullptr;
            for (ucp_ep** endpoint : {&peer->words_endpoint_, &peer->endpoint_}) {
                if (*endpoint == nullptr)
                    continue;
                const ucp_request_param_t param{};
                void* request = ucp_ep_close_nbx(std::exchange(*endpoint, nullptr), &param);
                if (UCS_PTR_IS_PTR(request))
                    closing.push_back(request);
            }
            peer->parted();
        }
    }
    const auto deadline = std::chrono::steady_clock::now() + kMostClosingTime;
    const fabric::Waiter waiter;
    waiter.until([&] {
        const Lock lock = locked();
        rounds();
        std::erase_if(closing, [](void* request) {
            const bool done = ucp_request_check_status(request) != UCS_INPROGRESS;
            if (done)
                ucp_request_free(request);
            return done;
        });
        return closing.empty() || std::chrono::steady_clock::now() > deadline;
    });
    const Lock lock = locked();
    for (void* request : closing)
        ucp_request_free(request);
}

void Worker::disconnect() {
    if (!quiet_)
        quiet_.emplace();
    std::vector<Peer*> all;
    peers_.each([&](Peer& peer) { all.push_back(&peer); });
    close(all);
}

void Worker::hold(const std::vector<Peer*>& peers) {
    const Lock lock = locked();
    for (Peer* peer : peers)
        if (peer->held_++ == 0)
            parted_ -= std::exchange(peer->parted_, false);
}

std::vector<std::uint64_t> Worker::release(const std::vector<Peer*>& peers) {
    std::vector<Peer*> last;
    std::vector<std::uint64_t> numbers;
    {
        const Lock lock = locked();
        for (Peer* peer : peers)
            if (--peer->held_ == 0) {
                last.push_back(peer);
                numbers.push_back(peer->number_);
                parted_ += !std::exchange(peer->parted_, true);
            }
    }
    close(last);
    return numbers;
}

Peer* Worker::find(PeerId id) const {
    return peers_.find(id);
}

Peer& Worker::introduce(PeerId id, std::span<const std::byte> address, bool answers,
                        std::uint64_t number) {
    return peers_.introduce(id, address, answers, number);
}

/// No error handling mode: in that for peers that fail (UCP_ERR_HANDLING_MODE_PEER), UCX leaves out
/// shared memory, which does not offer it; and closing is as quiet without.
void Worker::open(ucp_ep*& endpoint, Peer& peer) {
    take_descriptor();
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(peer.address_.data());
    const ucs_status_t status = ucp_ep_create(worker_.get(), &params, &endpoint);
    if (status == UCS_OK)
        return;
    if (const Descriptors::Count now = Descriptors::count(); now.left() == 0)
        throw Error("UCX: open an endpoint: all " + std::to_string(now.limit) +
                    " file descriptors are used (ulimit -n)");
    if (!options_.goes_on_without_peers)
        check(about("open an endpoint", peer), status);
    endpoint = nullptr;
    lose(peer, describe(about("open an endpoint", peer), status));
}

ucp_ep* Worker::endpoint(Peer& peer) {
    if (peer.endpoint_ == nullptr && !peer.lost()) {
        open(peer.endpoint_, peer);
        connected_ += peer.endpoint_ != nullptr;
    }
    return peer.endpoint_;
}

Worker::Lock Worker::locked() const {
    Lock lock(mutex_, std::try_to_lock);
    if (!lock) {
        wanted_.fetch_add(1, std::memory_order_relaxed);
        lock.lock();
        wanted_.fetch_sub(1, std::memory_order_relaxed);
    }
    return lock;
}

bool Worker::progress() {
    const std::uint32_t now = visits() + 1;
    visits_.store(now, std::memory_order_relaxed);
    relief_.visit(now);
    return serve();
}

bool Worker::serve() {
    throw_failure();
    if (wanted_.load(std::memory_order_relaxed) != 0)
        return false;
    const Lock lock(mutex_, std::try_to_lock);
    return lock && rounds();
}

bool Worker::rounds() {
    bool any = false;
    const auto once = [this] {
        serving_ = true;
        const bool more = ucp_worker_progress(worker_.get()) != 0;
        serving_ = false;
        if (!deferred_.empty())
            transmit_deferred();
        return more;
    };
    for (unsigned n = 0; n < kMostCalls && once(); ++n)
        any = true;
    any |= issue_queued();
    try {
        work_left_ = options_.after_progress != nullptr && options_.after_progress(any);
    } catch (const std::exception& error) {
        take_failure(std::string("UCX: serve others: ") + error.what());
        throw_failure();
    }
    return any;
}

std::string Worker::name_of(const Peer& peer) const {
    return options_.name_of != nullptr ? options_.name_of(peer.number_) : "another process";
}

std::string Worker::about(std::string_view tried, const Peer& peer) const {
    return std::string(tried) + " (" + name_of(peer) + ")";
}

/// Keeps the first: what follows is its consequence.
void Worker::take_failure(const std::string& text) {
    if (failed_.load(std::memory_order_relaxed))
        return;
    failure_ = text;
    failed_.store(true, std::memory_order_release);
}

/// What was posted to it is lost, be it in a queue or under way.
void Worker::lose(Peer& peer, const std::string& why) {
    if (!options_.goes_on_without_peers)
        return take_failure(why);
    peer.lose();
    operations_.each([&](Operation& operation) {
        if (operation.is_posted && operation.peer == &peer)
            forget(operation);
    });
    messages_.each([&](Message& message) {
        if (message.peer == &peer)
            give_room_back(message);
    });
    for (; peer.queue_ != nullptr && !peer.queue_->empty(); peer.queue_->pop_front()) {
        peer.completed_.fetch_add(1, std::memory_order_release);
        if (Completion* const completion = peer.queue_->front().completion; completion != nullptr)
            completion->lose();
    }
    if (options_.lost != nullptr)
        options_.lost(peer.id());
}

/// UCX may not find out by itself: an answer that does not come is no failure of what was sent. What has
/// come from the peer is taken first, as those that wait for it go then, and its room with them.
void Worker::lose(std::uint64_t number, const std::string& why) {
    const Lock lock = locked();
    constexpr int kMostRounds = 64;
    for (int n = 0; n < kMostRounds && rounds(); ++n)
        continue;
    peers_.each([&](Peer& peer) {
        if (peer.number_ == number && !peer.lost())
            lose(peer, name_of(peer) + ": " + why);
    });
}

/// A posted operation that will never be done. UCX may have it still, and then gives it back.
void Worker::forget(Operation& operation) {
    operation.peer->completed_.fetch_add(1, std::memory_order_release);
    if (operation.completion != nullptr)
        operation.completion->lose();
    --in_flight_;
    operation.is_posted = false;
}

void Worker::fail(const std::string& why) {
    const Lock lock = locked();
    take_failure(why);
}

/// failure_ does not change once failed_ is set.
void Worker::throw_failure() {
    if (failed_.load(std::memory_order_acquire))
        throw Error(failure_);
}

/// UCX has no other way to tell; it prints them one a line, as "resource 2 : ... -- tcp/eth0".
std::vector<std::string> Worker::transports() const {
    static constexpr std::string_view kMark = " -- ";
    std::vector<std::string> found;
    std::istringstream lines(
        printed([this](std::FILE* to) { ucp_context_print_info(context_.get(), to); }));
    for (std::string line; std::getline(lines, line);)
        if (const std::size_t mark = line.find(kMark);
            mark != std::string::npos && line.find("resource") < mark)
            found.push_back(line.substr(mark + kMark.size()));
    std::sort(found.begin(), found.end());
    return found;
}

Counters Worker::counters() const {
    const Lock lock = locked();
    return counters_;
}

int Worker::event_descriptor() const {
    const Lock lock = locked();
    int descriptor = -1;
    check("get the event descriptor", ucp_worker_get_efd(worker_.get(), &descriptor));
    return descriptor;
}

bool Worker::arm() {
    const Lock lock = locked();
    if (work_left_)
        return false;
    const ucs_status_t status = ucp_worker_arm(worker_.get());
    if (status == UCS_ERR_BUSY)
        return false;
    check("arm the event descriptor", status);
    return true;
}

} // namespace rmalock::ucx
