#include "window/create/regions.hh"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "fabric/cpu.hh"

namespace rmalock::window {

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

/// The first multiple of a cache line's size that is not before `memory`.
void* whole_line(void* memory) {
    constexpr std::uintptr_t kLine = alignof(PublishedRegions);
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory) + kLine - 1) / kLine *
                                   kLine);
}

/// Whether the process is gone, or killed and not yet waited for. One that may not be read is there.
bool is_gone(pid_t pid) {
    std::byte byte{};
    const iovec mine{&byte, 1}, theirs{nullptr, 1};
    return process_vm_readv(pid, &mine, 1, &theirs, 1, 0) < 0 && errno == ESRCH;
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
    if (bytes == 0) {
        empty_.insert(begin);
        return true;
    }
    const Region added{begin, begin + bytes};
    const auto next = first_behind(*table_, begin);
    if (next != table_->end() && next->begin < added.end)
        return false;
    const auto at = static_cast<std::size_t>(next - table_->begin());
    RegionTable changed = *table_;
    changed.insert(changed.begin() + (next - table_->begin()), added);
    // All that can fail goes before anything is shown.
    auto table = std::make_unique<const RegionTable>(std::move(changed));
    if (worker_ == nullptr) {
        publish(std::move(table), [] {});
        return true;
    }
    ucx::Registration registration(*worker_, reinterpret_cast<void*>(begin), bytes);
    const ucx::Bytes key = key_of(registration);
    if (is_full())
        rooms_.push_back(larger_room());
    registrations_[begin] = std::move(registration);
    publish(std::move(table), [&] {
        std::byte* const place = exposure(rooms_.back(), at);
        std::memmove(exposure(rooms_.back(), at + 1), place,
                     (table_->size() - at) * Exposure::bytes(key_room_));
        auto* const shown = new (place) Exposure{added.begin, added.end, key.size()};
        std::copy(key.begin(), key.end(), shown->key());
    });
    return true;
}

bool AttachedRegions::detach(std::uint64_t begin) {
    if (const auto empty = empty_.find(begin); empty != empty_.end()) {
        empty_.erase(empty);
        return true;
    }
    RegionTable changed = *table_;
    const auto found = std::find_if(changed.begin(), changed.end(), [begin](const Region& region) {
        return region.begin == begin;
    });
    if (found == changed.end())
        return false;
    const auto at = static_cast<std::size_t>(found - changed.begin());
    changed.erase(found);
    publish(std::make_unique<const RegionTable>(std::move(changed)), [&] {
        if (worker_ != nullptr)
            std::memmove(exposure(rooms_.back(), at), exposure(rooms_.back(), at + 1),
                         (table_->size() - at - 1) * Exposure::bytes(key_room_));
    });
    registrations_.erase(begin);
    return true;
}

bool AttachedRegions::has(std::uint64_t begin, std::uint64_t bytes) const {
    const std::lock_guard lock(mutex_);
    return begin + bytes >= begin && covers(*table_, begin, begin + bytes);
}

/// A sequence lock, whose readers are other processes. Its words are sequentially consistent. What is
/// no such word (keys here, the table that is read) is kept behind the odd version, and before the
/// second look at it, by a fence: a release orders only what comes before, an acquire only what
/// follows. With the fences a release of the even version and an acquire of the first look at it would
/// do; to attach memory is rare.
template <class Change>
void AttachedRegions::publish(Table next, Change change) {
    const std::uint64_t version = published_.version.load(std::memory_order_relaxed);
    published_.version.store(version + 1, std::memory_order_seq_cst);
    fabric::full_fence();
    published_.address.store(reinterpret_cast<std::uint64_t>(next->data()),
                             std::memory_order_seq_cst);
    published_.count.store(next->size(), std::memory_order_seq_cst);
    if (worker_ != nullptr) {
        const Room& room = rooms_.back();
        published_.exposures = reinterpret_cast<std::uint64_t>(room.exposures.get());
        published_.key_bytes = room.key.size();
        std::copy(room.key.begin(), room.key.end(), published_.key());
    }
    change();
    published_.version.store(version + 2, std::memory_order_seq_cst);
    const std::lock_guard lock(mutex_);
    table_ = std::move(next);
}

ucx::Bytes AttachedRegions::key_of(const ucx::Registration& registration) const {
    ucx::Bytes key = registration.key();
    if (key.size() > key_room_)
        throw ucx::Error("UCX: a key of " + std::to_string(key.size()) + " bytes, where " +
                         std::to_string(key_room_) + " were expected at most");
    return key;
}

/// With what the present one shows.
AttachedRegions::Room AttachedRegions::larger_room() const {
    Room room;
    room.size = std::max<std::size_t>(16, 2 * table_->size());
    room.exposures = std::make_unique<std::byte[]>(room.size * Exposure::bytes(key_room_));
    room.registration =
        ucx::Registration(*worker_, room.exposures.get(), room.size * Exposure::bytes(key_room_));
    room.key = key_of(room.registration);
    if (!rooms_.empty())
        std::memcpy(room.exposures.get(), rooms_.back().exposures.get(),
                    table_->size() * Exposure::bytes(key_room_));
    return room;
}

Regions::Regions(const Plan::Regions& where, const Part* parts, network::Remote* remote)
    : where_(where), parts_(parts), remote_(remote),
      keys_(remote != nullptr && remote->needs_keys()),
      mine_(published(where_, where_.self), remote != nullptr ? &remote->worker() : nullptr,
            where_.key_room) {}

