// The gate between lock_all and exclusive locks: alone, and in front of a lock.
#include "cases.hh"
#include "locks/direct_passive.hh"
#include "locks/gate.hh"
#include "mutants/gate.hh"
#include "queue_setup.hh"

namespace rmalock::check {

namespace {

/// The rooms under the names of a lock's modes.
template <class F>
class Rooms {
  public:
    Rooms(F& fabric, Slot home, locks::Pool& pool) : gate_(fabric, {0, home}, pool) {}

    locks::Hold acquire_shared(Rank) { return enter(locks::Room::lock_all); }
    locks::Hold acquire_exclusive(Rank) { return enter(locks::Room::exclusives); }
    void release_shared(Rank, locks::Hold) { gate_.leave(locks::Room::lock_all); }
    void release_exclusive(Rank, locks::Hold) { gate_.leave(locks::Room::exclusives); }

  private:
    locks::Hold enter(locks::Room room) {
        gate_.enter(room);
        return {};
    }
    locks::Gate<F> gate_;
};

/// A window: direct-passive per target, and the gate in front of its exclusive mode.
template <class F>
class Gated {
  public:
    Gated(F& fabric, Slot home, locks::Pool& pool)
        : gate_(fabric, {0, home}, pool), lock_(fabric, home + locks::Gate<F>::kHomeSlots) {}

    locks::Hold acquire_shared(Rank target) { return lock_.acquire_shared(target); }
    void release_shared(Rank target, locks::Hold hold) { lock_.release_shared(target, hold); }
    locks::Hold acquire_exclusive(Rank target) {
        gate_.enter(locks::Room::exclusives);
        return lock_.acquire_exclusive(target);
    }
    void release_exclusive(Rank target, locks::Hold hold) {
        lock_.release_exclusive(target, hold);
        gate_.leave(locks::Room::exclusives);
    }
    locks::Hold acquire_all() {
        gate_.enter(locks::Room::lock_all);
        return {};
    }
    void release_all(locks::Hold) { gate_.leave(locks::Room::lock_all); }

  private:
    locks::Gate<F> gate_;
    locks::DirectPassive<F> lock_;
};

template <template <class> class Lock, class Fault = Sound>
Case gate(const char* name, const char* configuration, std::vector<Script> scripts) {
    QueueSetup<NoLimits> setup;
    setup.home_slots = 2 * locks::Pool::kNodeSlots;
    Case c;
    c.lock = name;
    c.configuration = configuration;
    c.program = queueing<Lock, Fault>(std::move(scripts), setup);
    return c;
}

template <class Fault>
Case mutant(const char* name, Failure expected) {
    const Script x = repeat(Mode::room0, 2), a = repeat(Mode::room1, 2);
    Case c = gate<Rooms, Fault>(name, "2X+1A", {x, x, a});
    c.expected = expected;
    return c;
}

} // namespace

void add_gate(std::vector<Case>& cases) {
    const Script x = repeat(Mode::room0, 2), a = repeat(Mode::room1, 2);
    const Script x1 = repeat(Mode::room0, 1), a1 = repeat(Mode::room1, 1);
    cases.push_back(gate<Rooms>("gate", "2X+1A", {x, x, a}));
    cases.push_back(gate<Rooms>("gate", "1X+2A", {x, a, a}));
    cases.push_back(gate<Rooms>("gate", "2X+2A once", {x1, x1, a1, a1}));
    cases.back().size = Size::deep;
    cases.push_back(gate<Rooms>("gate", "2X+2A", {x, x, a, a}));
    cases.back().program.watch_overtaking = false;
    cases.back().limits.preemptions = 4;
    cases.back().size = Size::deep;
    cases.push_back(with_store_buffer(gate<Rooms>("gate", "2X+1A once", {x1, x1, a1})));
    const Script w = writer(2), w1 = writer(2, 1), r = reader(2), all = all_locker(2);
    cases.push_back(gate<Gated>("gate+direct_passive", "1W+1R+1A", {w, r, all}));
    cases.push_back(gate<Gated>("gate+direct_passive", "2W 2 targets+1A", {w, w1, all}));

    using namespace gate_fault;
    cases.push_back(mutant<EnterClosedDoor>("gate/enter_closed_door", Failure::exclusion));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(mutant<NoWake>("gate/no_wake", Failure::deadlock));
}

} // namespace rmalock::check
