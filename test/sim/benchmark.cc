// The benchmarks; see benchmark.hh.
#include "sim/benchmark.hh"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "sim/cascade.hh"
#include "sim/servers.hh"

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

/// What one operation took, the time inside not counted.
struct Took {
    Time all{}, acquire{};
};

/// What all processes add to.
class Tally {
  public:
    Tally(Rank ranks, unsigned operations)
        : operations_(operations), discarded_(operations / 10),
          done_(static_cast<std::size_t>(ranks)) {}

    void note(Rank rank, bool exclusive, const Took& took, Time now) {
        unsigned& done = done_[static_cast<std::size_t>(rank)];
        if (done++ >= discarded_) {
            Sum& sum = sums_[exclusive];
            ++sum.times, sum.took += took.all;
            acquiring_ += took.acquire;
            latencies_.push_back(static_cast<float>(microseconds(took.all)));
            longest_ = std::max(longest_, took.all);
        }
        if (done == operations_ && !first_done_) {
            first_done_ = true;
            fewest_ = *std::ranges::min_element(done_);
        }
        if (++all_ == discarded_ * done_.size())
            begin_ = now;
        end_ = now;
    }

    Result result(const Cluster& cluster) {
        std::ranges::sort(latencies_);
        const auto counted = static_cast<double>(all_ - discarded_ * done_.size());
        const Sum both{sums_[0].times + sums_[1].times, sums_[0].took + sums_[1].took};
        const Sum acquiring{both.times, acquiring_};
        return {.operations = operations_,
                .per_second = end_ > begin_ ? counted / microseconds(end_ - begin_) * 1e6 : 0,
                .latency = both.mean(),
                .acquire = acquiring.mean(),
                .reader_latency = sums_[0].mean(),
                .writer_latency = sums_[1].mean(),
                .median = percentile(0.5),
                .p90 = percentile(0.9),
                .p99 = percentile(0.99),
                .twentieths = twentieths(),
                .longest = microseconds(longest_),
                .fewest = fewest_,
                .seconds = microseconds(end_) / 1e6,
                .counts = cluster.all_counts()};
    }

  private:
    struct Sum {
        std::uint64_t times = 0;
        Time took{};
        double mean() const {
            return times == 0 ? 0 : microseconds(took) / static_cast<double>(times);
        }
    };
    double percentile(double part) const {
        const auto all = static_cast<double>(latencies_.size());
        return all == 0 ? 0 : static_cast<double>(latencies_[static_cast<std::size_t>(part * all)]);
    }

    std::array<double, 19> twentieths() const {
        std::array<double, 19> found{};
        for (std::size_t i = 0; i < found.size(); ++i)
            found[i] = percentile(static_cast<double>(i + 1) / 20);
        return found;
    }

    unsigned operations_, discarded_;
    std::vector<unsigned> done_;
    std::vector<float> latencies_; ///< us
    Sum sums_[2];
    Time acquiring_{}, longest_{}, begin_{}, end_{};
    std::uint64_t all_ = 0;
    bool first_done_ = false;
    unsigned fewest_ = 0;
};

/// Locks, and where each of them is: as many on each node. Those that its processes have no target
/// for are of further windows.
class LockTable {
  public:
    struct LockAt {
        std::size_t lock, window;
        Rank target;
    };

    /// Throws Refused.
    explicit LockTable(const Run& run)
        : layout_(run.window.layout), of_a_node_(static_cast<Rank>(run.locks) / layout_.nodes()) {
        if (!run.benchmark.spread || run.locks == 0)
            of_a_node_ = layout_.ranks_per_node;
        else if (run.locks % static_cast<unsigned>(layout_.nodes()) != 0 || of_a_node_ == 0)
            throw Refused(fmt::format("{} locks on {} nodes; a multiple of {} is allowed, or 0 for "
                                      "one at each process",
                                      run.locks, layout_.nodes(), layout_.nodes()));
    }

