#include "network/doorbell.hh"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>

namespace rmalock::network {

namespace {

struct Address {
    sockaddr_un name{};
    socklen_t bytes = 0;

    explicit Address(std::uint64_t process) {
        name.sun_family = AF_UNIX;
        const int length =
            std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "rmalock-%016llx",
                          static_cast<unsigned long long>(process));
        bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                       static_cast<std::size_t>(length));
    }
    const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&name); }
};

} // namespace

Doorbell::Doorbell(std::uint64_t name)
    : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const Address address(name);
    if (works() && bind(socket_, address.get(), address.bytes) != 0) {
        close(socket_);
        socket_ = -1;
    }
}

Doorbell::~Doorbell() {
    if (works())
        close(socket_);
}

/// A full queue is fine: then it rings already.
void Doorbell::ring(std::uint64_t name) const {
    (void)send(name, "", 1);
}

bool Doorbell::ask_to_watch(std::uint64_t name, std::uint32_t window) const {
    return send(name, &window, sizeof window);
}

bool Doorbell::send(std::uint64_t name, const void* data, std::size_t bytes) const {
    const Address address(name);
    return sendto(socket_, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, address.get(),
                  address.bytes) >= 0;
}

int Doorbell::receive(std::uint32_t& window) const {
    return static_cast<int>(recv(socket_, &window, sizeof window, MSG_DONTWAIT));
}

} // namespace rmalock::network