const RegionTable* Regions::near(Rank rank) {
    if (rank == where_.self)
        return &mine_.table();
    if (near_.size() >= kMost && !near_.contains(rank))
        near_.clear();
    NearCopy& copy = near_[rank];
    const PublishedRegions& published = window::published(where_, rank);
    // Relaxed: what told the program of a change orders it, and the copy is this process's own.
    if (copy.version == published.version.load(std::memory_order_relaxed))
        return &copy.table;
    for (;;) {
        const std::uint64_t version = published.version.load(std::memory_order_seq_cst);
        if (version % 2 != 0) { // the owner is between two stores, or was killed there
            if (is_gone(parts_[rank].pid))
                break;
            sched_yield();
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
        fabric::full_fence();
        if (published.version.load(std::memory_order_seq_cst) != version)
            continue;
        copy.version = version;
        if (!read)
            break;
        return &copy.table;
    }
    near_.erase(rank);
    return nullptr;
}

std::shared_ptr<FarTable> Regions::known(Rank rank) {
    const std::lock_guard lock(mutex_);
    return far_[rank].table;
}

/// Two threads may read the same table at a time; the newer one stays, since the thread that has
/// found memory in it comes back for it (known).
std::shared_ptr<FarTable> Regions::far(Rank rank) {
    const std::uint64_t now = now_;
    std::shared_ptr<FarTable> table;
    {
        const std::lock_guard lock(mutex_);
        const FarCopy& copy = far_[rank];
        if (copy.checked == now && !keys_)
            return copy.table;
        table = copy.table;
    }
    if (table == nullptr || table->version_ != version_of(rank))
        table = read(rank);
    FarCopy old{now, table}; // ends after the lock: its end may wait
    {
        const std::lock_guard lock(mutex_);
        FarCopy& copy = far_[rank];
        if (copy.table != nullptr && copy.table->version_ > table->version_)
            return copy.table;
        std::swap(copy, old);
    }
    return table;
}

std::uint64_t Regions::version_of(Rank rank) {
    std::uint64_t version = 0;
    remote_->read_state(rank, where_.offset, &version, sizeof version);
    return version;
}

std::shared_ptr<FarTable> Regions::read(Rank rank) {
    const auto table = std::make_shared<FarTable>(*remote_, rank);
    table->stride_ = Exposure::bytes(where_.key_room);
    std::vector<std::uint64_t> raw((PublishedRegions::bytes(where_.key_room) + 7) / 8 + 8);
    auto* const at = reinterpret_cast<PublishedRegions*>(whole_line(raw.data()));
    for (;;) {
        remote_->read_state(rank, where_.offset, at, PublishedRegions::bytes(where_.key_room));
        const std::uint64_t version = at->version.load(std::memory_order_relaxed); // all is a copy
        if (version % 2 != 0)
            continue; // the owner is between two stores
        const std::size_t count = at->count.load(std::memory_order_relaxed);
        // A count without its table is possible, too; then there is no key, or the version has
        // changed.
        table->exposures_.assign(count * table->stride_, {});
        if (count != 0 && at->key_bytes != 0 && at->key_bytes <= where_.key_room) {
            const ucx::RemoteKey key =
                remote_->unpack(rank, {std::as_const(*at).key(), at->key_bytes});
            remote_->read(rank, at->exposures, key, table->exposures_.data(),
                          table->exposures_.size());
        }
        if (version_of(rank) == version) {
            table->version_ = version;
            break;
        }
    }
    for (std::size_t n = 0; n * table->stride_ < table->exposures_.size(); ++n)
        table->regions_.push_back({table->exposure(n).begin, table->exposure(n).end});
    return table;
}

FarTable::~FarTable() {
    if (!keys_.empty())
        remote_.flush(rank_);
}

const ucx::RemoteKey& FarTable::key(const Exposure& exposure) {
    const std::lock_guard lock(mutex_);
    ucx::RemoteKey& key = keys_[exposure.begin];
    if (!key)
        key = remote_.unpack(rank_, exposure.key());
    return key;
}

std::size_t FarTable::region_of(std::uint64_t address) const {
    const auto at = static_cast<std::size_t>(first_behind(regions_, address) - regions_.begin());
    if (at == regions_.size() || regions_[at].begin > address)
        throw ucx::Error("memory that was attached is not any more");
    return at;
}

bool FarTable::has_in_one(std::uint64_t address, std::size_t bytes) const {
    return regions_[region_of(address)].end - address >= bytes;
}

void FarTable::element(const ucx::ElementAtomic& what, std::uint64_t address,
                       ucx::Completion* completion) {
    remote_.element_by_key(rank_, what, address, key(exposure(region_of(address))), completion);
}

void FarTable::move(Direction direction, std::byte* origin, std::size_t bytes,
                    std::uint64_t address, ucx::Completion* completion) {
    while (bytes != 0) { // neighbouring regions count as one
        const std::size_t at = region_of(address);
        const std::size_t now = std::min<std::size_t>(bytes, regions_[at].end - address);
        remote_.move_by_key(direction, rank_, origin, now, address, key(exposure(at)), completion);
        origin += now;
        address += now;
        bytes -= now;
    }
}

} // namespace rmalock::window
