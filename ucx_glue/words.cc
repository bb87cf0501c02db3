// Atomics and words.
#include "ucx_glue/callbacks.hh"

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

} // namespace

void Callbacks::finish_fetch(Operation& operation) {
    operation.peer->met_ = true;
    operation.done.store(true, std::memory_order_release);
}

void Callbacks::fetched(void* request, ucs_status_t status, void* operation) {
    auto& fetch = *static_cast<Operation*>(operation);
    if (status == UCS_OK)
        finish_fetch(fetch);
    else
        fetch.worker->take_failure(describe("fetch a word", status));
    ucp_request_free(request);
}

/// Waits for the reply. An operation whose wait ends by an exception stays out of the pool: UCX may
/// write to it yet.
std::uint64_t Worker::fetched(const fabric::Waiter& waiter, Operation& operation) {
    wait_for(waiter, [&] { return operation.done.load(std::memory_order_acquire); });
    const std::uint64_t reply = operation.reply;
    const Lock lock = locked();
    operations_.give_back(operation);
    return reply;
}

/// compare_swap finds the desired value where it leaves the reply.
std::uint64_t Worker::fetch(const fabric::Waiter& waiter, Peer& peer, Fetch what,
                            RemoteAddress address, const RemoteKey& key, std::uint64_t operand,
                            std::uint64_t desired) {
    if (!key)
        raise("fetch a word", UCS_ERR_INVALID_ADDR);
    Lock lock = locked();
    ucp_ep* const to = endpoint(peer);
    Operation& operation = operations_.take();
    operation.worker = this;
    operation.peer = &peer;
    operation.operand = operand;
    operation.reply = desired;
    operation.done.store(false, std::memory_order_relaxed);
    ucp_request_param_t param = told_to(Callbacks::fetched, &operation);
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    param.datatype = ucp_dt_make_contig(kWord);
    param.reply_buffer = &operation.reply;
    ++counters_.fetches;
    if (completed_at_once("fetch a word", ucp_atomic_op_nbx(to, ucx_name(what), &operation.operand,
                                                            1, address, key.get(), &param)))
        Callbacks::finish_fetch(operation);
    lock.unlock();
    return fetched(waiter, operation);
}

std::uint64_t Worker::read_word(const fabric::Waiter& waiter, Peer& peer, RemoteAddress address,
                                const RemoteKey& key) {
    if (!key)
        raise("read a word", UCS_ERR_INVALID_ADDR);
    Lock lock = locked();
    ucp_ep* const to = endpoint(peer);
    Operation& operation = operations_.take();
    operation.worker = this;
    operation.peer = &peer;
    operation.done.store(false, std::memory_order_relaxed);
    const ucp_request_param_t param = told_to(Callbacks::fetched, &operation);
    ++counters_.reads;
    if (completed_at_once("read a word",
                          ucp_get_nbx(to, &operation.reply, kWord, address, key.get(), &param)))
        Callbacks::finish_fetch(operation);
    lock.unlock();
    return fetched(waiter, operation);
}

void Worker::post_add(Peer& peer, RemoteAddress address, const RemoteKey& key,
                      std::uint64_t operand) {
    const Lock lock = locked();
    ++counters_.posts;
    post({&peer, key.get(), address, nullptr, operand, nullptr, Request::Kind::add});
}

void Worker::post_store(Peer& peer, RemoteAddress address, const RemoteKey& key,
                        std::uint64_t value, bool by_swap) {
    const Lock lock = locked();
    ++counters_.posts;
    post({&peer, key.get(), address, nullptr, value, nullptr,
          by_swap ? Request::Kind::swap : Request::Kind::store});
}

} // namespace rmalock::ucx
