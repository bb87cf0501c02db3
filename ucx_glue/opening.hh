// How UCX is opened: the settings it gets, and what it then says does atomics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// What does the atomics of a worker, as far as UCX tells.
struct Atomics {
    enum class By : std::uint8_t { unsaid, cpus, adapters };
    By by = By::unsaid;
    bool narrow = true;     ///< of 32 bits, too
    std::string adapters{}; ///< those that do them, with their transports: "rc_mlx5/mlx5_0:1"
};

struct ContextCloser {
    void operator()(ucp_context* context) const;
};
struct WorkerCloser {
    void operator()(ucp_worker* worker) const;
};

/// A context with its worker, which is closed first.
struct Opened {
    std::unique_ptr<ucp_context, ContextCloser> context{};
    std::unique_ptr<ucp_worker, WorkerCloser> worker{};
    Atomics atomics{};
    bool links_by_tcp = false; ///< and by nothing else
};

/// See Worker::Options.
struct OpenOptions {
    std::size_t expected_peers;
    bool connects_in_progress, narrow_atomics;
};

/// Throws Error. UCX takes a device for atomics only if it has every kind, of all widths that are
/// asked for. So 32 bits are asked for first, and left out if adapters do atomics only then.
Opened open(const OpenOptions& options);

} // namespace rmalock::ucx
