// The modelled machine; see world.hh.
#include "world.hh"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rmalock::check {

namespace {

const char* base_name(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash == nullptr ? path : slash + 1;
}

std::string where(const std::source_location& at) {
    return fmt::format("{}:{}", base_name(at.file_name()), at.line());
}

std::string name_of(Word w) {
    return fmt::format("{}[{}]", w.rank, w.slot);
}

} // namespace

World::World(const Program& program, Story* story)
    : program_(program), memory_(program.ranks, program.slots), uses_(program.ranks, program.slots),
      processes_(static_cast<std::size_t>(program.ranks)),
      occupancy_(static_cast<std::size_t>(program.resources)),
      stacks_(static_cast<std::size_t>(program.ranks)), story_(story) {
    for (Rank r = 0; r < program.ranks; ++r)
        starts_.push_back({this, r});
    for (Start& start : starts_)
        fibers_.push_back(
            std::make_unique<Fiber>(&World::run_process, &start, stacks_.bottom(fibers_.size())));
    for (Rank r = 0; r < program.ranks; ++r)
        run_on(r);
}

void World::run_process(void* start) {
    const Start& self = *static_cast<const Start*>(start);
    self.world->program_.process(*self.world, self.rank);
    self.world->finish_leaving(self.rank);
}

void World::run_on(Rank rank) {
    fiber(rank).resume();
    process(rank).finished = fiber(rank).finished();
}

// ---- what can happen -------------------------------------------------------------------------

bool World::flushed(Rank rank) const {
    const NextVerb& request = process(rank).request;
    return request.everybody ? !memory_.anything_posted(rank)
                             : !memory_.anything_posted(rank, request.word.rank) &&
                                   !memory_.anything_posted(rank, rank);
}

bool World::can_go(Rank rank) const {
    const Process& p = process(rank);
    if (p.finished)
        return false;
    const NextVerb& request = p.request;
    switch (request.verb) {
    case Verb::await:
    case Verb::await_until:
        return request.holds(request.predicate, look(rank, request.word));
    case Verb::flush:
        return flushed(rank); // mostly it goes on together with the last delivery it waits for
    default:
        return !is_read_modify_write(request.verb) || !memory_.anything_posted(rank, rank);
    }
}

void World::choices(std::vector<Choice>& out) const {
    out.clear();
    for (Rank r = 0; r < program_.ranks; ++r) {
        if (can_go(r))
            out.push_back({r, Choice::go});
        if (rounds_ < program_.most_rounds && !process(r).finished &&
            process(r).request.verb == Verb::await_until)
            out.push_back({r, Choice::give_up});
    }
    std::vector<std::uint16_t> seen(memory_.posted().empty() ? 0 : processes_.size(), 0);
    for (const Posted& p : memory_.posted()) {
        std::uint16_t& number = seen[static_cast<std::size_t>(p.issuer)];
        out.push_back({p.issuer, static_cast<std::uint16_t>(Choice::deliver + number++)});
    }
    std::uint64_t nodes = 0; // of which this is said already
    for (const Memory::Late& late : memory_.late()) {
        const Rank node = program_.node_of(late.word.rank);
        if ((nodes >> node & 1) == 0)
            out.push_back({node * program_.ranks_per_node, Choice::see});
        nodes |= std::uint64_t{1} << node;
    }
}

bool World::all_finished() const {
    return memory_.posted().empty() && std::all_of(processes_.begin(), processes_.end(),
                                                   [](const Process& p) { return p.finished; });
}

std::string World::stuck_processes() const {
    std::string text;
    for (Rank r = 0; r < program_.ranks; ++r) {
        const NextVerb& request = process(r).request;
        if (!process(r).finished)
            text +=
                fmt::format("  {} stands in {} {} = {:#x} at {}\n", r, check::name_of(request.verb),
                            name_of(request.word), memory_.read(request.word), where(request.at));
    }
    return text;
}

Fingerprint World::fingerprint() const {
    Fingerprint f = memory_.fingerprint() + mix(processes_.size(), rounds_);
    for (std::size_t r = 0; r < processes_.size(); ++r)
        f += mix(mix(r, processes_[r].history), processes_[r].wait.overtaken);
    return f;
}

// ---- letting it happen -----------------------------------------------------------------------

void World::apply(Choice choice) {
    if (choice.what == Choice::see)
        see(program_.node_of(choice.rank));
    else if (choice.what >= Choice::deliver)
        deliver(choice.rank, choice.what - Choice::deliver);
    else
        step(choice.rank, choice.what == Choice::give_up);
}

