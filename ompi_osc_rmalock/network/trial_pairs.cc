#include "network/trial_pairs.hh"

#include <algorithm>
#include <set>
#include <utility>

namespace rmalock::network {

namespace {

/// The ranks that stand for others, by kind; each kind in the order of ranks.
std::vector<std::vector<Rank>> kinds_of(std::span<const Station> stations) {
    std::vector<std::uint64_t> numbers;
    std::vector<std::vector<Rank>> kinds;
    std::set<std::pair<std::uint64_t, std::int32_t>> seen;
    for (std::size_t r = 0; r < stations.size(); ++r) {
        const Station& station = stations[r];
        if (!seen.emplace(station.transports, station.node).second)
            continue;
        const auto found = std::find(numbers.begin(), numbers.end(), station.transports);
        const auto kind = static_cast<std::size_t>(found - numbers.begin());
        if (found == numbers.end()) {
            numbers.push_back(station.transports);
            kinds.emplace_back();
        }
        kinds[kind].push_back(static_cast<Rank>(r));
    }
    return kinds;
}

std::vector<Rank> joined(const std::vector<std::vector<Rank>>& kinds) {
    std::vector<Rank> all;
    for (const std::vector<Rank>& kind : kinds)
        all.insert(all.end(), kind.begin(), kind.end());
    return all;
}

} // namespace

std::vector<TrialPair> trial_pairs(std::span<const Station> stations) {
    std::vector<TrialPair> pairs;
    std::vector<std::size_t> places(stations.size());
    std::vector<bool> tries(stations.size()); // atomics: one pair each, so that one can be idle
    const auto add = [&](Rank asks, Rank answers) {
        const auto one = static_cast<std::size_t>(asks), other = static_cast<std::size_t>(answers);
        const bool both_free = !tries[one] && !tries[other];
        if (both_free)
            tries[one] = tries[other] = true;
        pairs.push_back({asks, answers, both_free, places[one]++, places[other]++});
    };
    const auto on_one_node = [&](Rank one, Rank other) {
        return stations[static_cast<std::size_t>(one)].node ==
               stations[static_cast<std::size_t>(other)].node;
    };
    const std::vector<std::vector<Rank>> kinds = kinds_of(stations);
    const bool room = std::ranges::all_of(stations, &Station::has_room);
    if (const std::vector<Rank> all = joined(kinds); room && all.size() <= kFewTry) {
        // Neighbours first, so that most are in a pair of their own kind that tries atomics.
        for (std::size_t apart = 1; apart < all.size(); ++apart)
            for (std::size_t i = apart; i < all.size(); ++i)
                if (!on_one_node(all[i - apart], all[i]))
                    add(all[i - apart], all[i]);
        return pairs;
    }
    for (const std::vector<Rank>& kind : kinds)
        for (std::size_t i = 1; i < kind.size(); ++i)
            add(kind[i - 1], kind[i]);
    const auto add_one_of = [&](const std::vector<Rank>& kind, const std::vector<Rank>& other) {
        for (const Rank one : kind)
            for (const Rank another : other)
                if (!on_one_node(one, another))
                    return add(one, another);
    };
    for (std::size_t kind = 0; kind < kinds.size(); ++kind)
        for (std::size_t other = kind + 1; other < kinds.size(); ++other)
            add_one_of(kinds[kind], kinds[other]);
    return pairs;
}

} // namespace rmalock::network
