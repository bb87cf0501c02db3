// The gate of a window's locks (lock_all beside exclusives), in front of the locks the plugin
// offers.
#include "cases.hh"
#include "locks/all_gate.hh"
#include "locks/d_mcs.hh"
#include "locks/direct_passive.hh"
#include "locks/pfx.hh"
#include "locks/pool.hh"
#include "mutants/all_gate.hh"
#include "plain_setup.hh"

namespace rmalock::check {

namespace {

/// The words of a rank: the lock's home record, the gate's words, and a pool if the lock queues.
/// Rank 0 is a node, the others are another one.
template <class Lock>
struct Layout {
    static constexpr bool kQueues = requires { Lock::kPoolNodeSlots; };
    static constexpr Slot kGate = Lock::kHomeSlots;
    static constexpr Slot kPool = 2 * locks::Pool::kNodeSlots;
    static constexpr unsigned kNodes = kQueues ? 2 : 0;
    static constexpr Slot kSlots = kQueues ? kPool + locks::Pool::slots(kNodes) : kGate + 3;
};

constexpr Rank kFirstRanks[] = {0, 1};

/// Nobody makes the gate theirs, but for the lock_all that comes first.
constexpr locks::GateLimits kOnce{.alls = 255, .exclusives = 16383};
/// Whoever comes does.
constexpr locks::GateLimits kAtOnce{.alls = 1, .exclusives = 1};

/// What a window does with lock and gate. kRule: a process that holds a lock says so (R4).
template <template <class> class Algorithm, class Fault, bool kRule>
class Window {
    using F = BrokenFabric<Fault>;
    using Lock = Algorithm<F>;
    using Words = Layout<Lock>;

  public:
    Window(CheckerFabric& real, const locks::GateLimits& limits)
        : fabric_(real), pool_(real.self(), Words::kPool, Words::kNodes), lock_(make()),
          gate_(fabric_, lock_, Words::kGate, {real.self() == 0 ? 0 : 1, kFirstRanks}, limits),
          lock(*this) {}

    class Calls {
      public:
        explicit Calls(Window& window) : w_(window) {}
        locks::Hold acquire_shared(Rank target) {
            const locks::Hold hold = locks::acquire_shared(w_.lock_, target, kRule && w_.held_ > 0);
            ++w_.held_;
            return hold;
        }
        void release_shared(Rank target, locks::Hold hold) {
            --w_.held_;
            w_.lock_.release_shared(target, hold);
        }
        locks::Hold acquire_exclusive(Rank target) {
            const locks::Hold hold = w_.gate_.acquire_exclusive(target, kRule && w_.held_ > 0);
            ++w_.held_;
            return hold;
        }
        void release_exclusive(Rank target, locks::Hold hold) {
            --w_.held_;
            w_.gate_.release_exclusive(target, hold);
        }
        locks::Hold acquire_all() {
            w_.gate_.enter_all();
            return {};
        }
        void release_all(locks::Hold) { w_.gate_.leave_all(); }

      private:
        Window& w_;
    };

  private:
    Lock make() {
        if constexpr (!locks::has_shared_mode<Lock>)
            return Lock(fabric_, 0, pool_);
        else if constexpr (Words::kQueues)
            return Lock(fabric_, 0, pool_, {.t_w = 2});
        else
            return Lock(fabric_, 0);
    }

    F fabric_;
    locks::Pool pool_;
    Lock lock_;
    locks::AllGate<F, Lock> gate_;
    std::uint64_t held_ = 0;