void World::step(Rank rank, bool give_up) {
    finish_leaving(rank);
    Process& p = process(rank);
    const bool event = program_.counts_events(p.request.word);
    if (event && p.request.verb == Verb::get)
        p.before_look = p.history;
    const std::uint64_t chances = chances_to_keep(rank);
    p.gave_up = give_up;
    if (give_up && program_.most_rounds != kEndlessRounds)
        ++rounds_;
    p.result = give_up ? 0 : take_effect(rank, p.request);
    watch_chances(chances);
    note_use(rank, p.request.verb, p.request.word, p.request.near);
    if (p.request.after_data)
        deliver_data(rank, p.request.word.rank);
    if (is_read_modify_write(p.request.verb) &&
        program_.announces(p.request.word, p.request.operand, p.result) && p.wait.resource >= 0)
        p.wait.announced = true;
    p.history = mix(mix(p.history, give_up ? 2 : 1), p.request.blind ? 0 : p.result);
    // A process that has waited for an event forgets what it saw since it looked, and looks again.
    if (event && p.request.verb == Verb::await)
        p.history = p.before_look;
    if (p.base == 0 && p.request.verb != Verb::add_single_writer) // that gives nothing
        p.base = p.history;
    if (story_ != nullptr)
        tell(rank, p.request, p.result, give_up);
    run_on(rank);
}

/// What `rank` finds in the word. A word that counts events holds a bit for each process that has
/// read it since the last event: it reads 0, and finds 1 after that. So an execution that waited
/// for three events and one that waited for two come to the same states.
Value World::look(Rank rank, Word word) const {
    if (!program_.counts_events(word))
        return by_far_adapter(rank, word) ? memory_.read_by_adapter(word)
                                          : memory_.read_by(rank, word);
    return (memory_.read(word) >> rank & 1) != 0 ? 0 : 1;
}

Value World::take_effect_on_events(Rank rank, const NextVerb& request) {
    const Value bit = Value{1} << rank;
    switch (request.verb) {
    case Verb::get:
        memory_.write(request.word, memory_.read(request.word) | bit);
        return 0;
    case Verb::fetch_add:
        push_late(rank, request.word, request.verb, request.near);
        write(rank, request.word, 0);
        return 0;
    default:
        return look(rank, request.word);
    }
}

/// What a process has read last does not matter in its next operation.
void World::forget_events(Rank rank) {
    if (program_.event_slot < 0)
        return;
    for (Rank r = 0; r < program_.ranks; ++r) {
        const Word word{r, static_cast<Slot>(program_.event_slot)};
        memory_.write(word, memory_.read(word) & ~(Value{1} << rank));
    }
}

Value World::take_effect(Rank rank, const NextVerb& request) {
    if (program_.counts_events(request.word))
        return take_effect_on_events(rank, request);
    push_late(rank, request.word, request.verb, request.near);
    const Value before = memory_.read_by(rank, request.word);
    switch (request.verb) {
    case Verb::fetch_add:
        write(rank, request.word, before + request.operand);
        return before;
    case Verb::swap:
        write(rank, request.word, request.operand);
        return before;
    case Verb::compare_swap:
        if (before == request.expected)
            write(rank, request.word, request.operand);
        return before;
    case Verb::put:
    case Verb::add: // on one's own rank
        memory_.apply(request.verb, request.word, request.operand);
        return 0;
    case Verb::add_single_writer:
        memory_.apply(Verb::add, request.word, request.operand);
        return 0;
    case Verb::fence_node:
        fence_node(rank);
        return 0;
    case Verb::leave:
    case Verb::pass:
        return 0;
    default:
        return before;
    }
}

/// What the adapter reads for a verb of `rank` comes behind all that it wrote on the word's node.
void World::push_late(Rank rank, Word word, Verb verb, bool near) {
    const bool reads = verb == Verb::get || verb == Verb::await || verb == Verb::await_until;
    const bool own_adapter = program_.adapters_linger && program_.same_node(rank, word.rank) &&
                             is_read_modify_write(verb) && !near;
    if (own_adapter || (by_far_adapter(rank, word) && (reads || is_read_modify_write(verb))))
        memory_.see_all(program_.node_of(word.rank), [&](Rank r) { return program_.node_of(r); });
}

void World::write(Rank rank, Word word, Value v) {
    if (by_far_adapter(rank, word))
        memory_.write_late(word, v);
    else
        memory_.write(word, v);
}

void World::see(Rank node) {
    if (story_ != nullptr)
        for (const Memory::Late& late : memory_.late())
            if (program_.node_of(late.word.rank) == node) {
                story_->push_back(
                    fmt::format("     ...CPUs see {} {:#x}", name_of(late.word), late.value));
                break;
            }
    memory_.see_next(node, [&](Rank r) { return program_.node_of(r); });
}

