// Context, worker, peers, progress.
#include "ucx_glue/worker.hh"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "ucx_glue/callbacks.hh"
#include "ucx_glue/printed.hh"
#include "ucx_glue/signals.hh"
#include "ucx_glue/tcp.hh"

namespace rmalock::ucx {

namespace {

/// Calls of ucp_worker_progress in one round: what another thread may have to wait for the lock.
constexpr unsigned kMostCalls = 32;
/// Peers may be gone by now, and an endpoint that waits for one would keep the process for ever.
constexpr std::chrono::milliseconds kMostClosingTime{500};

/// UCX does not say that contexts and workers may open and close side by side.
std::mutex opening;

/// Names that ucp_config_modify has for options, and their values.
using Settings = std::vector<std::pair<const char*, const char*>>;

/// Worker::fetch_add_after_puts fences where all goes over a single lane, for which the weak mode
/// is enough. The other mode, which UCX 1.18 takes by itself, waits within ucp_worker_fence, the
/// worker locked, for the answers of all peers: an unlock would wait for a process that computes.
/// Older versions have only the weak one, and complain of an option that they do not know.
bool knows_fence_modes(const ucp_config_t* config) {
    const std::string all = printed([config](std::FILE* to) {
        ucp_config_print(config, to, nullptr, UCS_CONFIG_PRINT_CONFIG);
    });
    return all.find("UCX_FENCE_MODE=") != all.npos;
}

ucp_context* open_context(const Worker::Options& options, const Settings& settings) {
    ucp_config_t* config = nullptr;
    check("read the configuration (UCX_* in the environment)",
          ucp_config_read(nullptr, nullptr, &config));
    ucs_status_t status = ucp_config_modify(config, "MAX_EAGER_RAILS", "1"); // messages.cc says why
    if (knows_fence_modes(config))
        (void)ucp_config_modify(config, "FENCE_MODE", "weak");
    for (const auto& [name, value] : settings)
        (void)ucp_config_modify(config, name, value); // without, more time or descriptors go
    const SignalsBlocked blocked; // UCX may start a thread of its own, for connections
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
    params.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AMO32 | UCP_FEATURE_AM |
                      UCP_FEATURE_WAKEUP;
    params.estimated_num_eps = options.expected_peers;
    ucp_context* context = nullptr;
    if (status == UCS_OK)
        status = ucp_init(&params, config, &context);
    ucp_config_release(config);
    check("open a context", status);
    return context;
}

/// What may link the nodes.
struct Networks {
    bool tcp = false, adapters = false;
};

/// UCX prints each as "-- transport/device", an adapter's device with its port ("mlx5_0:1").
Networks networks_of(ucp_context* context) {
    const std::string text =
        printed([context](std::FILE* to) { ucp_context_print_info(context, to); });
    constexpr std::string_view kBefore = " -- ";
    Networks found;
    for (std::string_view left = text; left.find(kBefore) != left.npos;) {
        left.remove_prefix(left.find(kBefore) + kBefore.size());
        const std::string_view resource = left.substr(0, left.find('\n'));
        const bool tcp = resource.starts_with("tcp/");
        found.tcp |= tcp;
        found.adapters |= !tcp && resource.find(':') != resource.npos;
    }
    return found;
}

bool links_by_tcp(const Networks& networks) {
    return networks.tcp && !networks.adapters;
}

/// Unless the user says something:
///
/// UCX does puts and gets over TCP in pieces, each of which takes a call of the system and most an
/// answer: with its own 8 KiB five for 32 KiB. They are longer.
///
/// It connects two devices of a host for rendezvous, which nothing here uses: a descriptor for
/// each. One device has to do. Where there are adapters as well, their ports may share puts.
Settings tcp_settings(const Worker::Options& options, const Networks& networks) {
    Settings wanted, settings;
    if (std::getenv("UCX_TCP_TX_SEG_SIZE") == nullptr)
        wanted.emplace_back("TX_SEG_SIZE", "64k");
    if (options.connects_in_progress)
        wanted.emplace_back("CONN_NB", "y");
    for (const auto& [option, value] : wanted)
        if (const char* const name = tcp_option(option, value); name != nullptr)
            settings.emplace_back(name, value);
    if (links_by_tcp(networks) && std::getenv("UCX_MAX_RNDV_RAILS") == nullptr &&
        std::getenv("UCX_MAX_RNDV_LANES") == nullptr)
        settings.emplace_back("MAX_RNDV_RAILS", "1");
    return settings;
}

/// Only a context tells whether TCP is used, and UCX would warn of its options where it is not: so
/// a first one is opened to ask. Not by the environment, which other threads may be reading.
ucp_context* open_context_for(const Worker::Options& options) {
    const std::lock_guard lock(opening);
    ucp_context* const first = open_context(options, {});
    const Networks networks = networks_of(first);
    if (!networks.tcp)
        return first;
    const Settings settings = tcp_settings(options, networks);
    if (settings.empty())
        return first;
    ucp_cleanup(first);
    return open_context(options, settings);
}

/// SERIALIZED: the worker's mutex is held around every call of UCX, and the thread that sleeps does
/// so in poll(), which is none. MULTI would add UCX's own lock to each call and protect nothing
/// more; SINGLE would be wrong, since UCX compares thread ids then (1.18 asserts).
ucp_worker* open_worker(ucp_context* context) {
    ucp_worker_params_t params{};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
    ucp_worker* worker = nullptr;
    const std::lock_guard lock(opening);
    const SignalsBlocked blocked;
    check("open a worker", ucp_worker_create(context, &params, &worker));
    return worker;
}

Bytes read_address(ucp_worker* worker) {
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    check("get the worker's address", ucp_worker_get_address(worker, &address, &bytes));
    const auto* first = reinterpret_cast<const std::byte*>(address);
    Bytes copy(first, first + bytes);
    ucp_worker_release_address(worker, address);
    return copy;
}

} // namespace

void Worker::ContextCloser::operator()(ucp_context* context) const {
    const std::lock_guard lock(opening);
    ucp_cleanup(context);
}
void Worker::WorkerCloser::operator()(ucp_worker* worker) const {
    const std::lock_guard lock(opening);
    ucp_worker_destroy(worker);
}

Worker::Worker(const Options& options)
    : options_(options), most_message_bytes_(kMostMessageBytes),
      context_(open_context_for(options)), worker_(open_worker(context_.get())) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                         UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kMessageId;
    handler.flags = UCP_AM_FLAG_WHOLE_MSG;
    handler.cb = Callbacks::received;
    handler.arg = this;
    check("set the message handler", ucp_worker_set_am_recv_handler(worker_.get(), &handler));
    handler.id = kWordId;
    handler.cb = Callbacks::word_received;
    check("set the handler of words", ucp_worker_set_am_recv_handler(worker_.get(), &handler));
    takes_descriptors_ = links_by_tcp(networks_of(context_.get()));
    address_ = read_address(worker_.get());
    measure_key();
}

