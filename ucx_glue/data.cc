// Puts, gets, posted words and atomics on data: issued at once while there is room, queued beyond.
#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "ucx_glue/callbacks.hh"
#include "ucx_glue/memory.hh"

namespace rmalock::ucx {

namespace {

/// Requests that a peer may have under way whatever the others have.
constexpr std::size_t kAlways = 8;
/// Bytes of a put that is worth a flush of its own.
constexpr std::size_t kLong = 8192;
/// Requests issued to a peer before those to the next one.
constexpr std::size_t kChunk = 64;

const char* tried(QueuedTransfer::Kind kind) {
    switch (kind) {
    case QueuedTransfer::Kind::put:
        return "put";
    case QueuedTransfer::Kind::get:
        return "get";
    case QueuedTransfer::Kind::word_add:
        return "add to a word";
    case QueuedTransfer::Kind::word_swap:
        return "store a word";
    case QueuedTransfer::Kind::element_read:
        return "read an element of data";
    case QueuedTransfer::Kind::element_add:
    case QueuedTransfer::Kind::element_fetch_add:
    case QueuedTransfer::Kind::element_swap:
    case QueuedTransfer::Kind::element_compare_swap:
        return "do an atomic on data";
    }
    return "";
}

ucp_atomic_op_t ucx_name(QueuedTransfer::Kind kind) {
    switch (kind) {
    case QueuedTransfer::Kind::word_swap:
    case QueuedTransfer::Kind::element_swap:
        return UCP_ATOMIC_OP_SWAP;
    case QueuedTransfer::Kind::element_compare_swap:
        return UCP_ATOMIC_OP_CSWAP;
    default:
        return UCP_ATOMIC_OP_ADD;
    }
}

/// An operand and a reply that nobody wants are the operation's, so that they stay.
ucs_status_ptr_t give_atomic(ucp_ep* to, const QueuedTransfer& request, Operation& operation,
                             ucp_request_param_t& param) {
    using Kind = QueuedTransfer::Kind;
    operation.operand = request.bytes_or_operand;
    param.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE;
    param.datatype = ucp_dt_make_contig(request.width);
    if (request.kind != Kind::word_add && request.kind != Kind::element_add) {
        param.op_attr_mask |= UCP_OP_ATTR_FIELD_REPLY_BUFFER;
        param.reply_buffer = request.origin != nullptr ? request.origin : &operation.reply;
    }
    return ucp_atomic_op_nbx(to, ucx_name(request.kind), &operation.operand, 1, request.address,
                             request.key, &param);
}

/// Gives the request to UCX.
ucs_status_ptr_t give(ucp_ep* to, const QueuedTransfer& request, Operation& operation) {
    ucp_request_param_t param = telling(Callbacks::posted, &operation);
    const std::size_t bytes = request.bytes_or_operand;
    switch (request.kind) {
    case QueuedTransfer::Kind::put:
        return ucp_put_nbx(to, request.origin, bytes, request.address, request.key, &param);
    case QueuedTransfer::Kind::get:
        return ucp_get_nbx(to, request.origin, bytes, request.address, request.key, &param);
    case QueuedTransfer::Kind::element_read:
        return ucp_get_nbx(to, request.origin, request.width, request.address, request.key, &param);
    default:
        return give_atomic(to, request, operation, param);
    }
}

} // namespace

/// The counts before the completion: a thread that sees the completion may look at the counts. The
/// release pairs with Peer::outstanding: buffers are the caller's, and hold what was fetched.
void Callbacks::finish_posted(Operation& operation) {
    operation.peer->completed_.fetch_add(1, std::memory_order_release);
    if (operation.completion != nullptr)
        operation.completion->complete();
    --operation.worker->in_flight_;
    operation.is_posted = false;
    operation.worker->operations_.give_back(operation);
}

void Callbacks::posted(void* request, ucs_status_t status, void* operation) {
    auto& posted = *static_cast<Operation*>(operation);
    Worker& worker = *posted.worker;
    posted.peer->gave_a_sign_ |= status == UCS_OK;
    if (posted.is_posted && status == UCS_OK) {
        finish_posted(posted);
    } else {
        if (posted.is_posted)
            worker.lose(
                *posted.peer,
                describe(worker.about("complete a put, a get or a posted word", *posted.peer),
                         status));
        if (!posted.is_posted) // its peer was lost, now or before: lose()
            worker.operations_.give_back(posted);
    }
    ucp_request_free(request);
}

void Worker::put(Peer& peer, const void* origin, std::size_t bytes, RemoteAddress address,
                 const RemoteKey& key, Completion* completion) {
    if (bytes == 0)
        return;
    const Lock lock = locked();
    ++counters_.puts;
    // The queue has one pointer for puts and gets; a put only reads from it.
    post_pieces({&peer, key.get(), address, const_cast<void*>(origin), bytes, completion,
                 QueuedTransfer::Kind::put});
    if (bytes >= kLong)
        flush_early(peer);
}

void Worker::get(Peer& peer, void* origin, std::size_t bytes, RemoteAddress address,
                 const RemoteKey& key, Completion* completion) {
    if (bytes == 0)
        return;
    const Lock lock = locked();
    ++counters_.gets;
    post_pieces({&peer, key.get(), address, origin, bytes, completion, QueuedTransfer::Kind::get});
}

/// The end of each piece is a sign that the peer is there (check_peers).
void Worker::post_pieces(QueuedTransfer all) {
    constexpr std::uint64_t kPiece = 8 << 20;
    const std::uint64_t bytes = all.bytes_or_operand;
    for (std::uint64_t done = 0; done < bytes; done += kPiece) {
        QueuedTransfer piece = all;
        piece.address += done;
        piece.origin = static_cast<std::byte*>(all.origin) + done;
        piece.bytes_or_operand = std::min(kPiece, bytes - done);
        post(piece);
    }
}

void Worker::element(Peer& peer, const ElementAtomic& what, RemoteAddress address,
                     const RemoteKey& key, Completion* completion) {
    using Kind = QueuedTransfer::Kind;
    const Lock lock = locked();
    ++counters_.elements;
    Kind kind = Kind::element_compare_swap;
    if (what.what == ElementOp::read)
        kind = Kind::element_read;
    else if (what.what == ElementOp::add)
        kind = what.before == nullptr ? Kind::element_add : Kind::element_fetch_add;
    else if (what.what == ElementOp::swap)
        kind = Kind::element_swap;
    post({&peer, key.get(), address, what.before, what.operand, completion, kind,
          static_cast<std::uint8_t>(what.bytes)});
}

bool Worker::put_elements_in_order(Peer& peer) {
    const Lock lock = locked();
    const bool ordered = peer.met() && peer.queue_ == nullptr && lanes(peer) == Lanes::one;
    if (ordered)
        fence();
    return ordered;
}

void Worker::post(const QueuedTransfer& request) {
    if (request.key == nullptr)
        raise(tried(request.kind), UCS_ERR_INVALID_ADDR);
    Peer& peer = *request.peer;
    endpoint(peer);
    if (peer.begins_contact())
        greet(peer, 0); // puts begin with the answer
    if (peer.lost()) {
        if (request.completion != nullptr) {
            request.completion->expect();
            request.completion->lose();
        }
        return;
    }
    const std::uint64_t number = peer.posted_.fetch_add(1, std::memory_order_relaxed) + 1;
    (request.is_word() ? peer.words_ : peer.data_).store(number, std::memory_order_release);
    (request.is_answered() ? peer.read_ : peer.written_).store(number, std::memory_order_release);
    if (request.is_element())
        (request.kind == QueuedTransfer::Kind::element_add ? peer.adds_ : peer.others_)
            .store(number, std::memory_order_release);
    list(peer);
    if (request.completion != nullptr)
        request.completion->expect();
    if (peer.queue_ == nullptr && has_room(peer))
        return issue(request);
    if (peer.queue_ == nullptr) {
        peer.queue_ = std::make_unique<std::deque<QueuedTransfer>>();
        queued_peers_.push_back(&peer);
    }
    peer.queue_->push_back(request);
}

void Worker::list(Peer& peer) {
    if (!peer.listed_)
        unflushed_peers_.push_back(&peer);
    peer.listed_ = true;
}

bool Worker::has_room(const Peer& peer) const {
    if (!peer.met())
        return false;
    return in_flight_ < options_.most_outstanding ||
           peer.issued_.load(std::memory_order_relaxed) -
                   peer.completed_.load(std::memory_order_relaxed) <
               kAlways;
}

void Worker::issue(const QueuedTransfer& request) {
    Operation& operation = operations_.take();
    operation.worker = this;
    operation.peer = request.peer;
    operation.completion = request.completion;
    operation.is_posted = true;
    ++in_flight_;
    request.peer->issued_.fetch_add(1, std::memory_order_relaxed);
    const ucs_status_ptr_t given = give(request.peer->endpoint_, request, operation);
    if (UCS_PTR_IS_ERR(given)) {
        // It counts as posted and will never complete: its waiters have to hear, too.
        lose(*request.peer, describe(tried(request.kind), UCS_PTR_STATUS(given)));
        if (!operation.is_posted)
            operations_.give_back(operation);
    } else if (given == nullptr)
        Callbacks::finish_posted(operation);
    throw_failure();
}

/// The peers by turns, a chunk each; the order of one peer's requests is kept, since flushes count
/// on it. At most most_outstanding in all, also where each is complete at once: a round is bounded.
bool Worker::issue_queued() {
    std::size_t issued = 0;
    const std::size_t most = std::max(options_.most_outstanding, kAlways);
    for (std::size_t peers = queued_peers_.size(); peers != 0 && issued < most; --peers) {
        Peer& peer = *queued_peers_.front();
        queued_peers_.pop_front();
        for (std::size_t n = 0; n < kChunk && !peer.queue_->empty() && has_room(peer); ++n) {
            const QueuedTransfer request = peer.queue_->front();
            peer.queue_->pop_front();
            issue(request);
            ++issued;
        }
        if (peer.queue_->empty())
            peer.queue_.reset();
        else
            queued_peers_.push_back(&peer);
    }
    return issued != 0;
}

} // namespace rmalock::ucx
