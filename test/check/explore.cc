// The search strategies; see explore.hh.
#include "explore.hh"

#include "progress.hh"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <stdexcept>

namespace rmalock::check {

namespace {

class Clock {
  public:
    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Violation stuck(const World& world) {
    return {Failure::deadlock, "nobody can go on\n" + world.stuck_processes()};
}

void conclude(Outcome& outcome, const World& world, const Clock& clock) {
    outcome.seconds = clock.seconds();
    outcome.most_overtaken = world.most_overtaken();
    outcome.domain_matters = world.domain_matters();
    outcome.retries = world.retries();
}

/// Depth-first search. Frame d holds the state after d steps, what can happen next, and the stack
/// of the one process that step d has run; the stacks of the others are in the frames below.
class DepthFirst {
  public:
    DepthFirst(const Program& program, const Limits& limits)
        : limits_(limits), world_(program), in_place_(static_cast<std::size_t>(program.ranks)) {}

    /// Tells `graph` every step.
    void record(StateGraph* graph) { graph_ = graph; }
    /// Fails on the first state that is not in `states`.
    void stay_within(const FingerprintSet& states) { allowed_ = &states; }

    /// Searches everything. Again, if called again: the same states have the same fingerprints
    /// then, and only then, because some of a process's local state are addresses.
    Outcome run() {
        const Clock clock;
        begin();
        while (used_ != 0 && outcome_.violation.failure == Failure::none && within_limits(clock))
            advance();
        if (used_ == 0 && !ended_ && outcome_.violation.failure == Failure::none)
            outcome_.violation = {Failure::endless, "no execution ends"};
        outcome_.complete = used_ == 0 && outcome_.violation.failure == Failure::none;
        outcome_.states = seen_.size();
        if (outcome_.violation.failure != Failure::none)
            outcome_.path = path();
        conclude(outcome_, world_, clock);
        return outcome_;
    }

  private:
    /// Where the image of a process's stack is, and which of all images ever made it is.
    struct KeptImage {
        std::size_t frame = 0;
        std::uint64_t serial = 0;
    };
    struct Frame {
        World::State state;
        Fiber::Image stack;
        std::vector<KeptImage> places;
        std::vector<Choice> choices;
        std::size_t next = 0;
        Fingerprint fingerprint = 0;
        Rank last = -1; ///< the process that made the last step, for counting preemptions
        int preemptions = 0;
    };

    Frame& top() { return frames_[used_ - 1]; }

    Frame& push() {
        if (used_ == frames_.size())
            frames_.emplace_back();
        return frames_[used_++];
    }

    void begin() {
        if (initial_ == 0)
            set_up();
        outcome_ = {};
        ended_ = false;
        used_ = initial_;
        go_back_to(top());
        top().fingerprint = fingerprint(top());
        seen_ = FingerprintSet();
        seen_.insert(top().fingerprint);
        fill(top());
    }

    /// One frame per process holds its first stack; the last of them is the initial state.
    void set_up() {
        const Rank ranks = world_.program().ranks;
        frames_.reserve(limits_.depth + static_cast<std::size_t>(ranks) + 1);
        std::vector<KeptImage> places(static_cast<std::size_t>(ranks));
        for (Rank r = 0; r < ranks; ++r)
            save_stack(push(), r, places);
        initial_ = used_;
        top().places = places;
        world_.save(top().state);
    }

    void save_stack(Frame& frame, Rank rank, std::vector<KeptImage>& places) {
        const auto r = static_cast<std::size_t>(rank);
        world_.save_stack(rank, frame.stack);
        places[r] = {used_ - 1, ++serial_};
        in_place_[r] = serial_;
    }

    void fill(Frame& frame) {
        world_.save(frame.state);
        world_.choices(frame.choices);
        frame.next = 0;
        if (frame.choices.empty() && world_.all_finished()) {
            ended_ = true;
            if (graph_ != nullptr)
                graph_->end(frame.fingerprint);
        }
        if (frame.choices.empty() && !world_.all_finished() && !limits_.look_past_deadlocks)
            outcome_.violation = stuck(world_);
    }

    bool within_limits(const Clock& clock) const {
        return seen_.size() < limits_.states &&
               (outcome_.steps % 4096 != 0 || clock.seconds() < limits_.seconds);
    }

    void go_back_to(const Frame& frame) {
        world_.restore(frame.state);
        for (std::size_t r = 0; r < in_place_.size(); ++r) {
            if (in_place_[r] == frame.places[r].serial)
                continue;
            world_.restore_stack(static_cast<Rank>(r), frames_[frame.places[r].frame].stack);
            in_place_[r] = frame.places[r].serial;
        }
    }

    /// Preemptions used after `choice`, or -1 where that is too many. Deliveries are free.
    int preemptions_after(const Frame& frame, Choice choice) const {
        if (limits_.preemptions < 0 || choice.what >= Choice::deliver)
            return frame.preemptions;
        const bool interrupts =
            frame.last >= 0 && frame.last != choice.rank &&
            std::any_of(frame.choices.begin(), frame.choices.end(), [&](Choice c) {
                return c == Choice{frame.last, Choice::go};
            });
        const int used = frame.preemptions + (interrupts ? 1 : 0);
        return used > limits_.preemptions ? -1 : used;
    }

