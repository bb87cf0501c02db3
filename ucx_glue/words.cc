// Atomics and words.
#include <cstdio>
#include <string>
#include <string_view>

#include "ucx_glue/callbacks.hh"
#include "ucx_glue/memory.hh"
#include "ucx_glue/printed.hh"

namespace rmalock::ucx {

namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

ucp_atomic_op_t ucx_name(Fetch what) {
    switch (what) {
    case Fetch::add:
        return UCP_ATOMIC_OP_ADD;
    case Fetch::swap:
        return UCP_ATOMIC_OP_SWAP;
    case Fetch::compare_swap:
        return UCP_ATOMIC_OP_CSWAP;
    }
    return UCP_ATOMIC_OP_LAST;
}

/// A line "lane[i]: ..." for each. 0: nothing of the kind is said.
std::size_t count_lanes(ucp_ep* endpoint) {
    const std::string text =
        printed([endpoint](std::FILE* to) { ucp_ep_print_info(endpoint, to); });
    std::size_t lanes = 0;
    for (std::string_view left = text;;) {
        const std::size_t at = left.find(" lane[");
        if (at == left.npos)
            return lanes;
        left.remove_prefix(at + 1);
        ++lanes;
    }
}

} // namespace

void Callbacks::finish_fetch(Operation& operation) {
    operation.peer->answered();
    operation.done.store(true, std::memory_order_release);
}

void Callbacks::fetched(void* request, ucs_status_t status, void* operation) {
    auto& fetch = *static_cast<Operation*>(operation);
    fetch.peer->gave_a_sign_ |= status == UCS_OK;
    if (status == UCS_OK)
        finish_fetch(fetch);
    else
        fetch.worker->lose(*fetch.peer,
                           describe(fetch.worker->about("fetch a word", *fetch.peer), status));
    ucp_request_free(request);
}

/// Waits for the reply. An operation whose wait ends by an exception stays out of the free list: UCX
/// may write to it yet.
std::uint64_t Worker::fetched(const fabric::Waiter& waiter, Operation& operation) {
    wait_for(waiter, *operation.peer,
             [&] { return operation.done.load(std::memory_order_acquire); });
    const std::uint64_t reply = operation.reply;
    const Lock lock = locked();
    operations_.give_back(operation);
    return reply;
}

/// compare_swap finds the desired value where it leaves the reply.
std::uint64_t Worker::fetch(const fabric::Waiter& waiter, Peer& peer, Fetch what,
                            RemoteAddress address, const RemoteKey& key, std::uint64_t operand,
                            std::uint64_t desired) {
    Lock lock = locked();
    Operation& operation = begin_fetch(peer, {what, operand, desired}, address, key);
    lock.unlock();
    return fetched(waiter, operation);
}

void Worker::fetch_each(const fabric::Waiter& waiter, std::span<const FetchOfPeer> all) {
    std::vector<Operation*> begun;
    begun.reserve(all.size());
    Lock lock = locked();
    for (const FetchOfPeer& each : all)
        begun.push_back(&begin_fetch(*each.peer, each.fetch, each.address, *each.key));
    lock.unlock();
    for (std::size_t i = 0; i < all.size(); ++i)
        *all[i].before = fetched(waiter, *begun[i]);
}

Operation& Worker::begin_fetch(Peer& peer, const FetchOfWord& fetch, RemoteAddress address,
                               const RemoteKey& key) {
    if (!key)
        raise("fetch a word", UCS_ERR_INVALID_ADDR);
    ucp_ep* const to = endpoint(peer);
    Operation& operation = operations_.take();
    operation.worker = this;
    operation.peer = &peer;
    operation.operand = fetch.operand;
    operation.reply = fetch.desired;
    operation.done.store(false, std::memory_order_relaxed);
    ucp_request_param_t param = telling(Callbacks::fetched, &operation);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    param.datatype = ucp_dt_make_contig(kWord);
    param.reply_buffer = &operation.reply;
    ++counters_.fetches;
    if (!peer.lost())
        begun("fetch a word", operation,
              ucp_atomic_op_nbx(to, ucx_name(fetch.what), &operation.operand, 1, address, key.get(),
                                &param));
    return operation;
}

/// What UCX has said to a fetch or a read.
void Worker::begun(std::string_view tried, Operation& operation, void* given) {
    if (UCS_PTR_IS_ERR(given) && options_.goes_on_without_peers)
        lose(*operation.peer, describe(tried, UCS_PTR_STATUS(given)));
    else if (completed_at_once(tried, given))
        Callbacks::finish_fetch(operation);
}

