// pf_alock and its mutants. The processes of the target's node are the first ones.
#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/pf_alock.hh"
#include "mutants/pf_alock.hh"

namespace rmalock::check {
namespace {

constexpr const char* kName = "pf_alock";

/// `here`: processes of the target's node; all others are elsewhere.
Machine here(Rank processes, unsigned locks_at_once = 1) {
    return {.ranks_per_node = processes, .locks_at_once = locks_at_once};
}

template <class Fault = Sound>
Case on(std::string lock, std::string configuration, std::vector<Script> scripts,
        const Machine& machine) {
    Case c;
    c.lock = std::move(lock);
    c.configuration = std::move(configuration);
    c.program = program_of<locks::PfAlock, Fault>(std::move(scripts), machine);
    c.program.domain = Domain::nic;
    if (machine.limits.patience.count() != 0) {
        c.configuration += ", rounds";
        c.program.watch_overtaking = false;
    }
    return c;
}

/// Among writers alone, as in alock.hh: each of a cohort of two waits for the other one, and for two
/// budgets of the other cohort.
Case writers(Case c, std::uint32_t most) {
    c.program.bound[index_of(Mode::exclusive)] = most;
    return c;
}

/// A reader waits for the rest of one chain, and for one more.
Case bounded(Case c) {
    c.program.bound[index_of(Mode::shared)] = 2 * 2;
    return c;
}

/// One writer and one reader that comes again. The reader has seen no writer yet, and goes in; then
/// the writer lets it in as it begins.
constexpr std::uint32_t kPassBegin = 2;
Case passed(Case c) {
    c.program.bound[index_of(Mode::exclusive)] = kPassBegin;
    return c;
}
/// With one round, which lets the reader in once more.
Case passed_in_a_round(std::string lock) {
    return in_at_most(1,
                      on(std::move(lock), "1W+1R x4", {writer(1), reader(4)}, in_rounds(here(1))),
                      kPassBegin + 1);
}

const std::vector<Script> kHoldAndWait = hold_and_wait(), kHoldAndReceive = hold_and_receive(),
                          kMeetInside = meet_inside();

void add_mutants(std::vector<Case>& cases) {
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto mutant = [&]<class Fault>(Fault, const char* name, Failure expected,
                                         const char* configuration, std::vector<Script> scripts,
                                         const Machine& machine) {
        cases.push_back(
            on<Fault>(std::string(kName) + "/" + name, configuration, std::move(scripts), machine));
        cases.back().expected = expected;
    };
    using namespace pf_alock_fault;
    constexpr Failure kExclusion = Failure::exclusion, kDeadlock = Failure::deadlock;
    mutant(OverlooksRemoteReaders{}, "overlooks_remote_readers", kExclusion, "1W+1R", {w2, r2},
           here(1));
    mutant(OverlooksLocalReaders{}, "overlooks_local_readers", kExclusion, "1R+1W", {r2, w2},
           here(1));
    mutant(ReaderOverlooks{}, "reader_overlooks_local", kExclusion, "1W+1R", {w2, r2}, here(1));
    mutant(ReaderOverlooksRemote{}, "reader_overlooks_remote", kExclusion, "1R+1W", {r2, w2},
           here(1));
    mutant(ForgetsThoseLetIn{}, "forgets_those_let_in", kExclusion, "1R+2W", {r2, w2, w2}, here(1));
    mutant(NoFlush{}, "no_flush", kExclusion, "1R+2W", {r2, w2, w2}, here(1));
    mutant(OverlooksWaiting{}, "overlooks_waiting", kExclusion, "1R+2W", {r1, w2, w2}, here(1));
    mutant(NoWake{}, "no_wake", kDeadlock, "1W+1R", {w1, r1}, here(1));
    mutant(NoWakeChain{}, "no_wake_chain", kDeadlock, "1W+2R", {w1, r1, r1}, here(1));
    mutant(NotCountedTwice{}, "not_counted_twice", kExclusion, "1W+2R on the node", {w1, r2, r1},
           in_rounds(here(3)));
    mutant(LocalByAdapter{}, "local_by_adapter", Failure::word_class, "1W+1R on the node", {w1, r1},
           here(2));
    mutant(NoDelivery{}, "no_delivery", Failure::data, "1W+1W", {w2, w2}, here(1));
    mutant(DataOvertaken{}, "data_overtaken", Failure::data, "1W+1R", {w2, r2}, here(1));
    cases.push_back(passed_in_a_round(std::string(kName) + "/a_round_too_many"));
    cases.back().program.most_rounds = 2;
    cases.back().expected = Failure::bypass;
    mutant(Sound{}, "no_rounds", kDeadlock, "hold and wait", kHoldAndWait, here(1, 2));
    mutant(Sound{}, "no_rounds", kDeadlock, "hold and receive", kHoldAndReceive, here(1, 2));
    mutant(Sound{}, "no_rounds", kDeadlock, "readers meet inside", kMeetInside, here(1, 2));
}

void add_rounds(std::vector<Case>& cases) {
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2);
    const auto add = [&](const char* configuration, std::vector<Script> scripts, Rank local) {
        cases.push_back(on(kName, configuration, std::move(scripts), in_rounds(here(local, 2))));
    };
    add("hold and wait", kHoldAndWait, 1);
    add("hold and wait, two here", kHoldAndWait, 2);
    add("hold and wait, all here", kHoldAndWait, 3);
    add("hold and receive", kHoldAndReceive, 1);
    add("hold and receive, two here", kHoldAndReceive, 2);
    add("hold and receive, all here", kHoldAndReceive, 3);
    add("readers meet inside", kMeetInside, 1);
    add("readers meet inside, two here", kMeetInside, 2);
    add("1W+2R", {w1, r1, r1}, 1);
    add("1R+1W+1R", {r1, w2, r1}, 1);
    add("1R+1W+1R, two here", {r1, w2, r1}, 2);
    add("1R+2W", {r1, w1, w1}, 1);
    add("1W+2R on the node", {w1, r2, r1}, 3);
    cases.push_back(passed(on(kName, "1W+1R x4", {w1, reader(4)}, here(1))));
    cases.push_back(passed_in_a_round(kName));
    add("1W+1R x4 on the node", {w1, reader(4)}, 2);
    cases.back() = in_at_most(1, std::move(cases.back()), kPassBegin + 1);
    add("1R+1W x4", {reader(4), w1}, 1);
    cases.back() = in_at_most(1, std::move(cases.back()), kPassBegin + 1);
}

} // namespace

