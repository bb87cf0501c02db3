// ALock, the paper's listings with their mistakes, and mutants of the shipped header.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/alock.hh"
#include "mutants/alock.hh"

namespace rmalock::check {
namespace {

constexpr const char* kName = "alock";

/// `here`: processes of the target's node, which are the first; all others are elsewhere.
Machine on_nodes_of(Rank here) {
    return {.ranks_per_node = here};
}

/// A process waits for those before it in its queue, and for two budgets of the other cohort each
/// time its own competes: alock.hh.
std::uint32_t bound(Rank its_cohort, Rank other_cohort, const locks::Budgets& budgets) {
    const auto budget = static_cast<std::uint32_t>(std::max(budgets.remote, budgets.local));
    const auto before = static_cast<std::uint32_t>(its_cohort) - 1;
    const std::uint32_t competes = 1 + before / budget;
    return before + (other_cohort != 0 ? competes * 2 * budget : 0);
}

template <class Local>
Case on(std::string lock, const char* configuration, std::vector<Script> scripts,
        const Machine& machine) {
    Case c;
    c.lock = std::move(lock);
    c.configuration = configuration;
    const auto all = static_cast<Rank>(scripts.size());
    c.program = program_of<Local>(std::move(scripts), machine);
    const Rank here = std::min(all, machine.of_a_node()), elsewhere = all - here;
    const auto& budgets = machine.limits.budgets;
    const std::uint32_t most = std::max(bound(here, elsewhere, budgets),
                                        elsewhere != 0 ? bound(elsewhere, here, budgets) : 0U);
    c.program.bound = {most, most, {}, {}};
    c.program.domain = Domain::nic;
    return c;
}
template <class Fault = Sound>
using Shipped = LockLocal<locks::ALock, Fault>;
template <ALockPrinted M>
using Printed = LockLocal<MutantOf<PrintedALock, M>::template Lock>;

void add_mutants(std::vector<Case>& cases) {
    const auto w2 = writer(2);
    const Machine one = on_nodes_of(1), two = on_nodes_of(2);
    const auto mutant = [&]<class Fault>(Fault, const char* name, Failure expected,
                                         const char* configuration, std::vector<Script> scripts,
                                         const Machine& machine) {
        cases.push_back(on<Shipped<Fault>>(std::string(kName) + "/" + name, configuration,
                                           std::move(scripts), machine));
        cases.back().expected = expected;
    };
    using namespace alock_fault;
    mutant(NoFence{}, "no_fence", Failure::exclusion, "1W+1W", {w2, w2}, one);
    mutant(NeverYields{}, "never_yields", Failure::exclusion, "1W+1W", {w2, w2}, one);
    mutant(OverlooksLocal{}, "overlooks_local", Failure::exclusion, "1W+1W", {w2, w2}, one);
    mutant(OverlooksRemote{}, "overlooks_remote", Failure::exclusion, "1W+1W", {w2, w2}, one);
    mutant(LocalByAdapter{}, "local_by_adapter", Failure::word_class, "2W", {w2, w2}, two);
}

void add_printed(std::vector<Case>& cases) {
    const auto printed = [&]<ALockPrinted M>(const char* name, Failure expected) {
        const auto w3 = writer(3);
        cases.push_back(on<Printed<M>>(std::string(kName) + "/printed_" + name, "1W+2W",
                                       {w3, w3, w3}, on_nodes_of(1)));
        cases.back().expected = expected;
    };
    using P = ALockPrinted;
    printed.template operator()<P::corrected>("corrected", Failure::none);
    printed.template operator()<P::single_cas>("single_cas", Failure::deadlock);
    printed.template operator()<P::or_victim>("or_victim", Failure::endless);
    printed.template operator()<P::unfenced>("unfenced", Failure::exclusion);
    printed.template operator()<P::keeps_going>("keeps_going", Failure::bypass);
    // Sound where all see an atomic at once. Where CPUs see it late, the reads that decide have to
    // be behind it at the same adapter (memory.hh).
    const auto w2 = writer(2);
    cases.push_back(
        on<Printed<P::flags_apart>>("alock/flags_apart", "1W+1W", {w2, w2}, on_nodes_of(1)));
    cases.push_back(with_late_adapters(cases.back()));
    cases.back().expected = Failure::exclusion;
}

} // namespace

void add_alock(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts, const Machine& m) {
        cases.push_back(on<Shipped<>>(kName, configuration, std::move(scripts), m));
    };
    const auto w1 = writer(1), w2 = writer(2), w3 = writer(3);
    const Machine one = on_nodes_of(1), two = on_nodes_of(2);
    add("1W+1W", {w3, w3}, one);
    cases.push_back(with_store_buffer(cases.back()));
    add("2W on the node", {w3, w3}, two);
    add("1W+2W", {w2, w2, w2}, one);
    cases.push_back(with_store_buffer(cases.back()));
    add("2W+1W", {w2, w2, w2}, two);
    cases.push_back(with_store_buffer(cases.back()));
    add("2W+2W once", {w1, w1, w1, w1}, two);
    add("1R+1W+1R", {reader(2), w2, reader(2)}, two);
    const Script both_targets = both(Mode::exclusive);
    Machine holds_two = one;
    holds_two.locks_at_once = 2;
    add("3W 2 targets", {both_targets, both_targets, both_targets}, holds_two);
    Machine scarce = two;
    scarce.scarce_qnodes = true;
    add("2W+1W, stand-ins", {w2, w2, w2}, scarce);
    cases.push_back(with_store_buffer(cases.back()));
    add("2W+2W", {w2, w2, w2, w2}, two);
    add_mutants(cases);
    add_printed(cases);
}

} // namespace rmalock::check
