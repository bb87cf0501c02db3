// The simulated machine; see cluster.hh.
#include "sim/cluster.hh"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace rmalock::sim {

Cluster::Cluster(const Layout& layout, Slot slots, const Costs& costs, std::uint64_t seed,
                 Process process)
    : Cluster(layout, slots, costs, seed, std::move(process), 0, {}) {}

Cluster::Cluster(const Layout& layout, Slot slots, const Costs& costs, std::uint64_t seed,
                 Process process, Rank servers, Process server)
    : layout_(layout), costs_(costs), process_(std::move(process)), server_(std::move(server)),
      memory_(layout.ranks, slots), random_(seed),
      states_(static_cast<std::size_t>(layout.ranks * (1 + servers))),
      server_free_(static_cast<std::size_t>(costs.served_by == ServedBy::cpu ? layout.ranks
                                                                             : layout.nodes())),
      sender_free_(static_cast<std::size_t>(layout.nodes())), stacks_(states_.size()) {
    for (Rank r = 0; r < layout.ranks * (1 + servers); ++r)
        starts_.push_back({this, r});
    for (Start& start : starts_) {
        fibers_.push_back(std::make_unique<model::Fiber>(&Cluster::run_process, &start,
                                                         stacks_.bottom(fibers_.size())));
        queue_.push(Time{}, Event::resume, static_cast<std::uint32_t>(start.rank));
    }
}

void Cluster::run_process(void* start) {
    const Start& self = *static_cast<const Start*>(start);
    try {
        Cluster& cluster = *self.cluster;
        (self.rank < cluster.layout_.ranks ? cluster.process_ : cluster.server_)(cluster,
                                                                                 self.rank);
    } catch (...) { // it must not leave the fiber
        self.cluster->thrown_ = std::current_exception();
    }
}

void Cluster::run(std::uint64_t most_verbs) {
    while (!queue_.empty()) {
        const Event event = queue_.pop();
        now_ = event.time;
        happen(event);
        if (thrown_)
            std::rethrow_exception(thrown_);
        if (most_verbs != 0 && verbs_ > most_verbs)
            throw Failure(Failure::endless, fmt::format("no end after {} verbs", most_verbs));
    }
    if (finished_ != layout_.ranks)
        fail_stuck();
}

void Cluster::happen(const Event& event) {
    const Rank rank = static_cast<Rank>(event.what); // of all but messages
    switch (event.kind) {
    case Event::resume:
        return go_on(rank);
    case Event::verb:
        take_effect(rank);
        return go_on(rank);
    case Event::look:
        return look(rank);
    case Event::timeout:
        if (at(rank).awaited.rank >= 0 && at(rank).waits == event.wait)
            end_wait(rank, true);
        return;
    case Event::arrive:
        return arrive(event.what);
    case Event::serve:
        return serve(event.what);
    }
}

// ---- processes ---------------------------------------------------------------------------------

void Cluster::go_on(Rank rank) {
    model::Fiber& fiber = *fibers_[static_cast<std::size_t>(rank)];
    fiber.resume();
    finished_ += rank < layout_.ranks && fiber.finished();
}

void Cluster::suspend(Rank rank) {
    fibers_[static_cast<std::size_t>(rank)]->suspend();
}

void Cluster::suspend_until(Rank rank, Time time) {
    queue_.push(time, Event::resume, static_cast<std::uint32_t>(rank));
    suspend(rank);
}

/// Lets the others catch up with a process that has gone on while it sent messages.
void Cluster::settle(Rank rank) {
    const Time ahead = std::exchange(at(rank).ahead, Time{});
    if (ahead != Time{})
        suspend_until(rank, now_ + ahead);
}

void Cluster::pass(Rank rank, Time time) {
    const Time ahead = std::exchange(at(rank).ahead, Time{});
    suspend_until(rank, now_ + ahead + time);
}

void Cluster::access(Rank rank, Rank target, std::size_t bytes) {
    if (layout_.node(rank) == layout_.node(target))
        return pass(rank, costs_.near + costs_.moving(bytes));
    fetch(rank, {.verb = Verb::data, .word = {target, 0}, .bytes = bytes});
}

Counts Cluster::all_counts() const {
    Counts all;
    for (const State& state : states_) {
        all.verbs += state.counts.verbs;
        all.messages += state.counts.messages;
        all.round_trips += state.counts.round_trips;
    }
    return all;
}

// ---- verbs of a CPU on words of its node -------------------------------------------------------

void Cluster::demand(Rank rank, Word word) const {
    if (!memory_.has(word))
        throw Failure(Failure::wild_word, fmt::format("{} names word {}[{}], which is not there",
                                                      description(rank), word.rank, word.slot));
}