    void advance() {
        Frame& from = top();
        if (from.next == from.choices.size()) {
            if (used_ == initial_)
                used_ = 0;
            else
                --used_;
            return;
        }
        const Choice choice = from.choices[from.next++];
        const int preemptions = preemptions_after(from, choice);
        if (preemptions < 0)
            return;
        go_back_to(from);
        world_.apply(choice);
        in_place_[static_cast<std::size_t>(choice.rank)] = 0;
        ++outcome_.steps;
        if (world_.violation().failure != Failure::none) {
            outcome_.violation = world_.violation();
            return;
        }
        descend(choice, preemptions);
    }

    void descend(Choice choice, int preemptions) {
        Frame& to = push(); // frames_ never reallocates: see reserve() in begin()
        const Frame& from = frames_[used_ - 2];
        to.preemptions = preemptions;
        to.last = choice.what >= Choice::deliver ? from.last : choice.rank;
        to.fingerprint = fingerprint(to);
        if (graph_ != nullptr)
            graph_->step(from.fingerprint, to.fingerprint);
        if (!seen_.insert(to.fingerprint)) {
            --used_;
            return;
        }
        if (allowed_ != nullptr && !allowed_->contains(to.fingerprint))
            outcome_.violation = {Failure::deadlock, "from here the end cannot be reached\n" +
                                                         world_.stuck_processes()};
        to.places = from.places;
        save_stack(to, choice.rank, to.places);
        fill(to);
        outcome_.deepest = std::max(outcome_.deepest, used_ - initial_);
        if (used_ - initial_ >= limits_.depth)
            outcome_.violation = {Failure::endless, "an execution does not end"};
    }

    Fingerprint fingerprint(const Frame& frame) const {
        const Fingerprint f = world_.fingerprint();
        if (limits_.preemptions < 0)
            return f;
        return mix(mix(f, static_cast<std::uint64_t>(frame.preemptions)),
                   static_cast<std::uint64_t>(frame.last + 1));
    }

    std::vector<Choice> path() const {
        std::vector<Choice> choices;
        for (std::size_t i = initial_ - 1; i < used_; ++i)
            if (frames_[i].next != 0)
                choices.push_back(frames_[i].choices[frames_[i].next - 1]);
        return choices;
    }

    Limits limits_;
    World world_;
    Outcome outcome_;
    FingerprintSet seen_;
    std::vector<Frame> frames_;
    std::size_t used_ = 0;
    std::size_t initial_ = 0;
    std::uint64_t serial_ = 0;
    bool ended_ = false; ///< some execution came to its end
    StateGraph* graph_ = nullptr;
    const FingerprintSet* allowed_ = nullptr;
    std::vector<std::uint64_t> in_place_; ///< which image each stack holds now; 0: none
};

/// Picks steps at random. Each execution draws how readily it switches between processes and how
/// long it leaves posted verbs pending: bugs hide behind long runs of one process as well as short
/// ones. Every other execution has priorities instead of switching: the first process that can go
/// on goes on, and now and then the one that runs becomes the last (S. Burckhardt et al., ASPLOS
/// 2010). That finds what needs one process to be late by much.
class Dice {
  public:
    Dice(std::uint64_t seed, Rank ranks) : random_(seed), by_priority_(seed % 2 == 0) {
        switch_ = std::uniform_int_distribution<unsigned>(1, 100)(random_);
        deliver_ = std::uniform_int_distribution<unsigned>(1, 100)(random_);
        for (Rank r = 0; r < ranks; ++r)
            order_.push_back(r);
        std::shuffle(order_.begin(), order_.end(), random_);
    }

    Choice pick(const std::vector<Choice>& choices) {
        const auto deliveries = std::partition_point(
            choices.begin(), choices.end(), [](Choice c) { return c.what < Choice::deliver; });
        const bool only_deliveries = deliveries == choices.begin();
        if (deliveries != choices.end() && (only_deliveries || percent() < deliver_))
            return any(deliveries, choices.end());
        if (by_priority_)
            return first(choices.begin(), deliveries);
        const auto again = std::find(choices.begin(), deliveries, last_);
        if (again != deliveries && percent() >= switch_)
            return last_;
        return last_ = any(choices.begin(), deliveries);
    }

  private:
    using Iterator = std::vector<Choice>::const_iterator;

    unsigned percent() { return std::uniform_int_distribution<unsigned>(0, 99)(random_); }
    Choice any(Iterator begin, Iterator end) {
        return begin[std::uniform_int_distribution<std::ptrdiff_t>(0, end - begin - 1)(random_)];
    }
    Choice first(Iterator begin, Iterator end) {
        for (auto rank = order_.begin();; ++rank) {
            const Rank r = *rank;
            const auto choice = std::find_if(begin, end, [r](Choice c) { return c.rank == r; });
            if (choice == end)
                continue;
            if (percent() * 8 < switch_)
                std::rotate(rank, rank + 1, order_.end());
            return *choice;
        }
    }

