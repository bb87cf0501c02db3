#include "ucx_glue/opening.hh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ucp/api/ucp.h>

#include "ucx_glue/printed.hh"
#include "ucx_glue/signals.hh"
#include "ucx_glue/status.hh"
#include "ucx_glue/tcp.hh"

namespace rmalock::ucx {

namespace {

/// UCX does not say that contexts and workers may open and close side by side.
std::mutex opening;

/// Names that ucp_config_modify has for options, and their values.
using Settings = std::vector<std::pair<const char*, const char*>>;

/// Worker::fetch_then_read fences where all goes over a single lane, for which the weak mode
/// is enough. The other mode, which UCX 1.18 takes by itself, waits within ucp_worker_fence, the
/// worker locked, for the answers of all peers: an unlock would wait for a process that computes.
/// Older versions have only the weak one, and complain of an option that they do not know.
bool knows_fence_modes(const ucp_config_t* config) {
    const std::string all = printed([config](std::FILE* to) {
        ucp_config_print(config, to, nullptr, UCS_CONFIG_PRINT_CONFIG);
    });
    return all.find("UCX_FENCE_MODE=") != all.npos;
}

ucp_context* open_context(const OpenOptions& options, const Settings& settings, bool narrow) {
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
    params.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64 | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    if (narrow)
        params.features |= UCP_FEATURE_AMO32;
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

/// Whether the user has set one of these.
bool is_set(std::initializer_list<const char*> variables) {
    return std::ranges::any_of(variables,
                               [](const char* name) { return std::getenv(name) != nullptr; });
}

/// Unless the user says something: UCX connects two devices of a host for rendezvous, which nothing
/// here uses: a descriptor for each. One device has to do.
///
/// From 1.18 on its second set of protocols connects all devices of a host, whatever it is told of
/// rendezvous. The first set does not; old versions take that one by themselves.
Settings one_device() {
    Settings settings;
    if (is_set({"UCX_MAX_RNDV_RAILS", "UCX_MAX_RNDV_LANES"}))
        return settings;
    settings.emplace_back("MAX_RNDV_RAILS", "1");
    if (!is_set({"UCX_PROTO_ENABLE"}))
        settings.emplace_back("PROTO_ENABLE", "n");
    return settings;
}

/// UCX does puts and gets over TCP in pieces, each of which takes a call of the system and most an
/// answer: with its own 8 KiB five for 32 KiB. They are longer, unless the user says something.
/// Where there are adapters as well, their ports may share puts.
Settings tcp_settings(const OpenOptions& options, const Networks& networks) {
    Settings wanted, settings;
    if (!is_set({"UCX_TCP_TX_SEG_SIZE"}))
        wanted.emplace_back("TX_SEG_SIZE", "64k");
    if (options.connects_in_progress)
        wanted.emplace_back("CONN_NB", "y");
    for (const auto& [option, value] : wanted)
        if (const char* const name = tcp_option(option, value); name != nullptr)
            settings.emplace_back(name, value);
    if (links_by_tcp(networks))
        std::ranges::copy(one_device(), std::back_inserter(settings));
    return settings;
}

/// Only a context tells whether TCP is used, and UCX would warn of its options where it is not: so
/// a first one is opened to ask. Not by the environment, which other threads may be reading.
ucp_context* open_context_for(const OpenOptions& options, bool narrow) {
    const std::lock_guard lock(opening);
    ucp_context* const first = open_context(options, {}, narrow);
    const Networks networks = networks_of(first);
    if (!networks.tcp)
        return first;
    const Settings settings = tcp_settings(options, networks);
    if (settings.empty())
        return first;
    ucp_cleanup(first);
    return open_context(options, settings, narrow);
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

/// Transports whose atomics are CPUs', as UCX names them before the device.
bool is_of_cpus(std::string_view transport) {
    static constexpr std::string_view kCpus[] = {"self/",  "tcp/", "sysv/", "posix/",
                                                 "xpmem/", "cma/", "knem/", "mm/"};
    return std::any_of(std::begin(kCpus), std::end(kCpus),
                       [transport](std::string_view name) { return transport.starts_with(name); });
}

/// UCX chooses the transports of atomics when it opens a worker, and has no other way to tell: it
/// prints "atomics: 0:self/memory0, 3:rc_mlx5/mlx5_0:1". To a peer whose list has no adapter it
/// takes none. Where the user has it take CPUs (UCX_ATOMIC_MODE), an adapter that needs no
/// connection of its own may yet do some.
Atomics atomics_of(ucp_worker* worker, const Networks& networks, bool narrow) {
    Atomics found{.by = Atomics::By::unsaid, .narrow = narrow};
    const std::string text =
        printed([worker](std::FILE* to) { ucp_worker_print_info(worker, to); });
    constexpr std::string_view kMark = " atomics:";
    const std::size_t mark = text.find(kMark);
    if (mark != text.npos) {
        std::istringstream list(
            text.substr(mark + kMark.size(), text.find('\n', mark) - mark - kMark.size()));
        for (std::string each; list >> each;) {
            each = each.substr(each.find(':') + 1);
            if (each.ends_with(','))
                each.pop_back();
            if (!is_of_cpus(each))
                found.adapters += (found.adapters.empty() ? "" : ", ") + each;
        }
        const char* const mode = std::getenv("UCX_ATOMIC_MODE");
        const bool forced = mode != nullptr && std::string_view(mode) == "cpu";
        if (!found.adapters.empty())
            found.by = Atomics::By::adapters;
        else if (!forced)
            found.by = Atomics::By::cpus;
    }
    if (!networks.adapters && networks.tcp && found.adapters.empty())
        found.by = Atomics::By::cpus; // there is nothing else
    return found;
}

Opened open(const OpenOptions& options, bool narrow, Networks& networks) {
    Opened opened;
    opened.context.reset(open_context_for(options, narrow));
    opened.worker.reset(open_worker(opened.context.get()));
    networks = networks_of(opened.context.get());
    opened.links_by_tcp = links_by_tcp(networks);
    opened.atomics = atomics_of(opened.worker.get(), networks, narrow);
    return opened;
}

} // namespace

void ContextCloser::operator()(ucp_context* context) const {
    const std::lock_guard lock(opening);
    ucp_cleanup(context);
}
void WorkerCloser::operator()(ucp_worker* worker) const {
    const std::lock_guard lock(opening);
    ucp_worker_destroy(worker);
}

Opened open(const OpenOptions& options) {
    Networks networks;
    Opened wide = open(options, options.narrow_atomics, networks);
    if (!options.narrow_atomics || !networks.adapters || wide.atomics.by == Atomics::By::adapters)
        return wide;
    Opened without = open(options, false, networks);
    return without.atomics.by == Atomics::By::adapters ? std::move(without) : std::move(wide);
}

} // namespace rmalock::ucx
