#include "processes.hh"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rmalock::ucx::test {

namespace {

/// A process that takes longer hangs.
constexpr unsigned kMostSeconds = 300;

void write_all(int socket, const void* data, std::size_t bytes) {
    const auto* next = static_cast<const char*>(data);
    while (bytes != 0) {
        const ssize_t n = send(socket, next, bytes, MSG_NOSIGNAL);
        if (n <= 0)
            throw std::runtime_error("a process has gone");
        next += n;
        bytes -= static_cast<std::size_t>(n);
    }
}

void read_all(int socket, void* data, std::size_t bytes) {
    auto* next = static_cast<char*>(data);
    while (bytes != 0) {
        const ssize_t n = read(socket, next, bytes);
        if (n <= 0)
            throw std::runtime_error("a process has gone");
        next += n;
        bytes -= static_cast<std::size_t>(n);
    }
}

/// sockets[a][b] connects a to b.
std::vector<std::vector<int>> connect_all(int size) {
    const auto n = static_cast<std::size_t>(size);
    std::vector<std::vector<int>> sockets(n, std::vector<int>(n, -1));
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a + 1; b < n; ++b) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
                throw std::runtime_error("socketpair");
            sockets[a][b] = pair[0];
            sockets[b][a] = pair[1];
        }
    return sockets;
}

void close_others(const std::vector<std::vector<int>>& sockets, int except) {
    for (std::size_t n = 0; n < sockets.size(); ++n)
        for (const int socket : sockets[n])
            if (static_cast<int>(n) != except && socket >= 0)
                close(socket);
}

[[noreturn]] void become(Processes world, const Transport& transport, int output,
                         const std::function<void(Processes&)>& body) {
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    close(output);
    setenv("UCX_TLS", transport.tls, 1);
    if (transport.devices != nullptr)
        setenv("UCX_NET_DEVICES", transport.devices, 1);
    alarm(kMostSeconds);
    try {
        body(world);
    } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << world.rank() << ": " << error.what();
    }
    std::exit(testing::Test::HasFailure() ? 1 : 0);
}

std::string read_to_end(int pipe) {
    std::string text;
    std::array<char, 4096> part;
    for (ssize_t n; (n = read(pipe, part.data(), part.size())) > 0;)
        text.append(part.data(), static_cast<std::size_t>(n));
    return text;
}

} // namespace

std::vector<Bytes> Processes::gather(const Bytes& mine, const std::function<void()>& progress) {
    const std::size_t bytes = mine.size();
    std::vector<Bytes> all(static_cast<std::size_t>(size_));
    for (const int socket : sockets_)
        if (socket >= 0) {
            write_all(socket, &bytes, sizeof bytes);
            write_all(socket, mine.data(), bytes);
        }
    for (std::size_t n = 0; n < all.size(); ++n) {
        if (sockets_[n] < 0) {
            all[n] = mine;
            continue;
        }
        pollfd ready{sockets_[n], POLLIN, 0};
        while (progress && poll(&ready, 1, 0) == 0)
            progress();
        std::size_t coming = 0;
        read_all(sockets_[n], &coming, sizeof coming);
        all[n].resize(coming);
        read_all(sockets_[n], all[n].data(), coming);
    }
    return all;
}

Worker::Options default_options(const Processes& world) {
    Worker::Options options;
    options.self = peer_id(world.rank());
    options.expected_peers = static_cast<std::size_t>(world.size());
    return options;
}

Participant::Participant(Processes& the_world, Worker::Options options, std::size_t words)
    : world(the_world), rank(world.rank()), size(world.size()), memory(words),
      owned(std::make_unique<Worker>(options)), worker(*owned),
      registration(worker, memory.data(), memory.size() * sizeof(std::uint64_t)) {
    waiter.yield = true; // there are more processes than cores
    const auto everybody = world.gather(worker.address());
    for (int n = 0; n < size; ++n)
        peers.push_back(&worker.introduce(peer_id(n), everybody[static_cast<std::size_t>(n)], false,
                                          static_cast<std::uint64_t>(n)));
    const auto packed = world.gather(registration.key());
    for (int n = 0; n < size; ++n)
        keys.emplace_back(worker, peer(n), packed[static_cast<std::size_t>(n)]);
    Bytes base(sizeof(RemoteAddress));
    const auto mine = reinterpret_cast<RemoteAddress>(memory.data());
    std::memcpy(base.data(), &mine, sizeof mine);
    for (const Bytes& address : world.gather(base)) {
        addresses.emplace_back();
        std::memcpy(&addresses.back(), address.data(), sizeof mine);
    }
}

void Participant::fence() {
    world.gather({}, [this] {
        if (!worker.progress())
            usleep(10); // leaves the core to the others
    });
}

void Participant::fence_asleep() {
    world.gather({});
}

void run_world(int size, const Transport& transport, const std::function<void(Processes&)>& body) {
    const auto sockets = connect_all(size);
    int output[2];
    ASSERT_EQ(pipe(output), 0);
    std::vector<pid_t> children;
    std::fflush(nullptr); // what is not written yet would be the children's, too
    for (int rank = 0; rank < size; ++rank) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            close(output[0]);
            close_others(sockets, rank);
            become(Processes(rank, size, sockets[static_cast<std::size_t>(rank)]), transport,
                   output[1], body);
        }
        children.push_back(child);
    }
    close(output[1]);
    close_others(sockets, -1);
    EXPECT_EQ(read_to_end(output[0]), "") << "what the processes printed";
    close(output[0]);
    for (const pid_t child : children) {
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
            << "process ended with " << status;
    }
}

void run(int size, const Transport& transport, const std::function<void(Participant&)>& body,
         std::size_t words) {
    run_world(size, transport, [&](Processes& world) {
        Participant here(world, default_options(world), words);
        body(here);
        here.fence();
        // Nobody goes while another one waits for the last answer of its own.
        here.worker.disconnect();
        here.fence();
    });
}

} // namespace rmalock::ucx::test
