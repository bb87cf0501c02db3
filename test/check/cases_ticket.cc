// The ticket locks, which windows take for accumulates, and their mutants.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/parts/passing_ticket.hh"
#include "locks/parts/ticket.hh"
#include "mutants/passing_ticket.hh"
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

/// `passes`, and few bits for counters, as parts of the type, since a Plain lock is built without more.
template <Value limit, unsigned counter_bits = 24>
struct Passing : locks::PassingTicket<CheckerFabric, counter_bits> {
    static constexpr std::uint32_t kLimit = limit;
    static constexpr Value kTicket = locks::PassingTicketWord<counter_bits>::kNext;
    Passing(CheckerFabric& fabric, Slot home)
        : locks::PassingTicket<CheckerFabric, counter_bits>(fabric, home, limit) {}
};

/// From the moment at which a waiter has its ticket it is overtaken by those before it, and by `passes`
/// others ahead of its own ticket, and of the ticket of each that leaves a process behind which can
/// pass.
Program in_order(Program program, Value ticket, std::uint32_t limit) {
    const auto others = static_cast<std::uint32_t>(program.ranks) - 1;
    program.announcing_slot = 0;
    program.announcing_operand = ticket;
    program.bound[index_of(Mode::exclusive)] = others * (1 + limit);
    return program;
}

template <class Lock>
Program passing(std::vector<Script> scripts) {
    return in_order(word_lock<Lock>(std::move(scripts)), Lock::kTicket, Lock::kLimit);
}

template <PassingTicketMutation M>
Case passing_mutant(const char* name, Failure expected) {
    using Lock = PassingTicketMutant<CheckerFabric, M>;
    Case c;
    c.lock = std::string("passing_ticket/") + name;
    c.configuration = "3W x3 passes=1";
    c.program = in_order(word_lock<Lock>({writer(3), writer(3), writer(3)}), Lock::kTicket, 1);
    c.expected = expected;
    c.limits.look_past_deadlocks = expected == Failure::exclusion;
    return c;
}

void add_passing_ticket(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, Program program) {
        Case c;
        c.lock = locks::PassingTicket<CheckerFabric>::kTraits.name;
        c.configuration = configuration;
        c.program = std::move(program);
        cases.push_back(std::move(c));
    };
    const auto w1 = writer(1), w2 = writer(2), w3 = writer(3), w5 = writer(5);
    add("2W once passes=1", passing<Passing<1>>({w1, w1}));
    add("3W once passes=1", passing<Passing<1>>({w1, w1, w1}));
    add("2W x5 passes=0", passing<Passing<0>>({w5, w5}));
    add("2W x5 passes=1", passing<Passing<1>>({w5, w5}));
    add("2W x5 passes=2", passing<Passing<2>>({w5, w5}));
    add("3W x3 passes=0", passing<Passing<0>>({w3, w3, w3}));
    add("3W x3 passes=1", passing<Passing<1>>({w3, w3, w3}));
    add("4W once passes=1", passing<Passing<1>>({w1, w1, w1, w1}));
    add("2W x5 passes=1, counters wrap", passing<Passing<1, 2>>({w5, w5}));
    add("3W x3 passes=0, counters wrap", passing<Passing<0, 2>>({w3, w3, w3}));
    add("3W x3 passes=1, counters wrap", passing<Passing<1, 2>>({w3, w3, w3}));
    add("3W 2 targets passes=1",
        word_lock<Passing<1>>(
            {both(Mode::exclusive), both(Mode::exclusive), both(Mode::exclusive)}));

    using M = PassingTicketMutation;
    cases.push_back(passing_mutant<M::passes_uncounted>("passes_uncounted", Failure::bypass));
    cases.push_back(passing_mutant<M::passes_held>("passes_held", Failure::exclusion));
    cases.push_back(passing_mutant<M::takes_blindly>("takes_blindly", Failure::exclusion));
    cases.push_back(passing_mutant<M::resets_counters>("resets_counters", Failure::deadlock));
    cases.push_back(passing_mutant<M::keeps_carry>("keeps_carry", Failure::deadlock));
    cases.push_back(passing_mutant<M::release_by_put>("release_by_put", Failure::word_class));
    Case early;
    early.lock = "passing_ticket/before_data";
    early.configuration = "2W";
    early.program = word_lock<PassingTicketBeforeData<CheckerFabric>>({w2, w2});
    early.expected = Failure::data;
    cases.push_back(std::move(early));
}

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
    add_passing_ticket(cases);
}

} // namespace rmalock::check