    std::mt19937_64 random_;
    bool by_priority_;
    unsigned switch_ = 0;
    unsigned deliver_ = 0;
    Choice last_{-1, Choice::go};
    std::vector<Rank> order_;
};

/// One execution of `world` to its end, steered by `pick`, which returns false to stop.
template <class Pick>
void run_once(World& world, const Limits& limits, Outcome& outcome, Pick&& pick) {
    std::vector<Choice> choices;
    for (std::size_t depth = 0; outcome.violation.failure == Failure::none; ++depth) {
        world.choices(choices);
        if (choices.empty()) {
            if (!world.all_finished())
                outcome.violation = stuck(world);
            return;
        }
        Choice choice;
        if (!pick(choices, choice))
            return;
        outcome.path.push_back(choice);
        world.apply(choice);
        ++outcome.steps;
        outcome.deepest = std::max(outcome.deepest, depth + 1);
        outcome.violation = world.violation();
        if (depth > limits.depth * 1000)
            outcome.violation = {Failure::endless, "an execution does not end"};
    }
}

} // namespace

Outcome explore(const Program& program, const Limits& limits) {
    DepthFirst search(program, limits);
    Outcome outcome = search.run();
    // With a bound on preemptions the end may be out of reach for that reason alone.
    const bool partial = limits.look_past_deadlocks || limits.preemptions >= 0;
    if (!outcome.complete || !outcome.retries || partial)
        return outcome;
    StateGraph graph;
    search.record(&graph);
    const double first = outcome.seconds;
    outcome = search.run();
    outcome.seconds += first;
    outcome.complete = graph.complete();
    if (!outcome.complete)
        return outcome;
    const FingerprintSet good = graph.that_can_end();
    if (good.size() == outcome.states)
        return outcome;
    search.record(nullptr);
    search.stay_within(good);
    return search.run();
}

Outcome run_randomly(const Program& program, const Limits& limits) {
    const Clock clock;
    Outcome outcome;
    for (std::uint64_t run = 0; run < limits.runs && clock.seconds() < limits.seconds; ++run) {
        World world(program);
        Dice dice(limits.seed + run, program.ranks);
        outcome.path.clear();
        run_once(world, limits, outcome, [&](const std::vector<Choice>& choices, Choice& choice) {
            choice = dice.pick(choices);
            return true;
        });
        const Overtaken before = outcome.most_overtaken;
        conclude(outcome, world, clock);
        for (std::size_t m = 0; m < kModes; ++m)
            outcome.most_overtaken[m] = std::max(outcome.most_overtaken[m], before[m]);
        ++outcome.states; // of executions, in this mode
        if (outcome.violation.failure != Failure::none)
            return outcome;
    }
    return outcome;
}

Outcome replay(const Program& program, const std::vector<Choice>& path, Story& story) {
    const Clock clock;
    Outcome outcome;
    World world(program, &story);
    auto next = path.begin();
    run_once(world, Limits{}, outcome, [&](const std::vector<Choice>& choices, Choice& choice) {
        if (next == path.end() || std::find(choices.begin(), choices.end(), *next) == choices.end())
            return false;
        choice = *next++;
        return true;
    });
    conclude(outcome, world, clock);
    return outcome;
}

std::string to_text(const std::vector<Choice>& path) {
    std::string text;
    for (std::size_t i = 0; i < path.size();) {
        std::size_t times = 1;
        while (i + times < path.size() && path[i + times] == path[i])
            ++times;
        text += fmt::format("{}{}", text.empty() ? "" : ".", path[i].rank);
        if (path[i].what == Choice::give_up)
            text += '!';
        if (path[i].what >= Choice::deliver)
            text += fmt::format("+{}", path[i].what - Choice::deliver);
        if (times > 1)
            text += fmt::format("x{}", times);
        i += times;
    }
    return text;
}

std::vector<Choice> from_text(const std::string& text) {
    std::vector<Choice> path;
    const char* at = text.c_str();
    const auto number = [&at] {
        char* end = nullptr;
        const unsigned long n = std::strtoul(at, &end, 10);
        if (end == at)
            throw std::invalid_argument(fmt::format("not a number in a replay string: \"{}\"", at));
        at = end;
        return n;
    };
    while (*at != '\0') {
        Choice choice{static_cast<Rank>(number()), Choice::go};
        if (*at == '!') {
            choice.what = Choice::give_up;
            ++at;
        } else if (*at == '+') {
            ++at;
            choice.what = static_cast<std::uint16_t>(Choice::deliver + number());
        }
        std::size_t times = 1;
        if (*at == 'x') {
            ++at;
            times = number();
        }
        path.insert(path.end(), times, choice);
        if (*at == '.')
            ++at;
    }
    return path;
}

} // namespace rmalock::check
