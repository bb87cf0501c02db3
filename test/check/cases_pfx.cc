// The phase-fair lock and its mutants.
#include "cases.hh"
#include "locks/pfx.hh"
#include "mutants/pfx.hh"
#include "queue_setup.hh"

namespace rmalock::check {

namespace {

template <class Fault = Sound>
Case pfx(std::string name, const char* configuration, std::vector<Script> scripts, Value t_w = 2) {
    QueueSetup<locks::PfxLimits> setup;
    setup.limits.t_w = t_w;
    Case c;
    c.lock = std::move(name);
    c.configuration = configuration;
    c.program = queueing<locks::Pfx, Fault>(std::move(scripts), setup);
    return c;
}

template <class Fault>
Case mutant(const char* fault, Failure expected, const char* configuration = "2W+2R once",
            std::vector<Script> scripts = {writer(1), writer(1), reader(1), reader(1)}) {
    Case c = pfx<Fault>(std::string("pfx/") + fault, configuration, std::move(scripts));
    c.expected = expected;
    return c;
}

} // namespace

void add_pfx(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts,
                         Size size = Size::small, Value t_w = 2) {
        cases.push_back(
            pfx(locks::Pfx<CheckerFabric>::kName, configuration, std::move(scripts), t_w));
        cases.back().size = size;
    };
    add("2W+1R", {writer(2), writer(2), reader(2)});
    add("1W+2R", {writer(2), reader(2), reader(2)});
    add("3W", {writer(2), writer(2), writer(2)});
    add("2W+2R once", {writer(1), writer(1), reader(1), reader(1)});
    add("2W+2R", {writer(2), writer(2), reader(2), reader(2)}, Size::deep);
    add("4W", {writer(2), writer(2), writer(2), writer(2)}, Size::deep);
    add("1W+3R", {writer(2), reader(2), reader(2), reader(2)}, Size::deep);
    add("3W+1R", {writer(2), writer(2), writer(2), reader(2)}, Size::deep);

    using namespace pfx_fault;
    cases.push_back(mutant<NoDrain>("no_drain", Failure::exclusion));
    cases.push_back(mutant<NoVerify>("no_verify", Failure::exclusion, "2W+2R",
                                     {writer(2), writer(2), reader(2), reader(2)}));
    cases.push_back(mutant<NoSelfServe>("no_self_serve", Failure::deadlock));
    cases.push_back(mutant<NoWakeChain>("no_wake_chain", Failure::deadlock));
    cases.push_back(mutant<HwNotCleared>("hw_not_cleared", Failure::wild_word, "3W",
                                         {writer(2), writer(2), writer(2)}));
}

} // namespace rmalock::check
