// Waits for a word of another node, by a ticket lock of which nobody polls the word.
#include "cases.hh"
#include "locks/parts/node_event_count.hh"
#include "locks/parts/ticket.hh"
#include "mutants/broken_fabric.hh"
#include "scenario.hh"

#include <array>

namespace rmalock::check {

namespace {

constexpr Rank kOnNode = 3, kNodes = 2;
constexpr Slot kTickets = 0, kEvents = 1, kLooked = 2, kCopy = 3, kWords = 4;
using W = locks::TicketWord<32>;

/// The tickets are at rank 0.
template <class F>
class TicketByEvents {
  public:
    static constexpr locks::LockTraits kTraits{.name = "node_event_count", .shared = false};

    explicit TicketByEvents(F& fabric)
        : fabric_(fabric),
          events_(fabric, kFirsts, {{fabric.self() / kOnNode * kOnNode, kEvents}, kLooked}, kWord) {
    }

    locks::Hold acquire_exclusive(Rank) {
        const Value mine = W::next(fabric_.fetch_add(kWord, W::kNext));
        events_.await([mine](Value v) { return W::serving(v) == mine; });
        return {};
    }
    void release_exclusive(Rank, locks::Hold) {
        fabric_.fetch_add(kWord, W::kServed);
        events_.advance();
    }
    locks::Hold acquire_shared(Rank target) { return acquire_exclusive(target); }
    void release_shared(Rank target, locks::Hold hold) { release_exclusive(target, hold); }

  private:
    static constexpr std::array<Rank, kNodes> kFirsts{0, kOnNode};
    static constexpr Word kWord{0, kTickets};

    F& fabric_;
    locks::NodeEventCount<F> events_;
};

template <class Fault>
struct Local {
    static constexpr Offers kOffers{};
    BrokenFabric<Fault> fabric;
    TicketByEvents<BrokenFabric<Fault>> lock;
    Local(CheckerFabric& real, int) : fabric(real), lock(fabric) {}
};

/// One process of the word's node, and so many of the other one.
template <class Fault = Sound>
Case beside_home(const char* name, const char* configuration, const Script& home,
                 std::vector<Script> others, Failure expected = Failure::none) {
    std::vector<Script> scripts(kOnNode * kNodes);
    scripts[0] = home;
    for (std::size_t i = 0; i < others.size(); ++i)
        scripts[kOnNode + i] = std::move(others[i]);
    Case c;
    c.lock = name;
    c.configuration = configuration;
    c.program = make_program<Local<Fault>>(Cast{std::move(scripts), kOnNode, kWords}, 0);
    c.expected = expected;
    return c;
}

/// The counts of the other node are not advanced.
struct AdvancesOne : Sound {
    bool skips_add_each(Word w, Value) { return w.slot == kEvents && w.rank != 0; }
};
/// A process that looks for all keeps it to itself.
struct CopiesNothing : Sound {
    bool skips_swap(Word w, Value) { return w.slot == kCopy; }
};
/// It does not say that it has found something.
struct NeverDone : Sound {
    Value posted(Word w, Value v) { return w.slot == kLooked ? 0 : v; }
};
/// Two look at a time.
struct LooksBeside : Sound {
    bool skips_await(Word w) { return w.slot == kLooked; }
};
/// A process takes the place of one that looks already.
struct LooksInstead : Sound {
    bool compares(Word w) { return w.slot != kLooked; }
};
} // namespace

void add_event_count(std::vector<Case>& cases) {
    const char* const name = "node_event_count";
    const Script none, w1 = writer(1), w2 = writer(2);
    cases.push_back(beside_home(name, "1W+1W", w2, {w2}));
    cases.push_back(beside_home(name, "1W+2W once", w1, {w1, w1}));
    cases.push_back(beside_home(name, "0W+3W once", none, {w1, w1, w1}));
    cases.push_back(beside_home(name, "1W+3W once", w1, {w1, w1, w1}));
    cases.push_back(beside_home(name, "1W once+2W", w1, {w2, w2}));
    const auto mutant = [&]<class Fault>(Fault, const char* its_name) {
        cases.push_back(
            beside_home<Fault>(its_name, "1W+3W once", w1, {w1, w1, w1}, Failure::deadlock));
    };
    mutant(AdvancesOne{}, "node_event_count/advances_one");
    mutant(CopiesNothing{}, "node_event_count/copies_nothing");
    mutant(NeverDone{}, "node_event_count/never_done");
    mutant(LooksBeside{}, "node_event_count/looks_beside");
    mutant(LooksInstead{}, "node_event_count/looks_instead");
}

} // namespace rmalock::check
