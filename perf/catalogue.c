/* The catalogue: every case with its source, parameters and metric, and how names select cases. */
#include "bench.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#define MPI_PASSIVE "MPI-4.0 12.5.3"
#define MPI_FLUSH "MPI-4.0 12.5.4"
#define MPI_ACTIVE "MPI-4.0 12.5.1-2"
#define MPI_REQUESTS "MPI-4.0 12.3.5"
#define MPI_TYPES "MPI-4.0 12.3.1-4"
#define MPI_PROGRESS "MPI-4.0 12.7.3"
#define PAPER "direct-passive "
#define RMA_RW "RMA-RW "
#define ALOCK "ALock "
#define N_COSED "N-CoSED "

enum { WORD_WINDOW = 4096, ARRAY_WINDOW = 8192, EPOCH_WINDOW = 1 << 20, SWEEP_WINDOW = 3 << 20 };

/* What rows have in common: flavors, least ranks, samples, window bytes, how many operations of
 * --size share an epoch (0 where the size is fixed), and what computes the window's size instead.
 */
#define WORDS "allocate", 2, 200, WORD_WINDOW, 0, NULL
#define WINDOW "allocate,create", 2, 100, WORD_WINDOW, 0, NULL
#define ARRAY "allocate", 2, 200, ARRAY_WINDOW, 0, NULL
#define SWEEP_ROW                                                                                  \
    "MPI-4.0 12.3", "operation, type, bytes, layout, depth", "latency, ns", "allocate", 2, 30,     \
        SWEEP_WINDOW, 0, NULL
#define LATENCY "allocate", 2, 100, EPOCH_WINDOW, 1, NULL
#define OVERLAP "allocate", 2, 50, EPOCH_WINDOW, 1, NULL
#define OVERLAP_OPS "allocate", 2, 50, EPOCH_WINDOW, OPERATIONS_MAX, NULL
#define RECEIVER(ranks) "allocate", ranks, 10, EPOCH_WINDOW, 1, NULL
#define BUSY_TARGET "allocate,create", 2, 1, WORD_WINDOW, 0, NULL
#define CONTENTION "allocate", 2, 20, WORD_WINDOW, 0, NULL
#define CASCADE "allocate", 3, 20, WORD_WINDOW, 0, NULL
#define HASHTABLE "allocate", 2, 10, 0, 0, dht_bytes
#define LU_ROW                                                                                     \
    "n = --order, B = --block", "total and time per call, ns", "allocate", 1, 5, 0, 0, lu_bytes

