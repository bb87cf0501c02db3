// Single elements beside arrays on threads: what changes one is a reader, what changes many is a
// writer. With the system's fence, where there is one, and with atomic marks.
#include "locks/parts/element_marks.hh"

#include <array>

#include "harness/stress.hh"
#include "locks/parts/passing_ticket.hh"

namespace rmalock::test {
namespace {

constexpr fabric::Slot kLock = 0, kWord = 1, kMarks = fabric::line(1), kLines = 2;
constexpr std::array<fabric::Rank, 4> kRanks{0, 1, 2, 3};

enum class Fence { of_others, own };

template <Fence kFence>
class Elements {
  public:
    static constexpr bool kSections = false;
    explicit Elements(StressFabric& fabric)
        : lock_(fabric, kLock),
          marks_(fabric,
                 {.word = kWord,
                  .marks = kMarks,
                  .lines = kLines,
                  .owned = 1,
                  .node_fence = kFence == Fence::of_others && fabric::join_node_fences(),
                  .node = kRanks},
                 3) {}
    locks::Hold acquire(fabric::Rank target, bool exclusive) {
        if (const Mark mark = exclusive ? nullptr : begin(target); mark != nullptr)
            return {reinterpret_cast<std::uintptr_t>(mark), false};
        lock_.acquire_exclusive(target);
        if (exclusive)
            marks_.exclude(target);
        return {};
    }
    void release(fabric::Rank target, bool exclusive, locks::Hold hold) {
        if (hold.opaque != 0)
            marks_.end(reinterpret_cast<Mark>(hold.opaque));
        else if (!exclusive)
            marks_.count_single(target);
        if (hold.opaque == 0)
            lock_.release_exclusive(target, {});
    }
    void acquire_all() {}
    void release_all() {}

  private:
    using Mark = StressFabric::Own;

    /// Now as the program's thread, now as the one that serves others.
    Mark begin(fabric::Rank target) {
        return ++begun_ % 3 != 0 ? marks_.begin(target) : marks_.begin_beside(target);
    }

    locks::PassingTicket<StressFabric> lock_;
    locks::ElementMarks<StressFabric> marks_;
    unsigned begun_ = 0;
};

StressOptions options(unsigned arrays_percent) {
    return {.ranks = 4,
            .slots = kMarks + fabric::line(kLines),
            .rounds = 4000,
            .writer_percent = arrays_percent,
            .held_at_once = 1};
}

TEST(ElementMarks, ArraysAreAloneBesideFewSingles) {
    stress<Elements<Fence::of_others>>(options(60));
    stress<Elements<Fence::own>>(options(60));
}

TEST(ElementMarks, ArraysAreAloneBesideManySingles) {
    stress<Elements<Fence::of_others>>(options(5));
    stress<Elements<Fence::own>>(options(5));
}

} // namespace
} // namespace rmalock::test
