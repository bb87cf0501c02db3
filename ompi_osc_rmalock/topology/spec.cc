#include "topology/spec.hh"

#include <algorithm>
#include <charconv>
#include <optional>

namespace rmalock::topology {

namespace {

std::string quoted(std::string_view text) {
    return "'" + std::string(text) + "'";
}

std::optional<Kind> kind_of(std::string_view name) {
    for (const Kind kind : {Kind::l3, Kind::numa, Kind::node, Kind::rack})
        if (name == name_of(kind))
            return kind;
    return std::nullopt;
}

/// The number behind the colon; 0 if it is none, or not allowed.
std::int32_t number_in(std::string_view text) {
    std::int32_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    return whole && number >= 1 && number <= kLargestNumber ? number : 0;
}

std::string read_item(std::string_view text, Spec& spec) {
    const std::size_t colon = text.find(':');
    const auto kind = kind_of(text.substr(0, colon));
    if (!kind)
        return quoted(text.substr(0, colon)) +
               " is no level; there are l3, numa, node and rack, or auto or flat alone";
    std::int32_t number = 0;
    if (colon != std::string_view::npos) {
        number = number_in(text.substr(colon + 1));
        if (number == 0)
            return quoted(text) + " needs a number from 1 to " + std::to_string(kLargestNumber) +
                   " behind the colon";
    }
    if (!spec.items.empty() && spec.items.back().kind >= *kind)
        return quoted(name_of(*kind)) + " comes behind " + quoted(name_of(spec.items.back().kind)) +
               "; levels go from small to large";
    spec.items.push_back({*kind, number});
    return "";
}

} // namespace

bool Spec::looks_around() const {
    return automatic || std::any_of(items.begin(), items.end(), [](const Item& item) {
               return item.kind != Kind::node && item.number == 0;
           });
}

Spec parse(std::string_view text, std::string& why) {
    Spec spec;
    why.clear();
    if (text.size() > kLongestSpec) {
        why = "more than " + std::to_string(kLongestSpec) + " characters";
        return spec;
    }
    spec.automatic = text == "auto";
    if (spec.automatic || text == "flat")
        return spec;
    for (std::size_t begin = 0; begin <= text.size() && why.empty();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        why = read_item(text.substr(begin, end - begin), spec);
        begin = end + 1;
    }
    if (why.empty() && spec.items.size() > kMostItems)
        why = "more than " + std::to_string(kMostItems) + " levels";
    return spec;
}

} // namespace rmalock::topology
