/* What every benchmark case sees: the ranks' roles, one fresh window, timed repetition, and the
 * three things a case can end with: results, "cannot", "wrong". The catalogue is in rma_bench.c. */
#ifndef RMALOCK_PERF_BENCH_H
#define RMALOCK_PERF_BENCH_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Rank 0 measures against rank 1; further ranks wait in MPI_Barrier unless the case gives them a
 * part. They belong to the window all the same, because lock_all and fence depend on its size. */
enum { ORIGIN = 0, TARGET = 1 };

enum { OPERATIONS_MAX = 32 };

struct bench;

struct bench_case {
    const char* name;
    void (*run)(struct bench*);
    const char* source;     /* paper and section, or section of the MPI standard */
    const char* parameters; /* what is swept, for --list */
    const char* metric;     /* what is reported, for --list */
    const char* flavors;    /* run for these flavors unless --flavor says otherwise */
    int min_ranks;
    int iterations;      /* samples per result unless --iters says otherwise */
    size_t window_bytes; /* per rank; grown if --size needs more */
    int operations;      /* of --size in one epoch, at most; 0 where the size is fixed */
    size_t (*bytes)(const struct bench*); /* or NULL: the window's size where parameters make it */
};

/* Values of a parameter that is swept. */
enum { LIST_MAX = 16 };
struct list {
    double values[LIST_MAX];
    int count;
};

/* What the command line sets beyond the cases' own rows. */
struct settings {
    long size; /* --size, or -1 for the row's own sweep */
    double busy_seconds;
    struct list orders;   /* of the LU matrix */
    int block;            /* of the LU matrix */
    struct list writers;  /* F_W: exclusive locks, or inserts, in % */
    struct list locks;    /* of the lock table */
    struct list local;    /* those of the own node that are drawn from it, in % */
    double phase_seconds; /* of the lock benchmarks */
    int origin_core;      /* where the origin's main thread runs, or -1 */
    bool phases;          /* overlap: report also where the time went */
};

/* Transfers of one passive epoch. */
struct transfer {
    bool put;     /* else get */
    bool flushed; /* between flushes, in a lock that is held; else in a lock of its own */
    size_t size;
    int operations;
};

struct bench {
    MPI_Comm comm; /* errors are fatal except at window creation, which a component may decline */
    int rank, ranks;
    const struct bench_case* row;
    const char* flavor;
    int iterations;
    const struct settings* settings;

    MPI_Win window; /* errors are fatal: the message names the call that failed */
    size_t bytes;
    unsigned char* memory; /* this rank's part of the window */
    unsigned char* local;  /* origin buffer of the same size */

    int64_t done;  /* operations so far, by which verification knows what to expect */
    bool mismatch; /* a value that came back to this rank was wrong */
    struct transfer transfer;
    MPI_Group peer; /* the other side of a PSCW epoch */
    bool any_wrong; /* some case computed wrong values: exit status 1 */
};

/* --- catalogue.c ----------------------------------------------------------------------------- */

extern const struct bench_case catalogue[];
extern const size_t catalogue_length;

void catalogue_print(bool json);
/* Comma lists of names; those of cases may be patterns. False, with a message, if one is unknown.
 */
bool cases_known(const char* list);
bool flavors_known(const char* list);
bool case_listed(const char* list, const char* name);
bool flavor_listed(const char* list, const char* flavor);

/* --- sampling.c: repetition and order statistics ------------------------------------------- */

struct samples {
    double* values; /* in order of measurement until samples_summary() sorts them */
    int count;
    int64_t batch; /* operations timed together as one sample */
};

struct summary {
    double median, p10, p90;
    int kept; /* samples left after the first tenth was discarded */
};

double now_ns(void);
struct samples samples_new(int count);
void samples_free(struct samples* samples);
struct summary samples_summary(struct samples* samples);

/* Repeats an operation n times on the calling rank. */
typedef void (*repeat_fn)(struct bench*, int64_t n);

/* Time per operation in ns, at the origin alone. One sample is a batch long enough that reading
 * the clock does not show; finding that length is the warm-up. */
struct samples sample_origin(struct bench* bench, repeat_fn repeat);
/* The same for operations in which every rank takes part; valid on the origin. */
struct samples sample_together(struct bench* bench, repeat_fn repeat);

/* Another sequence on each rank, the same in each run. */
uint64_t random_bits(void);
/* True in so many percent of the calls. */
bool random_percent(double percent);

/* Computation that touches no memory and calls nothing: n dependent steps. */
void compute(int64_t steps);
/* Steps that take about this long when nothing disturbs them. */
int64_t compute_steps_for(double nanoseconds);

