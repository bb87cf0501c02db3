// The names of ucx_glue that its users see; none of them needs UCX's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fabric/waiter.hh"

// UCX's handles, as ucp/api/ucp_def.h declares them.
struct ucp_context;
struct ucp_worker;
struct ucp_ep;
struct ucp_mem;
struct ucp_rkey;

namespace rmalock::ucx {

/// Names a process among all processes it may ever meet; random, drawn once per process.
using PeerId = std::uint64_t;
/// An address in another process.
using RemoteAddress = std::uint64_t;
using Bytes = std::vector<std::byte>;

/// UCX refused something. The text says what was tried, and UCX's own words for why not.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An operation of a peer that has gone will never be done. Only of workers that go on without peers
/// (Worker::Options); no Error, as the worker and all other peers are as they were.
class PeerLost : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

} // namespace rmalock::ucx