bool Worker::orders_behind_puts(Peer& peer) {
    const Lock lock = locked();
    return puts_are_ordered(peer);
}

bool Worker::orders_all(Peer& peer) {
    const Lock lock = locked();
    return all_is_ordered(peer);
}

bool Worker::all_is_ordered(Peer& peer) {
    return peer.met() && peer.queue_ == nullptr &&
           peer.read_.load(std::memory_order_relaxed) <=
               peer.flushed_.load(std::memory_order_relaxed) &&
           lanes(peer) == Lanes::one;
}

bool Worker::puts_are_ordered(Peer& peer) {
    return peer.data_unflushed() && all_is_ordered(peer);
}

bool Worker::put_words_behind_puts(Peer& peer) {
    const Lock lock = locked();
    const bool ordered = puts_are_ordered(peer);
    if (ordered)
        fence();
    return ordered;
}

void Worker::fence() {
    if (const ucs_status_t status = ucp_worker_fence(worker_.get()); status != UCS_OK)
        raise("order an atomic behind puts", status);
}

/// Once something has come back the endpoint is what it will be. A peer that was lost may have none.
Lanes Worker::lanes(Peer& peer) {
    if (peer.lanes() == Lanes::unknown && peer.endpoint_ != nullptr)
        peer.lanes_counted(count_lanes(peer.endpoint_));
    return peer.lanes();
}

std::uint64_t Worker::read_word(const fabric::Waiter& waiter, Peer& peer, RemoteAddress address,
                                const RemoteKey& key) {
    Lock lock = locked();
    Operation& operation = begin_read(peer, address, key, {});
    lock.unlock();
    return fetched(waiter, operation);
}

/// Into `words`, or as the operation's reply where there are none.
Operation& Worker::begin_read(Peer& peer, RemoteAddress address, const RemoteKey& key,
                              std::span<std::uint64_t> words) {
    if (!key)
        raise("read a word", UCS_ERR_INVALID_ADDR);
    ucp_ep* const to = endpoint(peer);
    Operation& operation = operations_.take();
    operation.worker = this;
    operation.peer = &peer;
    operation.done.store(false, std::memory_order_relaxed);
    const ucp_request_param_t param = telling(Callbacks::fetched, &operation);
    ++counters_.reads;
    const bool own = words.empty();
    if (!peer.lost())
        begun("read a word", operation,
              ucp_get_nbx(to, own ? &operation.reply : words.data(),
                          own ? kWord : words.size_bytes(), address, key.get(), &param));
    return operation;
}

/// A flush goes out behind both; all answers are awaited together.
std::uint64_t Worker::fetch_then_read(const fabric::Waiter& waiter, Peer& peer,
                                      const FetchThenRead& both, RemoteAddress address,
                                      const RemoteKey& key, bool& together) {
    Lock lock = locked();
    if (both.behind_puts)
        fence();
    Operation& fetch = begin_fetch(peer, both.fetch, address, key);
    together = both.words.empty() || (both.in_order && peer.met() && lanes(peer) == Lanes::one);
    Operation* behind = nullptr;
    if (!both.words.empty()) {
        if (together)
            fence();
        else {
            lock.unlock();
            wait_for(waiter, peer, [&] { return fetch.done.load(std::memory_order_acquire); });
            lock.lock();
        }
        behind = &begin_read(peer, both.read, key, both.words);
    }
    const Goal goal{&peer, peer.data_.load(std::memory_order_relaxed), 0}; // relaxed: locked
    const bool flushes = both.behind_puts && begin_flush(goal);
    lock.unlock();
    const std::uint64_t before = fetched(waiter, fetch);
    if (behind != nullptr)
        fetched(waiter, *behind);
    if (flushes)
        wait_for(waiter, peer, [&] { return goal.reached(); });
    else if (both.behind_puts)
        flush_data(waiter, peer);
    return before;
}

void Worker::post_add(Peer& peer, RemoteAddress address, const RemoteKey& key,
                      std::uint64_t operand) {
    const Lock lock = locked();
    ++counters_.posts;
    post({&peer, key.get(), address, nullptr, operand, nullptr, QueuedTransfer::Kind::word_add});
}

void Worker::post_store(Peer& peer, RemoteAddress address, const RemoteKey& key,
                        std::uint64_t value) {
    const Lock lock = locked();
    ++counters_.posts;
    post({&peer, key.get(), address, nullptr, value, nullptr, QueuedTransfer::Kind::word_swap});
}

} // namespace rmalock::ucx
