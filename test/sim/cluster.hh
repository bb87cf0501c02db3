// The simulated machine: processes on fibers, words, adapters, and the events that connect them.
//
// A verb takes effect in one event, so the verbs of all processes have one order. What a CPU does
// on its own node takes a cache line for a time (memory.hh). All else is a message: it leaves the
// origin, travels, is served one after another by what serves its target, takes effect when that
// begins, and is answered or acknowledged. costs.def has what each part takes.
//
// A process that waits for a word of its node sleeps; the event that changes a word of that line
// has it look again. Nothing polls.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <random>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/fiber.hh"
#include "model/occupancy.hh"
#include "sim/costs.hh"
#include "sim/event_queue.hh"
#include "sim/memory.hh"

namespace rmalock::sim {

enum class Verb : std::uint8_t { get, put, fetch_add, swap, compare_swap, data, flush };

constexpr bool is_atomic(Verb verb) {
    return verb == Verb::fetch_add || verb == Verb::swap || verb == Verb::compare_swap;
}

/// Where processes are: successive ranks on nodes, successive nodes in racks.
struct Layout {
    Rank ranks = 1;
    Rank ranks_per_node = 1;
    Rank nodes_per_rack = 0; ///< 0: all in one

    /// Of a server (Cluster) as well.
    Rank node(Rank rank) const { return rank % ranks / ranks_per_node; }
    Rank nodes() const { return node(ranks - 1) + 1; }
    bool same_rack(Rank a, Rank b) const {
        return nodes_per_rack == 0 || node(a) / nodes_per_rack == node(b) / nodes_per_rack;
    }
};

/// What a process did.
struct Counts {
    std::uint64_t verbs = 0;
    std::uint64_t messages = 0;    ///< of these, by the network
    std::uint64_t round_trips = 0; ///< times that it waited for the network
};

/// A property does not hold, or the run does not end.
struct Failure : std::runtime_error {
    enum Kind { exclusion, deadlock, endless, wild_word };
    Failure(Kind failure, const std::string& text) : std::runtime_error(text), kind(failure) {}
    Kind kind;
};

/// What a verb does.
struct VerbCall {
    Verb verb = Verb::get;
    Word word{0, 0};
    Value operand = 0;
    Value expected = 0;    ///< compare_swap
    std::size_t bytes = 0; ///< data
};

class Cluster {
  public:
    using Process = std::function<void(Cluster&, Rank)>;

    /// `slots` words for each rank. `process` is what each does.
    Cluster(const Layout& layout, Slot slots, const Costs& costs, std::uint64_t seed,
            Process process);
    /// The same with `servers` at each rank, which have a core each and need not end. Server s of rank
    /// r is rank (1 + s) * layout.ranks + r, and has no words.
    Cluster(const Layout& layout, Slot slots, const Costs& costs, std::uint64_t seed,
            Process process, Rank servers, Process server);
    Cluster(const Cluster&) = delete;
    Cluster& operator=(const Cluster&) = delete;

    /// To the end; throws Failure, or what a process throws. After `most_verbs` (0: never) it is
    /// endless.
    void run(std::uint64_t most_verbs = 0);

    const Layout& layout() const { return layout_; }
    const Costs& costs() const { return costs_; }
    Time now() const { return now_; }
    const Counts& counts(Rank rank) const { return at(rank).counts; }
    Counts all_counts() const;
    Value word(Word w) const { return memory_[w]; }
    /// For what processes draw; one sequence for all.
    std::mt19937_64& random() { return random_; }

    // On the fiber of `rank`: verbs.
    Value cpu(Rank rank, const VerbCall& operation);
    Value fetch(Rank rank, const VerbCall& operation);
    /// And gets of words of the same rank from `first` on, behind it.
    Value fetch_then_get(Rank rank, const VerbCall& operation, Slot first, std::span<Value> out);
    void post(Rank rank, const VerbCall& operation);
    void scan(Rank rank, std::span<const Rank> ranks, Slot first, Slot stride,
              std::span<Value> out);
    static constexpr Rank kAll = -1;
    static constexpr Time kNever = Time::max();
    void flush(Rank rank, Rank home);
    using Holds = bool (*)(const void* predicate, Value);
    /// Sleeps until `holds` of a word of the node, or until `end`. Returns whether it does.
    bool sleep_until(Rank rank, Word word, Holds holds, const void* predicate, Time end);
    /// Of the word that the process last awaited.
    Value seen(Rank rank) const { return at(rank).result; }
    void pass(Rank rank, Time time);
    /// Gets or puts data of the program.
    void access(Rank rank, Rank target, std::size_t bytes);
    void from(Rank rank, const std::source_location& location) { at(rank).location = location; }

