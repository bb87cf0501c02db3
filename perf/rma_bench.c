/* rma_bench: MPI one-sided benchmarks as a catalogue.
 *
 * An ordinary MPI program: it knows nothing of the component that serves its windows, so the same
 * binary measures all of them (perf/compare does so, side by side). Every case gets a fresh
 * window, verifies the data it moved, and prints JSON lines (report.c). Values that are wrong are
 * an error and never a result. */
#define _GNU_SOURCE /* cpu_set_t */
#include "bench.h"

#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct options {
    const char* run;     /* comma list of names or patterns */
    const char* flavors; /* comma list, or NULL for each row's own */
    int iterations;      /* or 0 for each row's own */
    struct settings settings;
    bool list, json;
};

/* --- options --------------------------------------------------------------------------------- */

static void usage(FILE* out) {
    fputs(
        "usage: mpirun -n RANKS rma_bench [--run CASE[,CASE]] [OPTION...]\n"
        "       rma_bench --list [--json]\n"
        "\n"
        "  --run     cases or patterns such as 'lock_*' (default: all)\n"
        "  --flavor  how windows are made, allocate or create; a comma list runs both\n"
        "            (default: as catalogued)\n"
        "  --iters   samples per result, the first tenth of which is discarded\n"
        "  --size    bytes per operation instead of the case's own sweep\n"
        "  --busy    how long the target of target_busy computes, in s (default: 2)\n"
        "  --order   rows of the LU matrix; a comma list runs all (default: 1000)\n"
        "  --block   rows of its blocks (default: 128)\n"
        "  --writers exclusive locks of the lock benchmarks, inserts into the hashtable, in %;\n"
        "            a comma list runs all (default: 0,0.2,2,5,20,50,100)\n"
        "  --locks   of the lock table; a comma list runs all (default: 20)\n"
        "  --local   locks of the own node that are drawn from the table, in %; a comma list runs\n"
        "            all (default: 85,90,95,100)\n"
        "  --duration\n"
        "            how long a phase of the lock benchmarks takes, in s (default: 0.02)\n"
        "  --origin-core\n"
        "            the core on which the main thread of rank 0 runs; its other threads stay\n"
        "            where they are (default: none)\n"
        "  --phases  overlap: report also the bare epoch, the computation alone, and the calls,\n"
        "            the computation and the wait of an epoch with both\n",
        out);
}

/* Numbers with commas between them; an empty list if there is anything else, or one out of range.
 */
static struct list list_of(const char* text, double low, double high) {
    struct list list = {.count = 0};
    char* end = NULL;
    while (list.count < LIST_MAX) {
        const double value = strtod(text, &end);
        if (end == text || !(value >= low && value <= high) || ('\0' != *end && ',' != *end))
            return (struct list){.count = 0};
        list.values[list.count++] = value;
        if ('\0' == *end)
            return list;
        text = end + 1;
    }
    return (struct list){.count = 0};
}

/* One number, or -2, which no option means. */
static int number(const char* text, int low, int high) {
    const struct list list = list_of(text, low, high);
    return 1 == list.count ? (int)list.values[0] : -2;
}

/* A time, or 0 if it is none. */
static double seconds(const char* text) {
    const struct list list = list_of(text, 0, 1e6);
    return 1 == list.count ? list.values[0] : 0;
}

static int positive(const char* text) {
    return number(text, 1, 1 << 30);
}

static bool options_sane(const struct options* o) {
    const struct settings* s = &o->settings;
    const char* wrong = o->iterations < 0         ? "--iters"
                        : s->size < -1            ? "--size"
                        : !(s->busy_seconds > 0)  ? "--busy"
                        : 0 == s->orders.count    ? "--order"
                        : s->block < 1            ? "--block"
                        : 0 == s->writers.count   ? "--writers"
                        : 0 == s->locks.count     ? "--locks"
                        : 0 == s->local.count     ? "--local"
                        : !(s->phase_seconds > 0) ? "--duration"
                        : s->origin_core < -1     ? "--origin-core"
                                                  : NULL;
    if (NULL != wrong) {
        fprintf(stderr, "rma_bench: %s is out of range, or not a number\n", wrong);
        return false;
    }
    return (NULL == o->flavors || flavors_known(o->flavors)) && cases_known(o->run);
}

enum option_key {
    RUN = 1,
    FLAVOR,
    ITERS,
    SIZE,
    BUSY,
    ORDER,
    BLOCK,
    WRITERS,
    LOCKS,
    LOCAL,
    DURATION,
    ORIGIN_CORE,
    PHASES,
    LIST,
    JSON,
    HELP
};

