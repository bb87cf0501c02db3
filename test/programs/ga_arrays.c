// Global Arrays, which on Debian moves all data by one-sided MPI (ARMCI-MPI): patches are put,
// fetched and accumulated, counters drawn, mutexes taken, matrices multiplied. Every result is
// compared with what it has to be, exactly: all numbers are small integers.
//
//     mpirun -n P ga_arrays
#include <ga.h>
#include <macdecls.h>
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 61, COLUMNS = 47, DRAWS = 60, ROUNDS = 20 };

static int rank, ranks;
static long failures; // of this rank in this check
static const char* check_name;

static void expect(double expected, double actual, const char* what, int i, int j) {
    const bool equal = expected >= actual && expected <= actual;
    if (!equal && failures++ < 4)
        fprintf(stderr, "FAIL %s: rank %d: %s at %d, %d: expected %g, got %g\n", check_name, rank,
                what, i, j, expected, actual);
}

/// An array of ROWS x COLUMNS, spread over the ranks as Global Arrays thinks best, all zero.
static int make_array(int type, const char* name) {
    char title[32];
    int sizes[] = {ROWS, COLUMNS};
    snprintf(title, sizeof title, "%s", name);
    const int array = NGA_Create(type, 2, sizes, title, NULL);
    if (array == 0)
        GA_Error("no array", 1);
    GA_Zero(array);
    return array;
}

/// Which rows this rank writes: all together are all rows; shares are uneven and go across owners.
static void my_rows(int* low, int* high) {
    *low = ROWS * rank * (rank + 1) / (ranks * (ranks + 1));
    *high = ROWS * (rank + 1) * (rank + 2) / (ranks * (ranks + 1)) - 1;
}

static double value_at(int i, int j) {
    return 1000 * i + j;
}

static void put_my_rows(int array) {
    int low[2] = {0, 0}, high[2] = {0, COLUMNS - 1}, lead = COLUMNS + 5; // rows lie apart here
    my_rows(&low[0], &high[0]);
    double* rows = calloc((size_t)(high[0] - low[0] + 1) * (size_t)lead + 1, sizeof *rows);
    for (int i = low[0]; i <= high[0]; ++i)
        for (int j = 0; j < COLUMNS; ++j)
            rows[(i - low[0]) * lead + j] = value_at(i, j);
    if (high[0] >= low[0])
        NGA_Put(array, low, high, rows, &lead);
    free(rows);
    GA_Sync();
}

static void put_and_get(void) {
    static double all[ROWS][COLUMNS];
    const int array = make_array(C_DBL, "put");
    put_my_rows(array);
    // All of it, then a window in the middle with a leading dimension of its own.
    int low[] = {0, 0}, high[] = {ROWS - 1, COLUMNS - 1}, lead = COLUMNS;
    NGA_Get(array, low, high, all, &lead);
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j)
            expect(value_at(i, j), all[i][j], "whole", i, j);
    int low2[] = {ROWS / 3, COLUMNS / 4}, high2[] = {ROWS / 3 + 19, COLUMNS / 4 + 9};
    NGA_Get(array, low2, high2, all, &lead);
    for (int i = 0; i < 20; ++i)
        for (int j = 0; j < 10; ++j)
            expect(value_at(low2[0] + i, low2[1] + j), all[i][j], "patch", i, j);
    GA_Sync();
    GA_Destroy(array);
}

/// All add to one patch at once, some with non-blocking calls.
static void accumulate(void) {
    static double ones[30][30], all[ROWS][COLUMNS];
    const int array = make_array(C_DBL, "acc");
    int low[] = {11, 7}, high[] = {40, 36}, lead = 30;
    double factor = 1 + rank;
    for (int i = 0; i < 30; ++i)
        for (int j = 0; j < 30; ++j)
            ones[i][j] = 1 + (i + j) % 3;
    for (int n = 0; n < ROUNDS; ++n) {
        ga_nbhdl_t handle;
        if (n % 2 == 0) {
            NGA_Acc(array, low, high, ones, &lead, &factor);
        } else {
            NGA_NbAcc(array, low, high, ones, &lead, &factor, &handle);
            NGA_NbWait(&handle);
        }
    }
    GA_Sync();
    int from[] = {0, 0}, to[] = {ROWS - 1, COLUMNS - 1}, columns = COLUMNS;
    NGA_Get(array, from, to, all, &columns);
    const double sum = ROUNDS * ranks * (ranks + 1) / 2.0;
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) {
            const bool inside = i >= 11 && i <= 40 && j >= 7 && j <= 36;
            expect(inside ? sum * (1 + (i - 11 + j - 7) % 3) : 0, all[i][j], "sum", i, j);
        }
    GA_Sync();
    GA_Destroy(array);
}

