// Several processes that run one test body together, each with a worker of its own.
//
// They are forked before anything calls UCX. What they print, UCX included, is collected: a test
// passes only if they print nothing.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ucx_glue/memory.hh"
#include "ucx_glue/worker.hh"

namespace rmalock::ucx::test {

/// Environment of the processes: which of UCX's transports they use.
struct Transport {
    const char* name;
    const char* tls;
    const char* devices = nullptr;
};
inline constexpr Transport kTcp{"tcp", "tcp", "lo"};
#ifdef __SANITIZE_ADDRESS__ // that of GCC 14 looks at what CMA of UCX 1.18 reads as at memory of this process
inline constexpr Transport kShared{"shared", "posix,sysv,self"};
inline constexpr Transport kAny{"any", "^cma"};
#else
inline constexpr Transport kShared{"shared", "posix,sysv,cma,self"};
inline constexpr Transport kAny{"any", "all"};
#endif

/// The ranks of a job, connected by sockets, as a launcher would connect them.
class Processes {
  public:
    Processes(int rank, int size, std::vector<int> sockets)
        : rank_(rank), size_(size), sockets_(std::move(sockets)) {}
    int rank() const { return rank_; }
    int size() const { return size_; }
    /// Everybody's bytes, by rank. Runs `progress` while it waits, if given.
    std::vector<Bytes> gather(const Bytes& mine, const std::function<void()>& progress = {});

  private:
    int rank_, size_;
    std::vector<int> sockets_; ///< by rank
};

/// What a test body has in each process: a worker, its peers, and `words` of memory that all may
/// access.
struct Participant {
    Participant(Processes& world, Worker::Options options, std::size_t words);

    /// Nobody passes before all have come. The worker serves while it waits ...
    void fence();
    /// ... or nothing does, but for a progress thread.
    void fence_asleep();

    Peer& peer(int of) { return *peers[static_cast<std::size_t>(of)]; }
    const RemoteKey& key(int of) const { return keys[static_cast<std::size_t>(of)]; }
    RemoteAddress address(int of, std::size_t word) const {
        return addresses[static_cast<std::size_t>(of)] + word * sizeof(std::uint64_t);
    }

    Processes& world;
    int rank, size;
    fabric::Waiter waiter;
    /// Ahead of the worker: while that disconnects it still answers what others have asked and wait for no more.
    std::vector<std::uint64_t> memory;
    std::unique_ptr<Worker> owned;
    Worker& worker;
    Registration registration;
    std::vector<Peer*> peers;
    std::vector<RemoteKey> keys;
    std::vector<RemoteAddress> addresses;
};

/// The peer id of a rank.
constexpr PeerId peer_id(int rank) {
    return 0x1000 + static_cast<PeerId>(rank);
}
Worker::Options default_options(const Processes& world);

/// Runs `body` in `size` processes and fails the test if one of them fails an expectation, crashes,
/// hangs, or prints anything.
void run_world(int size, const Transport& transport, const std::function<void(Processes&)>& body);
/// The same with a Participant of `words` words, closed by a fence.
void run(int size, const Transport& transport, const std::function<void(Participant&)>& body,
         std::size_t words = 1024);

} // namespace rmalock::ucx::test
