// How processes of a node wake each other while they sleep for the network: a datagram to a socket
// that they poll together with the network's event descriptor.
#pragma once

#include <cstdint>

namespace rmalock::window {

/// The process's own. Abstract names: nothing is left behind in the file system.
class Doorbell {
  public:
    /// `name`: that of the process in the network, which no other process has.
    explicit Doorbell(std::uint64_t name);
    ~Doorbell();
    Doorbell(const Doorbell&) = delete;
    Doorbell& operator=(const Doorbell&) = delete;

    /// Where no socket can be had, nobody should sleep.
    bool works() const { return socket_ >= 0; }
    /// Rings at another process. One that does not hear (it has gone, or its network namespace is
    /// another one) sleeps until its time is over.
    void ring(std::uint64_t name) const;
    /// Readable once somebody has rung.
    int descriptor() const { return socket_; }
    /// Takes note of all rings so far.
    void answer() const;

  private:
    int socket_;
};

} // namespace rmalock::window