Value Cluster::cpu(Rank rank, const VerbCall& operation) {
    demand(rank, operation.word);
    settle(rank);
    State& state = at(rank);
    Line& line = memory_.line(operation.word);
    ++state.counts.verbs, ++verbs_;
    state.operation = operation;
    const bool reads = operation.verb == Verb::get;
    const Time begin = reads ? now_ : std::max(now_, line.free);
    const bool mine_and_free = line.owner == rank + 1 && begin == now_;
    const Cached& cached = entry(state, operation.word);
    const bool seen =
        cached.line == memory_.line_number(operation.word) && cached.version == line.version;
    const Time end = begin + (mine_and_free || (reads && seen) ? costs_.own : costs_.near);
    if (!reads)
        line.free = end;
    queue_.push(end, Event::verb, static_cast<std::uint32_t>(rank));
    suspend(rank);
    return state.result;
}

Cluster::Cached& Cluster::entry(State& state, Word word) {
    return state.cache[memory_.line_number(word) % state.cache.size()];
}

void Cluster::take_effect(Rank rank) {
    State& state = at(rank);
    const Word word = state.operation.word;
    Line& line = memory_.line(word);
    state.result = apply(state.operation);
    if (state.operation.verb != Verb::get)
        line.owner = rank + 1;
    else if (line.owner != rank + 1)
        line.owner = 0;
    entry(state, word) = {memory_.line_number(word), line.version};
}

/// Returns what the word was.
Value Cluster::apply(const VerbCall& operation) {
    Value& word = memory_[operation.word];
    const Value before = word;
    switch (operation.verb) {
    case Verb::get:
    case Verb::data:
    case Verb::flush:
        return before;
    case Verb::put:
    case Verb::swap:
        word = operation.operand;
        break;
    case Verb::fetch_add:
        word += operation.operand;
        break;
    case Verb::compare_swap:
        if (before == operation.expected)
            word = operation.operand;
        break;
    }
    changed(operation.word);
    return before;
}

/// All waiters of the word look at it; the line has to come to them first.
void Cluster::changed(Word word) {
    Line& line = memory_.line(word);
    line.owner = 0;
    ++line.version;
    for (Rank r = line.waiter; r != 0; r = at(r - 1).next_waiter) {
        State& waiter = at(r - 1);
        if (waiter.awaited == word && !std::exchange(waiter.look_noted, true))
            queue_.push(now_ + costs_.near + costs_.wake, Event::look,
                        static_cast<std::uint32_t>(r - 1));
    }
}

// ---- waits for words of the node ---------------------------------------------------------------

bool Cluster::sleep_until(Rank rank, Word word, Holds holds, const void* predicate, Time end) {
    State& state = at(rank);
    if (end <= now_)
        return false;
    Line& line = memory_.line(word);
    state.holds = holds;
    state.predicate = predicate;
    state.awaited = word;
    state.look_noted = state.in_vain = false;
    state.next_waiter = std::exchange(line.waiter, rank + 1);
    ++state.waits;
    if (end != kNever)
        queue_.push(end, Event::timeout, static_cast<std::uint32_t>(rank), state.waits);
    suspend(rank);
    return !state.in_vain;
}

void Cluster::look(Rank rank) {
    State& state = at(rank);
    if (state.awaited.rank < 0 || !std::exchange(state.look_noted, false))
        return; // its time has come before
    Line& line = memory_.line(state.awaited);
    line.owner = 0;
    entry(state, state.awaited) = {memory_.line_number(state.awaited), line.version};
    state.result = memory_[state.awaited];
    if (state.holds(state.predicate, state.result))
        end_wait(rank, false);
}

void Cluster::end_wait(Rank rank, bool in_vain) {
    State& state = at(rank);
    Rank* link = &memory_.line(state.awaited).waiter;
    while (*link != rank + 1)
        link = &at(*link - 1).next_waiter;
    *link = state.next_waiter;
    state.awaited = {-1, 0};
    state.in_vain = in_vain;
    go_on(rank);
}

// ---- messages ----------------------------------------------------------------------------------

Time Cluster::way(Rank from, Rank to) {
    const Time base = layout_.node(from) == layout_.node(to) ? costs_.loopback
                      : layout_.same_rack(from, to)          ? costs_.rack
                                                             : costs_.machine;
    const double evenly = static_cast<double>(random_() >> 11) * 0x1p-53;
    return base + Time(static_cast<std::int64_t>(static_cast<double>(base.count()) * costs_.jitter *
                                                 evenly));
}

