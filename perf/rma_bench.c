/* rma_bench: MPI one-sided benchmarks as a catalogue.
 *
 * An ordinary MPI program: it knows nothing of the component that serves its windows, so the same
 * binary measures all of them (perf/compare does so, side by side). Every case gets a fresh
 * window, verifies the data it moved, and prints JSON lines (report.c). Values that are wrong are
 * an error and never a result. */
#include "bench.h"

#include <fnmatch.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MPI_PASSIVE "MPI-4.0 12.5.3"
#define MPI_FLUSH "MPI-4.0 12.5.4"
#define MPI_ACTIVE "MPI-4.0 12.5.1-2"
#define MPI_PROGRESS "MPI-4.0 12.7.3"
#define PAPER "direct-passive "

enum { WORD_WINDOW = 4096, EPOCH_WINDOW = 1 << 20 };

/* What rows have in common: flavors, least ranks, samples, window bytes, and how many operations of
 * --size share an epoch (0 where the size is fixed). */
#define WORDS "allocate", 2, 200, WORD_WINDOW, 0
#define LATENCY "allocate", 2, 100, EPOCH_WINDOW, 1
#define OVERLAP "allocate", 2, 50, EPOCH_WINDOW, 1
#define OVERLAP_OPS "allocate", 2, 50, EPOCH_WINDOW, OPERATIONS_MAX
#define RECEIVER(ranks) "allocate", ranks, 10, EPOCH_WINDOW, 1
#define BUSY_TARGET "allocate,create", 2, 1, WORD_WINDOW, 0

// clang-format off
static const struct bench_case catalogue[] = {
    {"lock_excl", run_lock_excl, MPI_PASSIVE, "-", "lock+unlock, ns", WORDS},
    {"lock_shared", run_lock_shared, MPI_PASSIVE, "-", "lock+unlock, ns", WORDS},
    {"lock_all", run_lock_all, MPI_PASSIVE, "-", "lock+unlock, ns", WORDS},
    {"put8_flush", run_put8_flush, MPI_FLUSH, "8 B", "latency, ns", WORDS},
    {"get8_flush", run_get8_flush, MPI_FLUSH, "8 B", "latency, ns", WORDS},
    {"fetch_and_op_flush", run_fetch_and_op_flush, MPI_FLUSH, "SUM, INT64_T", "latency, ns", WORDS},
    {"compare_and_swap_flush", run_compare_and_swap_flush, MPI_FLUSH, "INT64_T",
     "latency, ns", WORDS},
    {"accumulate8_flush", run_accumulate8_flush, MPI_FLUSH, "SUM, INT64_T", "latency, ns", WORDS},
    {"fence", run_fence, MPI_ACTIVE, "one 8 B put", "epoch, ns", WORDS},
    {"pscw", run_pscw, MPI_ACTIVE, "one 8 B put", "epoch, ns", WORDS},
    {"lock_put_unlock", run_lock_put_unlock, PAPER "5.1, fig. 3a", "1 B .. 1 MB",
     "latency, ns", LATENCY},
    {"lock_get_unlock", run_lock_get_unlock, PAPER "5.1, fig. 3b", "1 B .. 1 MB",
     "latency, ns", LATENCY},
    {"overlap_put", run_overlap_put, PAPER "5.2, fig. 4a", "4 KB .. 1 MB", "hidden, %", OVERLAP},
    {"overlap_get", run_overlap_get, PAPER "5.2, fig. 4b", "4 KB .. 1 MB", "hidden, %", OVERLAP},
    {"overlap_ops_put", run_overlap_ops_put, PAPER "5.2, fig. 5a", "32 KB, 1 .. 32 operations",
     "hidden, %", OVERLAP_OPS},
    {"overlap_ops_get", run_overlap_ops_get, PAPER "5.2, fig. 5b", "32 KB, 1 .. 32 operations",
     "hidden, %", OVERLAP_OPS},
    {"receiver_overlap", run_receiver_overlap, PAPER "5.2, fig. 6a", "4 KB .. 256 KB, one origin",
     "slowdown; epochs served/ms", RECEIVER(2)},
    {"receiver_overlap_many", run_receiver_overlap_many, PAPER "5.2, fig. 6b",
     "32 KB, 2 .. ranks-1 origins", "slowdown; epochs served/ms", RECEIVER(3)},
    {"target_busy", run_target_busy, MPI_PROGRESS, "--busy 2 s", "per call, ns", BUSY_TARGET},
};
// clang-format on

static const size_t catalogue_length = sizeof catalogue / sizeof *catalogue;

struct options {
    const char* run;     /* comma list of names or patterns */
    const char* flavors; /* comma list, or NULL for each row's own */
    int iterations;      /* or 0 for each row's own */
    long size;
    double busy_seconds;
    bool list, json;
};

