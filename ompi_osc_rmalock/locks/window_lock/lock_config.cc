#include "locks/window_lock/lock_config.hh"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace rmalock::locks {

namespace {

template <std::size_t N>
void keep(char (&field)[N], const char* text) {
    std::snprintf(field, N, "%s", text);
}

/// A number, all of the text, that a threshold may have.
std::optional<Value> threshold(std::string_view text) {
    Value value = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end || value > kLargestThreshold)
        return std::nullopt;
    return value;
}

} // namespace

Choice choose(const WindowTraits& traits) {
    if (traits.ranks == 1)
        return {"direct_passive", "one process: nobody contends"};
    if (traits.one_node)
        return {"pf_mcs",
                "one node: nobody starves, and those that run may pass those that wait, but not "
                "for ever"};
    return {"pf_cohort",
            "several nodes: nobody starves, writers queue on their node, and so do readers that "
            "come often"};
}

std::vector<Value> parse_t_l(std::string_view text, std::string& why) {
    why.clear();
    if (text == "auto")
        return {};
    std::vector<Value> values;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const auto value = threshold(text.substr(begin, end - begin));
        if (!value || values.size() == topology::kMostItems) {
            why = "it is auto, or up to " + std::to_string(topology::kMostItems) +
                  " numbers from 0 to " + std::to_string(kLargestThreshold) +
                  ", separated by commas";
            return {};
        }
        values.push_back(*value);
        begin = end + 1;
    }
    return values;
}

std::optional<Value> parse_passes(std::string_view text, std::string& why) {
    why.clear();
    if (text == "auto")
        return std::nullopt;
    const auto value = threshold(text);
    if (!value)
        why = "it is auto, or a number from 0 to " + std::to_string(kLargestThreshold);
    return value;
}

LockRequestWire to_wire(const LockRequest& request) {
    LockRequestWire mine{};
    keep(mine.lock, request.lock);
    keep(mine.topology, request.topology);
    keep(mine.t_l, request.t_l);
    keep(mine.passes, request.passes);
    mine.t_dc = request.t_dc;
    mine.t_r = request.t_r;
    mine.reader_batch = request.reader_batch;
    mine.t_w = request.t_w;
    mine.patience = request.patience;
    mine.budget_remote = request.budget_remote;
    mine.budget_local = request.budget_local;
    return mine;
}

std::uint64_t fingerprint(const LockRequestWire& request) {
    static_assert(std::has_unique_object_representations_v<LockRequestWire>);
    const std::string_view bytes(reinterpret_cast<const char*>(&request), sizeof request);
    std::uint64_t hash = 14695981039346656037U; // FNV-1a
    for (const char c : bytes)
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    return hash;
}

} // namespace rmalock::locks