    /// All under way at a time.
    void fetch_each(Rank rank, std::span<const VerbCall> operations, std::span<Value* const> out);

    // For a benchmark, on the fiber of `rank`: ghosts.
    void enter(Rank rank, model::Mode mode, std::size_t lock = 0);
    void leave(model::Mode mode, std::size_t lock = 0) { inside(lock).leave(mode); }
    void wait(Rank rank, model::Mode mode) { at(rank).mode = mode; }

  private:
    static constexpr Rank kNobody = -2;

    /// What a process has posted to one home in a row, and does not know to be done.
    struct Posted {
        Rank home = 0;
        std::uint32_t under_way = 0;
        Time done{}; ///< when the last acknowledgement is there
    };
    /// A line that the process's core has read.
    struct Cached {
        std::size_t line = ~std::size_t{0};
        std::uint32_t version = 0;
    };
    struct State {
        Counts counts;
        VerbCall operation;
        Value result = 0;
        Time ahead{}; ///< by which the process is past now()
        std::uint32_t answers_to_come = 0;
        Time answered{}; ///< when the last of them is there
        std::vector<Posted> posted;
        std::uint32_t under_way = 0; ///< of all of them
        bool flushes = false;
        Rank flushed = kAll; ///< which home
        // A wait for a word.
        Holds holds = nullptr;
        const void* predicate = nullptr;
        Word awaited{-1, 0};
        std::uint32_t waits = 0;
        bool look_noted = false;
        bool in_vain = false;
        Rank next_waiter = 0; ///< and 1, of the same line
        std::array<Cached, 8> cache;
        std::source_location location{};
        model::Mode mode{};
    };
    struct Message {
        Rank origin = 0;
        bool answered = false;
        VerbCall operation;
        Value* out = nullptr; ///< where the answer goes
        Slot words = 1, stride = 1;
        Slot first_along = 0; ///< of the words that are read behind it
        std::span<Value> along{};
        std::size_t posted = 0; ///< which of its origin's, if it is not answered
    };
    struct Start {
        Cluster* cluster;
        Rank rank;
    };

    model::Occupancy& inside(std::size_t lock) {
        inside_.resize(std::max(inside_.size(), lock + 1));
        return inside_[lock];
    }
    State& at(Rank rank) { return states_[static_cast<std::size_t>(rank)]; }
    const State& at(Rank rank) const { return states_[static_cast<std::size_t>(rank)]; }

    static void run_process(void* start);
    void happen(const Event& event);
    void go_on(Rank rank);
    void suspend(Rank rank);
    void suspend_until(Rank rank, Time time);
    void settle(Rank rank);

    void demand(Rank rank, Word word) const;
    Cached& entry(State& state, Word word);
    void take_effect(Rank rank);
    Value apply(const VerbCall& operation);
    void changed(Word word);
    void look(Rank rank);
    void end_wait(Rank rank, bool in_vain);

    void send(Rank rank, const Message& message);
    void await_answers(Rank rank);
    void arrive(std::uint32_t number);
    void serve(std::uint32_t number);
    void acknowledge(const Message& message, Time time);
    std::size_t server(Rank home) const;
    Time service(const Message& message) const;
    Time way(Rank from, Rank to);

    void ask(Rank rank);
    static void forget_flushed(State& state);
    static bool concerns(const State& state, const Posted& posted) {
        return posted.home != kNobody && (state.flushed == kAll || state.flushed == posted.home);
    }
    static bool all_done(const State& state, Time& done);

    [[noreturn]] void fail_stuck();
    std::string description(Rank rank) const;

    const Layout layout_;
    const Costs costs_;
    const Process process_, server_;
    Memory memory_;
    EventQueue queue_;
    Time now_{};
    std::mt19937_64 random_;
    std::vector<State> states_;
    std::vector<Time> server_free_; ///< by node or rank: when it has served what it has taken
    std::vector<Time> sender_free_; ///< by node
    std::vector<Message> messages_;
    std::vector<std::uint32_t> free_messages_;
    std::vector<model::Occupancy> inside_; ///< by lock
    model::Stacks stacks_;
    std::vector<Start> starts_;
    std::vector<std::unique_ptr<model::Fiber>> fibers_;
    Rank finished_ = 0;
    std::uint64_t verbs_ = 0;
    std::exception_ptr thrown_;
};

} // namespace rmalock::sim