// clang-format off
const struct bench_case catalogue[] = {
    {"lock_excl", run_lock_excl, MPI_PASSIVE, "-", "lock+unlock, ns", WORDS},
    {"lock_shared", run_lock_shared, MPI_PASSIVE, "-", "lock+unlock, ns", WORDS},
    {"lock_all", run_lock_all, MPI_PASSIVE, "-", "lock+unlock, ns", WORDS},
    {"put8_flush", run_put8_flush, MPI_FLUSH, "8 B", "latency, ns", WORDS},
    {"get8_flush", run_get8_flush, MPI_FLUSH, "8 B", "latency, ns", WORDS},
    {"fetch_and_op_flush", run_fetch_and_op_flush, MPI_FLUSH, "SUM, INT64_T", "latency, ns", WORDS},
    {"compare_and_swap_flush", run_compare_and_swap_flush, MPI_FLUSH, "INT64_T",
     "latency, ns", WORDS},
    {"accumulate8_flush", run_accumulate8_flush, MPI_FLUSH, "SUM, INT64_T", "latency, ns", WORDS},
    {"get_accumulate8_flush", run_get_accumulate8_flush, MPI_FLUSH, "SUM, INT64_T",
     "latency, ns", WORDS},
    {"rput8", run_rput8, MPI_REQUESTS, "8 B, wait", "latency, ns", WORDS},
    {"rget8", run_rget8, MPI_REQUESTS, "8 B, wait", "latency, ns", WORDS},
    {"raccumulate8", run_raccumulate8, MPI_REQUESTS, "SUM, INT64_T, wait", "latency, ns", WORDS},
    {"rget_accumulate8", run_rget_accumulate8, MPI_REQUESTS, "SUM, INT64_T, wait",
     "latency, ns", WORDS},
    {"put_vector_flush", run_put_vector_flush, MPI_TYPES, "64 x INT64_T, stride 2",
     "latency, ns", WORDS},
    {"get_vector_flush", run_get_vector_flush, MPI_TYPES, "64 x INT64_T, stride 2",
     "latency, ns", WORDS},
    {"accumulate_vector_flush", run_accumulate_vector_flush, MPI_TYPES, "64 x INT64_T, stride 2",
     "latency, ns", WORDS},
    {"accumulate_array_flush", run_accumulate_array_flush, MPI_FLUSH, "SUM, 1024 DOUBLE",
     "latency, ns", ARRAY},
    {"accumulate_array_exclusive", run_accumulate_array_exclusive, MPI_FLUSH, "SUM, 1024 DOUBLE",
     "latency, ns", ARRAY},
    {"sweep_put", run_sweep_put, SWEEP_ROW},
    {"sweep_get", run_sweep_get, SWEEP_ROW},
    {"sweep_accumulate", run_sweep_accumulate, SWEEP_ROW},
    {"sweep_get_accumulate", run_sweep_get_accumulate, SWEEP_ROW},
    {"sweep_fetch_and_op", run_sweep_fetch_and_op, SWEEP_ROW},
    {"flush", run_flush, MPI_FLUSH, "nothing outstanding", "latency, ns", WORDS},
    {"flush_local", run_flush_local, MPI_FLUSH, "nothing outstanding", "latency, ns", WORDS},
    {"flush_all", run_flush_all, MPI_FLUSH, "nothing outstanding", "latency, ns", WORDS},
    {"fence", run_fence, MPI_ACTIVE, "one 8 B put", "epoch, ns", WORDS},
    {"pscw", run_pscw, MPI_ACTIVE, "one 8 B put", "epoch, ns", WORDS},
    {"window", run_window, "MPI-4.0 12.2, 12.5.3", "-", "create, first lock_all, free, ns", WINDOW},
    {"lock_put_unlock", run_lock_put_unlock, PAPER "5.1, fig. 3a", "1 B .. 1 MB",
     "latency, ns", LATENCY},
    {"lock_get_unlock", run_lock_get_unlock, PAPER "5.1, fig. 3b", "1 B .. 1 MB",
     "latency, ns", LATENCY},
    {"overlap_put", run_overlap_put, PAPER "5.2, fig. 4a", "4 KB .. 1 MB", "hidden, %", OVERLAP},
    {"overlap_get", run_overlap_get, PAPER "5.2, fig. 4b", "4 KB .. 1 MB", "hidden, %", OVERLAP},
    {"overlap_flush_put", run_overlap_flush_put, "MPI 12.5.4", "4 KB .. 1 MB", "hidden, %", OVERLAP},
    {"overlap_flush_get", run_overlap_flush_get, "MPI 12.5.4", "4 KB .. 1 MB", "hidden, %", OVERLAP},
    {"overlap_ops_put", run_overlap_ops_put, PAPER "5.2, fig. 5a", "32 KB, 1 .. 32 operations",
     "hidden, %", OVERLAP_OPS},
    {"overlap_ops_get", run_overlap_ops_get, PAPER "5.2, fig. 5b", "32 KB, 1 .. 32 operations",
     "hidden, %", OVERLAP_OPS},
    {"receiver_overlap", run_receiver_overlap, PAPER "5.2, fig. 6a", "4 KB .. 256 KB, one origin",
     "slowdown; epochs served/ms", RECEIVER(2)},
    {"receiver_overlap_many", run_receiver_overlap_many, PAPER "5.2, fig. 6b",
     "32 KB, 2 .. ranks-1 origins", "slowdown; epochs served/ms", RECEIVER(3)},
    {"target_busy", run_target_busy, MPI_PROGRESS, "--busy 2 s", "per call, ns", BUSY_TARGET},
    {"lu_exclusive", run_lu_exclusive, PAPER "5.3, figs. 7, 8", LU_ROW},
    {"lu_shared", run_lu_shared, PAPER "5.3, shared locks", LU_ROW},
    {"lu_lock_all", run_lu_lock_all, PAPER "5.3, lock_all + flush", LU_ROW},
    {"lb", run_lb, RMA_RW "5, LB", "F_W = --writers %", "latency, ns; fairness", CONTENTION},
    {"lb_one_writer", run_lb_one_writer, RMA_RW "5, LB", "rank 0 writes, the others read",
     "latency, ns; fairness", CONTENTION},
    {"ecsb", run_ecsb, RMA_RW "5, ECSB", "F_W = --writers %", "locks/ms; fairness", CONTENTION},
    {"sob", run_sob, RMA_RW "5, SOB", "F_W = --writers %", "locks/ms; fairness", CONTENTION},
    {"wcsb", run_wcsb, RMA_RW "5, WCSB", "F_W = --writers %", "locks/ms; fairness", CONTENTION},
    {"warb", run_warb, RMA_RW "5, WARB", "F_W = --writers %", "locks/ms; fairness", CONTENTION},
    {"lock_table", run_lock_table, ALOCK "6", "--locks, --local %", "locks/ms; latency, ns",
     CONTENTION},
    {"cascade", run_cascade, N_COSED "4.3", "shared, exclusive", "until all were in, ns", CASCADE},
    {"lock_serial", run_lock_serial, N_COSED "4.2, fig. 5", "shared, exclusive; target",
     "lock, unlock, ns", CONTENTION},
    {"dht_atomics", run_dht_atomics, RMA_RW "5.3, foMPI-A", "F_W = --writers %", "total, ns",
     HASHTABLE},
    {"dht_locks", run_dht_locks, RMA_RW "5.3", "F_W = --writers %", "total, ns", HASHTABLE},
};
// clang-format on

const size_t catalogue_length = sizeof catalogue / sizeof *catalogue;

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

bool cases_known(const char* list) {
    return all_known(list, "case (see --list)", selects_case);
}

bool flavors_known(const char* list) {
    return all_known(list, "flavor", is_flavor);
}

bool case_listed(const char* list, const char* name) {
    return listed(list, name, glob);
}

bool flavor_listed(const char* list, const char* flavor) {
    return listed(list, flavor, same);
}

void catalogue_print(bool json) {
    for (size_t i = 0; i < catalogue_length; i++) {
        const struct bench_case* c = &catalogue[i];
        if (json)
            printf("{\"case\":\"%s\",\"source\":\"%s\",\"parameters\":\"%s\",\"metric\":\"%s\","
                   "\"flavors\":\"%s\",\"min_ranks\":%d}\n",
                   c->name, c->source, c->parameters, c->metric, c->flavors, c->min_ranks);
        else
            printf("%-23s %-37s %-28s %s\n", c->name, c->source, c->parameters, c->metric);
    }
}
