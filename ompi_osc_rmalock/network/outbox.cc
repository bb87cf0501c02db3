#include "network/outbox.hh"

#include "ucx_glue/worker.hh"

namespace rmalock::network {

bool Outbox::send(ucx::Worker& worker, ucx::Peer& peer, MessageHeader header,
                  std::span<const std::byte> data, std::byte* result, std::size_t result_bytes,
                  ucx::Completion* completion) {
    const std::lock_guard lock(mutex_);
    sent_ += kRequest + data.size() + result_bytes;
    used_.store(true, std::memory_order_release);
    header.window = window_;
    if (result != nullptr) {
        results_.expect();
        if (completion != nullptr)
            completion->expect();
        header.ticket = answers_->expect(
            peer.id(), {&acknowledged_, sent_, result, result_bytes, &results_, completion});
        expected_ = sent_;
    }
    worker.send(peer, bytes_of(header), data);
    if (sent_ - expected_ >= kAskEach)
        send_flush(worker, peer);
    return has_room();
}

void Outbox::send_flush(ucx::Worker& worker, ucx::Peer& peer) {
    MessageHeader header{};
    header.kind = MessageKind::flush;
    header.window = window_;
    header.ticket = answers_->expect(peer.id(), {&acknowledged_, sent_});
    expected_ = sent_;
    worker.send(peer, bytes_of(header), {});
}

bool Outbox::ask(ucx::Worker& worker, ucx::Peer& peer) {
    if (all_applied())
        return false;
    const std::lock_guard lock(mutex_);
    asked_.store(sent_);
    if (expected_ < sent_)
        send_flush(worker, peer);
    return true;
}

bool Outbox::all_applied() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.load(std::memory_order_acquire) >= sent_;
}

} // namespace rmalock::network