std::size_t Cluster::server(Rank home) const {
    return static_cast<std::size_t>(costs_.served_by == ServedBy::cpu ? home : layout_.node(home));
}

Time Cluster::service(const Message& message) const {
    const std::size_t words = std::size_t{message.words - 1} * message.stride * sizeof(Value);
    const Time along =
        message.along.empty() ? Time{} : costs_.serve + costs_.moving(message.along.size_bytes());
    return along + (is_atomic(message.operation.verb) ? costs_.serve_atomic : costs_.serve) +
           costs_.moving(message.operation.bytes + words);
}

void Cluster::send(Rank rank, const Message& message) {
    demand(rank, message.operation.word);
    State& state = at(rank);
    if (message.operation.verb != Verb::flush) // what a flush asks is no verb
        ++state.counts.verbs, ++state.counts.messages;
    ++verbs_;
    state.ahead += costs_.send;
    Time leaves = now_ + state.ahead;
    if (costs_.served_by == ServedBy::adapter) {
        Time& free = sender_free_[static_cast<std::size_t>(layout_.node(rank))];
        leaves = std::max(leaves, free);
        free = leaves + costs_.inject;
    }
    std::uint32_t number = static_cast<std::uint32_t>(messages_.size());
    if (free_messages_.empty()) {
        messages_.push_back(message);
    } else {
        number = free_messages_.back();
        free_messages_.pop_back();
        messages_[number] = message;
    }
    queue_.push(leaves + way(rank, message.operation.word.rank), Event::arrive, number);
}

/// What serves the home serves one message after another.
void Cluster::arrive(std::uint32_t number) {
    const Message& message = messages_[number];
    Time& free = server_free_[server(message.operation.word.rank)];
    const Time begin = std::max(now_, free);
    free = begin + service(message);
    if (begin == now_)
        serve(number);
    else
        queue_.push(begin, Event::serve, number);
}

void Cluster::serve(std::uint32_t number) {
    const Message message = messages_[number];
    free_messages_.push_back(number);
    VerbCall operation = message.operation;
    for (Slot i = 0; i < message.words; ++i, operation.word.slot += message.stride) {
        const Value before = apply(operation);
        if (message.out != nullptr)
            message.out[i] = before;
    }
    operation = {.word = {operation.word.rank, message.first_along}};
    for (Value& word : message.along) {
        word = apply(operation);
        ++operation.word.slot;
    }
    const Time back = now_ + service(message) + way(message.operation.word.rank, message.origin);
    if (!message.answered)
        return acknowledge(message, back);
    State& origin = at(message.origin);
    origin.answered = std::max(origin.answered, back);
    if (--origin.answers_to_come == 0)
        queue_.push(origin.answered + costs_.receive + costs_.wake, Event::resume,
                    static_cast<std::uint32_t>(message.origin));
}

void Cluster::await_answers(Rank rank) {
    State& state = at(rank);
    ++state.counts.round_trips;
    suspend(rank);
    state.ahead = state.answered = Time{};
}

Value Cluster::fetch(Rank rank, const VerbCall& operation) {
    State& state = at(rank);
    state.answers_to_come = 1;
    send(rank, {.origin = rank, .answered = true, .operation = operation, .out = &state.result});
    await_answers(rank);
    return state.result;
}

Value Cluster::fetch_then_get(Rank rank, const VerbCall& operation, Slot first,
                              std::span<Value> out) {
    State& state = at(rank);
    state.answers_to_come = 1;
    ++state.counts.verbs,
        ++state.counts.messages; // the gets; they go, and come back, with the other
    send(rank, {.origin = rank,
                .answered = true,
                .operation = operation,
                .out = &state.result,
                .first_along = first,
                .along = out});
    await_answers(rank);
    return state.result;
}

