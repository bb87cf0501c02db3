// Registered memory, and the keys by which other processes reach it.
#pragma once

#include <cstddef>
#include <span>

#include "ucx_glue/types.hh"

namespace rmalock::ucx {

class Worker;
class Peer;

/// Memory of this process that others may access. RAII; movable. The worker outlives it.
class Registration {
  public:
    Registration() = default;
    /// Throws Error. `bytes` may be 0: then there is nothing to access, and key() is empty.
    Registration(Worker& worker, void* base, std::size_t bytes);
    Registration(Registration&& other) noexcept;
    Registration& operator=(Registration&& other) noexcept;
    ~Registration();

    /// What another process needs, beside the address, to access the memory. Throws Error.
    Bytes key() const;

  private:
    Worker* worker_ = nullptr;
    ucp_mem* memory_ = nullptr;
};

/// A key of another process's memory, unpacked for the endpoint to it. RAII; movable. The peer
/// outlives it.
class RemoteKey {
  public:
    RemoteKey() = default;
    /// Opens the endpoint to `peer` if there is none yet. Throws Error.
    RemoteKey(Worker& worker, Peer& peer, std::span<const std::byte> key);
    RemoteKey(RemoteKey&& other) noexcept;
    RemoteKey& operator=(RemoteKey&& other) noexcept;
    ~RemoteKey();

    explicit operator bool() const { return key_ != nullptr; }
    ucp_rkey* get() const { return key_; }

  private:
    Worker* worker_ = nullptr;
    ucp_rkey* key_ = nullptr;
};

} // namespace rmalock::ucx