/// What lingers of the others on the node takes effect. A process that stands in a flush goes on
/// later: a step runs one process.
void World::fence_node(Rank rank) {
    for (std::size_t i = memory_.posted().size(); i-- > 0;) {
        const Posted& p = memory_.posted()[i];
        if (p.issuer != rank && p.word.rank == p.issuer && program_.same_node(rank, p.issuer))
            land(i);
    }
}

void World::deliver(Rank rank, unsigned number) {
    std::size_t i = 0;
    for (unsigned seen = 0;; ++i)
        if (memory_.posted()[i].issuer == rank && seen++ == number)
            break;
    land(i);
    Process& issuer = process(rank);
    if (!issuer.finished && issuer.request.verb == Verb::flush && flushed(rank)) {
        issuer.history = mix(issuer.history, 3);
        run_on(rank);
    }
}

Posted World::land(std::size_t posted) {
    const Posted p = memory_.take(posted);
    push_late(p.issuer, p.word, p.verb, p.near);
    write(p.issuer, p.word, p.verb == Verb::put ? p.value : memory_.read(p.word) + p.value);
    if (story_ != nullptr)
        story_->push_back(fmt::format("{:>4} ...{} {} {:#x} lands, posted at {}", p.issuer,
                                      check::name_of(p.verb), name_of(p.word), p.value,
                                      where(p.at)));
    return p;
}

void World::finish_leaving(Rank rank) {
    Leaving& leaving = process(rank).leaving;
    if (leaving.resource < 0)
        return;
    for (Rank i = 0; i < leaving.resources; ++i)
        occupancy(leaving.resource + i).leave(leaving.mode);
    leaving.resource = -1;
}

// ---- the verbs -------------------------------------------------------------------------------

Value World::perform(Rank rank, const NextVerb& request) {
    process(rank).request = request;
    process(rank).request.word = existing(rank, request.word, request.at);
    fiber(rank).suspend();
    return process(rank).result;
}

/// A retry loop calls back_off where an attempt has left nothing behind: whatever was seen on the
/// way, the process knows what it knew at the last mark, or after the first verb of the operation,
/// and where it is. Without this no loop that contends would ever come back to a state it has been
/// in.
void World::back_off(Rank rank, std::uint64_t where) {
    retries_ = true;
    process(rank).history = mix(process(rank).base, where);
}

Fingerprint World::mark(Rank rank) {
    return process(rank).base = process(rank).history;
}

void World::rewind(Rank rank, Fingerprint mark, std::uint64_t where, Value known) {
    retries_ = true;
    process(rank).base = process(rank).history = mix(mix(mark, where), known);
}

void World::post(Posted posted, bool near) {
    const Rank rank = posted.issuer;
    posted.word = existing(rank, posted.word, posted.at);
    posted.near = near;
    // The critical section has to last until some moment at which others can have made steps.
    if (process(rank).leaving.resource >= 0) {
        NextVerb end;
        end.verb = Verb::leave;
        end.word = posted.word;
        end.at = posted.at;
        perform(rank, end);
    }
    note_use(rank, posted.verb, posted.word, near);
    memory_.settle(rank, posted.word);
    memory_.post(posted);
    if (story_ != nullptr)
        story_->push_back(fmt::format("{:>4} {} {} {:#x} posted at {}", rank,
                                      check::name_of(posted.verb), name_of(posted.word),
                                      posted.value, where(posted.at)));
}

void World::flush(Rank rank, const NextVerb& request) {
    process(rank).request = request;
    if (!flushed(rank))
        fiber(rank).suspend();
}

void World::note_use(Rank rank, Verb verb, Word word, bool near) {
    const WordUses::How how{verb, near, program_.same_node(rank, word.rank)};
    if (!program_.word_classes || uses_.note(rank, word, how))
        return;
    fail(Failure::word_class,
         fmt::format("word {} is put as well as read-modify-written, or is its node's and is used "
                     "otherwise, or is another one's holder record: {} {}",
                     name_of(word), rank, check::name_of(verb)));
}

/// `word`, or where there is no such word some other one, after the failure was noted.
Word World::existing(Rank rank, Word word, const std::source_location& at) {
    if (memory_.has(word))
        return word;
    fail(Failure::wild_word,
         fmt::format("{} names the word {} at {}", rank, name_of(word), where(at)));
    return {rank, 0};
}

// ---- the ghosts ------------------------------------------------------------------------------

void World::wait(Rank rank, Rank resource, Mode mode, Rank resources) {
    process(rank).wait = {resource, resources, mode, false, 0};
}