  public:
    Calls lock;
};

template <class Fault = Sound, bool kRule = true,
          template <class> class Algorithm = locks::DirectPassive>
Case gate(const char* name, const char* configuration, std::vector<Script> scripts,
          Failure expected = Failure::none, const locks::GateLimits& limits = kOnce) {
    constexpr Slot kSlots = Layout<Algorithm<BrokenFabric<Fault>>>::kSlots;
    Case c;
    c.lock = name;
    c.configuration = configuration;
    c.program =
        make_program<Window<Algorithm, Fault, kRule>>(Cast{std::move(scripts), 1, kSlots}, limits);
    c.expected = expected;
    return c;
}

Script acquire_in_order(std::vector<Operation> operations) {
    Script script = operations;
    for (auto op = operations.rbegin(); op != operations.rend(); ++op)
        script.push_back({Operation::release, op->mode, op->target});
    return script;
}

/// R4: P is in the exclusive room and waits for target 1, which R holds shared; R wants its first
/// exclusive; a lock_all waits for P.
std::vector<Script> hold_and_wait(unsigned lock_alls) {
    using Op = Operation;
    return {
        acquire_in_order({{Op::acquire, Mode::exclusive, 0}, {Op::acquire, Mode::exclusive, 1}}),
        acquire_in_order({{Op::acquire, Mode::shared, 1}, {Op::acquire, Mode::exclusive, 2}}),
        all_locker(lock_alls)};
}

} // namespace

void add_all_gate(std::vector<Case>& cases) {
    const Script w = writer(2), w1 = writer(2, 1), r = reader(2), all = all_locker(2);
    cases.push_back(gate("all_gate", "1W+1A", {w, all_locker(3)}));
    cases.push_back(gate("all_gate", "1W+1R+1A", {w, r, all}));
    cases.push_back(gate("all_gate", "2W 2 targets+1A", {w, w1, all}));
    cases.push_back(gate("all_gate", "1W+2A once", {writer(1), all_locker(1), all_locker(1)}));
    cases.push_back(gate("all_gate", "1W+2A", {w, all, all}));
    cases.push_back(
        gate("all_gate", "2W+2A once", {writer(1), writer(1), all_locker(1), all_locker(1)}));
    cases.back().size = Size::deep;
    cases.push_back(gate("all_gate", "hold-and-wait", hold_and_wait(2)));

    // The gate changes hands with whoever comes.
    const auto changing = [&](const char* configuration, std::vector<Script> scripts,
                              locks::GateLimits limits = kAtOnce) {
        cases.push_back(gate("all_gate", configuration, scripts, Failure::none, limits));
    };
    changing("1W+1A K=1", {w, all_locker(3)});
    changing("1A+1W K=1", {all_locker(3), writer(3)});
    changing("1W+1R+1A K=1", {w, r, all});
    changing("1W+2A once K=1", {writer(1), all_locker(1), all_locker(1)});
    changing("2W 2 targets+1A once K=1", {writer(1), writer(1, 1), all_locker(1)});
    changing("2W+1A once K=1", {writer(1), writer(1), all_locker(1)});
    changing("hold-and-wait K=1", hold_and_wait(1));
    const auto deep = [&] {
        cases.back().size = Size::deep;
        cases.back().program.watch_overtaking = false;
        cases.back().limits.preemptions = 4;
    };
    changing("2W 2 targets+1A K=1", {w, w1, all});
    deep();
    changing("1W+2A K=1", {w, all, all});
    deep();
    changing("2W+2A once K=1", {writer(1), writer(1), all_locker(1), all_locker(1)});
    deep();
    cases.back().limits.preemptions = 3;

    const auto pfx = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(gate<Sound, true, locks::Pfx>("all_gate+pfx", configuration, scripts));
    };
    pfx("1W+1A", {w, all_locker(3)});
    pfx("1W+1R+1A", {writer(1), reader(1), all_locker(1)});
    pfx("2W 2 targets+1A once", {writer(1), writer(1, 1), all_locker(1)});
    pfx("hold-and-wait", hold_and_wait(1));

    // No shared mode: the gate is closed from the start.
    const auto d_mcs = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(gate<Sound, true, locks::DMcs>("all_gate+d_mcs", configuration, scripts));
    };
    d_mcs("1W+1R+1A", {w, r, all});
    d_mcs("2W 2 targets+1A", {w, w1, all});
    d_mcs("hold-and-wait", hold_and_wait(1));

    using namespace all_gate_fault;
    cases.push_back(gate<NoSecondLook>("all_gate/no_second_look", "1W+1A", {w, all_locker(3)},
                                       Failure::exclusion));
    cases.push_back(
        gate<OneMark>("all_gate/one_mark", "1A+1W", {all_locker(3), w}, Failure::exclusion));
    cases.push_back(gate<NobodyWaits>("all_gate/nobody_waits", "1W+2A once",
                                      {writer(1), all_locker(1), all_locker(1)},
                                      Failure::exclusion));
    cases.push_back(
        gate<NoVisit>("all_gate/no_visit", "1W+1A", {w, all_locker(3)}, Failure::exclusion));
    const auto changing_mutant =
        [&]<class Fault>(Fault, const char* name, const char* configuration,
                         std::vector<Script> scripts, Failure expected = Failure::exclusion) {
            cases.push_back(gate<Fault>(name, configuration, scripts, expected, kAtOnce));
        };
    changing_mutant(NoWaitForCounted{}, "all_gate/no_wait_for_counted", "1A+1W K=1",
                    {all_locker(3), writer(3)});
    changing_mutant(OneClosed{}, "all_gate/one_closed", "1W+1A K=1", {w, all_locker(3)});
    changing_mutant(EntersClosed{}, "all_gate/enters_closed", "1A+1W K=1",
                    {all_locker(3), writer(3)});
    cases.back().limits.look_past_deadlocks = true;
    changing_mutant(SeesItGated{}, "all_gate/sees_it_gated", "1A+1W K=1",
                    {all_locker(3), writer(3)});
    changing_mutant(OneUnmarked{}, "all_gate/one_unmarked", "1A+1W K=1", {all_locker(3), writer(3)},
                    Failure::endless);
    cases.push_back(gate<Sound, false>("all_gate/no_hold_and_wait_rule", "hold-and-wait",
                                       hold_and_wait(2), Failure::deadlock));
}

} // namespace rmalock::check
