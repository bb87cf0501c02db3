// SRSL and its mutants. What comes from other nodes a process of the home's node serves, which does nothing else.
#include <algorithm>

#include "cases.hh"
#include "lock_setup.hh"
#include "locks/algorithms/srsl.hh"
#include "mutants/srsl.hh"

namespace rmalock::check {
namespace {

using W = locks::SrslWords;

template <class F>
using Shipped = locks::Srsl<F>;
/// A ring with less room than there are processes.
template <class F>
using Narrow = locks::Srsl<F, 2>;

template <template <class> class Lock, class Fault>
struct Served : LockLocal<Lock, Fault> {
    using Base = LockLocal<Lock, Fault>;
    using Base::Base;
    static_assert(Base::Made::kTraits.offers.server == locks::HasServer<typename Base::Made>);
    static constexpr Offers kOffers{.sections = Base::kSections,
                                    .server = Base::Made::kTraits.offers.server};

    void serve(Rank home, unsigned holders) {
        const auto mark = this->fabric.mark();
        for (Value in = 0; W::left(in) != holders;) {
            in = this->lock.await_and_serve(home, in);
            this->fabric.rewind(mark, in);
        }
    }
};

/// `on_node`: so many of the ranks from 0 on are on the home's node.
template <class Fault = Sound, template <class> class Lock = Shipped>
Case on(const char* lock, const char* configuration, std::vector<Script> scripts, Rank on_node,
        Failure expected = Failure::none) {
    const auto readers = std::ranges::count_if(scripts, [](const Script& script) {
        return !script.empty() && script.front().kind == ScriptLine::acquire &&
               script.front().mode == Mode::shared;
    });
    Case c;
    c.lock = lock;
    c.configuration = configuration;
    c.program = program_of<Served<Lock, Fault>>(std::move(scripts), {.ranks_per_node = on_node});
    c.program.announcing_slot = W::kIn;
    c.program.announcing_operand = W::kTicket;
    // First come, first served; but of readers that are let in together, one may come again before
    // another has seen it.
    const auto others = static_cast<std::uint32_t>(c.program.ranks) - 1;
    c.program.bound[index_of(Mode::exclusive)] = others;
    if (readers == 1)
        c.program.bound[index_of(Mode::shared)] = others;
    c.expected = expected;
    return c;
}

} // namespace

void add_srsl(std::vector<Case>& cases) {
    const Script w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2), none;
    const auto served = [](unsigned holders) { return Script{serve(0, holders)}; };
    const auto add = [&](const char* configuration, std::vector<Script> scripts, Rank on_node) {
        cases.push_back(on("srsl", configuration, std::move(scripts), on_node));
    };
    add("2W", {w2, w2}, 2);
    cases.push_back(with_store_buffer(cases.back()));
    add("1W+1R", {w2, r2}, 2);
    add("3W once", {w1, w1, w1}, 3);
    add("1W+2R once", {w1, r1, r1}, 3);
    cases.back().size = Size::deep;
    add("1W far", {served(2), w2}, 1);
    add("2W once far", {served(2), none, w1, w1}, 2);
    add("1W+1R once far", {served(2), none, w1, r1}, 2);
    add("2R once far", {served(2), none, r1, r1}, 2);
    add("1W, 1W far once", {served(2), w1, w1}, 2);
    cases.push_back(with_store_buffer(cases.back()));
    add("1R, 1W far once", {served(2), r1, w1}, 2);
    add("1W, 1W+1R far once", {served(3), w1, w1, r1}, 2);
    cases.back().size = Size::deep;
    cases.push_back(on<Sound, Narrow>("srsl", "3W once, room for 2", {w1, w1, w1}, 3));
    cases.push_back(
        on<Sound, Narrow>("srsl", "1W, 1W far once, room for 2", {served(2), w1, w1}, 2));

    using namespace srsl_fault;
    cases.push_back(on<NobodyInside>("srsl/nobody_inside", "2W", {w2, w2}, 2, Failure::exclusion));
    cases.push_back(on<NoWriter>("srsl/no_writer", "1W+1R", {w2, r2}, 2, Failure::exclusion));
    cases.push_back(on<Unflushed>("srsl/unflushed", "2W", {w2, w2}, 2, Failure::deadlock));
    cases.push_back(
        on<ReleasesUnserved>("srsl/releases_unserved", "2W", {w2, w2}, 2, Failure::deadlock));
    cases.push_back(on<GrantsTwice>("srsl/grants_twice", "2W", {w2, w2}, 2, Failure::exclusion));
    cases.back().limits.look_past_deadlocks = true;
    cases.push_back(on<NoRoomNeeded, Narrow>("srsl/no_room_needed", "3W once, room for 2",
                                             {w1, w1, w1}, 3, Failure::deadlock));
}

} // namespace rmalock::check
