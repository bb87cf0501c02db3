/* The distributed hashtable (dht.c) as cases: all processes but one access that one's volume, with
 * inserts and lookups of random elements, F_W % of them inserts. What the volume holds is compared,
 * key by key, with what was inserted, after each round. */
#include "bench.h"
#include "dht.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 500, PREFILLED = 512 };

struct table {
    struct dht dht;
    enum dht_access access;
    double inserts; /* % */
};

/* Distinct for distinct arguments, and scattered: every step can be undone. The owner's keys, with
 * which it fills the table, are those of its own rank. */
static int64_t key_of(int round, int rank, int number) {
    uint64_t x = ((uint64_t)(round + 1) << 44) | ((uint64_t)rank << 20) | (uint64_t)(number + 1);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)(x ^ (x >> 31));
}

static int64_t capacity_for(int ranks) {
    return PREFILLED + (int64_t)OPERATIONS * ranks;
}

size_t dht_bytes(const struct bench* bench) {
    return dht_bytes_for(capacity_for(bench->ranks));
}

static uint64_t draw(uint64_t* state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Returns how many keys this process has inserted. Elements known to be there must be found. */
static int access_table(struct bench* bench, struct table* t, int round) {
    uint64_t state = (uint64_t)key_of(round, bench->rank, OPERATIONS);
    int inserted = 0;
    for (int i = 0; i < OPERATIONS; i++) {
        const bool insert = (double)(draw(&state) % 10000) < t->inserts * 100;
        const int choice = (int)(draw(&state) % (uint64_t)(PREFILLED + inserted));
        if (insert)
            dht_insert(&t->dht, t->access, key_of(round, bench->rank, inserted++));
        else if (choice < PREFILLED)
            bench->mismatch |= !dht_lookup(&t->dht, t->access, key_of(round, TARGET, choice));
        else
            bench->mismatch |=
                !dht_lookup(&t->dht, t->access, key_of(round, bench->rank, choice - PREFILLED));
    }
    return inserted;
}

static void prefill(struct bench* bench, struct table* t, int round) {
    if (TARGET == bench->rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
        dht_clear(&t->dht, bench->memory);
        for (int i = 0; i < PREFILLED; i++)
            dht_insert_own(&t->dht, bench->memory, key_of(round, TARGET, i));
        MPI_Win_unlock(TARGET, bench->window);
    }
    MPI_Barrier(bench->comm);
}

static int ascending(const void* a, const void* b) {
    const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
    return (x > y) - (x < y);
}

static int64_t* keys_new(int64_t count) {
    int64_t* keys = malloc((size_t)count * sizeof *keys);
    if (NULL == keys)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return keys;
}

static bool same_keys(const struct bench* bench, const struct table* t, int round,
                      const int* inserted) {
    const int64_t most = t->dht.capacity + DHT_SLOTS;
    int64_t *found = keys_new(most), *expected = keys_new(most);
    const int64_t count = dht_keys(&t->dht, bench->memory, found);
    int64_t wanted = 0;
    for (int rank = 0; rank < bench->ranks; rank++) {
        const int keys = TARGET == rank ? PREFILLED : inserted[rank];
        for (int i = 0; i < keys; i++)
            expected[wanted++] = key_of(round, rank, i);
    }
    bool same = count == wanted;
    if (same) {
        qsort(found, (size_t)count, sizeof *found, ascending);
        qsort(expected, (size_t)count, sizeof *expected, ascending);
        same = 0 == memcmp(found, expected, (size_t)count * sizeof *found);
    }
    free(found);
    free(expected);
    return same;
}

static bool contents_right(struct bench* bench, struct table* t, int round, int mine) {
    int inserted[bench->ranks];
    MPI_Gather(&mine, 1, MPI_INT, inserted, 1, MPI_INT, TARGET, bench->comm);
    if (TARGET != bench->rank)
        return !t->dht.broken;
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    const bool right = same_keys(bench, t, round, inserted);
    MPI_Win_unlock(TARGET, bench->window);
    return right;
}

/* Collective: time of the slowest process. */
static double timed_round(struct bench* bench, struct table* t, int round, bool* right) {
    double elapsed = 0, slowest;
    int inserted = 0;
    prefill(bench, t, round);
    if (TARGET != bench->rank) {
        if (DHT_ATOMICS == t->access)
            MPI_Win_lock_all(0, bench->window);
        const double start = now_ns();
        inserted = access_table(bench, t, round);
        elapsed = now_ns() - start;
        if (DHT_ATOMICS == t->access)
            MPI_Win_unlock_all(bench->window);
    }
    MPI_Allreduce(&elapsed, &slowest, 1, MPI_DOUBLE, MPI_MAX, bench->comm);
    *right = contents_right(bench, t, round, inserted) && *right;
    return slowest;
}

/* The first round connects and is not measured. */
static void dht_point(struct bench* bench, struct table t) {
    struct samples samples = samples_new(bench->iterations);
    char params[64];
    bool right = true;
    timed_round(bench, &t, 0, &right);
    for (int i = 0; i < bench->iterations; i++)
        samples.values[i] = timed_round(bench, &t, i + 1, &right);
    snprintf(params, sizeof params, "\"writers\":%g,\"operations\":%d", t.inserts, OPERATIONS);
    if (verified(bench, right, "the table does not hold what was inserted"))
        report_result(bench, params, "total", "ns", &samples, "");
    samples_free(&samples);
}

static void dht_case(struct bench* bench, enum dht_access access) {
    const struct list* writers = &bench->settings->writers;
    struct table t = {
        .dht = {.window = bench->window, .owner = TARGET, .capacity = capacity_for(bench->ranks)},
        .access = access};
    for (int i = 0; i < writers->count; i++) {
        t.inserts = writers->values[i];
        dht_point(bench, t);
    }
}

void run_dht_atomics(struct bench* bench) {
    dht_case(bench, DHT_ATOMICS);
}

void run_dht_locks(struct bench* bench) {
    dht_case(bench, DHT_LOCKS);
}
