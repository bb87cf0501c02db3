#include "network/outbox.hh"

#include <utility>

#include "ucx_glue/worker.hh"

namespace rmalock::network {

Outbox::~Outbox() {
    if (departures_ != nullptr)
        departures_->remove(*this);
}

/// With mutex_ locked, as all below.
void Outbox::count(const MessageHeader& header, std::uint64_t bytes) {
    const std::uint64_t sent = this->sent() + bytes;
    if (header.kind != MessageKind::put && header.kind != MessageKind::complete)
        behind_others_.store(sent, std::memory_order_relaxed);
    sent_.store(sent, std::memory_order_relaxed);
    used_.store(true, std::memory_order_relaxed);
}

bool Outbox::send(MessageHeader header, std::span<const std::byte> data, const Awaited& awaited) {
    std::vector<Awaited> parts;
    if (awaited.result != nullptr)
        parts.push_back(awaited);
    const std::lock_guard lock(mutex_);
    if (section_)
        section_->add({header, {data.begin(), data.end()}, std::move(parts)});
    else
        send_now(header, data, std::move(parts));
    return has_room();
}

void Outbox::send_now(MessageHeader header, std::span<const std::byte> data,
                      std::vector<Awaited>&& awaited) {
    send_held(Asks::when_due);
    std::size_t bytes = kRequest + data.size();
    for (const Awaited& part : awaited) {
        bytes += part.bytes;
        if (part.completion != nullptr)
            part.completion->expect();
    }
    count(header, bytes);
    header.window = window_;
    if (!awaited.empty())
        header.ticket = expect_results(std::move(awaited));
    transmit(header, data);
    if (sent() - expected_ >= kAskEach)
        send_flush();
}

void Outbox::transmit(const MessageHeader& header, std::span<const std::byte> data) {
    worker_->send(*peer_, bytes_of(header), data);
    if (peer_->lost())
        answers_->lose(peer_->id()); // what is awaited since then
}

void Outbox::begin_section() {
    const std::lock_guard lock(mutex_);
    send_held(Asks::when_due);
    section_.emplace();
}

void Outbox::send_section(std::uint8_t flags, SectionOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    MessageHeader header{};
    header.kind = MessageKind::section;
    header.op = flags;
    header.runs = section_->requests().size();
    std::vector<Awaited> answer{{reinterpret_cast<std::byte*>(&outcome), sizeof outcome}};
    for (const Section::Request& request : section_->requests())
        answer.insert(answer.end(), request.awaited.begin(), request.awaited.end());
    send_now(header, section_->packed(), std::move(answer));
}

void Outbox::end_section(std::size_t applied) {
    const std::lock_guard lock(mutex_);
    std::vector<Section::Request> requests = std::move(section_->requests());
    section_.reset();
    for (Section::Request& request : std::span(requests).subspan(applied)) {
        request.header.ticket = 0;
        send_now(request.header, request.data, std::move(request.awaited));
    }
}

bool Outbox::Held::takes(const MessageHeader& more, std::size_t more_bytes,
                         std::size_t more_awaited) const {
    return header.kind == more.kind && header.op == more.op &&
           header.element_kind == more.element_kind && header.element_size == more.element_size &&
           header.element_extent == more.element_extent && bytes() + more_bytes <= kMostHeld &&
           awaited_bytes + more_awaited <= kMostHeld;
}

/// One that continues the run before it, as the elements of a strided type do, makes it longer.
void Outbox::Held::add(const Copy& copy, ucx::Completion* completion) {
    CopyRun* const last = copies.empty() ? nullptr : &copies.back();
    if (last != nullptr && last->bytes == copy.bytes && last->times == 1 &&
        copy.offset > last->offset)
        last->stride = copy.offset - last->offset;
    if (last != nullptr && last->bytes == copy.bytes && last->stride != 0 &&
        copy.offset == last->offset + last->times * last->stride)
        ++last->times;
    else
        copies.push_back({copy.offset, copy.bytes, 0, 1});
    if (header.kind == MessageKind::put) {
        operands.insert(operands.end(), copy.origin, copy.origin + copy.bytes);
        return;
    }
    if (completion != nullptr)
        completion->expect();
    awaited.push_back({copy.origin, copy.bytes, completion});
    awaited_bytes += copy.bytes;
}

std::vector<std::byte> Outbox::Held::data() const {
    std::vector<std::byte> all;
    all.reserve(bytes());
    const auto append = [&all](std::span<const std::byte> part) {
        all.insert(all.end(), part.begin(), part.end());
    };
    append(std::as_bytes(std::span(runs)));
    append(std::as_bytes(std::span(copies)));
    append(operands);
    return all;
}

void Outbox::make_room(const MessageHeader& header, std::size_t more, std::size_t more_awaited) {
    if (!held_.takes(header, more, more_awaited))
        send_held(Asks::when_due);
    if (!held_.empty())
        return;
    held_.header = header;
    departures_->add(*this);
    count(header, kRequest);
}

bool Outbox::hold(const MessageHeader& header, std::span<const MessageRun> runs,
                  std::span<const std::byte> operands) {
    const std::lock_guard lock(mutex_);
    const std::size_t more = runs.size_bytes() + operands.size();
    if (section_) {
        Held held;
        held.header = header;
        held.runs.assign(runs.begin(), runs.end());
        held.operands.assign(operands.begin(), operands.end());
        add_to_section(std::move(held));
        return true;
    }
    make_room(header, more, 0);
    held_.runs.insert(held_.runs.end(), runs.begin(), runs.end());
    held_.operands.insert(held_.operands.end(), operands.begin(), operands.end());
    count(header, more);
    return has_room();
}

bool Outbox::collect(MessageKind kind, std::span<const Copy> copies, ucx::Completion* completion) {
    MessageHeader header{};
    header.kind = kind;
    header.has_operand = kind == MessageKind::put;
    header.element_size = header.element_extent = 1;
    const std::lock_guard lock(mutex_);
    if (section_) {
        Held held;
        held.header = header;
        for (const Copy& copy : copies)
            held.add(copy, completion);
        add_to_section(std::move(held));
        return true;
    }
    for (const Copy& copy : copies) {
        const std::size_t more = Held::bytes_of(kind, copy);
        const std::size_t awaited = kind == MessageKind::get ? copy.bytes : 0;
        make_room(header, more, awaited);
        held_.add(copy, completion);
        count(header, more + awaited);
    }
    return has_room();
}

void Outbox::add_to_section(Held&& held) {
    held.header.runs = held.runs.size() + held.copies.size(); // of one kind
    section_->add({held.header, held.data(), std::move(held.awaited)});
}

std::uint64_t Outbox::expect_word() {
    expected_ = sent();
    return answers_->expect(peer_->id(), {&acknowledged_, sent(), {}});
}

std::uint64_t Outbox::expect_results(std::vector<Awaited>&& parts) {
    results_.expect();
    expected_ = sent();
    return answers_->expect(peer_->id(), {&acknowledged_, sent(), std::move(parts), &results_});
}

std::vector<std::byte> Outbox::pack(MessageHeader& header, Asks asks) {
    header = held_.header;
    header.window = window_;
    header.runs = held_.runs.size() + held_.copies.size(); // of one kind
    const bool due = asks == Asks::when_due && sent() - expected_ >= kAskEach;
    if (header.kind == MessageKind::get) {
        header.ticket = expect_results(std::move(held_.awaited));
    } else if (asks == Asks::now || due) {
        header.kind = header.kind == MessageKind::put ? MessageKind::put_flush
                                                      : MessageKind::accumulate_flush;
        header.ticket = expect_word();
    }
    std::vector<std::byte> data = held_.data();
    held_ = {}; // there may be thousands of targets
    return data;
}

void Outbox::send_held(Asks asks) {
    if (held_.empty())
        return;
    MessageHeader header;
    const std::vector<std::byte> data = pack(header, asks);
    departures_->remove(*this);
    transmit(header, data);
}

void Outbox::depart() {
    const std::lock_guard lock(mutex_);
    send_held(Asks::when_due);
}

std::optional<std::uint64_t> Outbox::depart_before_atomic() {
    const std::lock_guard lock(mutex_);
    if (!all_but_puts_applied())
        return std::nullopt;
    send_held(Asks::never); // what asks waits for other requests of this origin
    return sent();
}

bool Outbox::try_to_depart() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock)
        return false;
    if (held_.empty())
        return true;
    MessageHeader header;
    const std::vector<std::byte> data = pack(header, Asks::when_due);
    const auto worker_lock = worker_->locked();
    worker_->send_locked(*peer_, bytes_of(header), data); // does not wait for room
    if (peer_->lost())
        answers_->lose(peer_->id());
    return true;
}

void Outbox::send_flush() {
    MessageHeader header{};
    header.kind = MessageKind::flush;
    header.window = window_;
    header.ticket = expect_word();
    transmit(header, {});
}

bool Outbox::ask() {
    const std::lock_guard lock(mutex_);
    if (acknowledged_.load(std::memory_order_acquire) >= sent())
        return false;
    asked_.store(sent(), std::memory_order_relaxed);
    send_held(Asks::now);
    if (expected_ < sent())
        send_flush();
    return true;
}

} // namespace rmalock::network
