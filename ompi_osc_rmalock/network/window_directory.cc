#include "network/window_directory.hh"

#include <algorithm>
#include <utility>

namespace rmalock::network {

WindowDirectory::ClaimedId::ClaimedId(WindowDirectory& directory) : directory_(&directory) {
    const std::lock_guard lock(directory.mutex_);
    std::vector<Entry>& entries = directory.entries_;
    auto entry =
        std::find_if(entries.begin(), entries.end(), [](const Entry& each) { return !each.taken; });
    if (entry == entries.end())
        entry = entries.emplace(entry);
    entry->taken = true;
    id_ = {static_cast<std::uint32_t>(entry - entries.begin()), ++entry->generation};
}

WindowDirectory::ClaimedId::ClaimedId(ClaimedId&& other) noexcept
    : directory_(std::exchange(other.directory_, nullptr)), id_(other.id_) {}

WindowDirectory::ClaimedId::~ClaimedId() {
    if (directory_ == nullptr)
        return;
    const std::lock_guard lock(directory_->mutex_);
    Entry& entry = directory_->entries_[id_.number];
    entry.window = nullptr;
    entry.taken = false;
}

void WindowDirectory::ClaimedId::give_to(MessageSink& window) {
    const std::lock_guard lock(directory_->mutex_);
    directory_->entries_[id_.number].window = &window;
}

void WindowDirectory::ClaimedId::withdraw() {
    const std::lock_guard lock(directory_->mutex_);
    directory_->entries_[id_.number].window = nullptr;
}

MessageSink* WindowDirectory::find(WindowId id) const {
    const std::lock_guard lock(mutex_);
    const bool is_that =
        id.number < entries_.size() && entries_[id.number].generation == id.generation;
    return is_that ? entries_[id.number].window : nullptr;
}

void WindowDirectory::wake_neighbours(std::uint32_t number) const {
    const std::lock_guard lock(mutex_);
    if (number < entries_.size() && entries_[number].window != nullptr)
        entries_[number].window->wake_neighbours();
}

} // namespace rmalock::network
