#include "window/diag/counts.hh"

#include <algorithm>
#include <cstdio>
#include <string>

namespace rmalock::window {

void Acquisitions::report(rmalock_counters_t& counters) const {
    const auto value = [](const fabric::Count& count) { return count.value(); };
    *counters.exclusive_locks = value(acquired_[index(Mode::exclusive)]);
    *counters.shared_locks = value(acquired_[index(Mode::shared)]);
    *counters.lock_alls = value(acquired_[index(Mode::all)]);
    *counters.exclusive_waits = value(waited_[index(Mode::exclusive)]);
    *counters.shared_waits = value(waited_[index(Mode::shared)]);
    *counters.lock_all_waits = value(waited_[index(Mode::all)]);
    *counters.wait_nanoseconds = value(nanoseconds_);
    std::transform(histogram_.begin(), histogram_.end(), counters.wait_histogram, value);
}

rmalock_counters_t total(const std::vector<rmalock_counters_t>& of_each) {
    rmalock_counters_t sum{};
    for (const rmalock_counters_t& one : of_each) {
#define RMALOCK_COUNTER(name, values, help)                                                        \
    for (std::size_t i = 0; i < (values); ++i)                                                     \
        sum.name[i] += one.name[i];
#include "counters.def"
#undef RMALOCK_COUNTER
    }
    return sum;
}

namespace {

/// With commas between thousands.
std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;)
        text.insert(at -= 3, 1, ',');
    return text;
}

/// The upper end of the bin that holds the wait at `share` (0 to 1) of all, as text.
std::string wait_at(const rmalock_counters_t& counters, double share) {
    std::uint64_t all = 0, before = 0;
    for (const std::uint64_t n : counters.wait_histogram)
        all += n;
    constexpr std::size_t kLast = std::size(decltype(rmalock_counters_t::wait_histogram){}) - 1;
    std::size_t bin = 0;
    while (bin < kLast && static_cast<double>(before += counters.wait_histogram[bin]) <
                              share * static_cast<double>(all))
        ++bin;
    const std::uint64_t microseconds = std::uint64_t{1} << std::min(bin, kLast - 1);
    return (bin == kLast ? "more than " : "less than ") + grouped(microseconds) + " us";
}

} // namespace

std::string describe(const rmalock_counters_t& c) {
    const std::uint64_t locks = *c.exclusive_locks + *c.shared_locks + *c.lock_alls;
    const std::uint64_t waits = *c.exclusive_waits + *c.shared_waits + *c.lock_all_waits;
    std::string text = "locks: " + grouped(*c.exclusive_locks) + " exclusive, " +
                       grouped(*c.shared_locks) + " shared, " + grouped(*c.lock_alls) + " lock_all";
    if (locks != 0) {
        char share[32];
        std::snprintf(share, sizeof share, "%.1f %%",
                      100.0 * static_cast<double>(waits) / static_cast<double>(locks));
        text += std::string("; waited: ") + share;
    }
    if (waits != 0)
        text += ", " + grouped(*c.wait_nanoseconds / waits / 1000) + " us on average, half " +
                wait_at(c, 0.5) + ", 99 % " + wait_at(c, 0.99);
    return text + "; hand-overs: " + grouped(*c.handovers_on_node) + " on node, " +
           grouped(*c.handovers_off_node) + " off; changes of mode: " + grouped(*c.mode_changes) +
           "; verbs: " + grouped(*c.verbs_on_node) + " on node, " + grouped(*c.verbs_off_node) +
           " off; round trips: " + grouped(*c.round_trips);
}

} // namespace rmalock::window
