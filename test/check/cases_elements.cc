// Single elements beside arrays (locks/parts/element_marks.hh): what changes one is a reader, what
// changes many is a writer.
#include <array>

#include "cases.hh"
#include "lock_setup.hh"
#include "mutants/element_marks.hh"

namespace rmalock::check {

namespace {

constexpr Slot kHome = 0, kWord = 1, kMarks = fabric::line(1);
constexpr std::array<Rank, 4> kRanks{0, 1, 2, 3};

/// How a process works on elements.
struct Marking {
    Rank ranks = 0;
    Slot lines = 1, owned = 1;
    Slot thread = 0; ///< of the process, that works on single elements
    bool node_fence = true;
    bool waits = true;      ///< arrays do; else they are those of a handler of messages
    unsigned beside = 0;    ///< ranks below have another thread's marks
    locks::Value limit = 1; ///< singles after which the word is lowered

    locks::ElementMarkPlaces places() const {
        return {.word = kWord,
                .marks = kMarks,
                .lines = lines,
                .owned = owned,
                .node_fence = node_fence,
                .node = std::span(kRanks).first(static_cast<std::size_t>(ranks))};
    }
};

/// Marks and lock, with the calls of a lock.
template <ElementMutation M>
class Elements {
    using Marks = std::conditional_t<M == ElementMutation::none, locks::ElementMarks<CheckerFabric>,
                                     ElementMarksMutant<CheckerFabric, M>>;

  public:
    static constexpr locks::LockTraits kTraits{.name = "element_marks"};

    Elements(CheckerFabric& fabric, const Marking& how)
        : fabric_(fabric), how_(how), lock_(fabric, kHome, 1),
          marks_(fabric, how.places(), how.limit) {}

    locks::Hold acquire_shared(Rank target) {
        const bool beside = static_cast<unsigned>(fabric_.self()) < how_.beside;
        const Mark mark = beside ? marks_.begin_beside(target) : marks_.begin(target, how_.thread);
        if (mark != Mark{})
            return {mark.word.slot, false};
        lock_.acquire_exclusive(target);
        return {};
    }
    void release_shared(Rank target, locks::Hold hold) {
        if (hold.opaque != 0)
            return marks_.end(fabric_.own(static_cast<Slot>(hold.opaque)));
        if (M == ElementMutation::counts_late)
            lock_.release_exclusive(target, {});
        marks_.count_single(target);
        if (M != ElementMutation::counts_late)
            lock_.release_exclusive(target, {});
    }

    locks::Hold acquire_exclusive(Rank target) {
        if (how_.waits) {
            lock_.acquire_exclusive(target);
            marks_.exclude(target);
            return {};
        }
        const auto start = fabric_.mark();
        while (!tries(target))
            fabric_.rewind(start);
        return {};
    }
    void release_exclusive(Rank target, locks::Hold) { lock_.release_exclusive(target, {}); }

  private:
    /// As a handler: a message that cannot be served waits, and is tried again.
    bool tries(Rank target) {
        if (!lock_.try_acquire_exclusive(target))
            return false;
        if (marks_.try_exclude(target))
            return true;
        lock_.release_exclusive(target, {});
        return false;
    }

    using Mark = CheckerFabric::Own;

    CheckerFabric& fabric_;
    const Marking& how_;
    locks::PassingTicket<CheckerFabric> lock_;
    Marks marks_;
};

template <ElementMutation M>
struct ElementsLocal {
    static constexpr Offers kOffers{};
    Elements<M> lock;
    ElementsLocal(CheckerFabric& fabric, const Marking& how) : lock(fabric, how) {}
};

template <ElementMutation M = ElementMutation::none>
Program elements(std::vector<Script> scripts, Marking how) {
    Cast cast{std::move(scripts)};
    cast.ranks_per_node = how.ranks = cast.ranks();
    cast.slots = kMarks + fabric::line(how.lines);
    return make_program<ElementsLocal<M>>(cast, how);
}

} // namespace

void add_elements(std::vector<Case>& cases) {
    const auto add = [&](std::string name, const char* configuration, Program program,
                         Failure expected = Failure::none) {
        Case c;
        c.lock = std::move(name);
        c.configuration = configuration;
        c.program = std::move(program);
        c.program.word_classes = false; // only where CPUs do all atomics
        c.expected = expected;
        cases.push_back(with_store_buffer(std::move(c)));
    };
    const auto w1 = writer(1), w2 = writer(2), r1 = reader(1), r2 = reader(2), r3 = reader(3);
    const char* const name = "element_marks";
    add(name, "1W+1R x3", elements({writer(3), r3}, {}));
    add(name, "2W+1R", elements({w2, w2, r2}, {}));
    add(name, "1W+2R", elements({w2, r2, r2}, {}));
    add(name, "1W+2R limit 2", elements({w2, r2, r2}, {.limit = 2}));
    add(name, "1W+1R, one of another target", elements({w2, r2, reader(2, 1)}, {}));
    add(name, "2W+2R once", elements({w1, w1, r1, r1}, {}));
    add(name, "1W+2R, no fence of others", elements({w2, r2, r2}, {.node_fence = false}));
    add(name, "1W+2R, one beside", elements({w2, r2, r2}, {.lines = 2, .beside = 2}));
    add(name, "1W+2R, second thread",
        elements({w2, r2, r2}, {.lines = 2, .owned = 2, .thread = 1}));
    add(name, "2W+1R, a handler", elements({w1, w1, r2}, {.waits = false}));

    using M = ElementMutation;
    const auto mutant = [&]<M kind>(const char* what, Failure expected, Marking how = {}) {
        add(std::string("element_marks/") + what, "1W+2R", elements<kind>({w2, r2, r2}, how),
            expected);
    };
    mutant.template operator()<M::no_fence>("no_fence", Failure::exclusion);
    mutant.template operator()<M::no_look>("no_look", Failure::exclusion);
    mutant.template operator()<M::looks_first>("looks_first", Failure::exclusion);
    mutant.template operator()<M::one_mark>("one_mark", Failure::exclusion,
                                            {.lines = 2, .beside = 2});
    mutant.template operator()<M::marks_late>("marks_late", Failure::exclusion);
    mutant.template operator()<M::keeps_mark>("keeps_mark", Failure::deadlock);
    mutant.template operator()<M::counts_late>("counts_late", Failure::exclusion);
}

} // namespace rmalock::check
