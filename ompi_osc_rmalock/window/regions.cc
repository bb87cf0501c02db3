#include "window/regions.hh"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <utility>

namespace rmalock::window {
namespace {

/// The first region that ends behind `address`.
RegionTable::const_iterator first_behind(const RegionTable& table, std::uint64_t address) {
    return std::upper_bound(table.begin(), table.end(), address,
                            [](std::uint64_t a, const Region& region) { return a < region.end; });
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
    publish(std::move(changed));
    return true;
}

bool AttachedRegions::detach(std::uint64_t begin) {
    RegionTable changed = *table_;
    const auto found = std::find_if(changed.begin(), changed.end(),
                                    [begin](const Region& region) { return region.begin == begin; });
    if (found == changed.end())
        return false;
    changed.erase(found);
    publish(std::move(changed));
    return true;
}

void AttachedRegions::publish(RegionTable table) {
    auto next = std::make_unique<const RegionTable>(std::move(table));
    const std::uint64_t version = published_.version.load(std::memory_order_relaxed);
    published_.version.store(version + 1, std::memory_order_seq_cst);
    published_.address.store(reinterpret_cast<std::uint64_t>(next->data()),
                             std::memory_order_seq_cst);
    published_.count.store(next->size(), std::memory_order_seq_cst);
    published_.version.store(version + 2, std::memory_order_seq_cst);
    table_ = std::move(next);
}

const RegionTable* RegionCache::table(Rank rank, const PublishedRegions& published, pid_t pid) {
    if (copies_.size() >= kMost && !copies_.contains(rank))
        copies_.clear();
    Copy& copy = copies_[rank];
    if (copy.version == published.version.load(std::memory_order_acquire) ||
        refresh(copy, published, pid))
        return &copy.table;
    copies_.erase(rank);
    return nullptr;
}

bool RegionCache::refresh(Copy& copy, const PublishedRegions& published, pid_t pid) {
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
        const bool read =
            bytes == 0 ||
            process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
        // A table that was replaced meanwhile may be gone, or be anything.
        if (published.version.load(std::memory_order_seq_cst) != version)
            continue;
        copy.version = version;
        return read;
    }
}

} // namespace rmalock::window
