// Active messages: whole, in order, answered.
#include <atomic>
#include <cstring>
#include <map>
#include <optional>

#include "processes.hh"
#include "ucx_glue/progress_thread.hh"

namespace rmalock::ucx::test {
namespace {

class Messages : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Over, Messages, testing::Values(kTcp, kShared, kAny),
                         [](const auto& given) { return std::string(given.param.name); });

/// What a message says of itself. Its data are the bytes serial, serial + 1, ...
struct Label {
    std::uint32_t serial, header_bytes, data_bytes;
};

// What the handlers have seen; they run with the worker locked.
Worker* the_worker = nullptr;
std::map<PeerId, std::uint32_t> next_serial;
std::atomic<std::uint64_t> seen{0}, wrong{0}, rounds{0};

std::byte byte_of(std::uint32_t serial, std::size_t n) {
    return static_cast<std::byte>(serial + n);
}

void look_at(PeerId from, std::span<const std::byte> header, std::span<const std::byte> data) {
    Label label{};
    if (header.size() >= sizeof label)
        std::memcpy(&label, header.data(), sizeof label);
    bool good = label.serial == next_serial[from]++ && label.header_bytes == header.size() &&
                label.data_bytes == data.size();
    for (std::size_t n = sizeof label; n < header.size(); ++n)
        good &= header[n] == byte_of(label.serial, n);
    for (std::size_t n = 0; n < data.size(); ++n)
        good &= data[n] == byte_of(label.serial, n);
    wrong += !good;
    ++seen;
}

/// Header and data of message `serial` of these sizes.
struct Sent {
    Sent(std::uint32_t serial, std::size_t header_bytes, std::size_t data_bytes)
        : header(header_bytes), data(data_bytes) {
        for (std::size_t n = 0; n < header.size(); ++n)
            header[n] = byte_of(serial, n);
        for (std::size_t n = 0; n < data.size(); ++n)
            data[n] = byte_of(serial, n);
        const Label label{serial, static_cast<std::uint32_t>(header_bytes),
                          static_cast<std::uint32_t>(data_bytes)};
        std::memcpy(header.data(), &label, sizeof label);
    }
    Bytes header, data;
};

void run_handling(int size, const Transport& transport, MessageHandler handler,
                  const std::function<void(Participant&)>& body) {
    run_world(size, transport, [&](Processes& world) {
        Worker::Options options = default_options(world);
        options.handler = handler;
        options.after_progress = [](bool) {
            ++rounds;
            return false;
        };
        Participant here(world, options, 64);
        the_worker = &here.worker;
        body(here);
        here.fence();
    });
}

TEST_P(Messages, ArriveWholeAndInOrderAtEverySize) {
    run_handling(3, GetParam(), look_at, [](Participant& here) {
        const std::size_t most = here.worker.most_message_bytes();
        EXPECT_GE(most, 4096u);
        std::uint32_t serial = 0;
        const auto send = [&](std::size_t header, std::size_t data) {
            const Sent message(serial++, header, data);
            for (int to = 0; to < here.size; ++to)
                here.worker.send(here.peer(to), message.header, message.data);
        };
        for (std::size_t data = 0; data + sizeof(Label) <= most; data += data < 600 ? 1 : 37)
            send(sizeof(Label), data);
        for (std::size_t header = sizeof(Label); header <= most; header += header < 300 ? 1 : 113)
            send(header, most - header);
        for (int n = 0; n < 3000; ++n) // long and short by turns
            send(sizeof(Label),
                 n % 3 == 0 ? most - sizeof(Label) : static_cast<std::size_t>(n % 50));
        const std::uint64_t all = 3 * std::uint64_t{serial};
        here.worker.wait_for(here.waiter, [&] { return seen == all; });
        EXPECT_EQ(wrong, 0u);
        EXPECT_GT(rounds, 0u);
        EXPECT_EQ(here.worker.counters().messages, all);
    });
}

TEST_P(Messages, LongerOnesAreRefused) {
    run_handling(1, GetParam(), look_at, [](Participant& here) {
        const Bytes data(here.worker.most_message_bytes());
        const std::byte header{};
        try {
            here.worker.send(here.peer(0), {&header, 1}, data);
            ADD_FAILURE() << "it was sent";
        } catch (const Error& error) {
            EXPECT_TRUE(std::string(error.what()).starts_with("UCX: send a message longer than"))
                << error.what();
        }
    });
}

TEST_P(Messages, HandlersAnswer) {
    run_handling(
        2, GetParam(),
        [](PeerId from, std::span<const std::byte> header, std::span<const std::byte> data) {
            if (!data.empty())
                the_worker->send_locked(*the_worker->find(from), data, {});
            else
                look_at(from, header, data);
        },
        [](Participant& here) {
            for (std::uint32_t n = 0; n < 5000; ++n) {
                const Label label{n, sizeof(Label), 0};
                here.worker.send(here.peer(1 - here.rank), {}, std::as_bytes(std::span(&label, 1)));
            }
            here.worker.wait_for(here.waiter, [] { return seen == 5000; });
            EXPECT_EQ(wrong, 0u);
        });
}

TEST_P(Messages, ABusyReceiverGetsThemAllAndTheSenderStaysSmall) {
    run_handling(2, GetParam(), look_at, [](Participant& here) {
        constexpr std::uint32_t kMany = 20'000;
        std::optional<ProgressThread> thread(std::in_place, here.worker);
        if (here.rank == 0)
            for (std::uint32_t n = 0; n < kMany; ++n) {
                const Sent message(n, sizeof(Label), 4000);
                here.worker.send(here.peer(1), message.header, message.data);
            }
        here.fence_asleep();
        here.worker.wait_for(here.waiter, [&] { return seen == (here.rank == 1 ? kMany : 0); });
        EXPECT_EQ(wrong, 0u);
    });
}

/// The first message goes out while the endpoints are still being connected, as do those right
/// behind it.
TEST_P(Messages, KeepTheirOrderWhileTheEndpointIsBeingConnected) {
    run_world(2, GetParam(), [](Processes& world) {
        Worker::Options options = default_options(world);
        options.handler = look_at;
        Worker worker(options);
        const auto addresses = world.gather(worker.address());
        const auto other = static_cast<std::size_t>(1 - world.rank());
        Peer& peer = worker.introduce(peer_id(1 - world.rank()), addresses[other]);
        const std::size_t most = worker.most_message_bytes();
        for (std::uint32_t n = 0; n < 500; ++n) {
            const Sent message(n, sizeof(Label), n % 2 == 0 ? most - sizeof(Label) : 8);
            worker.send(peer, message.header, message.data);
        }
        worker.wait_for(fabric::Waiter(), [] { return seen == 500; });
        EXPECT_EQ(wrong, 0u);
        world.gather({}, [&] { worker.progress(); });
    });
}

void refuse(PeerId, std::span<const std::byte>, std::span<const std::byte>) {
    throw std::runtime_error("not today");
}

TEST_P(Messages, AHandlerThatThrowsEndsTheWaits) {
    run_handling(1, GetParam(), refuse, [](Participant& here) {
        here.worker.send(here.peer(0), {}, {});
        EXPECT_THROW(here.worker.wait_for(here.waiter, [] { return false; }), Error);
    });
}

} // namespace
} // namespace rmalock::ucx::test
