// Flushes: when everything posted so far has arrived.
#include <algorithm>

#include "ucx_glue/callbacks.hh"

namespace rmalock::ucx {

/// Flushes of one peer may end out of order.
void Callbacks::finish_flush(Operation& operation) {
    operation.peer->covered(operation.covers);
    operation.worker->operations_.give_back(operation);
}

void Callbacks::flushed(void* request, ucs_status_t status, void* operation) {
    auto& flush = *static_cast<Operation*>(operation);
    flush.peer->gave_a_sign_ |= status == UCS_OK;
    if (status == UCS_OK)
        finish_flush(flush);
    else
        flush.worker->lose(*flush.peer,
                           describe(flush.worker->about("flush", *flush.peer), status));
    ucp_request_free(request);
}

/// Without the worker locked. Acquire: by these two callbacks release what they did (class Peer).
bool Worker::Goal::reached() const {
    return peer->flushed_.load(std::memory_order_acquire) >= posted &&
           peer->words_acked_.load(std::memory_order_acquire) >= words &&
           (words == 0 || peer->words_way() != WordsWay::greeted);
}

/// Begins a flush unless one that covers the goal is under way; false while part of it is queued. Where
/// all are gets their answers say as much, and come without a flush: so these are looked for first.
bool Worker::begin_flush(const Goal& goal) {
    Peer& peer = *goal.peer;
    if (peer.lost())
        return true;
    ask(goal);
    if (peer.has_only_read() && goal.looks++ < kMostLooks)
        return finish_reads(peer, goal.posted);
    if (peer.flushing_.load(std::memory_order_relaxed) >= goal.posted)
        return true;
    const std::uint64_t issued = peer.issued_.load(std::memory_order_relaxed);
    if (issued < goal.posted)
        return false;
    Operation& operation = operations_.take();
    operation.worker = this;
    operation.peer = &peer;
    operation.covers = issued;
    peer.flushing_.store(issued, std::memory_order_relaxed);
    const ucp_request_param_t param = telling(Callbacks::flushed, &operation);
    const ucs_status_ptr_t given = ucp_ep_flush_nbx(peer.endpoint_, &param);
    if (UCS_PTR_IS_ERR(given))
        lose(peer, describe("flush", UCS_PTR_STATUS(given)));
    else if (given == nullptr)
        Callbacks::finish_flush(operation);
    throw_failure();
    return true;
}

/// Other threads may go on posting gets, so that some are always under way: after kMostLooks a flush of
/// UCX's is begun, which waits only for those so far.
bool Worker::finish_reads(Peer& peer, std::uint64_t posted) {
    if (peer.outstanding() != 0)
        return false;
    peer.covered(posted);
    return true;
}

/// A flush of UCX's is a message and its answer, even if all that went before has long arrived. An
/// origin that computes between a put and its flush would wait for them at the end; so they go
/// right behind the put, unless others are under way, and the flush finds them done.
void Worker::flush_early(Peer& peer) {
    if (peer.queue_ == nullptr && peer.flushing_.load(std::memory_order_relaxed) <=
                                      peer.flushed_.load(std::memory_order_relaxed))
        begin_flush({&peer, peer.issued_.load(std::memory_order_relaxed), 0});
}

/// Side by side: every flush begins as soon as its peer's requests are issued, whatever the others
/// do.
void Worker::flush_until(const fabric::Waiter& waiter, std::vector<Goal> goals) {
    std::vector<Goal> queued = goals;
    const auto begin = [this](const Goal& goal) { return begin_flush(goal); };
    {
        const Lock lock = locked();
        counters_.flushes += goals.size();
    }
    wait_for(waiter, [&] {
        if (!queued.empty()) {
            if (const Lock lock(mutex_, std::try_to_lock); lock)
                std::erase_if(queued, begin);
        }
        while (queued.empty() && !goals.empty() &&
               (goals.back().reached() || goals.back().peer->lost()))
            goals.pop_back();
        return goals.empty();
    });
}

// Goals are read relaxed, with the worker locked or not: a thread sees at least what it has posted
// itself, and what was posted before it by what tells it of that. To see more only waits longer.

bool Worker::flush(const fabric::Waiter& waiter, Peer& peer) {
    const bool needed = peer.unflushed();
    if (needed)
        flush_until(waiter, {{&peer, peer.posted_.load(std::memory_order_relaxed),
                              peer.words_sent_.load(std::memory_order_relaxed)}});
    return needed;
}

/// Whether answers have come to all that was posted, so that there is nothing to wait for.
bool Worker::all_answered(Peer& peer) {
    if (!peer.has_only_read() || peer.outstanding() != 0)
        return false;
    const Lock lock = locked(); // other threads post
    return peer.has_only_read() && finish_reads(peer, peer.posted_.load(std::memory_order_relaxed));
}

bool Worker::flush_data(const fabric::Waiter& waiter, Peer& peer) {
    const bool needed = peer.data_unflushed() && !all_answered(peer);
    if (needed)
        flush_until(waiter, {{&peer, peer.data_.load(std::memory_order_relaxed), 0}});
    return needed;
}

bool Worker::flush_data(const fabric::Waiter& waiter, std::span<Peer* const> peers) {
    std::vector<Goal> goals;
    for (Peer* const peer : peers)
        if (peer->data_unflushed())
            goals.push_back({peer, peer->data_.load(std::memory_order_relaxed), 0});
    const bool needed = !goals.empty();
    if (needed)
        flush_until(waiter, std::move(goals));
    return needed;
}

bool Worker::flush_all(const fabric::Waiter& waiter) {
    std::vector<Goal> goals;
    {
        // A peer leaves the list only when it is clean: another thread's flush may be under way.
        const Lock lock = locked();
        std::erase_if(unflushed_peers_, [&](Peer* peer) {
            peer->listed_ = peer->unflushed();
            if (peer->listed_)
                goals.push_back({peer, peer->posted_.load(std::memory_order_relaxed),
                                 peer->words_sent_.load(std::memory_order_relaxed)});
            return !peer->listed_;
        });
    }
    const bool needed = !goals.empty();
    if (needed)
        flush_until(waiter, std::move(goals));
    return needed;
}

bool Worker::flush_words(const fabric::Waiter& waiter) {
    std::vector<Goal> goals;
    {
        const Lock lock = locked();
        for (Peer* const peer : unflushed_peers_)
            if (peer->words_unflushed())
                goals.push_back({peer, peer->words_.load(std::memory_order_relaxed),
                                 peer->words_sent_.load(std::memory_order_relaxed)});
    }
    const bool needed = !goals.empty();
    if (needed)
        flush_until(waiter, std::move(goals));
    return needed;
}

/// Where other threads go on posting, what is complete at the peer will do.
void Worker::flush_local(const fabric::Waiter& waiter, Peer& peer) {
    const Goal goal{&peer, peer.posted_.load(std::memory_order_relaxed), 0, kMostLooks};
    unsigned looks = 0;
    bool begun = false;
    wait_for(waiter, [&] {
        if (peer.outstanding() == 0 || peer.lost())
            return true;
        if (looks++ < kMostLooks)
            return false;
        if (!begun)
            if (const Lock lock(mutex_, std::try_to_lock); lock)
                begun = begin_flush(goal);
        return begun && goal.reached();
    });
}

void Worker::flush_local_all(const fabric::Waiter& waiter) {
    std::vector<Peer*> peers;
    {
        const Lock lock = locked();
        peers = unflushed_peers_;
    }
    for (Peer* peer : peers)
        flush_local(waiter, *peer);
}

} // namespace rmalock::ucx