void Cluster::scan(Rank rank, std::span<const Rank> ranks, Slot first, Slot stride,
                   std::span<Value> out) {
    const auto each = static_cast<Slot>(out.size() / ranks.size());
    at(rank).answers_to_come = static_cast<std::uint32_t>(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        send(rank, {.origin = rank,
                    .answered = true,
                    .operation = {.verb = Verb::get, .word = {ranks[i], first}},
                    .out = &out[i * each],
                    .words = each,
                    .stride = stride});
    await_answers(rank);
}

void Cluster::fetch_each(Rank rank, std::span<const VerbCall> operations,
                         std::span<Value* const> out) {
    at(rank).answers_to_come = static_cast<std::uint32_t>(operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i)
        send(rank, {.origin = rank, .answered = true, .operation = operations[i], .out = out[i]});
    await_answers(rank);
}

// ---- posted verbs ------------------------------------------------------------------------------

void Cluster::post(Rank rank, const VerbCall& operation) {
    State& state = at(rank);
    const Rank home = operation.word.rank;
    Time done{};
    state.flushed = kAll;
    if (state.under_way == 0 && all_done(state, done) && done <= now_ &&
        costs_.served_by == ServedBy::adapter)
        state.posted.clear();
    if (state.posted.empty() || state.posted.back().home != home)
        state.posted.push_back({home});
    ++state.posted.back().under_way, ++state.under_way;
    send(rank, {.origin = rank, .operation = operation, .posted = state.posted.size() - 1});
}

void Cluster::acknowledge(const Message& message, Time time) {
    State& state = at(message.origin);
    Posted& posted = state.posted[message.posted];
    --posted.under_way, --state.under_way;
    posted.done = std::max(posted.done, time);
    Time done{};
    if (state.flushes && all_done(state, done)) {
        state.flushes = false;
        queue_.push(std::max(done, now_) + costs_.wake, Event::resume,
                    static_cast<std::uint32_t>(message.origin));
    }
}

/// Whether nothing that the flush concerns is under way; `done` is when that is known.
bool Cluster::all_done(const State& state, Time& done) {
    for (const Posted& posted : state.posted) {
        if (!concerns(state, posted))
            continue;
        if (posted.under_way != 0)
            return false;
        done = std::max(done, posted.done);
    }
    return true;
}

void Cluster::flush(Rank rank, Rank home) {
    State& state = at(rank);
    state.flushed = home;
    const auto concerned = [&](const Posted& posted) { return concerns(state, posted); };
    if (std::ranges::none_of(state.posted, concerned))
        return;
    settle(rank);
    Time done{};
    if (costs_.served_by == ServedBy::cpu)
        ask(rank);
    else if (!all_done(state, done) || done > now_)
        ++state.counts.round_trips;
    if (!all_done(state, done)) {
        state.flushes = true;
        suspend(rank);
    } else if (costs_.served_by == ServedBy::adapter && done > now_) {
        suspend_until(rank, done + costs_.wake);
    }
    forget_flushed(state);
}

/// Messages under way name what is posted by number: that stays until there are none.
void Cluster::forget_flushed(State& state) {
    for (Posted& posted : state.posted)
        if (concerns(state, posted))
            posted.home = kNobody;
    if (state.under_way == 0)
        std::erase_if(state.posted, [](const Posted& posted) { return posted.home == kNobody; });
}

/// A CPU does not acknowledge what is posted to it; it answers when asked.
void Cluster::ask(Rank rank) {
    State& state = at(rank);
    std::vector<Rank> homes;
    for (const Posted& posted : state.posted)
        if (concerns(state, posted))
            homes.push_back(posted.home);
    std::ranges::sort(homes);
    homes.erase(std::ranges::unique(homes).begin(), homes.end());
    state.answers_to_come = static_cast<std::uint32_t>(homes.size());
    for (const Rank home : homes)
        send(rank, {.origin = rank,
                    .answered = true,
                    .operation = {.verb = Verb::flush, .word = {home, 0}}});
    await_answers(rank);
}

// ---- properties --------------------------------------------------------------------------------

void Cluster::enter(Rank rank, model::Mode mode, std::size_t lock) {
    inside(lock).enter(mode);
    if (!inside(lock).lawful())
        throw Failure(Failure::exclusion,
                      fmt::format("{} is inside beside one that it excludes", description(rank)));
}

std::string Cluster::description(Rank rank) const {
    const State& state = at(rank);
    return fmt::format("at {:.3f} us rank {} ({}, {}:{})",
                       std::chrono::duration<double, std::micro>(now_).count(), rank,
                       model::name_of(state.mode),
                       std::filesystem::path(state.location.file_name()).filename().string(),
                       state.location.line());
}

void Cluster::fail_stuck() {
    constexpr int kMost = 16;
    std::string text;
    int stuck = 0;
    for (Rank r = 0; r < layout_.ranks; ++r) {
        const Word word = at(r).awaited;
        if (word.rank < 0 || ++stuck > kMost)
            continue;
        text += fmt::format("\n  {} waits for word {}[{}], which is {:#x}", description(r),
                            word.rank, word.slot, memory_[word]);
    }
    throw Failure(Failure::deadlock,
                  fmt::format("deadlock: {} of {} processes wait, and nothing will happen{}{}",
                              stuck, layout_.ranks, text, stuck > kMost ? "\n  ..." : ""));
}

} // namespace rmalock::sim
