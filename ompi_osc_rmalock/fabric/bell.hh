// Where processes of a node sleep until a word changes, or until they have slept long enough.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "fabric/concept.hh"

namespace rmalock::fabric {

/// Another way to sleep than at a futex, for processes that wait for more than words of their node.
class Dormitory {
  public:
    /// Processes by bits; two that share one are woken together.
    using Marks = std::uint32_t;

    explicit Dormitory(Marks mine) : mine_(mine) {}
    virtual ~Dormitory() = default;
    Dormitory(const Dormitory&) = delete;
    Dormitory& operator=(const Dormitory&) = delete;

    Marks mine() const { return mine_; } ///< one bit
    virtual void wake(Marks marks) = 0;
    /// Until woken, or something else happens, for a bounded time.
    virtual void sleep() = 0;

  private:
    const Marks mine_;
};

/// One per rank, in memory that all processes of the node map, zeroed: waiters for a word of that
/// rank sleep here, and a process that changes one rings. Takes the room of a word.
class Bell {
  public:
    /// After the change, by an operation that is ordered before later loads (an atomic, or a store
    /// and a fence). A load, while nobody sleeps.
    ///
    /// The race with a waiter that falls asleep: it counts itself among the sleepers and looks at
    /// the word afterwards, this one changes the word and counts the sleepers afterwards. All four
    /// are sequentially consistent, so one of the two sees the other.
    ///
    /// `dormitory`: where they sleep, of all processes or of none.
    [[gnu::always_inline]] void ring(Dormitory* dormitory) {
        if (sleepers_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
            wake_all(dormitory);
    }

    /// Sleeps until somebody rings, `most` at the longest, unless `poll()` is true.
    template <class Poll>
    void sleep_unless(Poll&& poll, std::chrono::microseconds most) {
        sleepers_.fetch_add(1, std::memory_order_seq_cst);
        const std::uint32_t rings = rings_.load(std::memory_order_seq_cst);
        if (!poll())
            sleep_unless_rung(rings, most);
        sleepers_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// The same in a dormitory. Of two threads of a process the first one to get up takes the mark
    /// away from both; the other one then sleeps its time.
    template <class Poll>
    void sleep_unless(Poll&& poll, Dormitory& dormitory) {
        sleepers_.fetch_or(dormitory.mine(), std::memory_order_seq_cst);
        if (!poll())
            dormitory.sleep();
        sleepers_.fetch_and(~dormitory.mine(), std::memory_order_relaxed);
    }

  private:
    [[gnu::cold]] void wake_all(Dormitory* dormitory);
    /// `rings`: how often it had rung before the last look.
    void sleep_unless_rung(std::uint32_t rings, std::chrono::microseconds most);

    /// Sequentially consistent; release and acquire would do, which is the same instruction on x86. A
    /// sleeper that has read it before its last look at the word is not kept by the futex after a ring.
    std::atomic<std::uint32_t> rings_;
    /// Their number, or their marks. A process that is killed in its sleep stays counted: all
    /// others then ring for nobody. To get up is relaxed: a sleeper that is awake needs no ring.
    std::atomic<std::uint32_t> sleepers_;
};

static_assert(sizeof(Bell) == sizeof(Value) && alignof(Bell) <= alignof(Value));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

} // namespace rmalock::fabric
