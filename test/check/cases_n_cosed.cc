// N-CoSED and its mutants.
#include <algorithm>

#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/n_cosed.hh"
#include "mutants/n_cosed.hh"

namespace rmalock::check {
namespace {

constexpr const char* kName = "n_cosed";
using Sizes = locks::NCosedSizes;
template <Sizes kSizes>
struct Variant {
    template <class F>
    using Lock = locks::NCosed<F, kSizes>;
};
using Shipped = Variant<Sizes{}>;
/// The second one comes to a list, of which one has several.
using Small = Variant<Sizes{.inbox = 1, .lists = 1}>;
/// Each shared one tries to make the count less.
using Renewing = Variant<Sizes{.inbox = 1, .lists = 1, .renew_at = 1}>;

Mode mode_of(const Script& script) {
    return script.front().mode;
}

template <class Which, class Fault = Sound>
Case on(std::string lock, const char* configuration, std::vector<Script> scripts,
        const Machine& machine) {
    Case c;
    c.lock = std::move(lock);
    c.configuration = configuration;
    // First come, first served: everybody else can be before you once. But of shared ones that are let
    // in together, one may come again before another has seen it.
    const auto others = static_cast<std::uint32_t>(scripts.size()) - 1;
    const auto shared = std::ranges::count(scripts, Mode::shared, mode_of);
    c.program = program_of<Which::template Lock, Fault>(std::move(scripts), machine);
    c.program.bound[index_of(Mode::exclusive)] = others;
    if (shared == 1)
        c.program.bound[index_of(Mode::shared)] = others;
    return c;
}

Machine with(unsigned locks_at_once, bool scarce_qnodes = false) {
    return {.locks_at_once = locks_at_once, .scarce_qnodes = scarce_qnodes};
}

void add_mutants(std::vector<Case>& cases) {
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto mutant = [&]<class Which, class Fault>(Which, Fault, const char* name,
                                                      Failure expected, const char* configuration,
                                                      std::vector<Script> scripts,
                                                      const Machine& machine = with(1)) {
        cases.push_back(on<Which, Fault>(std::string(kName) + "/" + name, configuration,
                                         std::move(scripts), machine));
        cases.back().expected = expected;
    };
    using namespace n_cosed_fault;
    constexpr Failure kExclusion = Failure::exclusion, kDeadlock = Failure::deadlock;
    mutant(Small{}, ResetsBoth{}, "printed_reset", kDeadlock, "3W", {w2, w2, w2});
    mutant(Small{}, DoesNotDrain{}, "does_not_drain", kExclusion, "1W+1R", {w2, r2});
    mutant(Small{}, TellsNobody{}, "tells_nobody", kDeadlock, "1W+1R", {w2, r2});
    mutant(Small{}, DoesNotAwaitRequests{}, "does_not_await_requests", kDeadlock, "1W+1R",
           {w2, r2});
    mutant(Small{}, DoesNotAwaitListed{}, "does_not_await_listed", kDeadlock, "1W+2R",
           {w1, r1, r1});
    mutant(Small{}, DoesNotAwaitNext{}, "does_not_await_next", kDeadlock, "2W", {w2, w2});
    mutant(Small{}, NoWakeChain{}, "no_wake_chain", kDeadlock, "1W+3R", {w1, r1, r1, r1});
    const Machine scarce = with(1, true);
    mutant(Small{}, MovesAlone{}, "moves_alone", kDeadlock, "1W+1R, stand-ins", {w2, r2}, scarce);
    mutant(Small{}, StandInUnflushed{}, "stand_in_unflushed", kDeadlock, "3W, stand-ins",
           {w2, w2, w2}, scarce);
    mutant(Renewing{}, KeepsDepartures{}, "keeps_departures", kDeadlock, "1W+2R, renewing",
           {w1, r2, r2});
    mutant(Renewing{}, TakesUnseen{}, "takes_unseen", kDeadlock, "1W+2R, renewing", {w1, r2, r2});
    mutant(Small{}, StandInUnflushed{}, "wake_uncleared", kDeadlock, "1W+2R, stand-ins",
           {w2, r2, r2}, scarce);
    cases.back() = with_store_buffer(std::move(cases.back()));
    // It cannot obey the rule of patience (its header, "Overtaking").
    mutant(Small{}, Sound{}, "not_patient", kDeadlock, "hold and wait", hold_and_wait(), with(2));
    mutant(Small{}, Sound{}, "not_patient", kDeadlock, "hold and receive", hold_and_receive(),
           with(2));
}

} // namespace

void add_n_cosed(std::vector<Case>& cases) {
    const auto add = [&]<class Which>(Which, const char* configuration, std::vector<Script> scripts,
                                      const Machine& machine) {
        cases.push_back(on<Which>(kName, configuration, std::move(scripts), machine));
    };
    const auto lingers = [&] { cases.push_back(with_store_buffer(cases.back())); };
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const Machine one = with(1), scarce = with(1, true);
    add(Small{}, "3W", {w2, w2, w2}, one);
    lingers();
    add(Small{}, "2W+1R", {w2, w2, r2}, one);
    lingers();
    add(Small{}, "1W+2R", {w2, r2, r2}, one);
    lingers();
    add(Shipped{}, "1W+2R, as shipped", {w2, r2, r2}, one);
    add(Small{}, "2W+2R once", {w1, w1, r1, r1}, one);
    add(Small{}, "2W+2R", {w2, w2, r2, r2}, one);
    add(Small{}, "1W+3R once", {w1, r1, r1, r1}, one);
    add(Renewing{}, "1W+2R, renewing", {w2, r2, r2}, one);
    lingers();
    add(Renewing{}, "2W+1R, renewing", {w2, w2, r2}, one);
    add(Renewing{}, "2W+2R once, renewing", {w1, w1, r1, r1}, one);
    add(Small{}, "3W, stand-ins", {w2, w2, w2}, scarce);
    lingers();
    add(Small{}, "2W+1R, stand-ins", {w2, w2, r2}, scarce);
    add(Small{}, "1W+2R, stand-ins", {w2, r2, r2}, scarce);
    lingers();
    const Script both_exclusive = both(Mode::exclusive);
    add(Small{}, "2W+1R 2 targets", {both_exclusive, both_exclusive, both(Mode::shared)}, with(2));
    add_mutants(cases);
}

} // namespace rmalock::check