void add_pf_alock(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts, const Machine& m) {
        cases.push_back(bounded(on(kName, configuration, std::move(scripts), m)));
    };
    const auto deep = [&](int preemptions = -1) {
        cases.back().size = Size::deep;
        cases.back().program.watch_overtaking = false;
        cases.back().limits.preemptions = preemptions;
    };
    const auto lingers = [&] { cases.push_back(with_store_buffer(cases.back())); };
    const auto last_first = [&] {
        cases.push_back(cases.back());
        cases.back().configuration += ", last word first";
        cases.back().program.last_first = true;
    };
    const auto w1 = writer(1), w2 = writer(2), w3 = writer(3), r1 = reader(1), r2 = reader(2),
               r3 = reader(3);
    add("1W+1W", {w3, w3}, here(1));
    cases.back() = writers(std::move(cases.back()), 4);
    lingers();
    add("1W+1R", {w3, r3}, here(1));
    lingers();
    last_first();
    add("1R+1W", {r3, w3}, here(1));
    lingers();
    last_first();
    add("1W+1R on the node", {w3, r3}, here(2));
    add("2W+1W", {w2, w2, w1}, here(2));
    cases.back() = writers(std::move(cases.back()), 1 + 4);
    add("2W+1R", {w2, w1, r1}, here(2));
    lingers();
    add("1W+1R and 1W", {w2, r1, w1}, here(2));
    lingers();
    add("1R+2W", {r2, w2, w2}, here(1));
    last_first();
    add("1W+2R", {w2, r1, r1}, here(1));
    add("1W and 1W+1R", {w2, w1, r1}, here(1));
    lingers();
    add("1R and 1W+1R", {r1, w2, r1}, here(1));
    add("1W+1R and 1R", {w2, r1, r1}, here(2));
    const Script both_targets = both(Mode::exclusive);
    add("2W+1R 2 targets", {both_targets, both(Mode::shared), both_targets}, here(1, 2));
    Machine scarce = here(1);
    scarce.scarce_qnodes = true;
    add("1W and 1W+1R, stand-ins", {w1, w1, r1}, scarce);
    lingers();
    add("1W+1R and 1W+1R once", {w1, r1, w1, r1}, here(2));
    deep(4);
    add("2W+1R twice", {w2, w2, r2}, here(2));
    deep();
    add("1W+2R twice", {w2, r2, r2}, here(1));
    deep(5);
    add("1W and 1W+1R twice", {w2, w2, r2}, here(1));
    deep(5);
    add("1W+1R and 1W twice", {w2, r2, w2}, here(2));
    deep();
    add_rounds(cases);
    add_mutants(cases);
}

} // namespace rmalock::check
