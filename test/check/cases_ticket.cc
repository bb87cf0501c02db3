// The ticket lock, which windows take for accumulates, and its mutants.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/parts/ticket.hh"
#include "mutants/ticket.hh"

namespace rmalock::check {

namespace {

template <TicketMutation M>
Case mutant(const char* name, Failure expected) {
    Case c;
    c.lock = std::string("ticket/") + name;
    c.configuration = "3W x3";
    c.program = word_lock<TicketMutant<CheckerFabric, M>>({writer(3), writer(3), writer(3)});
    c.expected = expected;
    // A process that enters too early leaves too early, which strands others as well.
    c.limits.look_past_deadlocks = expected == Failure::exclusion;
    return c;
}

/// Counters of two bits have room for three processes, and wrap at the fourth ticket.
using Narrow = locks::Ticket<CheckerFabric, 2>;

} // namespace

void add_ticket(std::vector<Case>& cases) {
    using Lock = locks::Ticket<CheckerFabric>;
    const auto add = [&](const char* configuration, Program program) {
        Case c;
        c.lock = Lock::kTraits.name;
        c.configuration = configuration;
        c.program = std::move(program);
        // First come, first served: everybody else can be before you once.
        const auto others = static_cast<std::uint32_t>(c.program.ranks) - 1;
        c.program.bound = {others, others, {}, {}};
        cases.push_back(std::move(c));
    };
    const auto w1 = writer(1), w2 = writer(2), w3 = writer(3);
    add("2W once", word_lock<Lock>({w1, w1}));
    add("2W", word_lock<Lock>({w2, w2}));
    add("3W once", word_lock<Lock>({w1, w1, w1}));
    add("3W", word_lock<Lock>({w2, w2, w2}));
    add("3W x3", word_lock<Lock>({w3, w3, w3}));
    add("4W", word_lock<Lock>({w2, w2, w2, w2}));
    add("2W+1R", word_lock<Lock>({w2, w2, reader(2)}));
    add("2W x5, counters wrap", word_lock<Narrow>({writer(5), writer(5)}));
    add("3W x3, counters wrap", word_lock<Narrow>({w3, w3, w3}));
    add("3W 2 targets",
        word_lock<Lock>({both(Mode::exclusive), both(Mode::exclusive), both(Mode::exclusive)}));

    using M = TicketMutation;
    cases.push_back(mutant<M::get_then_add>("get_then_add", Failure::exclusion));
    cases.push_back(mutant<M::get_then_put>("get_then_put", Failure::word_class));
    cases.push_back(mutant<M::serves_two>("serves_two", Failure::deadlock));
    cases.push_back(mutant<M::release_by_put>("release_by_put", Failure::word_class));
    cases.push_back(mutant<M::waits_for_at_least>("waits_for_at_least", Failure::exclusion));
    cases.push_back(mutant<M::keeps_carry>("keeps_carry", Failure::deadlock));
    cases.push_back(mutant<M::enters_early>("enters_early", Failure::exclusion));
    Case early;
    early.lock = "ticket/before_data";
    early.configuration = "2W";
    early.program = word_lock<TicketBeforeData<CheckerFabric>>({w2, w2});
    early.expected = Failure::data;
    cases.push_back(std::move(early));
}

} // namespace rmalock::check
