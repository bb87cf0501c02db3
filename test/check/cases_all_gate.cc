// The gate of a window's locks (lock_all beside exclusives), in front of direct-passive.
#include "cases.hh"
#include "locks/all_gate.hh"
#include "locks/direct_passive.hh"
#include "mutants/all_gate.hh"
#include "plain_setup.hh"

namespace rmalock::check {

namespace {

/// What a window does with lock and gate. kRule: a process that holds a lock says so (R4).
template <class Fault, bool kRule>
class Window {
    using F = BrokenFabric<Fault>;

  public:
    Window(CheckerFabric& real, const NoSetup&)
        : fabric_(real), lock_(fabric_, 0), gate_(fabric_, lock_, all_gate_fault::kG), lock(*this) {
    }

    class Calls {
      public:
        explicit Calls(Window& window) : w_(window) {}
        locks::Hold acquire_shared(Rank target) {
            const locks::Hold hold = w_.lock_.acquire_shared(target);
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
    F fabric_;
    locks::DirectPassive<F> lock_;
    locks::AllGate<F, locks::DirectPassive<F>> gate_;
    std::uint64_t held_ = 0;

  public:
    Calls lock;
};

template <class Fault = Sound, bool kRule = true>
Case gate(const char* name, const char* configuration, std::vector<Script> scripts,
          Failure expected = Failure::none) {
    constexpr Slot kSlots = 2;
    Case c;
    c.lock = name;
    c.configuration = configuration;
    c.program = make_program<Window<Fault, kRule>>(Cast{std::move(scripts), 1, kSlots}, NoSetup{});
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
    cases.back().size = Size::deep;
    cases.push_back(
        gate("all_gate", "2W+2A once", {writer(1), writer(1), all_locker(1), all_locker(1)}));
    cases.back().size = Size::deep;
    cases.push_back(gate("all_gate", "hold-and-wait", hold_and_wait(2)));

    using namespace all_gate_fault;
    cases.push_back(gate<NoSecondLook>("all_gate/no_second_look", "1W+1A", {w, all_locker(3)},
                                       Failure::exclusion));
    cases.push_back(gate<NobodyWaits>("all_gate/nobody_waits", "1W+2A once",
                                      {writer(1), all_locker(1), all_locker(1)},
                                      Failure::exclusion));
    cases.push_back(
        gate<NoVisit>("all_gate/no_visit", "1W+1A", {w, all_locker(3)}, Failure::exclusion));
    cases.push_back(gate<Sound, false>("all_gate/no_hold_and_wait_rule", "hold-and-wait",
                                       hold_and_wait(2), Failure::deadlock));
}

} // namespace rmalock::check
