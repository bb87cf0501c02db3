// The benchmarks; see benchmark.hh.
#include "sim/benchmark.hh"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace rmalock::sim {
namespace {

constexpr Rank kTarget = 0;
constexpr unsigned kPilot = 2;      ///< operations of each process
constexpr unsigned kFewest = 10;    ///< a tenth is discarded
constexpr unsigned kMost = 100'000; ///< as in the paper
constexpr std::uint64_t kPatience =
    100; ///< budgets, or verbs an operation, after which a run is endless

/// A volume: a table, the heap's next free place, and the last element that went there. The heap's
/// words are not kept.
constexpr Slot kNextFree = 0, kLast = 1, kTableAt = fabric::kWordsPerLine, kTable = 1024;
Slot words_of(const Benchmark& benchmark) {
    return benchmark.table ? kTableAt + kTable : 0;
}

double microseconds(Time time) {
    return std::chrono::duration<double, std::micro>(time).count();
}

/// What all processes add to.
class Tally {
  public:
    Tally(Rank ranks, unsigned operations)
        : operations_(operations), discarded_(operations / 10),
          turns_(static_cast<std::size_t>(ranks)) {}

    void note(Rank rank, bool exclusive, Time took, Time now) {
        unsigned& turns = turns_[static_cast<std::size_t>(rank)];
        if (turns++ >= discarded_) {
            Sum& sum = sums_[exclusive];
            ++sum.times, sum.took += took;
            longest_ = std::max(longest_, took);
        }
        if (turns == operations_ && !first_done_) {
            first_done_ = true;
            fewest_ = *std::ranges::min_element(turns_);
        }
        if (++all_ == discarded_ * turns_.size())
            begin_ = now;
        end_ = now;
    }

    Result result(const World& world) const {
        const auto counted = static_cast<double>(all_ - discarded_ * turns_.size());
        const Sum both{sums_[0].times + sums_[1].times, sums_[0].took + sums_[1].took};
        return {.operations = operations_,
                .per_second = end_ > begin_ ? counted / microseconds(end_ - begin_) * 1e6 : 0,
                .latency = both.mean(),
                .reader_latency = sums_[0].mean(),
                .writer_latency = sums_[1].mean(),
                .longest = microseconds(longest_),
                .fewest = fewest_,
                .seconds = microseconds(end_) / 1e6,
                .counts = world.all_counts()};
    }

  private:
    struct Sum {
        std::uint64_t times = 0;
        Time took{};
        double mean() const {
            return times == 0 ? 0 : microseconds(took) / static_cast<double>(times);
        }
    };
    unsigned operations_, discarded_;
    std::vector<unsigned> turns_;
    Sum sums_[2];
    Time longest_{}, begin_{}, end_{};
    std::uint64_t all_ = 0;
    bool first_done_ = false;
    unsigned fewest_ = 0;
};

/// One process of a benchmark.
class Process {
  public:
    Process(const Run& run, const Window& window, World& world, Rank rank, Tally& tally)
        : run_(run), world_(world), rank_(rank), fabric_(world, rank),
          lock_(make_lock(window, fabric_)), volume_(window.slots()), tally_(tally) {}

    void repeat(unsigned operations) {
        for (unsigned i = 0; i < operations; ++i) {
            const bool writes = chance() < run_.writers;
            const bool exclusive = writes || (run_.benchmark.locked && !lock_->shares());
            const Time begin = world_.now();
            const Time inside = run_.benchmark.locked ? locked(exclusive, writes) : free(writes);
            tally_.note(rank_, exclusive, world_.now() - begin - inside, world_.now());
            if (run_.benchmark.outside)
                compute();
        }
    }

  private:
    /// Returns how long the lock was held.
    Time locked(bool exclusive, bool writes) {
        const model::Mode mode = exclusive ? model::Mode::exclusive : model::Mode::shared;
        const Rank target = run_.benchmark.many ? any_rank() : kTarget;
        world_.wait(rank_, mode);
        const locks::Hold hold = lock_->acquire(target, exclusive);
        world_.enter(rank_, mode, target);
        const Time entered = world_.now();
        work(writes);
        world_.leave(mode, target);
        const Time inside = world_.now() - entered;
        lock_->release(target, exclusive, hold);
        world_.pass(rank_, Time{}); // a release may have posted only
        return inside;
    }
    /// All of it is the operation's.
    Time free(bool writes) {
        work(writes);
        return {};
    }

    double chance() { return static_cast<double>(world_.random()() >> 11) * 0x1p-53; }
    Rank any_rank() {
        return static_cast<Rank>(world_.random()() %
                                 static_cast<std::uint64_t>(run_.window.layout.ranks));
    }
    void compute() { world_.pass(rank_, nanoseconds(1000 + 3000 * chance())); }
    void work(bool writes) {
        if (run_.benchmark.access)
            world_.access(rank_, kTarget, sizeof(Value));
        if (run_.benchmark.work) {
            fabric_.fetch_add({kTarget, Window::kData}, 1);
            compute();
        }
        if (run_.benchmark.table)
            writes ? insert() : look_up();
    }

    /// An element of the table's, drawn.
    Word element() {
        const auto drawn = static_cast<Slot>(world_.random()() % kTable);
        return {kTarget, volume_ + kTableAt + drawn};
    }
    void look_up() { fabric_.get(element()); }
    /// As in the paper: a compare-and-swap; what collides goes to the next place of the heap, and the
    /// volume's last pointer to it is moved. Without locks that may take several tries.
    void insert() {
        const Word at = element();
        if (fabric_.compare_swap(at, 0, 1) == 0)
            return;
        const Value place = fabric_.fetch_add({kTarget, volume_ + kNextFree}, 1);
        world_.access(rank_, kTarget, sizeof(Value));
        const Word last{kTarget, volume_ + kLast};
        for (Value seen = fabric_.get(last);;) {
            const Value found = fabric_.compare_swap(last, seen, place);
            if (found == seen)
                return;
            seen = found;
        }
    }

    const Run& run_;
    World& world_;
    Rank rank_;
    SimFabric fabric_;
    std::unique_ptr<WindowLock> lock_;
    Slot volume_; ///< behind the window's own words
    Tally& tally_;
};

Result run_so_often(const Run& run, const Window& window, unsigned operations) {
    Tally tally(run.window.layout.ranks, operations);
    World world(
        run.window.layout, window.slots() + words_of(run.benchmark), run.costs, run.seed,
        [&](World& w, Rank rank) { Process(run, window, w, rank, tally).repeat(operations); });
    const auto all = static_cast<std::uint64_t>(run.window.layout.ranks) * operations;
    world.run(std::max(run.budget, all) * kPatience);
    return tally.result(world);
}

} // namespace

const Benchmark& benchmark(const std::string& name) {
    std::string names;
    for (const Benchmark& each : kBenchmarks) {
        if (name == each.name)
            return each;
        names += (names.empty() ? "" : ", ") + std::string(each.name);
    }
    throw Refused(fmt::format("no benchmark is called '{}'; there are {}", name, names));
}

Result run(const Run& run) {
    const Window window(run.window);
    if (run.operations != 0)
        return run_so_often(run, window, run.operations);
    const std::uint64_t verbs = run_so_often(run, window, kPilot).counts.verbs;
    const std::uint64_t permitted = run.budget * kPilot / std::max<std::uint64_t>(verbs, 1);
    return run_so_often(
        run, window, static_cast<unsigned>(std::clamp<std::uint64_t>(permitted, kFewest, kMost)));
}

} // namespace rmalock::sim