/* --- report.c: JSON lines and verdicts, written by rank 0 ---------------------------------- */

void report_run(const struct bench* bench);
/* params and extra are JSON members such as "\"size\":8", or "". Consumes the samples. */
void report_result(const struct bench* bench, const char* params, const char* metric,
                   const char* unit, struct samples* samples, const char* extra);
void report_cannot(const struct bench* bench, const char* reason);
void report_end(const struct bench* bench, double seconds);
/* Collective: true if the values were right on every rank. Otherwise `what` is reported as wrong
 * and the program will exit with status 1; the caller must then not report its times. */
bool verified(struct bench* bench, bool right, const char* what);

/* --- transfer.c: passive epochs that move data, and their verification --------------------- */

/* lock exclusive, the epoch's operations; unlock. Or the operations; flush. */
void transfer_begin(struct bench* bench);
void transfer_end(struct bench* bench);
void transfer_epoch(struct bench* bench);
/* Collective: fill and clear the buffers so that transfer_verify() cannot succeed by accident. */
void transfer_prepare(struct bench* bench, unsigned seed);
/* Collective: do the transfer once more with fresh data and compare every byte. */
bool transfer_verify(struct bench* bench, unsigned seed);
/* Whether the bytes last fetched are those that transfer_prepare(seed) left at the target. */
bool transfer_fetched(const struct bench* bench, unsigned seed);
/* The sizes to run: --size alone, or the given defaults. Returns how many. */
int transfer_sizes(const struct bench* bench, const size_t* defaults, int count, size_t* sizes);

/* --- the cases ----------------------------------------------------------------------------- */

/* cases_sync.c */
void run_lock_excl(struct bench* bench);
void run_lock_shared(struct bench* bench);
void run_lock_all(struct bench* bench);
void run_put8_flush(struct bench* bench);
void run_get8_flush(struct bench* bench);
void run_fetch_and_op_flush(struct bench* bench);
void run_compare_and_swap_flush(struct bench* bench);
void run_accumulate8_flush(struct bench* bench);
void run_fence(struct bench* bench);
void run_pscw(struct bench* bench);
/* cases_calls.c */
void run_rput8(struct bench* bench);
void run_rget8(struct bench* bench);
void run_raccumulate8(struct bench* bench);
void run_rget_accumulate8(struct bench* bench);
void run_get_accumulate8_flush(struct bench* bench);
void run_put_vector_flush(struct bench* bench);
void run_get_vector_flush(struct bench* bench);
void run_accumulate_vector_flush(struct bench* bench);
void run_accumulate_array_flush(struct bench* bench);
void run_accumulate_array_exclusive(struct bench* bench);
void run_flush(struct bench* bench);
void run_flush_local(struct bench* bench);
void run_flush_all(struct bench* bench);
/* cases_window.c */
void run_window(struct bench* bench);
/* cases_sweep.c */
void run_sweep_put(struct bench* bench);
void run_sweep_get(struct bench* bench);
void run_sweep_accumulate(struct bench* bench);
void run_sweep_get_accumulate(struct bench* bench);
void run_sweep_fetch_and_op(struct bench* bench);
/* cases_overlap.c */
void run_lock_put_unlock(struct bench* bench);
void run_lock_get_unlock(struct bench* bench);
void run_overlap_put(struct bench* bench);
void run_overlap_get(struct bench* bench);
void run_overlap_flush_put(struct bench* bench);
void run_overlap_flush_get(struct bench* bench);
void run_overlap_ops_put(struct bench* bench);
void run_overlap_ops_get(struct bench* bench);
/* cases_target.c */
void run_receiver_overlap(struct bench* bench);
void run_receiver_overlap_many(struct bench* bench);
void run_target_busy(struct bench* bench);
/* cases_lu.c */
size_t lu_bytes(const struct bench* bench);
void run_lu_exclusive(struct bench* bench);
void run_lu_shared(struct bench* bench);
void run_lu_lock_all(struct bench* bench);
/* cases_locks.c */
void run_lb(struct bench* bench);
void run_lb_one_writer(struct bench* bench);
void run_ecsb(struct bench* bench);
void run_sob(struct bench* bench);
void run_wcsb(struct bench* bench);
void run_warb(struct bench* bench);
/* cases_tables.c */
void run_lock_table(struct bench* bench);
void run_cascade(struct bench* bench);
void run_lock_serial(struct bench* bench);
/* cases_dht.c */
size_t dht_bytes(const struct bench* bench);
void run_dht_atomics(struct bench* bench);
void run_dht_locks(struct bench* bench);

#endif
