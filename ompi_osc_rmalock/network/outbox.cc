#include "network/outbox.hh"

#include <cstring>

#include "ucx_glue/worker.hh"

namespace rmalock::network {

Outbox::~Outbox() {
    if (departures_ != nullptr)
        departures_->remove(*this);
}

bool Outbox::send(MessageHeader header, std::span<const std::byte> data, std::byte* result,
                  std::size_t result_bytes, ucx::Completion* completion) {
    const std::lock_guard lock(mutex_);
    send_held(false);
    sent_ += kRequest + data.size() + result_bytes;
    used_.store(true, std::memory_order_release);
    header.window = window_;
    if (result != nullptr) {
        results_.expect();
        if (completion != nullptr)
            completion->expect();
        header.ticket = answers_->expect(
            peer_->id(), {&acknowledged_, sent_, result, result_bytes, &results_, completion});
        expected_ = sent_;
    }
    worker_->send(*peer_, bytes_of(header), data);
    if (sent_ - expected_ >= kAskEach)
        send_flush();
    return has_room();
}

bool Outbox::Held::takes(const MessageHeader& more, std::size_t more_bytes) const {
    return header.op == more.op && header.element_kind == more.element_kind &&
           header.element_size == more.element_size &&
           header.element_extent == more.element_extent && bytes() + more_bytes <= kMostHeld;
}

bool Outbox::hold(const MessageHeader& header, std::span<const MessageRun> runs,
                  std::span<const std::byte> operands) {
    const std::lock_guard lock(mutex_);
    const std::size_t more = runs.size_bytes() + operands.size();
    if (!held_.takes(header, more))
        send_held(false);
    if (held_.runs.empty()) {
        held_.header = header;
        sent_ += kRequest;
        departures_->add(*this);
    }
    held_.runs.insert(held_.runs.end(), runs.begin(), runs.end());
    held_.operands.insert(held_.operands.end(), operands.begin(), operands.end());
    sent_ += more;
    used_.store(true, std::memory_order_release);
    return has_room();
}

std::uint64_t Outbox::expect_word() {
    expected_ = sent_;
    return answers_->expect(peer_->id(), {&acknowledged_, sent_});
}

std::vector<std::byte> Outbox::pack(MessageHeader& header, bool asks) {
    header = held_.header;
    header.window = window_;
    header.runs = held_.runs.size();
    if (asks || sent_ - expected_ >= kAskEach) {
        header.kind = MessageKind::accumulate_flush;
        header.ticket = expect_word();
    }
    std::vector<std::byte> data(held_.bytes());
    const std::size_t runs = data.size() - held_.operands.size();
    std::memcpy(data.data(), held_.runs.data(), runs);
    std::memcpy(data.data() + runs, held_.operands.data(), held_.operands.size());
    held_ = {}; // there may be thousands of targets
    return data;
}

void Outbox::send_held(bool asks) {
    if (held_.runs.empty())
        return;
    MessageHeader header;
    const std::vector<std::byte> data = pack(header, asks);
    departures_->remove(*this);
    worker_->send(*peer_, bytes_of(header), data);
}

bool Outbox::try_to_depart() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return false;
    if (held_.runs.empty())
        return true;
    MessageHeader header;
    const std::vector<std::byte> data = pack(header, false);
    const auto worker_lock = worker_->locked();
    worker_->send_locked(*peer_, bytes_of(header), data); // does not wait for room
    return true;
}

void Outbox::send_flush() {
    MessageHeader header{};
    header.kind = MessageKind::flush;
    header.window = window_;
    header.ticket = expect_word();
    worker_->send(*peer_, bytes_of(header), {});
}

bool Outbox::ask() {
    const std::lock_guard lock(mutex_);
    if (acknowledged_.load(std::memory_order_acquire) >= sent_)
        return false;
    asked_.store(sent_);
    send_held(true);
    if (expected_ < sent_)
        send_flush();
    return true;
}

bool Outbox::all_applied() {
    const std::lock_guard lock(mutex_);
    return acknowledged_.load(std::memory_order_acquire) >= sent_;
}

} // namespace rmalock::network
