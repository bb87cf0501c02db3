// The modelled machine: processes on fibers over the modelled memory, and the steps it can make.
//
// A step is either one process's next verb taking effect, after which the process runs on to its
// next verb, or the delivery of one posted verb. Posting is not a step: nobody can see it, so it
// happens together with the step before it. Which step comes next is for a search to say
// (explore.hh).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ghost.hh"
#include "memory.hh"
#include "model/fiber.hh"

namespace rmalock::check {

using model::Fiber;

class World;

inline constexpr std::uint32_t kEndlessRounds = ~std::uint32_t{0};

/// What runs: how many processes, how much memory, and what each process does.
struct Program {
    Rank ranks = 0;
    Slot slots = 0;          ///< words per rank
    Rank ranks_per_node = 1; ///< rank r is on node r / ranks_per_node
    Rank resources = 1;      ///< what the ghosts know about: one per target, one for a gate
    Domain domain = Domain::cpu;
    bool watch_overtaking = true; ///< counts overtaking; costs states
    bool watch_data = true;       ///< a process that enters must find the data of those that left
    bool store_buffer = false;    ///< a put to one's own rank may linger; see memory.hh
    bool adapters_linger = false; ///< what adapters write CPUs see later; see memory.hh
    bool last_first = false;      ///< add_each and fetch_each begin with the last word
    bool cpus_alone = false;      ///< not asked in Domain::nic, where nobody does this
    bool word_classes = true;     ///< every word has to be of one class of Domain::nic
    /// Words of this slot count events, and are compared with nothing but what the same process has
    /// read there last (locks/parts/node_event_count.hh). So of their values only that is kept: see
    /// World::look. -1: there are none.
    std::int64_t event_slot = -1;
    /// So many times a wait with a patience may end before what it waits for has come, in all processes together.
    std::uint32_t most_rounds = kEndlessRounds;
    OvertakenBound bound{};
    /// A process that waits for the lock in this mode, and could go on, can until it does: else
    /// others may take every chance of its.
    std::optional<Mode> keeps_chances = std::nullopt;
    /// Being overtaken counts from the first read-modify-write of this slot, of any rank; -1: any.
    std::int64_t announcing_slot = -1;
    Value announcing_bits = 0;    ///< and only if it finds all of these set
    Value announcing_clear = 0;   ///< and none of these
    Value announcing_operand = 0; ///< and only with this operand; 0: any
    std::function<void(World&, Rank)> process;

    Rank node_of(Rank rank) const { return rank / ranks_per_node; }
    bool same_node(Rank a, Rank b) const { return node_of(a) == node_of(b); }
    bool counts_events(Word w) const { return event_slot == std::int64_t{w.slot}; }
    bool announces(Word w, Value operand, Value found) const {
        return (announcing_slot < 0 || announcing_slot == std::int64_t{w.slot}) &&
               (found & announcing_bits) == announcing_bits && (found & announcing_clear) == 0 &&
               (announcing_operand == 0 || announcing_operand == operand);
    }
};

/// The verb a suspended process is about to make.
struct NextVerb {
    Verb verb = Verb::get;
    Word word{0, 0};
    Value operand = 0;
    Value expected = 0;      ///< compare_swap
    bool everybody = false;  ///< flush_all
    bool after_data = false; ///< fetch_add_after_data
    bool blind = false;      ///< the process does not learn the result
    bool near = false;       ///< by the CPU, whatever the domain
    /// await: whether `predicate`, which lies on the process's stack, holds.
    bool (*holds)(const void* predicate, Value) = nullptr;
    const void* predicate = nullptr;
    std::source_location at{};
};

/// One step: `rank` goes on, or gives up waiting, or its posted verb number `what - deliver` lands,
/// or the CPUs of its node see the next of what adapters wrote there.
struct Choice {
    static constexpr std::uint16_t go = 0, give_up = 1, deliver = 2, see = 9999;
    Rank rank = 0;
    std::uint16_t what = go;
    friend bool operator==(const Choice&, const Choice&) = default;
};

/// What happened, for a reader: one line each, in order.
using Story = std::vector<std::string>;

class World {
  public:
    /// All processes stand before their first verb. `story`, if any, is told every event.
    explicit World(const Program& program, Story* story = nullptr);
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    // For a search: what can happen next, let it happen, and what came of it.
    void choices(std::vector<Choice>& out) const;
    void apply(Choice choice);
    bool can_go(Rank rank) const;
    bool all_finished() const;
    std::string stuck_processes() const;
    Fingerprint fingerprint() const;
    const Violation& violation() const { return violation_; }
    const Overtaken& most_overtaken() const { return most_overtaken_; }
    bool domain_matters() const { return domain_asked_; }
    /// Some process called back_off: executions may go round in circles.
    bool retries() const { return retries_; }
    const Program& program() const { return program_; }