void Worker::measure_key() {
    alignas(64) std::byte memory[64]{};
    key_bytes_ = Registration(*this, memory, sizeof memory).key().size();
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
    std::vector<Peer*> all;
    {
        const std::lock_guard lock(peers_mutex_);
        for (auto& [id, peer] : peers_)
            all.push_back(peer.get());
    }
    close(all);
}

void Worker::hold(const std::vector<Peer*>& peers) {
    const Lock lock = locked();
    for (Peer* peer : peers)
        ++peer->held_;
}

void Worker::release(const std::vector<Peer*>& peers) {
    std::vector<Peer*> last;
    {
        const Lock lock = locked();
        for (Peer* peer : peers)
            if (--peer->held_ == 0)
                last.push_back(peer);
    }
    close(last);
}

Peer* Worker::find(PeerId id) {
    const std::lock_guard lock(peers_mutex_);
    const auto found = peers_.find(id);
    return found == peers_.end() ? nullptr : found->second.get();
}

Peer& Worker::introduce(PeerId id, std::span<const std::byte> address, bool answers) {
    const std::lock_guard lock(peers_mutex_);
    std::unique_ptr<Peer>& peer = peers_[id];
    if (peer == nullptr)
        peer = std::make_unique<Peer>(id, Bytes(address.begin(), address.end()), answers);
    return *peer;
}

/// No error handling mode: in that for peers that fail (UCP_ERR_HANDLING_MODE_PEER), UCX leaves out
/// shared memory, which does not offer it; and closing is as quiet without.
void Worker::open(ucp_ep*& endpoint, const Peer& peer) {
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
    check("open an endpoint", status);
}

ucp_ep* Worker::endpoint(Peer& peer) {
    if (peer.endpoint_ == nullptr) {
        open(peer.endpoint_, peer);
        ++connected_;
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

/// Keeps the first: what follows is its consequence.
void Worker::take_failure(const std::string& text) {
    if (failed_.load(std::memory_order_relaxed))
        return;
    failure_ = text;
    failed_.store(true, std::memory_order_release);
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
