// How processes of a node wake each other while they sleep for the network: a datagram to a socket
// that they poll together with the network's event descriptor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rmalock::network {

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
    /// Asks another process to watch one of its windows, by its number there; the process is rung
    /// at as well. False: it has not been told.
    bool ask_to_watch(std::uint64_t name, std::uint32_t window) const;
    /// Readable once a process has rung.
    int descriptor() const { return socket_; }
    /// Takes note of all rings so far; calls watch(window) for each window it is asked to watch.
    template <class Watch>
    void answer(Watch&& watch) const {
        std::uint32_t window;
        for (int bytes; (bytes = receive(window)) >= 0;)
            if (bytes == sizeof window)
                watch(window);
    }

  private:
    bool send(std::uint64_t name, const void* data, std::size_t bytes) const;
    /// Bytes of the next ring; negative: there is none.
    int receive(std::uint32_t& window) const;

    int socket_;
};

} // namespace rmalock::network
