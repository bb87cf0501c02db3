// DQNL. How often others may come before a process that tries to enter is unbounded.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/dqnl.hh"
#include "mutants/d_mcs.hh"

namespace rmalock::check {
namespace {

template <class Fault = Sound>
Case on(const char* lock, const char* configuration, std::vector<Script> scripts,
        const Machine& machine = {}) {
    Case c;
    c.lock = lock;
    c.configuration = configuration;
    c.program = program_of<locks::Dqnl, Fault>(std::move(scripts), machine);
    return c;
}

/// One that is the first to enter an empty queue does not look whether it is.
struct Swaps : Sound {
    bool compares(Word w) { return w.slot != 0; }
};

} // namespace

void add_dqnl(std::vector<Case>& cases) {
    const auto w2 = writer(2);
    const Machine scarce{.scarce_qnodes = true};
    cases.push_back(on("dqnl", "3W", {w2, w2, w2}));
    cases.push_back(with_store_buffer(cases.back()));
    cases.push_back(on("dqnl", "2W+1R", {w2, w2, reader(2)}));
    const Script both_targets = both(Mode::exclusive);
    cases.push_back(on("dqnl", "3W 2 targets", {both_targets, both_targets, both_targets},
                       {.locks_at_once = 2}));
    cases.push_back(on("dqnl", "3W, stand-ins", {w2, w2, w2}, scarce));
    cases.push_back(on<Swaps>("dqnl/swaps", "2W", {w2, w2}));
    cases.back().expected = Failure::exclusion;
    cases.push_back(
        on<StandInUnflushed>("dqnl/stand_in_unflushed", "3W, stand-ins", {w2, w2, w2}, scarce));
    cases.back().expected = Failure::deadlock;
}

} // namespace rmalock::check
