// Accumulates of long arrays, of long runs on both sides, in parts, before and behind small ones; and of
// many small ones.
#define _GNU_SOURCE // clock_gettime

#include "basics.h"

// --- Long runs, which are combined from where they are -------------------------------------------

/// `blocks` blocks of `length` elements, and `gap` elements between them.
struct runs {
    int blocks, length, gap;
};

static int elements_of(const struct runs* r) {
    return r->blocks * r->length;
}
static int span_of(const struct runs* r) {
    return r->blocks * (r->length + r->gap);
}
/// Where element k is.
static int place_of(const struct runs* r, int k) {
    return k / r->length * (r->length + r->gap) + k % r->length;
}
static MPI_Datatype type_of(const struct runs* r, const struct basic* b) {
    MPI_Datatype type;
    OK(MPI_Type_vector(r->blocks, r->length, r->length + r->gap, b->type, &type));
    OK(MPI_Type_commit(&type));
    return type;
}

static char* at_element(const struct basic* b, void* array, int i) {
    return (char*)array + (size_t)i * b->bytes;
}
static long before_of(int i) {
    return i % 11;
}
static long operand_of(int rank, int k) {
    return (rank + k) % 7 + 1;
}

/// What the memory is to be, once rank `origin` has done with the first `count` elements what
/// accumulate_runs does.
static void check_runs(const struct window* w, const struct basic* b, const struct runs* theirs,
                       int origin, int count, const char* what) {
    const int span = span_of(theirs);
    char* const expected = calloc((size_t)span, b->bytes);
    for (int i = 0; i < span; ++i)
        basic_set(b, at_element(b, expected, i), before_of(i));
    for (int k = 0; k < count; ++k) {
        const int i = place_of(theirs, k);
        basic_set(b, at_element(b, expected, i), before_of(i) + 2 * operand_of(origin, k));
    }
    int wrong = 0;
    local_begin(w);
    for (int i = 0; i < span; ++i)
        wrong += !basic_equal(b, at_element(b, expected, i), at_element(b, w->base, i));
    local_end_all(w);
    CHECK_THAT(wrong == 0, "%s, %s: %d of %d elements are wrong", b->name, what, wrong, span);
    free(expected);
}

/// Each rank adds its elements to those of the next one, first all that are there, then all with
/// what was before.
static void accumulate_runs(const struct window* w, const struct basic* b, const struct runs* mine,
                            const struct runs* theirs, const char* what) {
    const int target = (T.rank + 1) % T.ranks, origin = (T.rank + T.ranks - 1) % T.ranks;
    const int all = elements_of(theirs), count = elements_of(mine) < all ? elements_of(mine) : all;
    const MPI_Datatype from = type_of(mine, b), to = type_of(theirs, b);
    char* const operands = calloc((size_t)span_of(mine), b->bytes);
    char* const fetched = calloc((size_t)all, b->bytes);
    for (int k = 0; k < elements_of(mine); ++k)
        basic_set(b, at_element(b, operands, place_of(mine, k)), operand_of(T.rank, k));
    local_begin(w);
    for (int i = 0; i < span_of(theirs); ++i)
        basic_set(b, at_element(b, w->base, i), before_of(i));
    local_end_all(w);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    OK(MPI_Accumulate(operands, 1, from, target, at(w, target, 0), 1, to, MPI_SUM, w->win));
    OK(MPI_Get_accumulate(operands, 1, from, fetched, all, b->type, target, at(w, target, 0), 1, to,
                          MPI_SUM, w->win));
    OK(MPI_Win_unlock(target, w->win));
    int wrong = 0;
    char value[64];
    for (int k = 0; k < all; ++k) {
        basic_set(b, value,
                  before_of(place_of(theirs, k)) + (k < count ? operand_of(T.rank, k) : 0));
        wrong += !basic_equal(b, value, at_element(b, fetched, k));
    }
    CHECK_THAT(wrong == 0, "%s, %s: %d of %d that were fetched are wrong", b->name, what, wrong,
               all);
    MPI_Barrier(w->comm);
    check_runs(w, b, theirs, origin, count, what);
    MPI_Datatype from_type = from, to_type = to;
    MPI_Type_free(&from_type);
    MPI_Type_free(&to_type);
    free(operands);
    free(fetched);
}

/// Of types of each width, and of one whose elements have no atomics. Runs of the one side end within
/// those of the other.
static void each_type_and_side(const struct runs* mine, const char* what) {
    static const char* const types[] = {"MPI_SIGNED_CHAR", "MPI_INT16_T", "MPI_FLOAT",
                                        "MPI_INT64_T", "MPI_LONG_DOUBLE"};
    static const struct runs theirs = {4, 480, 3}, array = {1, 1920, 0};
    struct window w;
    if (!window_open(&w, 4 * 483 * (MPI_Aint)sizeof(long double), 1))
        return;
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        accumulate_runs(&w, basic_named(types[t]), mine, &theirs, what);
        accumulate_runs(&w, basic_named(types[t]), mine, &array, what);
    }
    window_close(&w);
}