    // For a search that goes back: all state but the stacks, and the stack of one process.
    struct State;
    void save(State& state) const;
    void restore(const State& state);
    void save_stack(Rank rank, Fiber::Image& image) const { fiber(rank).save(image); }
    void restore_stack(Rank rank, const Fiber::Image& image) { fiber(rank).restore(image); }

    // For the verbs, on the fiber of `rank`.
    Value perform(Rank rank, const NextVerb& request);
    void back_off(Rank rank, std::uint64_t where);
    Fingerprint mark(Rank rank);
    void rewind(Rank rank, Fingerprint mark, std::uint64_t where, Value known);
    bool gave_up(Rank rank) const { return process(rank).gave_up; }
    void post(Posted posted, bool near = false);
    bool lingers(Verb verb) const { return program_.store_buffer && verb == Verb::put; }
    void flush(Rank rank, const NextVerb& request);
    Domain ask_domain() {
        domain_asked_ = true;
        return program_.domain;
    }

    // For a scenario, on the fiber of `rank`.
    void wait(Rank rank, Rank resource, Mode mode, Rank resources = 1);
    void enter(Rank rank);
    void leave(Rank rank, Rank resource, Mode mode, Rank resources = 1);
    /// `rank`, which is about to leave `target`, has put data there that its release delivers.
    void leave_data(Rank rank, Rank resource, Rank target, Mode mode);
    void deliver_data(Rank rank, Rank target);
    /// Between two operations a process's local state is known without its history: `local`.
    void between_operations(Rank rank, Fingerprint local);

  private:
    /// A process leaves the resources it holds when the first verb of its release takes effect.
    struct Leaving {
        Rank resource = -1;
        Rank resources = 1;
        Mode mode = Mode::shared;
    };
    struct Process {
        NextVerb request;
        Value result = 0;
        bool gave_up = false;
        bool finished = false;
        Fingerprint history = 0; ///< of all values seen: the local state of a deterministic program
        /// History at the last mark of the current operation, or after its first verb; 0: neither
        /// yet.
        Fingerprint base = 0;
        Fingerprint before_look = 0; ///< history then, at the last word of Program::event_slot
        Wait wait;
        Leaving leaving;
        /// Data that may not be at the target yet. No part of the fingerprint: how far a release
        /// has come is in the history, and between operations there are none.
        Leaving data;
        Rank data_target = -1; ///< whose memory they are for
    };
    struct Start {
        World* world;
        Rank rank;
    };

    Process& process(Rank rank) { return processes_[static_cast<std::size_t>(rank)]; }
    const Process& process(Rank rank) const { return processes_[static_cast<std::size_t>(rank)]; }
    Fiber& fiber(Rank rank) const { return *fibers_[static_cast<std::size_t>(rank)]; }
    Occupancy& occupancy(Rank resource) { return occupancy_[static_cast<std::size_t>(resource)]; }

    static void run_process(void* start);
    void run_on(Rank rank);
    void step(Rank rank, bool give_up);
    void deliver(Rank rank, unsigned number);
    Posted land(std::size_t posted);
    void fence_node(Rank rank);
    Value take_effect(Rank rank, const NextVerb& request);
    bool by_far_adapter(Rank rank, Word word) const {
        return program_.adapters_linger && !program_.same_node(rank, word.rank);
    }
    void write(Rank rank, Word word, Value v);
    void push_late(Rank rank, Word word, Verb verb, bool near);
    void see(Rank node);
    Value look(Rank rank, Word word) const;
    Value take_effect_on_events(Rank rank, const NextVerb& request);
    void forget_events(Rank rank);
    void finish_leaving(Rank rank);
    std::uint64_t chances_to_keep(Rank rank) const;
    void watch_chances(std::uint64_t before);
    void watch_overtaking(const Wait& entered);
    bool flushed(Rank rank) const;
    void note_use(Rank rank, Verb verb, Word word, bool near);
    Word existing(Rank rank, Word word, const std::source_location& at);
    void fail(Failure failure, std::string text);
    void tell(Rank rank, const NextVerb& request, Value result, bool give_up);

    Program program_;
    Memory memory_;
    WordUses uses_;
    std::vector<Process> processes_;
    std::vector<Occupancy> occupancy_;
    std::uint32_t rounds_ = 0; ///< counted where they have a limit
    std::vector<Start> starts_;
    model::Stacks stacks_;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    Violation violation_;
    Overtaken most_overtaken_{};
    bool domain_asked_ = false;
    bool retries_ = false;
    Story* story_;
};

/// Everything a step may change but the stacks.
struct World::State {
    Memory memory{0, 0};
    std::vector<Process> processes;
    std::vector<Occupancy> occupancy;
    std::uint32_t rounds = 0;
};

} // namespace rmalock::check