    std::size_t windows() const {
        return static_cast<std::size_t>((of_a_node_ - 1) / layout_.ranks_per_node) + 1;
    }
    /// The lock of this number of a node.
    LockAt at(Rank node, Rank number) const {
        const Rank of_a_window = layout_.ranks_per_node;
        return {.lock = static_cast<std::size_t>(node) * static_cast<std::size_t>(of_a_node_) +
                        static_cast<std::size_t>(number),
                .window = static_cast<std::size_t>(number / of_a_window),
                .target = node * of_a_window + number % of_a_window};
    }
    /// One of a process's node, or of another one.
    template <class Random>
    LockAt draw(Random& random, Rank rank, bool local) const {
        const auto below = [&](Rank n) {
            return static_cast<Rank>(random() % static_cast<std::uint64_t>(n));
        };
        Rank node = layout_.node(rank);
        if (!local && layout_.nodes() > 1)
            node = (node + 1 + below(layout_.nodes() - 1)) % layout_.nodes();
        return at(node, below(of_a_node_));
    }

  private:
    Layout layout_;
    Rank of_a_node_;
};

/// What the processes of a run have in common.
struct Common {
    LockTable table;
    Tally tally;
    Cascade cascade;
};

/// One process of a benchmark.
class Process {
  public:
    Process(const Run& run, const Window& window, Cluster& cluster, Rank rank, Common& common)
        : run_(run), table_(common.table), cluster_(cluster), rank_(rank),
          volume_(static_cast<Slot>(table_.windows()) * window.slots()), tally_(common.tally),
          cascade_(common.cascade) {
        for (Slot i = 0; i < table_.windows(); ++i) {
            fabrics_.push_back(std::make_unique<SimFabric>(cluster, rank, i * window.slots()));
            locks_.push_back(make_lock(window, *fabrics_.back()));
        }
    }

    void repeat(unsigned operations) {
        for (unsigned i = 0; i < operations; ++i) {
            const bool writes = chance() < run_.writers;
            const bool exclusive = writes || (run_.benchmark.locked && !locks_.front()->shares());
            if (run_.benchmark.cascade) {
                cascade(i, exclusive);
                continue;
            }
            const Time begin = cluster_.now();
            const Spent spent = run_.benchmark.locked ? locked(exclusive, writes) : free(writes);
            const Time all = cluster_.now() - begin - spent.inside;
            tally_.note(rank_, exclusive, {all, spent.acquiring}, cluster_.now());
            if (run_.benchmark.outside)
                compute();
        }
    }

  private:
    struct Spent {
        Time acquiring, inside;
    };
    struct Held {
        LockTable::LockAt place;
        bool exclusive;
        locks::Hold hold;
    };
    static model::Mode mode_of(bool exclusive) {
        return exclusive ? model::Mode::exclusive : model::Mode::shared;
    }
    Held acquire(LockTable::LockAt place, bool exclusive) {
        cluster_.wait(rank_, mode_of(exclusive));
        const locks::Hold hold = locks_[place.window]->acquire(place.target, exclusive);
        cluster_.enter(rank_, mode_of(exclusive), place.lock);
        return {place, exclusive, hold};
    }
    void leave(const Held& held) { cluster_.leave(mode_of(held.exclusive), held.place.lock); }
    void release(const Held& held) {
        locks_[held.place.window]->release(held.place.target, held.exclusive, held.hold);
        cluster_.pass(rank_, Time{}); // a release may have posted only
    }

    Spent locked(bool exclusive, bool writes) {
        const Time begin = cluster_.now();
        const Held held = acquire(any_lock(), exclusive);
        const Time entered = cluster_.now();
        work(writes);
        leave(held);
        const Time left = cluster_.now();
        release(held);
        return {entered - begin, left - entered};
    }
    /// Each process notes the time of all.
    void cascade(unsigned round, bool exclusive) {
        if (rank_ == Cascade::kHolder) {
            const Held held = acquire(any_lock(), true);
            cascade_.hold(round);
            cluster_.pass(rank_, Cascade::kHeld);
            leave(held);
            cascade_.begin_release(round, cluster_.now());
            release(held);
        } else if (rank_ >= Cascade::kFirstWaiter) {
            while (!cascade_.is_held(round))
                cluster_.pass(rank_, Cascade::kLook);
            const Held held = acquire(any_lock(), exclusive);
            cascade_.let_in(round, cluster_.now());
            leave(held);
            release(held);
        }
        while (!cascade_.is_over(round))
            cluster_.pass(rank_, Cascade::kLook);
        tally_.note(rank_, exclusive, {.all = cascade_.took(round)}, cluster_.now());
    }
    /// All of it is the operation's.
    Spent free(bool writes) {
        work(writes);
        return {};
    }

