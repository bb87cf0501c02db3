#include "ucx_glue/memory.hh"

#include <utility>

#include "ucx_glue/status.hh"
#include "ucx_glue/worker.hh"

namespace rmalock::ucx {

Registration::Registration(Worker& worker, void* base, std::size_t bytes) : worker_(&worker) {
    if (bytes == 0)
        return;
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = base;
    params.length = bytes;
    const auto lock = worker.locked();
    check("register memory", ucp_mem_map(worker.context_.get(), &params, &memory_));
}

Registration::Registration(Registration&& other) noexcept
    : worker_(other.worker_), memory_(std::exchange(other.memory_, nullptr)) {}

Registration& Registration::operator=(Registration&& other) noexcept {
    Registration taken(std::move(other));
    std::swap(worker_, taken.worker_);
    std::swap(memory_, taken.memory_);
    return *this;
}

Registration::~Registration() {
    if (memory_ == nullptr)
        return;
    const auto lock = worker_->locked();
    ucp_mem_unmap(worker_->context_.get(), memory_);
}

Bytes Registration::key() const {
    if (memory_ == nullptr)
        return {};
    void* packed = nullptr;
    std::size_t bytes = 0;
    const auto lock = worker_->locked();
    check("pack a key", ucp_rkey_pack(worker_->context_.get(), memory_, &packed, &bytes));
    const auto* first = static_cast<const std::byte*>(packed);
    Bytes copy(first, first + bytes);
    ucp_rkey_buffer_release(packed);
    return copy;
}

RemoteKey::RemoteKey(Worker& worker, Peer& peer, std::span<const std::byte> key)
    : worker_(&worker) {
    if (key.empty())
        return;
    const auto lock = worker.locked();
    ucp_ep* const to = worker.endpoint(peer);
    if (to == nullptr)
        throw PeerLost("UCX: " + worker.name_of(peer) + " has gone");
    check("unpack a key", ucp_ep_rkey_unpack(to, key.data(), &key_));
}

RemoteKey::RemoteKey(RemoteKey&& other) noexcept
    : worker_(other.worker_), key_(std::exchange(other.key_, nullptr)) {}

RemoteKey& RemoteKey::operator=(RemoteKey&& other) noexcept {
    RemoteKey taken(std::move(other));
    std::swap(worker_, taken.worker_);
    std::swap(key_, taken.key_);
    return *this;
}

RemoteKey::~RemoteKey() {
    if (key_ == nullptr)
        return;
    const auto lock = worker_->locked();
    ucp_rkey_destroy(key_);
}

} // namespace rmalock::ucx
