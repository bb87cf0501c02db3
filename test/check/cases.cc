// The table of what is checked; see cases.hh.
#include "cases.hh"

#include <fmt/format.h>

namespace rmalock::check {

Case in_at_most(std::uint32_t rounds, Case c, std::uint32_t most, std::int64_t announcing_slot) {
    c.program.most_rounds = rounds;
    c.program.watch_overtaking = true;
    c.program.bound[index_of(Mode::exclusive)] = most;
    c.program.announcing_slot = announcing_slot;
    c.configuration += fmt::format(", at most {}", rounds);
    return c;
}

Case with_store_buffer(Case c) {
    c.configuration += ", stores linger";
    c.program.store_buffer = true;
    return c;
}

Case with_late_adapters(Case c) {
    c.configuration += ", adapters linger";
    c.program.store_buffer = true;
    c.program.adapters_linger = true;
    c.program.cpus_alone = false;
    c.program.domain = Domain::nic;
    return c;
}

const std::vector<Case>& all_cases() {
    static const std::vector<Case> cases = [] {
        std::vector<Case> all;
#define RMALOCK_LOCK(name, Class) add_##name(all);
#include "locks/all.def"
#undef RMALOCK_LOCK
        add_ticket(all);
        add_elements(all);
        add_event_count(all);
        add_all_gate(all);
        add_large(all);
        add_lingering(all);
        // A lock that lets somebody in too early mostly lets it in before the data are there, too;
        // it has to be caught for the former.
        for (Case& c : all)
            c.program.watch_data = c.expected == Failure::none || c.expected == Failure::data;
        return all;
    }();
    return cases;
}

} // namespace rmalock::check