    double chance() { return static_cast<double>(cluster_.random()() >> 11) * 0x1p-53; }
    LockTable::LockAt any_lock() {
        if (run_.benchmark.spread)
            return table_.draw(cluster_.random(), rank_, chance() < run_.local);
        const Layout& layout = run_.window.layout;
        const Rank target =
            run_.benchmark.many
                ? static_cast<Rank>(cluster_.random()() % static_cast<std::uint64_t>(layout.ranks))
                : kTarget;
        return {static_cast<std::size_t>(target), 0, target};
    }
    void compute() { cluster_.pass(rank_, nanoseconds(1000 + 3000 * chance())); }
    void work(bool writes) {
        if (run_.benchmark.access)
            cluster_.access(rank_, kTarget, sizeof(Value));
        if (run_.benchmark.work) {
            fabrics_.front()->fetch_add({kTarget, Window::kData}, 1);
            compute();
        }
        if (run_.benchmark.table)
            writes ? insert() : look_up();
    }

    /// An element of the table's, drawn.
    Word element() {
        const auto drawn = static_cast<Slot>(cluster_.random()() % kTable);
        return {kTarget, volume_ + kTableAt + drawn};
    }
    void look_up() { fabrics_.front()->get(element()); }
    /// As in the paper: a compare-and-swap; what collides goes to the next place of the heap, and the
    /// volume's last pointer to it is moved. Without locks that may take several tries.
    void insert() {
        const Word at = element();
        if (fabrics_.front()->compare_swap(at, 0, 1) == 0)
            return;
        const Value place = fabrics_.front()->fetch_add({kTarget, volume_ + kNextFree}, 1);
        cluster_.access(rank_, kTarget, sizeof(Value));
        const Word last{kTarget, volume_ + kLast};
        for (Value seen = fabrics_.front()->get(last);;) {
            const Value found = fabrics_.front()->compare_swap(last, seen, place);
            if (found == seen)
                return;
            seen = found;
        }
    }

    const Run& run_;
    const LockTable& table_;
    Cluster& cluster_;
    Rank rank_;
    std::vector<std::unique_ptr<SimFabric>> fabrics_; ///< by window
    std::vector<std::unique_ptr<WindowLock>> locks_;
    Slot volume_; ///< behind the windows' own words
    Tally& tally_;
    Cascade& cascade_;
};

Result run_so_often(const Run& run, const Window& window, unsigned operations) {
    const Rank ranks = run.window.layout.ranks;
    if (run.benchmark.cascade && ranks <= Cascade::kFirstWaiter)
        throw Refused(fmt::format("{} ranks for a cascade, which has a home, a holder and those "
                                  "that wait; at least {} are allowed",
                                  ranks, Cascade::kFirstWaiter + 1));
    Common common{LockTable(run), Tally(ranks, operations), Cascade(ranks, operations)};
    Servers servers(window, common.table.windows());
    Cluster cluster(
        run.window.layout,
        static_cast<Slot>(common.table.windows()) * window.slots() + words_of(run.benchmark),
        run.costs, run.seed,
        [&](Cluster& w, Rank rank) { Process(run, window, w, rank, common).repeat(operations); },
        servers.of_each_rank(), [&](Cluster& w, Rank self) { servers.serve(w, self); });
    const auto all = static_cast<std::uint64_t>(ranks) * operations;
    cluster.run(std::max(run.budget, all) * kPatience);
    return common.tally.result(cluster);
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