/// Tickets from one counter: each number is drawn once, and each rank's grow.
static void read_inc(void) {
    int size = 3, where = 1;
    char title[] = "counter";
    const int counter = NGA_Create(C_LONG, 1, &size, title, NULL);
    GA_Zero(counter);
    long last = -1;
    long* drawn = calloc((size_t)(DRAWS * ranks), sizeof *drawn);
    for (int n = 0; n < DRAWS; ++n) {
        const long ticket = NGA_Read_inc(counter, &where, 1);
        expect(1, ticket > last && ticket < DRAWS * ranks, "a ticket out of order", n, (int)ticket);
        if (ticket >= 0 && ticket < DRAWS * ranks)
            ++drawn[ticket];
        last = ticket;
    }
    char sum[] = "+";
    GA_Lgop(drawn, DRAWS * ranks, sum);
    for (int n = 0; n < DRAWS * ranks; ++n)
        expect(1, (double)drawn[n], "times drawn", n, 0);
    free(drawn);
    GA_Sync();
    GA_Destroy(counter);
}

static void reductions(void) {
    char sum[] = "+", max[] = "max", min[] = "min";
    double values[] = {1.0 + rank, -2.0 * rank};
    int most = 10 * rank, least = -rank;
    GA_Dgop(values, 2, sum);
    GA_Igop(&most, 1, max);
    GA_Igop(&least, 1, min);
    expect(ranks * (ranks + 1) / 2.0, values[0], "sum", 0, 0);
    expect(-ranks * (ranks - 1.0), values[1], "sum", 1, 0);
    expect(10 * (ranks - 1), most, "maximum", 0, 0);
    expect(1 - ranks, least, "minimum", 0, 0);
}

/// Single elements all over the array.
static void scatter_and_gather(void) {
    enum { POINTS = 25 };
    const int array = make_array(C_INT, "scatter");
    int values[POINTS], back[POINTS], places[POINTS][2], *points[POINTS];
    for (int n = 0; n < POINTS; ++n) {
        const int index =
            (n * ranks + rank) * 7 % (ROWS * COLUMNS); // 7 and the size share no factor
        places[n][0] = index / COLUMNS, places[n][1] = index % COLUMNS;
        points[n] = places[n];
        values[n] = 100000 * rank + n;
    }
    NGA_Scatter(array, values, points, POINTS);
    GA_Sync();
    NGA_Gather(array, back, points, POINTS);
    for (int n = 0; n < POINTS; ++n)
        expect(values[n], back[n], "element", places[n][0], places[n][1]);
    GA_Sync();
    GA_Destroy(array);
}

/// One's own part by loads and stores, others' by calls.
static void direct_access(void) {
    const int array = make_array(C_DBL, "access");
    int low[2], high[2], lead;
    double *part, one = -1;
    NGA_Distribution(array, rank, low, high);
    if (low[0] >= 0 && low[0] <= high[0] && low[1] <= high[1]) {
        NGA_Access(array, low, high, &part, &lead);
        for (int i = 0; i <= high[0] - low[0]; ++i)
            for (int j = 0; j <= high[1] - low[1]; ++j)
                part[i * lead + j] = value_at(low[0] + i, low[1] + j);
        NGA_Release_update(array, low, high);
    }
    GA_Sync();
    for (int n = 0; n < 40; ++n) {
        int at[] = {(n * 13 + rank) % ROWS, n * 11 % COLUMNS}, single = 1;
        NGA_Get(array, at, at, &one, &single);
        expect(value_at(at[0], at[1]), one, "element", at[0], at[1]);
    }
    GA_Sync();
    GA_Destroy(array);
}

/// A mutex guards what no single call does: fetch two elements that must be equal, write both back.
static void mutexes(void) {
    const int array = make_array(C_DBL, "guarded");
    int low[] = {0, 0}, high[] = {0, COLUMNS - 1}, lead = COLUMNS;
    double row[COLUMNS];
    if (!GA_Create_mutexes(2))
        GA_Error("no mutexes", 1);
    for (int n = 0; n < ROUNDS; ++n) {
        GA_Lock(1);
        NGA_Get(array, low, high, row, &lead);
        expect(row[0], row[COLUMNS - 1], "first and last", n, 0);
        for (int j = 0; j < COLUMNS; ++j)
            row[j] += 1;
        GA_Init_fence(); // what is put from here on, the fence waits for
        NGA_Put(array, low, high, row, &lead);
        GA_Fence();
        GA_Unlock(1);
    }
    GA_Sync();
    NGA_Get(array, low, high, row, &lead);
    expect(ROUNDS * ranks, row[COLUMNS / 2], "count", 0, COLUMNS / 2);
    GA_Sync();
    GA_Destroy_mutexes();
    GA_Destroy(array);
}

