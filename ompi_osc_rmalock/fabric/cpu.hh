// The verbs on memory that every participant maps: CPU atomics, nothing else.
//
// The component's on-node fabric is this class over a window's node-shared state segment; the thread
// fabric of the stress tests is this class over process memory, so that ThreadSanitizer sees the
// shipped verbs and their memory orders.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <span>

#include "fabric/base.hh"
#include "fabric/bell.hh"
#include "fabric/concept.hh"
#include "fabric/layout.hh"
#include "fabric/node_fence.hh"
#include "fabric/waiter.hh"

namespace rmalock::fabric {

/// Orders every earlier store of the caller before every later load (x86: the only reordering).
inline void full_fence() {
#if defined(__SANITIZE_THREAD__)
    // ThreadSanitizer does not model fences; a read-modify-write of one word by all is one it does.
    // Sequentially consistent as the fence; acquire and release would do for that.
    static std::atomic<int> everyone{0};
    everyone.fetch_add(0, std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// Where the words are: rank r's slot s lies at base + r * stride + s * 8.
struct WordSpace {
    std::byte* base = nullptr;
    std::size_t stride = 0; ///< bytes between the parts of two ranks; a multiple of a cache line
    Rank size = 0;          ///< number of ranks
    Slot bell = 0;          ///< of each rank: a Bell, not a word
    /// Where sleepers sleep; null: at the bells. It outlives the fabric.
    Dormitory* dormitory = nullptr;
};

class CpuFabric : public FabricBase<CpuFabric> {
  public:
    CpuFabric(WordSpace space, Rank self, Waiter waiter)
        : space_(space), self_(self), waiter_(waiter) {}

    Rank self() const { return self_; }
    Rank size() const { return space_.size; }
    bool same_node(Rank) const { return true; }
    Domain domain() const { return Domain::cpu; }
    const Waiter& waiter() const { return waiter_; }

    using Resolved = const std::atomic<Value>*;
    Resolved resolve(Word w) const { return &at(w); }

    // Why sequentially consistent. A lock argues in two steps of two processes: each changes a word
    // of its own, then reads the other's, and one of them must see the other (an exclusive enters
    // its holder record and reads M, a lock_all sets M and reads holder records: R1 of all_gate.hh;
    // a reader joins the list and looks at the phase again). Acquire and release let both reads
    // come first. On x86 the loads and the read-modify-writes cost the same in any order; on
    // aarch64 the loads are LDAR instead of LDAPR.
    Value get(Word w) { return get(resolve(w)); }
    Value get(Resolved w) { return w->load(std::memory_order_seq_cst); }
    Value fetch_add(Word w, Value v) { return at(w).fetch_add(v, std::memory_order_seq_cst); }
    Value swap(Word w, Value v) { return at(w).exchange(v, std::memory_order_seq_cst); }
    Value compare_swap(Word w, Value expected, Value desired) {
        at(w).compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
        return expected;
    }

    // Release would do for what the waiter reads. Sequentially consistent because of the bell,
    // which looks for sleepers afterwards. A put is never on an uncontended path.
    void put(Word w, Value v) {
        at(w).store(v, std::memory_order_seq_cst);
        ring(w.rank);
    }
    void add(Word w, Value v) {
        at(w).fetch_add(v, std::memory_order_seq_cst);
        ring(w.rank);
    }

    /// Nobody else changes the word: a plain addition and a release store would not lose any. But
    /// R1 of all_gate.hh reads M behind it, which a store may pass.
    void add_single_writer(Word w, Value v) { at(w).fetch_add(v, std::memory_order_seq_cst); }

    /// The compiler keeps what follows behind the store; the processor need not. Release: where it ends
    /// a mark, an array begins behind what was done under that.
    using Own = std::atomic<Value>*;
    Own own(Slot slot) const { return &at({self_, slot}); }
    [[gnu::always_inline]] void put_own(Own own, Value v) {
        own->store(v, std::memory_order_release);
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    void fence_node() { fence_processes_of_node(); }

    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out) {
        const auto each = static_cast<Slot>(out.size() / ranks.size());
        for (std::size_t r = 0; r < ranks.size(); ++r)
            for (Slot i = 0; i < each; ++i)
                out[r * each + i] = get({ranks[r], first + i * stride});
    }

    void add_each(std::span<const Rank> ranks, Slot slot, Value v) {
        for (const Rank rank : ranks)
            add({rank, slot}, v);
    }

    // Stores are done when they retire; what is left to do is to keep later loads behind them.
    void flush(Rank) { full_fence(); }
    void flush_all() { full_fence(); }

    /// What a wait for the word would see first. An acquire load would not do: a process that goes
    /// to sleep counts itself among the bell's sleepers and looks here afterwards, and where a load
    /// may be done before an earlier store or atomic (POWER; aarch64 with LDAPR) it would miss a
    /// change, and the bell would miss the sleeper (bell.hh).
    Value look(Word w) { return at(w).load(std::memory_order_seq_cst); }

    template <Predicate P>
    Value await(Word w, P pred) {
        Value seen = 0;
        const auto poll = [&] { return pred(seen = look(w)); };
        waiter_.until(poll, {}, [&] { sleep_unless(poll, w.rank); });
        return seen;
    }
    template <Predicate P>
    std::optional<Value> await_until(Word w, P pred, Moment end) {
        Value seen = 0;
        const auto poll = [&] { return pred(seen = look(w)); };
        const bool held = waiter_.until(poll, end, [&] { sleep_unless(poll, w.rank); });
        return held ? std::optional(seen) : std::nullopt;
    }
    Moment after(Duration time) const { return Moment::in(time); }
    void backoff(unsigned attempt) { waiter_.backoff(attempt); }

    /// Beside the verbs: the same as another rank.
    CpuFabric of(Rank self) const { return {space_, self, waiter_}; }
    /// Beside the verbs: wakes all that sleep until a word of `rank` changes.
    void wake(Rank rank) { ring(rank); }

  private:
    std::atomic<Value>& at(Word w) const {
        return reinterpret_cast<std::atomic<Value>*>(part(w.rank))[w.slot];
    }
    template <class Poll>
    void sleep_unless(Poll& poll, Rank rank) {
        if (space_.dormitory != nullptr)
            bell(rank).sleep_unless(poll, *space_.dormitory);
        else
            bell(rank).sleep_unless(poll, waiter_.most_sleep);
    }
    [[gnu::always_inline]] void ring(Rank rank) const { bell(rank).ring(space_.dormitory); }
    Bell& bell(Rank rank) const { return reinterpret_cast<Bell*>(part(rank))[space_.bell]; }
    std::byte* part(Rank rank) const {
        return space_.base + static_cast<std::size_t>(rank) * space_.stride;
    }

    WordSpace space_;
    Rank self_;
    Waiter waiter_;
};

static_assert(sizeof(std::atomic<Value>) == sizeof(Value));
static_assert(std::atomic<Value>::is_always_lock_free);
static_assert(Fabric<CpuFabric>);

} // namespace rmalock::fabric
