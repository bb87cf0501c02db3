#include "window/regions.hh"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <string>
#include <utility>

namespace rmalock::window {

static_assert(sizeof(PublishedRegions) == Plan::kRegionBytes);

namespace {

/// The first region that ends behind `address`.
RegionTable::const_iterator first_behind(const RegionTable& table, std::uint64_t address) {
    return std::upper_bound(table.begin(), table.end(), address,
                            [](std::uint64_t a, const Region& region) { return a < region.end; });
}

PublishedRegions& published(const Plan::Regions& where, Rank rank) {
    const auto place =
        static_cast<std::size_t>(where.places == nullptr ? rank : where.places[rank]);
    return *reinterpret_cast<PublishedRegions*>(where.states + place * where.stride + where.offset);
}

} // namespace

bool covers(const RegionTable& table, std::uint64_t begin, std::uint64_t end) {
    for (auto region = first_behind(table, begin); begin < end; ++region) {
        if (region == table.end() || region->begin > begin)
            return false;
        begin = region->end;
    }
    return true;
}

bool AttachedRegions::attach(std::uint64_t begin, std::size_t bytes) {
    const Region added{begin, begin + bytes};
    const auto next = first_behind(*table_, begin);
    if (next != table_->end() && next->begin < added.end)
        return false;
    RegionTable changed = *table_;
    changed.insert(changed.begin() + (next - table_->begin()), added);
    if (worker_ != nullptr)
        registrations_[begin] = ucx::Registration(*worker_, reinterpret_cast<void*>(begin), bytes);
    publish(std::move(changed));
    return true;
}

bool AttachedRegions::detach(std::uint64_t begin) {
    RegionTable changed = *table_;
    const auto found = std::find_if(changed.begin(), changed.end(), [begin](const Region& region) {
        return region.begin == begin;
    });
    if (found == changed.end())
        return false;
    changed.erase(found);
    publish(std::move(changed));
    registrations_.erase(begin);
    return true;
}

void AttachedRegions::publish(RegionTable table) {
    auto next = std::make_unique<const RegionTable>(std::move(table));
    const std::uint64_t version = published_.version.load(std::memory_order_relaxed);
    published_.version.store(version + 1, std::memory_order_seq_cst);
    published_.address.store(reinterpret_cast<std::uint64_t>(next->data()),
                             std::memory_order_seq_cst);
    published_.count.store(next->size(), std::memory_order_seq_cst);
    if (worker_ != nullptr)
        expose(*next);
    published_.version.store(version + 2, std::memory_order_seq_cst);
    table_ = std::move(next);
}

void AttachedRegions::expose(const RegionTable& table) {
    if (rooms_.empty() || rooms_.back().size < table.size()) {
        Room room;
        room.size = std::max<std::size_t>(16, 2 * table.size());
        room.exposures = std::make_unique<Exposure[]>(room.size);
        room.registration =
            ucx::Registration(*worker_, room.exposures.get(), room.size * sizeof(Exposure));
        const ucx::Bytes key = room.registration.key();
        if (key.size() > sizeof published_.key)
            throw ucx::Error("UCX: a key of " + std::to_string(key.size()) + " bytes is too long");
        published_.exposures = reinterpret_cast<std::uint64_t>(room.exposures.get());
        published_.key_bytes = static_cast<std::uint32_t>(key.size());
        std::copy(key.begin(), key.end(), published_.key);
        rooms_.push_back(std::move(room));
    }
    Exposure* exposure = rooms_.back().exposures.get();
    for (const Region& region : table) {
        const ucx::Bytes key = registrations_.at(region.begin).key();
        if (key.size() > sizeof exposure->key)
            throw ucx::Error("UCX: a key of " + std::to_string(key.size()) + " bytes is too long");
        exposure->begin = region.begin;
        exposure->end = region.end;
        exposure->key_bytes = static_cast<std::uint32_t>(key.size());
        std::copy(key.begin(), key.end(), exposure->key);
        ++exposure;
    }
}

Regions::Regions(const Plan& plan, std::byte* base, const Part* parts, Remote* remote)
    : where_(plan.regions(base)), parts_(parts), remote_(remote),
      mine_(published(where_, where_.self), remote != nullptr ? &remote->worker() : nullptr) {}

const RegionTable* Regions::table(Rank rank) {
    if (rank == where_.self)
        return &mine_.table();
    return where_.places == nullptr || where_.places[rank] >= 0 ? near_table(rank)
                                                                : far_table(rank);
}

const RegionTable* Regions::near_table(Rank rank) {
    if (near_.size() >= kMost && !near_.contains(rank))
        near_.clear();
    NearCopy& copy = near_[rank];
    const PublishedRegions& published = window::published(where_, rank);
    if (copy.version == published.version.load(std::memory_order_acquire))
        return &copy.table;
    for (;;) {
        const std::uint64_t version = published.version.load(std::memory_order_seq_cst);
        if (version % 2 != 0) {
            sched_yield(); // the owner is between two stores
            continue;
        }
        copy.table.resize(published.count.load(std::memory_order_seq_cst));
        const std::size_t bytes = copy.table.size() * sizeof(Region);
        const iovec mine{copy.table.data(), bytes};
        const iovec theirs{
            reinterpret_cast<void*>(published.address.load(std::memory_order_seq_cst)), bytes};
        const bool read = bytes == 0 || process_vm_readv(parts_[rank].pid, &mine, 1, &theirs, 1,
                                                         0) == static_cast<ssize_t>(bytes);
        // A table that was replaced meanwhile may be gone, or be anything.
        if (published.version.load(std::memory_order_seq_cst) != version)
            continue;
        copy.version = version;
        if (read)
            return &copy.table;
        near_.erase(rank);
        return nullptr;
    }
}

const RegionTable* Regions::far_table(Rank rank) {
    FarCopy& copy = far_[rank];
    if (copy.checked != now_) {
        refresh(rank, copy);
        copy.checked = now_;
    }
    return &copy.table;
}

void Regions::refresh(Rank rank, FarCopy& copy) {
    const auto version_now = [&] {
        std::uint64_t version = 0;
        remote_->read_state(rank, where_.offset, &version, sizeof version);
        return version;
    };
    if (version_now() == copy.version)
        return;
    remote_->flush(rank); // nothing under way needs the keys any more
    copy.keys.clear();
    for (;;) {
        alignas(PublishedRegions) std::byte raw[sizeof(PublishedRegions)];
        remote_->read_state(rank, where_.offset, raw, sizeof raw);
        const auto& seen = *reinterpret_cast<const PublishedRegions*>(raw);
        const std::uint64_t version = seen.version.load();
        if (version % 2 != 0)
            continue; // the owner is between two stores
        const std::size_t count = seen.count.load();
        // A count without its table is possible, too; then there is no key, or the version has
        // changed.
        copy.exposures.assign(count, {});
        if (count != 0 && seen.key_bytes <= sizeof seen.key) {
            const ucx::RemoteKey key = remote_->unpack(rank, {seen.key, seen.key_bytes});
            remote_->read(rank, seen.exposures, key, copy.exposures.data(),
                          count * sizeof(Exposure));
        }
        if (version_now() == version) {
            copy.version = version;
            break;
        }
    }
    copy.table.clear();
    for (const Exposure& exposure : copy.exposures)
        copy.table.push_back({exposure.begin, exposure.end});
}

void Regions::move(Direction direction, Rank rank, std::byte* origin, std::size_t bytes,
                   std::uint64_t address, ucx::Completion* completion) {
    FarCopy& copy = far_[rank];
    auto at = static_cast<std::size_t>(first_behind(copy.table, address) - copy.table.begin());
    for (; bytes != 0; ++at) { // neighbouring regions count as one
        const Exposure& exposure = copy.exposures[at];
        ucx::RemoteKey& key = copy.keys[exposure.begin];
        if (!key)
            key = remote_->unpack(rank, {exposure.key, exposure.key_bytes});
        const std::size_t now = std::min<std::size_t>(bytes, exposure.end - address);
        remote_->move_by_key(direction, rank, origin, now, address, key, completion);
        origin += now;
        address += now;
        bytes -= now;
    }
}

} // namespace rmalock::window