void World::enter(Rank rank) {
    const Wait mine = process(rank).wait;
    process(rank).wait = {};
    bool lawful = true;
    for (Rank i = 0; i < mine.resources; ++i) {
        occupancy(mine.resource + i).enter(mine.mode);
        lawful = lawful && occupancy(mine.resource + i).lawful();
    }
    for (const Process& other : processes_)
        if (other.data.resource >= mine.resource &&
            other.data.resource < mine.resource + mine.resources &&
            (mine.mode == Mode::exclusive || other.data.mode == Mode::exclusive))
            fail(Failure::data,
                 fmt::format("{} enters {}, and data of the one before are not there", rank,
                             other.data.resource));
    if (!lawful)
        fail(Failure::exclusion, fmt::format("{} enters {} beside somebody it excludes", rank,
                                             check::name_of(mine.mode)));
    if (story_ != nullptr)
        story_->push_back(
            fmt::format("{:>4} ENTERS {} ({})", rank, mine.resource, check::name_of(mine.mode)));
    if (program_.watch_overtaking)
        watch_overtaking(mine);
}

/// Of all but `rank`: a bit for each that could go on now.
std::uint64_t World::chances_to_keep(Rank rank) const {
    std::uint64_t bits = 0;
    for (Rank r = 0; program_.keeps_chances && r < program_.ranks; ++r) {
        const Wait& wait = process(r).wait;
        if (r != rank && wait.resource >= 0 && wait.mode == *program_.keeps_chances && can_go(r))
            bits |= std::uint64_t{1} << r;
    }
    return bits;
}

void World::watch_chances(std::uint64_t before) {
    for (Rank r = 0; before != 0; ++r, before /= 2)
        if (before % 2 != 0 && !can_go(r))
            fail(Failure::bypass,
                 fmt::format("{} waits ({}), could go on, and others took that chance", r,
                             check::name_of(process(r).wait.mode)));
}

void World::watch_overtaking(const Wait& entered) {
    for (std::size_t r = 0; r < processes_.size(); ++r) {
        Wait& other = processes_[r].wait;
        if (other.resource != entered.resource || !other.announced)
            continue;
        std::uint32_t& most = most_overtaken_[index_of(other.mode)];
        most = std::max<std::uint32_t>(most, ++other.overtaken);
        const auto bound = program_.bound[index_of(other.mode)];
        if (bound && other.overtaken > *bound)
            fail(Failure::bypass, fmt::format("{} waits ({}) and saw {} others enter, bound {}", r,
                                              check::name_of(other.mode), other.overtaken, *bound));
    }
}

void World::leave(Rank rank, Rank resource, Mode mode, Rank resources) {
    process(rank).leaving = {resource, resources, mode};
    if (story_ != nullptr)
        story_->push_back(
            fmt::format("{:>4} is about to leave {} ({})", rank, resource, check::name_of(mode)));
}

void World::leave_data(Rank rank, Rank resource, Rank target, Mode mode) {
    if (!program_.watch_data)
        return;
    process(rank).data = {resource, 1, mode};
    process(rank).data_target = target;
}

void World::deliver_data(Rank rank, Rank target) {
    if (process(rank).data_target == target)
        process(rank).data.resource = -1;
}

void World::between_operations(Rank rank, Fingerprint local) {
    Process& p = process(rank);
    if (p.data.resource >= 0)
        fail(Failure::data,
             fmt::format("{} has left {}, and its data are not there", rank, p.data.resource));
    p.data.resource = -1;
    forget_events(rank);
    p.history = local;
    p.base = 0;
}

void World::fail(Failure failure, std::string text) {
    if (violation_.failure == Failure::none)
        violation_ = {failure, std::move(text)};
}

// ---- going back, and telling -----------------------------------------------------------------

void World::save(State& state) const {
    state.memory = memory_;
    state.processes = processes_;
    state.occupancy = occupancy_;
    state.rounds = rounds_;
}

void World::restore(const State& state) {
    memory_ = state.memory;
    processes_ = state.processes;
    occupancy_ = state.occupancy;
    rounds_ = state.rounds;
}

void World::tell(Rank rank, const NextVerb& request, Value result, bool give_up) {
    std::string line =
        fmt::format("{:>4} {} {}", rank, check::name_of(request.verb), name_of(request.word));
    if (request.verb == Verb::compare_swap)
        line += fmt::format(" {:#x}", request.expected);
    if (request.verb == Verb::put || request.verb == Verb::add || request.verb == Verb::fetch_add ||
        request.verb == Verb::swap || request.verb == Verb::compare_swap)
        line += fmt::format(" {:#x}", request.operand);
    if (request.verb != Verb::put && request.verb != Verb::add)
        line += give_up ? " gives up" : fmt::format(" -> {:#x}", result);
    story_->push_back(fmt::format("{}  {}", line, where(request.at)));
}

} // namespace rmalock::check