/* --- selection
 * -------------------------------------------------------------------------------------- */

enum { WORD_MAX = 128 };

typedef bool (*match_fn)(const char* word, const char* name);

static bool same(const char* word, const char* name) {
    return 0 == strcmp(word, name);
}

static bool glob(const char* word, const char* name) {
    return 0 == fnmatch(word, name, 0);
}

/* Takes the next word off a comma list; false at its end. */
static bool next_word(const char** list, char word[WORD_MAX]) {
    if ('\0' == **list)
        return false;
    const size_t length = strcspn(*list, ",");
    snprintf(word, WORD_MAX, "%.*s", (int)length, *list);
    *list += length + (',' == (*list)[length]);
    return true;
}

/* Whether some word of a comma list matches the name. */
static bool listed(const char* list, const char* name, match_fn match) {
    char word[WORD_MAX];
    while (next_word(&list, word))
        if (match(word, name))
            return true;
    return false;
}

static bool selects_case(const char* word) {
    for (size_t i = 0; i < catalogue_length; i++)
        if (glob(word, catalogue[i].name))
            return true;
    return false;
}

static bool is_flavor(const char* word) {
    return same(word, "allocate") || same(word, "create");
}

/* A word that selects nothing is a misspelling, and would silently measure less than was asked. */
static bool all_known(const char* list, const char* what, bool (*known)(const char*)) {
    char word[WORD_MAX];
    while (next_word(&list, word)) {
        if (!known(word)) {
            fprintf(stderr, "rma_bench: unknown %s '%s'\n", what, word);
            return false;
        }
    }
    return true;
}

static void print_catalogue(bool json) {
    for (size_t i = 0; i < catalogue_length; i++) {
        const struct bench_case* c = &catalogue[i];
        if (json)
            printf("{\"case\":\"%s\",\"source\":\"%s\",\"parameters\":\"%s\",\"metric\":\"%s\","
                   "\"flavors\":\"%s\",\"min_ranks\":%d}\n",
                   c->name, c->source, c->parameters, c->metric, c->flavors, c->min_ranks);
        else
            printf("%-23s %-27s %-28s %s\n", c->name, c->source, c->parameters, c->metric);
    }
}

/* --- options
 * ------------------------------------------------------------------------------------------ */

static void usage(FILE* out) {
    fputs("usage: mpirun -n RANKS rma_bench [--run CASE[,CASE]] [--flavor allocate|create]\n"
          "                                 [--iters N] [--size BYTES] [--busy SECONDS]\n"
          "       rma_bench --list [--json]\n"
          "\n"
          "  --run     cases or patterns such as 'lock_*' (default: all)\n"
          "  --flavor  how windows are made; a comma list runs both (default: as catalogued)\n"
          "  --iters   samples per result, the first tenth of which is discarded\n"
          "  --size    bytes per operation instead of the case's own sweep\n"
          "  --busy    how long the target of target_busy computes (default: 2)\n",
          out);
}

static bool options_sane(const struct options* o) {
    if (o->iterations < 0 || o->size == 0 || o->size < -1 || o->size > (1L << 30) ||
        !(o->busy_seconds > 0)) {
        fprintf(stderr, "rma_bench: --iters, --size (up to 1 GiB) and --busy must be positive\n");
        return false;
    }
    if (NULL != o->flavors && !all_known(o->flavors, "flavor", is_flavor))
        return false;
    return all_known(o->run, "case (see --list)", selects_case);
}

