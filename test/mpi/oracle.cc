// Random RMA programs against a sequential oracle.
//
//     oracle [--ops N] [--seed N] [--flavors F,F] [--calls C,C] [--replay] [--timeout S]
//
// All ranks generate the same program from one seed, phase by phase. A phase is one synchronization
// (passive epochs, fence, or PSCW) on one or two windows, with up to some dozens of operations per
// rank, ended by a barrier. Only programs with one possible outcome are generated; each location of
// a target is, within a phase, one of
//     private      used by one origin, one operation after another, with flushes where order needs
//                  them; accumulates follow each other without (their order is guaranteed)
//     commutative  accumulated to by all, with one operation; nobody looks at what was fetched
//     guarded      read and written back (not atomically) by all, under exclusive locks
// So the sequential application of all operations, in any order that keeps each origin's, is what
// memory and every fetched result must show. Every rank knows the whole memory of everybody (the
// model) and compares its own part after each phase.
//
// At the first difference all ranks stop; the location is printed with the operations of the phase
// that touched it. The same command line (the seed is always printed) gives the same program again;
// --replay also prints every operation before it is executed.
//
// This file has the command line and the loop over the phases; the rest is in random_programs/.
#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>
#include <vector>

#include "random_programs/executor.hh"
#include "random_programs/generator.hh"
#include "random_programs/judge.hh"
#include "random_programs/program.hh"

namespace {

using namespace oracle;

struct {
    long phase = 0;
    uint64_t seed = 0;
    int rank = 0;
} now;

void on_alarm(int) {
    char line[128];
    const int n =
        std::snprintf(line, sizeof line, "\nTIMEOUT rank %d oracle seed %" PRIu64 " phase %ld\n",
                      now.rank, now.seed, now.phase);
    if (write(STDERR_FILENO, line, static_cast<size_t>(n)) < 0)
        _exit(125);
    _exit(124);
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    for (size_t at = 0; at <= list.size();) {
        const size_t comma = std::min(list.find(',', at), list.size());
        parts.push_back(list.substr(at, comma - at));
        at = comma + 1;
    }
    return parts;
}

template <size_t N>
int index_of(const char* const (&names)[N], const std::string& name) {
    for (size_t i = 0; i < N; ++i)
        if (name == names[i])
            return static_cast<int>(i);
    std::fprintf(stderr, "oracle: unknown name %s\n", name.c_str());
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 0; i < 10; ++i)
        o.calls.push_back(static_cast<Call>(i));
    for (int i = 1; i < argc; ++i) {
        const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (key == "--replay") {
            o.replay = true;
            continue;
        }
        ++i;
        if (key == "--ops")
            o.ops = std::atol(value.c_str());
        else if (key == "--seed")
            o.seed = std::strtoull(value.c_str(), nullptr, 0);
        else if (key == "--timeout")
            o.timeout = static_cast<unsigned>(std::atoi(value.c_str()));
        else if (key == "--flavors") {
            o.flavors.clear();
            for (const std::string& f : split(value))
                o.flavors.push_back(index_of(kFlavorNames, f));
        } else if (key == "--calls") {
            o.calls.clear();
            for (const std::string& c : split(value))
                o.calls.push_back(static_cast<Call>(index_of(kCallNames, c)));
        } else if (key != "--skip") { // which the runner passes to every program: ignored
            std::fprintf(stderr, "oracle: unknown option %s\n", key.c_str());
            std::exit(2);
        }
    }
    return o;
}

void tell(const Phase& p) {
    for (size_t w = 0; w < p.windows.size(); ++w) {
        const Window& window = *p.windows[w];
        const Hold& h = p.holds[w][static_cast<size_t>(window.rank)];
        std::string kinds, access;
        for (int t = 0; t < window.ranks; ++t) {
            kinds += h.kind[static_cast<size_t>(t)] == MPI_LOCK_EXCLUSIVE ? 'x' : 's';
            access +=
                p.access[w][static_cast<size_t>(window.rank)][static_cast<size_t>(t)] ? 'y' : 'n';
        }
        std::fprintf(stderr, "rank %d: phase %ld, window %d (%s): %s, %s%s\n", window.rank,
                     now.phase, window.number, kFlavorNames[window.flavor],
                     kSyncNames[static_cast<int>(p.sync)],
                     p.sync == Sync::pscw ? access.c_str()
                     : h.lock_all         ? "lock_all"
                     : h.at_once          ? "at once "
                                          : "one by one ",
                     p.sync == Sync::passive && !h.lock_all ? kinds.c_str() : "");
    }
}

/// One phase: generated, applied to the model, executed, compared. All ranks return the same.
bool run_phase(Random& random, const std::vector<Basic>& basics, std::vector<Window>& windows,
               const Options& options, long& done) {
    Phase p = generate(random, basics, options, windows);
    for (auto& o : p.operations) {
        Window& w = *p.windows[o->window];
        apply_to_model(*o, w.model[static_cast<size_t>(o->target)]);
    }
    done += static_cast<long>(p.operations.size());
    if (options.replay)
        tell(p);
    execute(p, options.replay);
    MPI_Barrier(MPI_COMM_WORLD);
    int good = agrees(p, now.phase, options), all = 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all != 0;
}

bool run(const Options& options, long& done) {
    Random random(options.seed);
    const std::vector<Basic> basics = make_basics();
    std::vector<Window> windows;
    int number = 0;
    for (const int f : options.flavors)
        for (int copy = 0; copy < 2; ++copy)
            windows.push_back(open_window(random, f, number++));
    bool good = true;
    for (now.phase = 0; good && done < options.ops; ++now.phase) {
        alarm(options.timeout);
        if (now.phase % 64 == 63) { // windows come and go
            Window& w =
                windows[static_cast<size_t>(random.below(static_cast<int>(windows.size())))];
            close_window(w);
            w = open_window(random, w.flavor, number++);
        }
        good = run_phase(random, basics, windows, options, done);
    }
    for (Window& w : windows)
        close_window(w);
    return good;
}

/// Ranks on several hosts share no memory.
bool on_several_hosts() {
    MPI_Comm host;
    int ranks, together;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &together);
    MPI_Comm_free(&host);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return together < ranks;
}

} // namespace

int main(int argc, char** argv) {
    Options options = parse(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &now.rank);
    if (options.seed == 0) // MPI_Wtime may count from the start of the program
        options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                             std::chrono::microseconds(1));
    MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    now.seed = options.seed;
    if (on_several_hosts())
        std::erase(options.flavors, index_of(kFlavorNames, "shared"));
    if (options.flavors.empty()) {
        std::fprintf(stderr,
                     "oracle: no flavor is left: shared windows need all ranks on one host\n");
        return 2;
    }
    std::signal(SIGALRM, on_alarm);
    long done = 0;
    const double begin = MPI_Wtime();
    const bool good = run(options, done);
    if (now.rank == 0) {
        int ranks;
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        std::printf("oracle: seed %" PRIu64 ", %ld operations in %ld phases, %.1f s\n",
                    options.seed, done, now.phase, MPI_Wtime() - begin);
        std::printf("oracle: %d passed, %d failed, 0 skipped (%d ranks)\n", good, !good, ranks);
    }
    MPI_Finalize();
    return !good;
}