static double a_at(int i, int k) {
    return (i + 2 * k) % 5 - 2;
}
static double b_at(int k, int j) {
    return (3 * k + j) % 7 - 3;
}

static void fill(int array, int rows, int columns, double (*at)(int, int)) {
    double* all = malloc(sizeof *all * (size_t)rows * (size_t)columns);
    int low[] = {0, 0}, high[] = {rows - 1, columns - 1}, lead = columns;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            all[i * columns + j] = at(i, j);
    if (rank == ranks - 1)
        NGA_Put(array, low, high, all, &lead);
    free(all);
    GA_Sync();
}

static void multiply(void) {
    enum { N = 40, K = 33, M = 29 };
    static double c[N][M];
    int sizes[][2] = {{N, K}, {K, M}, {N, M}};
    char names[][2] = {"A", "B", "C"};
    int arrays[3];
    for (int n = 0; n < 3; ++n)
        arrays[n] = NGA_Create(C_DBL, 2, sizes[n], names[n], NULL);
    fill(arrays[0], N, K, a_at);
    fill(arrays[1], K, M, b_at);
    GA_Zero(arrays[2]);
    GA_Dgemm('n', 'n', N, M, K, 2.0, arrays[0], arrays[1], 0.0, arrays[2]);
    int low[] = {0, 0}, high[] = {N - 1, M - 1}, lead = M;
    NGA_Get(arrays[2], low, high, c, &lead);
    for (int i = 0; i < N; ++i)
        for (int j = 0; j < M; ++j) {
            double sum = 0;
            for (int k = 0; k < K; ++k)
                sum += 2.0 * a_at(i, k) * b_at(k, j);
            expect(sum, c[i][j], "product", i, j);
        }
    GA_Sync();
    for (int n = 0; n < 3; ++n)
        GA_Destroy(arrays[n]);
}

/// Many arrays at once, copied from one another.
static void many_arrays(void) {
    enum { MANY = 20 };
    int arrays[MANY];
    char title[] = "copy";
    arrays[0] = make_array(C_DBL, "first");
    put_my_rows(arrays[0]);
    for (int n = 1; n < MANY; ++n) {
        arrays[n] = GA_Duplicate(arrays[0], title);
        GA_Copy(arrays[n - 1], arrays[n]);
    }
    double expected = 0;
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j)
            expected += value_at(i, j) * value_at(i, j);
    expect(expected, GA_Ddot(arrays[0], arrays[MANY - 1]), "dot product", 0, 0);
    for (int n = 0; n < MANY; ++n)
        GA_Destroy(arrays[n]);
}

static const struct {
    const char* name;
    void (*run)(void);
} checks[] = {
    {"put_and_get", put_and_get},
    {"accumulate", accumulate},
    {"read_inc", read_inc},
    {"reductions", reductions},
    {"scatter_and_gather", scatter_and_gather},
    {"direct_access", direct_access},
    {"mutexes", mutexes},
    {"multiply", multiply},
    {"many_arrays", many_arrays},
};

int main(int argc, char** argv) {
    int passed = 0, failed = 0;
    MPI_Init(&argc, &argv);
    GA_Initialize();
    rank = GA_Nodeid();
    ranks = GA_Nnodes();
    MA_init(C_DBL, 1 << 20, 1 << 20); // memory for what dgemm keeps on the side
    for (size_t n = 0; n < sizeof checks / sizeof *checks; ++n) {
        char sum[] = "+";
        failures = 0;
        check_name = checks[n].name;
        alarm(60);
        checks[n].run();
        GA_Lgop(&failures, 1, sum);
        alarm(0);
        ++*(failures == 0 ? &passed : &failed);
        if (rank == 0)
            printf("%s %s\n", failures == 0 ? "ok  " : "FAIL", check_name);
    }
    if (rank == 0)
        printf("ga_arrays: %d passed, %d failed, 0 skipped (%d ranks)\n", passed, failed, ranks);
    GA_Terminate();
    MPI_Finalize();
    return failed != 0;
}
