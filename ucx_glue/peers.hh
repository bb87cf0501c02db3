// The peers that a worker knows, by their ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>

#include "ucx_glue/peer.hh"
#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// Each function may be called by any thread, with the worker locked and without. None locks the
/// worker, so that a thread that has its lock never waits here for one that waits for it.
class Peers {
  public:
    Peer* find(PeerId id) const {
        const std::lock_guard lock(mutex_);
        const auto found = all_.find(id);
        return found == all_.end() ? nullptr : found->second.get();
    }
    /// See Worker::introduce.
    Peer& introduce(PeerId id, std::span<const std::byte> address, bool answers,
                    std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        std::unique_ptr<Peer>& peer = all_[id];
        if (peer == nullptr)
            peer =
                std::make_unique<Peer>(id, Bytes(address.begin(), address.end()), answers, number);
        return *peer;
    }
    std::size_t count() const {
        const std::lock_guard lock(mutex_);
        return all_.size();
    }
    /// `visit` calls none of these functions.
    template <class Visit>
    void each(Visit visit) const {
        const std::lock_guard lock(mutex_);
        for (const auto& [id, peer] : all_)
            visit(*peer);
    }

  private:
    mutable std::mutex mutex_;
    std::unordered_map<PeerId, std::unique_ptr<Peer>> all_;
};

} // namespace rmalock::ucx