static void runs_on_both_sides(void) {
    each_type_and_side(&(struct runs){6, 320, 5}, "long runs");
    each_type_and_side(&(struct runs){480, 4, 1}, "short runs");
    each_type_and_side(&(struct runs){1, 1920, 0}, "an array");
}

static void runs_too_few(void) {
    each_type_and_side(&(struct runs){2, 320, 5}, "long runs");
    each_type_and_side(&(struct runs){160, 4, 1}, "short runs");
}

/// MPI_REPLACE by runs: nothing between them.
static void runs_replace(void) {
    enum { BLOCKS = 8, LENGTH = 64, STRIDE = 80 };
    struct window w;
    if (!window_open(&w, BLOCKS * STRIDE * sizeof(int64_t), sizeof(int64_t)))
        return;
    const int target = (T.rank + 1) % T.ranks, origin = (T.rank + T.ranks - 1) % T.ranks;
    int64_t mine[BLOCKS * STRIDE];
    MPI_Datatype blocks;
    OK(MPI_Type_vector(BLOCKS, LENGTH, STRIDE, MPI_INT64_T, &blocks));
    OK(MPI_Type_commit(&blocks));
    for (int i = 0; i < BLOCKS * STRIDE; ++i)
        mine[i] = 1000 * (T.rank + 1) + i;
    OK(MPI_Win_lock_all(0, w.win));
    for (int kind = 0; kind < 2; ++kind) { // beside others, and alone
        if (kind == 1) {
            OK(MPI_Win_unlock_all(w.win));
            OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        }
        OK(MPI_Accumulate(mine, 1, blocks, target, at(&w, target, 0), 1, blocks, MPI_REPLACE,
                          w.win));
    }
    OK(MPI_Win_unlock(target, w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    for (int i = 0; i < BLOCKS * STRIDE; ++i)
        CHECK_EQ(i % STRIDE < LENGTH ? 1000 * (origin + 1) + i : 0, ((int64_t*)w.base)[i]);
    local_end_all(&w);
    MPI_Type_free(&blocks);
    window_close(&w);
}

// --- Arrays of which a part is combined at a time ------------------------------------------------

/// What two ranks fetch of an element is never the same, and in the end each has been added.
static void longer_than_a_part(void) {
    enum { LONG = 150001, TIMES = 2 };
    struct window w;
    if (!window_open(&w, LONG * sizeof(double), sizeof(double)))
        return;
    const int target = T.ranks - 1, calls = TIMES * T.ranks;
    double* const ones = malloc(LONG * sizeof *ones);
    double* const fetched = malloc(TIMES * LONG * sizeof *fetched);
    double* const sums = calloc(LONG, sizeof *sums);
    for (int i = 0; i < LONG; ++i)
        ones[i] = 1;
    OK(MPI_Win_lock_all(0, w.win));
    for (int k = 0; k < TIMES; ++k)
        OK(MPI_Get_accumulate(ones, LONG, MPI_DOUBLE, fetched + (size_t)k * LONG, LONG, MPI_DOUBLE,
                              target, at(&w, target, 0), LONG, MPI_DOUBLE, MPI_SUM, w.win));
    OK(MPI_Win_unlock_all(w.win));
    int wrong = 0;
    for (int i = 0; i < LONG; ++i) {
        wrong += fetched[LONG + i] < fetched[i] + 1;
        fetched[i] += fetched[LONG + i];
    }
    CHECK_THAT(wrong == 0, "%d elements were fetched out of order", wrong);
    MPI_Reduce(fetched, sums, LONG, MPI_DOUBLE, MPI_SUM, target, w.comm);
    local_begin(&w);
    for (int i = 0; T.rank == target && i < LONG; ++i)
        wrong += ((double*)w.base)[i] != calls || sums[i] != calls * (calls - 1) / 2;
    local_end_all(&w);
    CHECK_THAT(wrong == 0, "%d of %d elements are wrong", wrong, LONG);
    free(ones);
    free(fetched);
    free(sums);
    window_close(&w);
}

/// Large and small, one after the other: the way a large one goes must not let a small one
/// overtake.
static void large_and_small_in_order(void) {
    enum { LARGE = 20000 };
    struct window w;
    if (!window_open(&w, LARGE * sizeof(int), sizeof(int)))
        return;
    const int target = (T.rank + 1) % T.ranks;
    int *large = malloc(LARGE * sizeof *large), small = 5, got = 0;
    for (int i = 0; i < LARGE; ++i)
        large[i] = 3;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
    for (int i = 0; i < 20; ++i) {
        OK(MPI_Accumulate(large, LARGE, MPI_INT, target, at(&w, target, 0), LARGE, MPI_INT,
                          MPI_REPLACE, w.win));
        OK(MPI_Accumulate(&small, 1, MPI_INT, target, at(&w, target, LARGE - 1), 1, MPI_INT,
                          MPI_PROD, w.win));
        OK(MPI_Fetch_and_op(&small, &got, MPI_INT, target, at(&w, target, LARGE - 1), MPI_SUM,
                            w.win));
        OK(MPI_Win_flush_local(target, w.win));
        CHECK_EQ(15, got);
    }
    OK(MPI_Win_unlock(target, w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    for (int i = 0; i < LARGE; ++i)
        CHECK_EQ(i == LARGE - 1 ? 20 : 3, ((int*)w.base)[i]);
    local_end_all(&w);
    free(large);
    window_close(&w);
}

// --- Many small ones before something completes them ---------------------------------------------

enum { SLICE = 12 };

/// What a small accumulate does, to `count` elements from `first`.
static void change(int64_t* elements, const int64_t* operand, MPI_Op op, int first, int count) {
    for (int i = 0; i < count; ++i) {
        int64_t* const e = &elements[first + i];
        *e = op == MPI_SUM ? *e + operand[i] : op == MPI_PROD ? *e * operand[i] : operand[i];
    }
}

/// Each rank changes a slice of its own at the next one. What fetches an element finds all that went
/// before.
static void many_small_in_order(void) {
    struct window w;
    if (!window_open(&w, (size_t)T.ranks * SLICE * sizeof(int64_t), sizeof(int64_t)))
        return;
    const int target = (T.rank + 1) % T.ranks, mine = T.rank * SLICE;
    static int64_t operands[500][SLICE]; // which stay until they are complete here
    int64_t expected[SLICE] = {0}, got = -1, swapped = -1;
    unsigned random = 7 + (unsigned)T.rank;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
    for (int k = 0; k < 500; ++k) {
        int64_t* const operand = operands[k];
        random = random * 1103515245U + 12345U;
        const int first = (int)(random >> 16) % SLICE,
                  count = 1 + (int)(random >> 24) % (SLICE - first);
        const MPI_Op op = k % 7 == 0 ? MPI_REPLACE : k % 11 == 0 ? MPI_PROD : MPI_SUM;
        for (int i = 0; i < count; ++i)
            operand[i] = op == MPI_PROD ? 2 - k % 3 : k + i;
        change(expected, operand, op, first, count);
        OK(MPI_Accumulate(operand, count, MPI_INT64_T, target, at(&w, target, mine + first), count,
                          MPI_INT64_T, op, w.win));
        if (k % 60 == 59) {
            static const int64_t one = 1;
            OK(MPI_Fetch_and_op(&one, &got, MPI_INT64_T, target, at(&w, target, mine), MPI_SUM,
                                w.win));
            OK(MPI_Win_flush_local(target, w.win));
            CHECK_EQ(expected[0], got);
            ++expected[0];
        } else if (k % 60 == 29) {
            const int64_t wanted = k;
            OK(MPI_Compare_and_swap(&wanted, &expected[1], &swapped, MPI_INT64_T, target,
                                    at(&w, target, mine + 1), w.win));
            OK(MPI_Win_flush(target, w.win));
            CHECK_EQ(expected[1], swapped);
            expected[1] = wanted;
        }
    }
    OK(MPI_Win_unlock(target, w.win));
    MPI_Barrier(w.comm);
    int64_t theirs[SLICE] = {0}; // of the rank before this one
    MPI_Sendrecv(expected, SLICE, MPI_INT64_T, target, 0, theirs, SLICE, MPI_INT64_T,
                 (T.rank + T.ranks - 1) % T.ranks, 0, w.comm, MPI_STATUS_IGNORE);
    const int slice = (T.rank + T.ranks - 1) % T.ranks * SLICE;
    local_begin(&w);
    for (int i = 0; i < SLICE; ++i)
        CHECK_EQ(theirs[i], ((int64_t*)w.base)[slice + i]);
    local_end_all(&w);
    window_close(&w);
}

/// All change the same elements at a time, some with what fetches.
static void many_small_together(void) {
    enum { ELEMENTS = 5, TIMES = 300 };
    struct window w;
    if (!window_open(&w, ELEMENTS * sizeof(double), sizeof(double)))
        return;
    const int target = T.ranks - 1;
    const double ones[ELEMENTS] = {1, 1, 1, 1, 1};
    double before = -1, got;
    OK(MPI_Win_lock_all(0, w.win));
    for (int k = 0; k < TIMES; ++k) {
        OK(MPI_Accumulate(ones, ELEMENTS, MPI_DOUBLE, target, at(&w, target, 0), ELEMENTS,
                          MPI_DOUBLE, MPI_SUM, w.win));
        OK(MPI_Accumulate(ones, 2, MPI_DOUBLE, target, at(&w, target, k % 4), 2, MPI_DOUBLE,
                          MPI_SUM, w.win));
        if (k % 40 == 0)
            OK(MPI_Win_flush(target, w.win));
        if (k % 50 == 0) {
            OK(MPI_Fetch_and_op(ones, &got, MPI_DOUBLE, target, at(&w, target, 4), MPI_SUM, w.win));
            OK(MPI_Win_flush(target, w.win));
            CHECK_THAT(got > before, "%g was fetched behind %g", got, before);
            before = got;
        }
    }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    // Of the pairs, a quarter begins at each of the first four elements.
    const int pairs[ELEMENTS] = {1, 2, 2, 2, 1};
    local_begin(&w);
    for (int i = 0; T.rank == target && i < ELEMENTS; ++i)
        CHECK_EQ(T.ranks * (TIMES + pairs[i] * TIMES / 4 + (i == 4 ? TIMES / 50 : 0)),
                 (int64_t)((double*)w.base)[i]);
    local_end_all(&w);
    window_close(&w);
}

/// Elements that are fetched by many calls before one completes them all, and by requests.
static void many_small_fetched(void) {
    enum { TIMES = 200 };
    struct window w;
    if (!window_open(&w, (size_t)T.ranks * 2 * sizeof(int64_t), sizeof(int64_t)))
        return;
    const int target = (T.rank + 1) % T.ranks;
    const MPI_Aint place = at(&w, target, 2 * T.rank);
    static const int64_t operand[2] = {1, 2};
    static int64_t before[TIMES][2], only, swapped, waited[2];
    memset(before, 0xff, sizeof before);
    MPI_Request request;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
    for (int k = 0; k < TIMES; ++k)
        OK(k % 2 ? MPI_Fetch_and_op(operand, before[k], MPI_INT64_T, target, place, MPI_SUM, w.win)
                 : MPI_Get_accumulate(operand, 2, MPI_INT64_T, before[k], 2, MPI_INT64_T, target,
                                      place, 2, MPI_INT64_T, MPI_SUM, w.win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &only, 1, MPI_INT64_T, target, place, 1,
                          MPI_INT64_T, MPI_NO_OP, w.win));
    OK(MPI_Win_flush(target, w.win));
    for (int k = 0; k < TIMES; ++k) {
        CHECK_EQ(k, before[k][0]);
        CHECK_EQ(k % 2 ? -1 : k, before[k][1]);
    }
    CHECK_EQ(TIMES, only);
    OK(MPI_Accumulate(operand, 2, MPI_INT64_T, target, place, 2, MPI_INT64_T, MPI_SUM, w.win));
    OK(MPI_Rget_accumulate(operand, 2, MPI_INT64_T, waited, 2, MPI_INT64_T, target, place, 2,
                           MPI_INT64_T, MPI_REPLACE, w.win, &request));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(TIMES + 1, waited[0]);
    CHECK_EQ(TIMES + 2, waited[1]);
    OK(MPI_Compare_and_swap(&only, operand, &swapped, MPI_INT64_T, target, place, w.win));
    OK(MPI_Win_unlock(target, w.win));
    CHECK_EQ(1, swapped);
    MPI_Barrier(w.comm);
    local_begin(&w);
    const int origin = (T.rank + T.ranks - 1) % T.ranks;
    CHECK_EQ(TIMES, ((int64_t*)w.base)[2 * origin]); // swapped in
    CHECK_EQ(2, ((int64_t*)w.base)[2 * origin + 1]);
    local_end_all(&w);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "runs_on_both_sides", .run = runs_on_both_sides, .each = IN_ANY},
    {.name = "runs_too_few", .run = runs_too_few, .each = IN_ANY},
    {.name = "runs_replace", .run = runs_replace, .each = IN_ANY},
    {.name = "longer_than_a_part", .run = longer_than_a_part, .each = IN_ANY},
    {.name = "large_and_small_in_order", .run = large_and_small_in_order, .each = IN_ANY},
    {.name = "many_small_in_order", .run = many_small_in_order, .each = IN_ANY},
    {.name = "many_small_together", .run = many_small_together, .each = IN_ANY},
    {.name = "many_small_fetched", .run = many_small_fetched, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