static struct options parse(int argc, char** argv) {
    enum { RUN = 'r', FLAVOR = 'f', ITERS = 'i', SIZE = 's', BUSY = 'b', LIST = 'l', JSON = 'j' };
    static const struct option long_options[] = {
        {"run", required_argument, NULL, RUN},
        {"flavor", required_argument, NULL, FLAVOR},
        {"iters", required_argument, NULL, ITERS},
        {"size", required_argument, NULL, SIZE},
        {"busy", required_argument, NULL, BUSY},
        {"list", no_argument, NULL, LIST},
        {"json", no_argument, NULL, JSON},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    struct options o = {.run = "*", .size = -1, .busy_seconds = 2};
    int c;
    while (-1 != (c = getopt_long(argc, argv, "h", long_options, NULL))) {
        switch (c) {
        case RUN:
            o.run = optarg;
            break;
        case FLAVOR:
            o.flavors = optarg;
            break;
        case ITERS:
            o.iterations = atoi(optarg) > 0 ? atoi(optarg) : -1;
            break;
        case SIZE:
            o.size = atol(optarg);
            break;
        case BUSY:
            o.busy_seconds = atof(optarg);
            break;
        case LIST:
            o.list = true;
            break;
        case JSON:
            o.json = true;
            break;
        case 'h':
            usage(stdout);
            exit(0);
        default:
            usage(stderr);
            exit(2);
        }
    }
    if (optind < argc) {
        usage(stderr);
        exit(2);
    }
    if (!options_sane(&o))
        exit(2);
    return o;
}

/* --- windows
 * ------------------------------------------------------------------------------------------- */

static void* buffer_new(size_t bytes) {
    void* buffer = NULL;
    if (0 != posix_memalign(&buffer, (size_t)sysconf(_SC_PAGESIZE), bytes))
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(buffer, 0, bytes);
    return buffer;
}

static int window_new(struct bench* bench) {
    void* base = NULL;
    int rc;
    if (0 == strcmp(bench->flavor, "create")) {
        base = buffer_new(bench->bytes);
        rc = MPI_Win_create(base, (MPI_Aint)bench->bytes, 1, MPI_INFO_NULL, bench->comm,
                            &bench->window);
        if (MPI_SUCCESS != rc)
            free(base);
    } else {
        rc = MPI_Win_allocate((MPI_Aint)bench->bytes, 1, MPI_INFO_NULL, bench->comm, &base,
                              &bench->window);
    }
    bench->memory = base;
    return rc;
}

/* Collective. A component may decline the window; then all ranks must know, and go on together. */
static bool window_open(struct bench* bench) {
    MPI_Comm_set_errhandler(bench->comm, MPI_ERRORS_RETURN);
    const int rc = window_new(bench);
    int worst, best, length;
    MPI_Comm_set_errhandler(bench->comm, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(&rc, &worst, 1, MPI_INT, MPI_MAX, bench->comm);
    MPI_Allreduce(&rc, &best, 1, MPI_INT, MPI_MIN, bench->comm);
    if (worst != best && MPI_SUCCESS == best) {
        fprintf(stderr, "rma_bench: window creation succeeded on some ranks only\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (MPI_SUCCESS != worst) {
        char text[MPI_MAX_ERROR_STRING], reason[MPI_MAX_ERROR_STRING + 32];
        MPI_Error_string(worst, text, &length);
        snprintf(reason, sizeof reason, "MPI_Win_%s: %s", bench->flavor, text);
        report_cannot(bench, reason);
        return false;
    }
    bench->local = buffer_new(bench->bytes);
    memset(bench->memory, 0, bench->bytes);
    MPI_Barrier(bench->comm);
    return true;
}

static void window_close(struct bench* bench) {
    unsigned char* created = 0 == strcmp(bench->flavor, "create") ? bench->memory : NULL;
    MPI_Win_free(&bench->window);
    free(created);
    free(bench->local);
}

/* --- running
 * ---------------------------------------------------------------------------------------------- */

static size_t window_bytes(const struct bench* bench) {
    const size_t size = bench->size_wanted > 0 ? (size_t)bench->size_wanted : 0;
    const size_t needed = size * (size_t)bench->row->operations;
    return needed > bench->row->window_bytes ? needed : bench->row->window_bytes;
}

static void run_case(struct bench* bench) {
    const double start = now_ns();
    bench->bytes = window_bytes(bench);
    bench->done = 0;
    bench->mismatch = false;
    if (bench->ranks < bench->row->min_ranks) {
        char reason[64];
        snprintf(reason, sizeof reason, "needs %d ranks, has %d", bench->row->min_ranks,
                 bench->ranks);
        report_cannot(bench, reason);
    } else if (window_open(bench)) {
        bench->row->run(bench);
        window_close(bench);
    }
    report_end(bench, (now_ns() - start) / 1e9);
}

static void run_selected(struct bench* bench, const struct options* options) {
    static const char* const flavors[] = {"allocate", "create"};
    for (size_t f = 0; f < 2; f++) {
        for (size_t i = 0; i < catalogue_length; i++) {
            const struct bench_case* row = &catalogue[i];
            const char* wanted = NULL != options->flavors ? options->flavors : row->flavors;
            if (!listed(options->run, row->name, glob) || !listed(wanted, flavors[f], same))
                continue;
            bench->row = row;
            bench->flavor = flavors[f];
            bench->iterations = options->iterations > 0 ? options->iterations : row->iterations;
            run_case(bench);
        }
    }
}

int main(int argc, char** argv) {
    const struct options options = parse(argc, argv);
    if (options.list) {
        print_catalogue(options.json);
        return 0;
    }
    MPI_Init(&argc, &argv);
    struct bench bench = {.size_wanted = options.size, .busy_seconds = options.busy_seconds};
    MPI_Comm_dup(MPI_COMM_WORLD, &bench.comm);
    MPI_Comm_rank(bench.comm, &bench.rank);
    MPI_Comm_size(bench.comm, &bench.ranks);
    report_run(&bench);
    run_selected(&bench, &options);
    MPI_Comm_free(&bench.comm);
    MPI_Finalize();
    return bench.any_wrong ? 1 : 0;
}