static const struct option long_options[] = {
    {"run", required_argument, NULL, RUN},
    {"flavor", required_argument, NULL, FLAVOR},
    {"iters", required_argument, NULL, ITERS},
    {"size", required_argument, NULL, SIZE},
    {"busy", required_argument, NULL, BUSY},
    {"order", required_argument, NULL, ORDER},
    {"block", required_argument, NULL, BLOCK},
    {"writers", required_argument, NULL, WRITERS},
    {"locks", required_argument, NULL, LOCKS},
    {"local", required_argument, NULL, LOCAL},
    {"duration", required_argument, NULL, DURATION},
    {"list", no_argument, NULL, LIST},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {"origin-core", required_argument, NULL, ORIGIN_CORE},
    {"phases", no_argument, NULL, PHASES},
    {NULL, 0, NULL, 0},
};

/* False if there is no such option. */
static bool take_option(struct options* o, int key) {
    switch (key) {
    case RUN:
        o->run = optarg;
        return true;
    case FLAVOR:
        o->flavors = optarg;
        return true;
    case ITERS:
        o->iterations = positive(optarg);
        return true;
    case SIZE:
        o->settings.size = positive(optarg);
        return true;
    case BUSY:
        o->settings.busy_seconds = seconds(optarg);
        return true;
    case ORDER:
        o->settings.orders = list_of(optarg, 1, 1 << 20);
        return true;
    case BLOCK:
        o->settings.block = positive(optarg);
        return true;
    case WRITERS:
        o->settings.writers = list_of(optarg, 0, 100);
        return true;
    case LOCKS:
        o->settings.locks = list_of(optarg, 1, 100000);
        return true;
    case LOCAL:
        o->settings.local = list_of(optarg, 0, 100);
        return true;
    case DURATION:
        o->settings.phase_seconds = seconds(optarg);
        return true;
    case ORIGIN_CORE:
        o->settings.origin_core = number(optarg, 0, CPU_SETSIZE - 1);
        return true;
    case PHASES:
        return o->settings.phases = true;
    case LIST:
        return o->list = true;
    case JSON:
        return o->json = true;
    default:
        return false;
    }
}

static struct options parse(int argc, char** argv) {
    struct options o = {
        .run = "*",
        .settings = {.size = -1,
                     .busy_seconds = 2,
                     .orders = {.values = {1000}, .count = 1},
                     .block = 128,
                     .phase_seconds = 0.02,
                     .origin_core = -1,
                     .locks = {.values = {20}, .count = 1},
                     .local = {.values = {85, 90, 95, 100}, .count = 4},
                     .writers = {.values = {0, 0.2, 2, 5, 20, 50, 100}, .count = 7}}};
    int key;
    while (-1 != (key = getopt_long(argc, argv, "", long_options, NULL))) {
        if (HELP == key) {
            usage(stdout);
            exit(0);
        }
        if (!take_option(&o, key)) {
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

/* --- windows --------------------------------------------------------------------------------- */

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

/* --- running --------------------------------------------------------------------------------- */

static size_t bytes_wanted(const struct bench* bench) {
    if (NULL != bench->row->bytes)
        return bench->row->bytes(bench);
    const size_t size = bench->settings->size > 0 ? (size_t)bench->settings->size : 0;
    const size_t needed = size * (size_t)bench->row->operations;
    return needed > bench->row->window_bytes ? needed : bench->row->window_bytes;
}

/* Whole cache lines: MPICH 4.0.2 puts the parts of a shared window in the wrong place otherwise. */
static size_t window_bytes(const struct bench* bench) {
    return (bytes_wanted(bench) + 63) / 64 * 64;
}

/* Of the main thread, and while there is a window: threads that a component starts for it keep the
 * cores that the process began with. */
static void place_origin(const struct bench* bench, bool alone) {
    static cpu_set_t before;
    cpu_set_t one;
    if (ORIGIN != bench->rank || bench->settings->origin_core < 0)
        return;
    CPU_ZERO(&one);
    CPU_SET(bench->settings->origin_core, &one);
    if ((alone && 0 != sched_getaffinity(0, sizeof before, &before)) ||
        0 != sched_setaffinity(0, sizeof one, alone ? &one : &before)) {
        perror("rma_bench: --origin-core");
        MPI_Abort(bench->comm, 2);
    }
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
        place_origin(bench, true);
        bench->row->run(bench);
        place_origin(bench, false);
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
            if (!case_listed(options->run, row->name) || !flavor_listed(wanted, flavors[f]))
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
        catalogue_print(options.json);
        return 0;
    }
    MPI_Init(&argc, &argv);
    struct bench bench = {.settings = &options.settings};
    MPI_Comm_dup(MPI_COMM_WORLD, &bench.comm);
    MPI_Comm_rank(bench.comm, &bench.rank);
    MPI_Comm_size(bench.comm, &bench.ranks);
    report_run(&bench);
    run_selected(&bench, &options);
    MPI_Comm_free(&bench.comm);
    MPI_Finalize();
    return bench.any_wrong ? 1 : 0;
}
