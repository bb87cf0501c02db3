// Which process lets which go first at the gate (locks/window_lock/all_gate.hh), on threads. Each
// step is waited for where it shows, in the gate's word.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "harness/lock_parts.hh"
#include "harness/thread_words.hh"
#include "locks/window_lock/all_gate.hh"
#include "locks/algorithms/direct_passive.hh"

namespace rmalock::test {
namespace {

using fabric::WindowSlots;
using locks::GateWord;

/// Others see how often its process has added to words.
struct Watched : NodesOfTwo {
    using NodesOfTwo::NodesOfTwo;
    fabric::Value fetch_add(fabric::Word w, fabric::Value v) {
        const fabric::Value before = NodesOfTwo::fetch_add(w, v);
        ++added;
        return before;
    }
    std::atomic<int> added{0};
};

class Turns : public testing::Test {
  protected:
    static constexpr fabric::Rank kRanks = 4, kTarget = 0;
    static constexpr locks::Duration kForEver{0};
    using F = Watched;
    struct Process {
        Process(const ThreadWords& words, fabric::Rank self, locks::Duration patience)
            : fabric(words.fabric(self)), parts(fabric), lock(parts.env({})),
              gate(fabric, lock, WindowSlots::gate, {},
                   {.alls = 8, .exclusives = 16, .patience = patience}) {}
        F fabric;
        LockParts<F> parts;
        locks::DirectPassive<F> lock;
        locks::AllGate<F, locks::DirectPassive<F>> gate;
    };

    fabric::Value gate_word() { return inside.fabric.get({0, WindowSlots::gate}); }
    void until(const std::function<bool(fabric::Value)>& holds) {
        while (!holds(gate_word()))
            std::this_thread::yield();
    }
    /// A thread that wants the target exclusively, and waits, since `inside` is in lock_all.
    void let_somebody_wait() {
        inside.gate.enter_all();
        exclusive = std::thread([this] {
            const locks::Hold hold = waits.gate.acquire_exclusive(kTarget);
            got_it = true;
            waits.gate.release_exclusive(kTarget, hold);
        });
        until([](fabric::Value g) { return GateWord::waiting(g) == 1; });
    }
    void let_it_go() {
        inside.gate.leave_all();
        exclusive.join();
        EXPECT_TRUE(got_it);
    }

    ThreadWords words{kRanks, WindowSlots::count(kRanks, {})};
    Process inside{words, 0, kForEver}, waits{words, 1, kForEver};
    std::thread exclusive;
    std::atomic<bool> got_it{false};
};

TEST_F(Turns, ANewLockAllLetsWaitersGoFirst) {
    let_somebody_wait();
    Process comes(words, 2, kForEver);
    std::thread thread([&] {
        comes.gate.enter_all();
        EXPECT_TRUE(got_it);
        comes.gate.leave_all();
    });
    while (comes.fabric.added != 2) // it has come, and has stepped back
        std::this_thread::yield();
    EXPECT_EQ(GateWord::alls(gate_word()), 1U);
    EXPECT_FALSE(got_it);
    let_it_go();
    thread.join();
    EXPECT_EQ(GateWord::waiting(gate_word()), 0U);
    EXPECT_EQ(GateWord::alls(gate_word()), 0U);
    EXPECT_EQ(GateWord::exclusives(gate_word()), 0U);
}

TEST_F(Turns, ALockAllStepsBackForItsPatience) {
    let_somebody_wait();
    Process comes(words, 2, locks::Duration(100));
    comes.gate.enter_all(); // or this does not end
    EXPECT_FALSE(got_it);
    comes.gate.leave_all();
    let_it_go();
}

TEST_F(Turns, AnExclusiveGoesPastALockAllThatOnlyWaits) {
    inside.gate.enter_all(); // so that exclusives go through the gate from now on
    inside.gate.leave_all();
    const locks::Hold first = inside.gate.acquire_exclusive(kTarget);
    Process comes(words, 2, kForEver);
    std::thread all([&] {
        comes.gate.enter_all();
        comes.gate.leave_all();
    });
    until([](fabric::Value g) { return GateWord::alls(g) == 1; });
    Process impatient(words, 3, locks::Duration(100));
    impatient.gate.release_exclusive(1,
                                     impatient.gate.acquire_exclusive(1)); // or this does not end
    EXPECT_EQ(GateWord::alls(gate_word()), 1U);
    inside.gate.release_exclusive(kTarget, first);
    all.join();
}

} // namespace
} // namespace rmalock::test
