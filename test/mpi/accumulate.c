// Accumulate and get_accumulate: every predefined operation on every type it allows, derived types,
// element-wise atomicity under contention, ordering.
#define _GNU_SOURCE // clock_gettime

#include "basics.h"
#include "typemaps.h"

#include <float.h>
#include <sched.h>
#include <sys/mman.h>

// --- One origin per element: the table of operations and types ---------------------------------

enum { EACH = 6 }; // elements per origin and call

static long target_value(int target, int i) {
    return (target + 3 * i) % 5 + 1;
}
static long origin_value(int origin, int i) {
    return (origin * 2 + 5 * i) % 7 + 1;
}

/// Element i of an array of the type.
static char* element(const struct basic* b, void* array, int i) {
    return (char*)array + (size_t)i * b->bytes;
}

static void check_element(const struct basic* b, const struct operation* o, const char* what,
                          const void* expected, const void* actual, int i) {
    CHECK_THAT(basic_equal(b, expected, actual), "%s %s, %s: element %d is wrong", o->name, b->name,
               what, i);
}

/// The window's memory of one rank: for each origin EACH elements for accumulate, EACH for
/// get_accumulate.
static void fill_targets(const struct window* w, const struct basic* b) {
    local_begin(w);
    for (int i = 0; i < 2 * EACH * T.ranks; ++i)
        basic_set(b, element(b, w->base, i), target_value(T.rank, i));
    local_end_all(w);
}

static void both_accumulates(const struct window* w, const struct basic* b,
                             const struct operation* o, int target) {
    char from[EACH * WIDEST], result[EACH * WIDEST], expected[WIDEST];
    for (int i = 0; i < EACH; ++i)
        basic_set(b, element(b, from, i), origin_value(T.rank, i));
    memset(result, 0xee, sizeof result);
    const int first = 2 * EACH * T.rank;
    const MPI_Aint bytes = (MPI_Aint)b->bytes;
    if (o->op != MPI_NO_OP) // accumulate does not take it
        OK(MPI_Accumulate(from, EACH, b->type, target, at(w, target, first * bytes), EACH, b->type,
                          o->op, w->win));
    OK(MPI_Get_accumulate(from, EACH, b->type, result, EACH, b->type, target,
                          at(w, target, (first + EACH) * bytes), EACH, b->type, o->op, w->win));
    OK(MPI_Win_flush(target, w->win));
    for (int i = 0; i < EACH; ++i) {
        basic_set(b, expected, target_value(target, first + EACH + i));
        check_element(b, o, "what get_accumulate fetched", expected, element(b, result, i), i);
    }
}

static void check_targets(const struct window* w, const struct basic* b,
                          const struct operation* o) {
    char expected[WIDEST], from[WIDEST];
    local_begin(w);
    for (int origin = 0; origin < T.ranks; ++origin)
        for (int i = 0; i < 2 * EACH; ++i) {
            const int place = 2 * EACH * origin + i;
            basic_set(b, expected, target_value(T.rank, place));
            basic_set(b, from, origin_value(origin, i % EACH));
            basic_apply(o, b, from, expected);
            check_element(b, o, i < EACH ? "accumulated" : "get_accumulated", expected,
                          element(b, w->base, place), i);
        }
    local_end_all(w);
}

static void operations_and_types(unsigned classes) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)2 * EACH * WIDEST * T.ranks, 1))
        return;
    for (int k = 0; k < BASICS; ++k)
        for (int j = 0; j < OPERATIONS; ++j) {
            const struct basic* b = &basics[k];
            const struct operation* o = &operations[j];
            if ((b->class & classes) == 0 || (o->classes & b->class) == 0)
                continue;
            fill_targets(&w, b);
            OK(MPI_Win_lock_all(0, w.win));
            for (int t = 0; t < T.ranks; ++t)
                both_accumulates(&w, b, o, (T.rank + t) % T.ranks);
            OK(MPI_Win_unlock_all(w.win));
            MPI_Barrier(w.comm);
            check_targets(&w, b, o);
        }
    window_close(&w);
}

static void integers(void) {
    operations_and_types(C_INTEGER | FORTRAN_INTEGER | MULTI);
}
static void floats(void) {
    operations_and_types(FLOATING);
}
static void complexes(void) {
    operations_and_types(COMPLEX);
}
static void logicals_and_bytes(void) {
    operations_and_types(LOGICAL | BYTES | OTHER);
}
static void pairs(void) {
    operations_and_types(PAIR);
}

// --- Numbers that are negative if their type is signed -------------------------------------------

enum { PLUS = 5, MINUS = -3 };

/// Accumulates MINUS onto PLUS, `count` times, and fetches what comes of it.
static void meet(const struct window* w, const struct basic* b, MPI_Op op, int target, int count,
                 char* result) {
    char from[EACH * WIDEST], onto[EACH * WIDEST];
    const MPI_Aint place = at(w, target, (MPI_Aint)EACH * WIDEST * T.rank);
    for (int i = 0; i < count; ++i) {
        basic_set(b, element(b, from, i), MINUS);
        basic_set(b, element(b, onto, i), PLUS);
    }
    OK(MPI_Accumulate(onto, count, b->type, target, place, count, b->type, MPI_REPLACE, w->win));
    OK(MPI_Accumulate(from, count, b->type, target, place, count, b->type, op, w->win));
    OK(MPI_Get_accumulate(NULL, 0, b->type, result, count, b->type, target, place, count, b->type,
                          MPI_NO_OP, w->win));
    OK(MPI_Win_flush(target, w->win));
}

/// MPI_MAX and MPI_MIN compare as C does. MPI_Reduce_local is not asked: Open MPI takes MPI_OFFSET for
/// unsigned, and MPI_UNSIGNED_LONG for signed.
static void signs(void) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)EACH * WIDEST * T.ranks, 1))
        return;
    const int target = (T.rank + 1) % T.ranks;
    OK(MPI_Win_lock_all(0, w.win));
    for (int k = 0; k < BASICS; ++k) {
        const struct basic* b = &basics[k];
        for (int max = 0; max < 2; ++max)
            for (int count = 1; count <= EACH; count += EACH - 1) {
                char result[EACH * WIDEST], expected[WIDEST];
                if ((b->class & operations[0].classes) == 0) // those of MPI_MAX
                    continue;
                meet(&w, b, max ? MPI_MAX : MPI_MIN, target, count, result);
                basic_set(b, expected, (b->is_signed != 0) == (max != 0) ? PLUS : MINUS);
                for (int i = 0; i < count; ++i)
                    CHECK_THAT(basic_equal(b, expected, element(b, result, i)),
                               "%s %s: element %d of %d is wrong", max ? "MAX" : "MIN", b->name, i,
                               count);
            }
    }
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

// --- Derived types -------------------------------------------------------------------------------

enum { ELEMENTS = 12 };

// Sums of 8-bit and 16-bit numbers stay small: Open MPI's vectorized operations saturate.
static const char* const summable[] = {"MPI_INT8_T", "MPI_INT", "MPI_INT64_T", "MPI_FLOAT",
                                       "MPI_DOUBLE"};
enum { SUMMABLE = sizeof summable / sizeof *summable };

/// Sums `from` (layout o) onto each rank's memory (layout t) and fetches into layout r.
static void accumulate_layouts(const struct window* w, const struct basic* b, int o, int t, int r) {
    const MPI_Aint width = (MPI_Aint)b->bytes, half = HALF * width;
    const int target = (T.rank + 1) % T.ranks, origin = (T.rank + T.ranks - 1) % T.ranks;
    struct layout from = layout_make(o, ELEMENTS, b->type, width);
    struct layout to = layout_make(t, ELEMENTS / 3, b->type, width);
    struct layout result = layout_make(r, ELEMENTS, b->type, width);
    char *source = calloc(2 * HALF, b->bytes), *fetched = calloc(2 * HALF, b->bytes);
    char* expected = calloc(2 * HALF, b->bytes);
    for (int k = 0; k < ELEMENTS; ++k)
        basic_set(b, source + half + layout_offset(&from, k), k + T.rank);
    local_begin(w);
    for (int i = 0; i < 2 * HALF; ++i) {
        basic_set(b, w->base + i * width, i % 11);
        basic_set(b, expected + i * width, i % 11);
    }
    local_end_all(w);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    OK(MPI_Get_accumulate(source + half, 1, from.type, fetched + half, 1, result.type, target,
                          at(w, target, half), 3, to.type, MPI_SUM, w->win));
    OK(MPI_Accumulate(source + half, 1, from.type, target, at(w, target, half), 3, to.type, MPI_SUM,
                      w->win));
    OK(MPI_Win_unlock(target, w->win));
    char value[WIDEST];
    for (int k = 0; k < ELEMENTS; ++k) {
        const MPI_Aint place = half + layout_offset(&to, k);
        CHECK_THAT(basic_equal(b, expected + place, fetched + half + layout_offset(&result, k)),
                   "%s: fetched from %s into %s: element %d is wrong", b->name, to.name,
                   result.name, k);
        basic_set(b, value, place / width % 11 + 2 * (k + origin));
        memcpy(expected + place, value, b->bytes);
    }
    MPI_Barrier(w->comm);
    local_begin(w);
    CHECK_THAT(memcmp(expected, w->base, 2 * HALF * b->bytes) == 0,
               "%s: summed from %s to %s: wrong", b->name, from.name, to.name);
    local_end_all(w);
    MPI_Type_free(&from.type);
    MPI_Type_free(&to.type);
    MPI_Type_free(&result.type);
    free(source);
    free(fetched);
    free(expected);
}

static void derived_types(void) {
    struct window w;
    if (!window_open(&w, 2 * HALF * sizeof(double), 1))
        return;
    for (int s = 0; s < SUMMABLE; ++s)
        for (int o = 0; o < LAYOUTS; ++o)
            for (int t = 0; t < LAYOUTS; t += 2) // odd ones come as o + t below
                accumulate_layouts(&w, basic_named(summable[s]), o, (o + t) % LAYOUTS,
                                   (o + 2 * t + 1) % LAYOUTS);
    window_close(&w);
}

/// Origin buffers given by absolute address, and none at all for MPI_NO_OP.
static void absolute_and_absent_origins(void) {
    struct window w;
    if (!window_open(&w, sizeof(int) * 4, sizeof(int)))
        return;
    int source[4] = {1, 2, 3, 4}, fetched[4] = {-1, -1, -1, -1};
    const int four = 4, target = (T.rank + 1) % T.ranks;
    MPI_Aint address;
    MPI_Datatype type;
    MPI_Get_address(source, &address);
    MPI_Type_create_hindexed(1, &four, &address, MPI_INT, &type);
    MPI_Type_commit(&type);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
    OK(MPI_Accumulate(MPI_BOTTOM, 1, type, target, at(&w, target, 0), 4, MPI_INT, MPI_SUM, w.win));
    OK(MPI_Accumulate(MPI_BOTTOM, 1, type, target, at(&w, target, 0), 4, MPI_INT, MPI_PROD, w.win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, fetched, 4, MPI_INT, target, at(&w, target, 0), 4,
                          MPI_INT, MPI_NO_OP, w.win));
    OK(MPI_Win_unlock(target, w.win));
    for (int i = 0; i < 4; ++i)
        CHECK_EQ((i + 1) * (i + 1), fetched[i]);
    MPI_Type_free(&type);
    window_close(&w);
}

static void zero_counts_and_proc_null(void) {
    struct window w;
    if (!window_open(&w, 64, 1))
        return;
    double value = 1, result = 2;
    const int target = (T.rank + 1) % T.ranks;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
    OK(MPI_Accumulate(&value, 0, MPI_DOUBLE, target, at(&w, target, 0), 0, MPI_DOUBLE, MPI_SUM,
                      w.win));
    OK(MPI_Accumulate(NULL, 0, MPI_DOUBLE, target, at(&w, target, 0), 0, MPI_DOUBLE, MPI_SUM,
                      w.win));
    OK(MPI_Get_accumulate(&value, 0, MPI_DOUBLE, &result, 0, MPI_DOUBLE, target, at(&w, target, 0),
                          0, MPI_DOUBLE, MPI_SUM, w.win));
    OK(MPI_Get_accumulate(&value, 1, MPI_DOUBLE, &result, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, 1,
                          MPI_DOUBLE, MPI_SUM, w.win));
    OK(MPI_Win_unlock(target, w.win));
    CHECK_REAL(2, result);
    MPI_Barrier(w.comm);
    local_begin(&w);
    const char zero[64] = {0};
    CHECK_MEM(zero, w.base, sizeof zero);
    local_end_all(&w);
    window_close(&w);
}

// --- Contention ----------------------------------------------------------------------------------

enum { CONTENDED = 48, TIMES = 400 };

static void check_sums(const struct window* w, const struct basic* b, long expected,
                       const char* what) {
    char value[WIDEST];
    MPI_Barrier(w->comm);
    local_begin(w);
    basic_set(b, value, expected);
    for (int i = 0; i < CONTENDED; ++i)
        CHECK_THAT(basic_equal(b, value, element(b, w->base, i)),
                   "%s, %s: element %d lost an update", b->name, what, i);
    local_end_all(w);
}

static void clear(const struct window* w) {
    local_begin(w);
    memset(w->base, 0, (size_t)w->bytes);
    local_end_all(w);
}

/// What is added at step i of an even number of steps; one byte cannot hold the sum of all.
static long addend(const struct basic* b, int i) {
    return b->bytes > 1 || i % 2 == 0 ? 1 : -1;
}

/// All ranks add to the same elements: as one block, and as two vectors of every other one.
static void add_to_all(const struct window* w, const struct basic* b, MPI_Datatype half) {
    char values[CONTENDED * sizeof(double)];
    for (int i = 0; i < TIMES; ++i) {
        for (int e = 0; e < CONTENDED; ++e)
            basic_set(b, element(b, values, e), addend(b, i));
        for (int t = 0; t < T.ranks; ++t) {
            OK(MPI_Accumulate(values, CONTENDED, b->type, t, at(w, t, 0), CONTENDED, b->type,
                              MPI_SUM, w->win));
            for (MPI_Aint odd = 0; odd < 2; ++odd)
                OK(MPI_Accumulate(values, CONTENDED / 2, b->type, t,
                                  at(w, t, odd * (MPI_Aint)b->bytes), 1, half, MPI_SUM, w->win));
        }
        OK(MPI_Win_flush_local_all(w->win)); // the buffer is filled again
    }
}

static void same_elements(void) {
    struct window w;
    if (!window_open(&w, CONTENDED * sizeof(double), 1))
        return;
    for (int s = 0; s < SUMMABLE; ++s) {
        const struct basic* b = basic_named(summable[s]);
        MPI_Datatype half;
        MPI_Type_vector(CONTENDED / 2, 1, 2, b->type, &half);
        MPI_Type_commit(&half);
        clear(&w);
        OK(MPI_Win_lock_all(s % 2 != 0 ? MPI_MODE_NOCHECK : 0, w.win));
        add_to_all(&w, b, half);
        OK(MPI_Win_unlock_all(w.win));
        check_sums(&w, b, b->bytes > 1 ? 2L * TIMES * T.ranks : 0, "same elements");
        MPI_Type_free(&half);
    }
    window_close(&w);
}

/// Each rank adds to its own elements, the others' lie between them: an update of a word wider than
/// the element takes the neighbours' updates back.
static void interleaved_neighbours(void) {
    struct window w;
    if (!window_open(&w, CONTENDED * sizeof(double), 1))
        return;
    for (int s = 0; s < SUMMABLE; ++s) {
        const struct basic* b = basic_named(summable[s]);
        const MPI_Aint width = (MPI_Aint)b->bytes;
        MPI_Datatype mine;
        int places[CONTENDED], n = 0;
        for (int i = T.rank; i < CONTENDED; i += T.ranks)
            places[n++] = i;
        MPI_Type_create_indexed_block(n, 1, places, b->type, &mine);
        MPI_Type_commit(&mine);
        char ones[CONTENDED * sizeof(double)];
        for (int i = 0; i < CONTENDED; ++i)
            basic_set(b, element(b, ones, i), 1);
        clear(&w);
        OK(MPI_Win_lock_all(0, w.win));
        for (int i = 0; i < TIMES; ++i)
            for (int t = 0; t < T.ranks; ++t) {
                OK(MPI_Accumulate(ones, n, b->type, t, at(&w, t, 0), 1, mine, MPI_SUM, w.win));
                OK(MPI_Accumulate(ones, 1, b->type, t, at(&w, t, places[i % n] * width), 1, b->type,
                                  MPI_SUM, w.win));
                OK(MPI_Accumulate(ones, 1, b->type, t, at(&w, t, places[i % n] * width), 1, b->type,
                                  MPI_REPLACE, w.win));
                OK(MPI_Accumulate(ones, n, b->type, t, at(&w, t, 0), 1, mine, MPI_REPLACE, w.win));
            }
        for (int t = 0; t < T.ranks; ++t)
            OK(MPI_Accumulate(ones, n, b->type, t, at(&w, t, 0), 1, mine, MPI_SUM, w.win));
        OK(MPI_Win_unlock_all(w.win));
        check_sums(&w, b, 2, "interleaved");
        MPI_Type_free(&mine);
    }
    window_close(&w);
}

// Arrays longer than any piece that a component may take at once.
enum { ARRAY = 700, ROUNDS = 300 };

/// Round i's array: it begins and ends within words. Two rounds at a time have the same.
static int array_first(int i) {
    return i / 2 % 7;
}
static int array_length(int i) {
    return ARRAY - array_first(i) - i / 2 % 5;
}
static int array_single(int i) {
    return (i / 2 * 37 + 3) % ARRAY;
}

/// Round i of a rank: an array and two single elements, and a read of all between them. `values`:
/// what two rounds add, one after the other.
static void arrays_and_singles(const struct window* w, const struct basic* b,
                               char values[2][ARRAY * sizeof(double)], int i) {
    const MPI_Aint width = (MPI_Aint)b->bytes, single = array_single(i) * width;
    const int n = array_length(i);
    char before[ARRAY * sizeof(double)], all[ARRAY * sizeof(double)];
    char old[sizeof(double)], *const array = values[i % 2], *const one = array;
    OK(MPI_Accumulate(one, 1, b->type, 0, at(w, 0, single), 1, b->type, MPI_SUM, w->win));
    if (i % 3 != 0)
        OK(MPI_Accumulate(array, n, b->type, 0, at(w, 0, array_first(i) * width), n, b->type,
                          MPI_SUM, w->win));
    else
        OK(MPI_Get_accumulate(array, n, b->type, before, n, b->type, 0,
                              at(w, 0, array_first(i) * width), n, b->type, MPI_SUM, w->win));
    OK(MPI_Get_accumulate(NULL, 0, b->type, all, ARRAY, b->type, 0, at(w, 0, 0), ARRAY, b->type,
                          MPI_NO_OP, w->win));
    OK(MPI_Fetch_and_op(one, old, b->type, 0, at(w, 0, single), MPI_SUM, w->win));
    OK(MPI_Win_flush(0, w->win));
}

static void check_arrays(const struct window* w, const struct basic* b, const char* epoch) {
    long expected[ARRAY] = {0};
    char value[WIDEST];
    for (int i = 0; i < ROUNDS; ++i) {
        for (int e = 0; e < array_length(i); ++e)
            expected[array_first(i) + e] += T.ranks * addend(b, i);
        expected[array_single(i)] += 2 * T.ranks * addend(b, i);
    }
    MPI_Barrier(w->comm);
    local_begin(w);
    for (int e = 0; T.rank == 0 && e < ARRAY; ++e) {
        basic_set(b, value, expected[e]);
        CHECK_THAT(basic_equal(b, value, element(b, w->base, e)),
                   "%s, %s: element %d lost an update", b->name, epoch, e);
    }
    local_end_all(w);
}

/// All ranks add arrays and single elements to the same memory at once: no update is lost. One byte
/// cannot hold the sum of all, so that each second round takes back what the one before has added.
static void arrays_beside_singles(void) {
    static const char* const types[] = {"MPI_DOUBLE", "MPI_FLOAT", "MPI_INT", "MPI_INT8_T",
                                        "MPI_INT64_T"};
    struct window w;
    if (!window_open(&w, ARRAY * sizeof(double), 1))
        return;
    char values[2][ARRAY * sizeof(double)];
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        const struct basic* b = basic_named(types[t]);
        for (int i = 0; i < 2 * ARRAY; ++i)
            basic_set(b, element(b, values[i % 2], i / 2), addend(b, i));
        clear(&w);
        OK(MPI_Win_lock_all(0, w.win));
        for (int i = 0; i < ROUNDS; ++i)
            arrays_and_singles(&w, b, values, i);
        OK(MPI_Win_unlock_all(w.win));
        check_arrays(&w, b, "lock_all");
        clear(&w);
        for (int i = 0; i < ROUNDS; ++i) {
            const bool alone = (i + T.rank) % 3 == 0; // the others share
            OK(MPI_Win_lock(alone ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, w.win));
            arrays_and_singles(&w, b, values, i);
            OK(MPI_Win_unlock(0, w.win));
        }
        check_arrays(&w, b, "lock");
    }
    window_close(&w);
}

/// Types wider than any CPU atomic, and operations that are none: still element by element atomic.
static void wide_elements(void) {
    static const struct {
        const char *type, *op;
    } rows[] = {{"MPI_LONG_DOUBLE", "SUM"},     {"MPI_C_DOUBLE_COMPLEX", "SUM"},
                {"MPI_C_FLOAT_COMPLEX", "SUM"}, {"MPI_C_LONG_DOUBLE_COMPLEX", "SUM"},
                {"MPI_DOUBLE_INT", "MAXLOC"},   {"MPI_2INT", "MINLOC"}};
    struct window w;
    if (!window_open(&w, WIDEST, 1))
        return;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row) {
        const struct basic* b = basic_named(rows[row].type);
        const struct operation* o = operations;
        while (strcmp(o->name, rows[row].op) != 0)
            ++o;
        char value[WIDEST], expected[WIDEST] = {0};
        clear(&w);
        OK(MPI_Win_lock_all(0, w.win));
        for (int i = 0; i < TIMES; ++i) {
            basic_set(b, value, (i * 7 + T.rank * 3) % 101 - 50);
            OK(MPI_Accumulate(value, 1, b->type, 0, at(&w, 0, 0), 1, b->type, o->op, w.win));
            OK(MPI_Win_flush_local(0, w.win));
        }
        OK(MPI_Win_unlock_all(w.win));
        for (int r = 0; r < T.ranks; ++r)
            for (int i = 0; i < TIMES; ++i) {
                basic_set(b, value, (i * 7 + r * 3) % 101 - 50);
                basic_apply(o, b, value, expected);
            }
        MPI_Barrier(w.comm);
        local_begin(&w);
        if (T.rank == 0)
            check_element(b, o, "all ranks on one element", expected, w.base, 0);
        local_end_all(&w);
    }
    window_close(&w);
}

enum { WIDE_ARRAY = 5000, WIDE_ROUNDS = 60 }; // several messages

/// Of a wide type, its real part.
static double first_number(const struct basic* b, const void* from) {
    const size_t bytes = b->kind == 'c' ? b->value / 2 : b->value;
    double narrow = 0;
    long double wide = 0;
    memcpy(bytes == sizeof narrow ? (void*)&narrow : &wide, from, bytes);
    return bytes == sizeof narrow ? narrow : (double)wide;
}

/// Adds 1 to the last element, by turns with all others; returns the sum of what was fetched of it.
static double add_arrays_and_singles(const struct window* w, const struct basic* b, char* ones,
                                     char* seen) {
    double fetched = 0;
    for (int i = 0; i < WIDE_ROUNDS; ++i) {
        const bool single = (i + T.rank) % 3 != 0;
        const int first = single ? WIDE_ARRAY - 1 : 0, count = WIDE_ARRAY - first;
        OK(MPI_Get_accumulate(ones, count, b->type, seen, count, b->type, 0,
                              at(w, 0, (MPI_Aint)first * (MPI_Aint)b->bytes), count, b->type,
                              MPI_SUM, w->win));
        OK(MPI_Win_flush(0, w->win));
        fetched += first_number(b, element(b, seen, count - 1));
    }
    return fetched;
}

/// All ranks add 1 to the same wide elements, as arrays and one by one, and fetch what was there:
/// together 0 to the sum less 1, each once.
static void wide_arrays_beside_singles(void) {
    static const char* const types[] = {"MPI_LONG_DOUBLE", "MPI_C_DOUBLE_COMPLEX",
                                        "MPI_C_LONG_DOUBLE_COMPLEX"};
    struct window w;
    if (!window_open(&w, WIDE_ARRAY * WIDEST, 1))
        return;
    static char ones[WIDE_ARRAY * WIDEST], seen[WIDE_ARRAY * WIDEST];
    const double all = (double)WIDE_ROUNDS * T.ranks;
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        const struct basic* b = basic_named(types[t]);
        for (int e = 0; e < WIDE_ARRAY; ++e)
            basic_set(b, element(b, ones, e), 1);
        clear(&w);
        OK(MPI_Win_lock_all(0, w.win));
        const double fetched = add_arrays_and_singles(&w, b, ones, seen);
        OK(MPI_Win_unlock_all(w.win));
        double total = 0;
        MPI_Allreduce(&fetched, &total, 1, MPI_DOUBLE, MPI_SUM, w.comm);
        CHECK_REAL(all * (all - 1) / 2, total);
        local_begin(&w);
        if (T.rank == 0)
            CHECK_REAL(all, first_number(b, element(b, w.base, WIDE_ARRAY - 1)));
        local_end_all(&w);
    }
    window_close(&w);
}

enum { ROOM = 8 };

/// The target's elements, by the origin that is the only one to change them.
static void expect_ints(const struct window* w, int target, const int* expected) {
    int seen[ROOM];
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(seen, ROOM, MPI_INT, target, at(w, target, 0), ROOM, MPI_INT, w->win));
    OK(MPI_Win_flush(target, w->win));
    for (int i = 0; i < ROOM; ++i)
        CHECK_EQ(expected[i], seen[i]);
}

/// As many operands as given, for six elements at the target: fetches what was there, of all of them.
static void add_to_six(const struct window* w, int target, int operands, MPI_Datatype theirs,
                       int count, int distance) {
    const int ones[] = {1, 1, 1, 1, 1, 1};
    int fetched[6], expected[6];
    for (int i = 0; i < 6; ++i)
        OK(MPI_Get(&expected[i], 1, MPI_INT, target, at(w, target, 4 * (MPI_Aint)(i * distance)), 1,
                   MPI_INT, w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get_accumulate(operands != 0 ? ones : NULL, operands, MPI_INT, fetched, 6, MPI_INT,
                          target, at(w, target, 0), count, theirs, MPI_SUM, w->win));
    OK(MPI_Win_flush(target, w->win));
    for (int i = 0; i < 6; ++i)
        CHECK_EQ(expected[i], fetched[i]);
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, fetched, 6, MPI_INT, target, at(w, target, 0), count,
                          theirs, MPI_NO_OP, w->win));
    OK(MPI_Win_flush(target, w->win));
    for (int i = 0; i < 6; ++i)
        CHECK_EQ(expected[i] + (i < operands), fetched[i]);
}

/// Pairs with a gap behind them: two operands for three elements.
static void fewer_pairs(const struct window* w, int target) {
    struct {
        double value;
        int index;
    } low[3] = {{1, 1}, {2, 2}, {3, 3}}, high[2] = {{10, 4}, {20, 5}}, before[3], after[3];
    OK(MPI_Accumulate(low, 3, MPI_DOUBLE_INT, target, at(w, target, 0), 3, MPI_DOUBLE_INT,
                      MPI_REPLACE, w->win));
    OK(MPI_Get_accumulate(high, 2, MPI_DOUBLE_INT, before, 3, MPI_DOUBLE_INT, target,
                          at(w, target, 0), 3, MPI_DOUBLE_INT, MPI_MAXLOC, w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(after, 3, MPI_DOUBLE_INT, target, at(w, target, 0), 3, MPI_DOUBLE_INT, w->win));
    OK(MPI_Win_flush(target, w->win));
    for (int i = 0; i < 3; ++i) {
        CHECK_EQ(low[i].index, before[i].index);
        CHECK_REAL(low[i].value, before[i].value);
        CHECK_EQ(i < 2 ? high[i].index : low[i].index, after[i].index);
        CHECK_REAL(i < 2 ? high[i].value : low[i].value, after[i].value);
    }
}

/// Pairs without the gap behind them, as a type of the program's has them.
static void packed_pairs(const struct window* w, int target) {
    enum { PAIRS = 3, PACKED = sizeof(double) + sizeof(int) };
    struct {
        double value;
        int index;
    } low[PAIRS] = {{1, 1}, {2, 2}, {3, 3}}, high[PAIRS] = {{10, 4}, {0, 5}, {20, 6}};
    char bytes[PAIRS * PACKED];
    MPI_Datatype packed;
    OK(MPI_Type_create_resized(MPI_DOUBLE_INT, 0, PACKED, &packed));
    OK(MPI_Type_commit(&packed));
    OK(MPI_Accumulate(low, PAIRS, MPI_DOUBLE_INT, target, at(w, target, 0), PAIRS, packed,
                      MPI_REPLACE, w->win));
    OK(MPI_Accumulate(high, PAIRS, MPI_DOUBLE_INT, target, at(w, target, 0), PAIRS, packed,
                      MPI_MAXLOC, w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(bytes, sizeof bytes, MPI_BYTE, target, at(w, target, 0), sizeof bytes, MPI_BYTE,
               w->win));
    OK(MPI_Win_flush(target, w->win));
    for (int i = 0; i < PAIRS; ++i) {
        double value;
        int index;
        memcpy(&value, bytes + i * PACKED, sizeof value);
        memcpy(&index, bytes + i * PACKED + sizeof value, sizeof index);
        CHECK_REAL(i == 1 ? low[i].value : high[i].value, value);
        CHECK_EQ(i == 1 ? low[i].index : high[i].index, index);
    }
    MPI_Type_free(&packed);
}

/// What an accumulate brings only has to fit: elements that it has nothing for stay as they are.
static void fewer_operands(void) {
    struct window w;
    if (!window_open(&w, 2 * ROOM * sizeof(int), 1))
        return;
    clear(&w);
    const int t = (T.rank + 1) % T.ranks, none[ROOM] = {0}, ones[3] = {1, 1, 1};
    MPI_Datatype every_other, three;
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &every_other));
    OK(MPI_Type_create_resized(every_other, 0, 6 * sizeof(int), &three));
    OK(MPI_Type_commit(&three));
    OK(MPI_Win_lock_all(0, w.win));
    OK(MPI_Accumulate(NULL, 0, MPI_INT, t, at(&w, t, 0), 1, MPI_INT, MPI_SUM, w.win));
    OK(MPI_Accumulate(NULL, 0, MPI_INT, t, at(&w, t, 0), ROOM, MPI_INT, MPI_REPLACE, w.win));
    expect_ints(&w, t, none);
    OK(MPI_Accumulate(ones, 1, MPI_INT, t, at(&w, t, 0), ROOM, MPI_INT, MPI_SUM, w.win));
    OK(MPI_Accumulate(ones, 3, MPI_INT, t, at(&w, t, 4), 1, three, MPI_SUM, w.win));
    OK(MPI_Accumulate(ones, 2, MPI_INT, t, at(&w, t, 4), 1, three, MPI_SUM, w.win));
    const int added[ROOM] = {1, 2, 0, 2, 0, 1};
    expect_ints(&w, t, added);
    for (int operands = 0; operands <= 6; ++operands) {
        add_to_six(&w, t, operands, MPI_INT, 6, 1);
        add_to_six(&w, t, operands, three, 2, 2);
    }
    fewer_pairs(&w, t);
    packed_pairs(&w, t);
    OK(MPI_Win_unlock_all(w.win));
    MPI_Type_free(&every_other);
    MPI_Type_free(&three);
    window_close(&w);
}

#if defined(__SIZEOF_FLOAT128__) && LDBL_MANT_DIG != 113
__extension__ typedef __float128 quad;
enum { QUADS = 300, QUAD_SUMS = 4 };

/// MPI_REAL16, or as parts of complex numbers: a third more each time. In binary128, so that what adds
/// them as long double finds no number.
static void add_quads(struct window* w, MPI_Datatype type, int parts) {
    const int target = (T.rank + 1) % T.ranks, count = QUADS / parts;
    quad mine[QUADS], seen[QUADS] = {0};
    int wrong = 0;
    for (int i = 0; i < QUADS; ++i)
        mine[i] = (quad)(i + 1) / 3;
    clear(w);
    OK(MPI_Win_lock_all(0, w->win));
    for (int n = 0; n < QUAD_SUMS; ++n) {
        OK(MPI_Accumulate(mine, 1, type, target, at(w, target, 0), 1, type, MPI_SUM, w->win));
        OK(MPI_Get_accumulate(mine + parts, count - 1, type, seen + parts, count - 1, type, target,
                              at(w, target, parts * (MPI_Aint)sizeof(quad)), count - 1, type,
                              MPI_SUM, w->win));
    }
    OK(MPI_Win_flush(target, w->win));
    for (int i = parts; i < QUADS; ++i)
        wrong += seen[i] != mine[i] + mine[i] + mine[i];
    CHECK_EQ(0, wrong);
    OK(MPI_Get(seen, count, type, target, at(w, target, 0), count, type, w->win));
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
    for (int i = 0; i < QUADS; ++i)
        wrong += seen[i] != mine[i] + mine[i] + mine[i] + mine[i];
    CHECK_EQ(0, wrong);
}

static quad fetch_quad(const struct window* w, quad operand, MPI_Op op) {
    const int target = (T.rank + 1) % T.ranks;
    quad before = 0;
    OK(MPI_Fetch_and_op(&operand, &before, MPI_REAL16, target, at(w, target, 0), op, w->win));
    OK(MPI_Win_flush(target, w->win));
    return before;
}

/// Fortran's wide numbers have the size of long double on x86, and another format.
static void quads(void) {
    int size = 0;
    OK(MPI_Type_size(MPI_REAL16, &size));
    if (size == 0) // Open MPI without Fortran, or its compiler has none
        return;
    struct window w;
    if (!window_open(&w, QUADS * sizeof(quad), 1))
        return;
    add_quads(&w, MPI_REAL16, 1);
    OK(MPI_Type_size(MPI_COMPLEX32, &size));
    if (size != 0)
        add_quads(&w, MPI_COMPLEX32, 2);
    clear(&w);
    const quad third = (quad)1 / 3;
    OK(MPI_Win_lock_all(0, w.win));
    fetch_quad(&w, third, MPI_REPLACE);
    CHECK_THAT(fetch_quad(&w, 9, MPI_PROD) == third, "MPI_REPLACE");
    CHECK_THAT(fetch_quad(&w, -2, MPI_MAX) == third * 9, "MPI_PROD");
    CHECK_THAT(fetch_quad(&w, -third, MPI_MIN) == third * 9, "MPI_MAX");
    CHECK_THAT(fetch_quad(&w, 0, MPI_NO_OP) == -third, "MPI_MIN");
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}
#else
static void quads(void) {} // long double is in basics
#endif

/// All ranks replace pairs of equal numbers, as arrays and one by one. No fetched pair is one half
/// of each of two.
static void no_torn_pairs(void) {
    static const char* const types[] = {"MPI_2INT", "MPI_DOUBLE_INT", "MPI_LONG_DOUBLE_INT",
                                        "MPI_FLOAT_INT", "MPI_SHORT_INT"};
    struct window w;
    if (!window_open(&w, WIDE_ARRAY * WIDEST, 1))
        return;
    static char mine[WIDE_ARRAY * WIDEST], seen[WIDE_ARRAY * WIDEST];
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
        const struct basic* b = basic_named(types[t]);
        clear(&w);
        OK(MPI_Win_lock_all(0, w.win));
        for (int i = 0; i < WIDE_ROUNDS; ++i) {
            const int count = (i + T.rank) % 3 == 0 ? WIDE_ARRAY : 1;
            const int number = i * T.ranks + T.rank;
            for (int e = 0; e < count; ++e) {
                basic_write(b->kind, b->value, element(b, mine, e), number);
                memcpy(element(b, mine, e) + b->index, &number, sizeof number);
            }
            memset(seen, 0xee, sizeof seen);
            OK(MPI_Get_accumulate(mine, count, b->type, seen, count, b->type, 0, at(&w, 0, 0),
                                  count, b->type, i % 5 == 4 ? MPI_NO_OP : MPI_REPLACE, w.win));
            OK(MPI_Win_flush(0, w.win));
            for (int e = 0; e < count; ++e) {
                char same[WIDEST] = {0};
                int index;
                memcpy(&index, element(b, seen, e) + b->index, sizeof index);
                basic_write(b->kind, b->value, same, index);
                CHECK_THAT(memcmp(same, element(b, seen, e),
                                  b->value < 10 ? b->value : 10 /* of a long double */) == 0,
                           "%s: element %d is torn", b->name, e);
            }
            for (size_t gap = (size_t)(count - 1) * b->bytes + b->index + sizeof(int);
                 gap < (size_t)count * b->bytes; ++gap)
                CHECK_EQ(0xee, (unsigned char)seen[gap]);
        }
        OK(MPI_Win_unlock_all(w.win));
        MPI_Barrier(w.comm);
    }
    window_close(&w);
}

/// A reader that swaps and fetches whole elements never sees half an update.
static void no_torn_elements(void) {
    struct window w;
    if (!window_open(&w, sizeof(int64_t), 1))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < 10 * TIMES; ++i) {
        const int64_t half = (i * T.ranks + T.rank) & 0x7fffffff, both = half << 32 | half;
        int64_t seen;
        OK(MPI_Get_accumulate(&both, 1, MPI_INT64_T, &seen, 1, MPI_INT64_T, 0, at(&w, 0, 0), 1,
                              MPI_INT64_T, i % 3 == 0 ? MPI_NO_OP : MPI_REPLACE, w.win));
        OK(MPI_Win_flush(0, w.win));
        CHECK_EQ(seen >> 32, seen & 0xffffffff);
    }
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

/// Every call of the family on one word at once; each adds what it says.
static void mixed_family(void) {
    struct window w;
    if (!window_open(&w, 2 * sizeof(int64_t), 1))
        return;
    const int64_t one = 1, pair[2] = {1, 1};
    int64_t seen[2], want = 0;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < TIMES; ++i)
        switch ((i + T.rank) % 4) {
        case 0:
            OK(MPI_Fetch_and_op(&one, seen, MPI_INT64_T, 0, at(&w, 0, 0), MPI_SUM, w.win));
            OK(MPI_Win_flush(0, w.win));
            break;
        case 1:
            OK(MPI_Accumulate(pair, 2, MPI_INT64_T, 0, at(&w, 0, 0), 2, MPI_INT64_T, MPI_SUM,
                              w.win));
            break;
        case 2:
            OK(MPI_Get_accumulate(pair, 2, MPI_INT64_T, seen, 2, MPI_INT64_T, 0, at(&w, 0, 0), 2,
                                  MPI_INT64_T, MPI_SUM, w.win));
            OK(MPI_Win_flush(0, w.win));
            break;
        default:
            for (seen[0] = want + 1; seen[0] != want;) {
                want = seen[0];
                const int64_t next = want + 1;
                OK(MPI_Compare_and_swap(&next, &want, seen, MPI_INT64_T, 0, at(&w, 0, 0), w.win));
                OK(MPI_Win_flush(0, w.win));
            }
        }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    if (T.rank == 0)
        CHECK_EQ((long long)TIMES * T.ranks, *(int64_t*)w.base);
    local_end_all(&w);
    window_close(&w);
}

// --- Order ---------------------------------------------------------------------------------------

/// From one origin to one location, accumulates take effect in the order of the calls.
static void same_origin_order(void) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)sizeof(int64_t) * 2 * T.ranks, 1))
        return;
    const MPI_Aint mine = 2 * (MPI_Aint)sizeof(int64_t) * T.rank;
    enum { CHAIN = 200 };
    int64_t values[CHAIN][2], seen[CHAIN][2], add[2] = {1, 1}, swapped[CHAIN];
    for (int t = 0; t < T.ranks; ++t) {
        OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w.win));
        for (int i = 0; i < CHAIN; ++i) {
            values[i][0] = values[i][1] = 10 * i;
            OK(MPI_Accumulate(values[i], 2, MPI_INT64_T, t, at(&w, t, mine), 2, MPI_INT64_T,
                              MPI_REPLACE, w.win));
            OK(MPI_Accumulate(add, 2, MPI_INT64_T, t, at(&w, t, mine), 2, MPI_INT64_T, MPI_SUM,
                              w.win));
            OK(MPI_Fetch_and_op(add, &swapped[i], MPI_INT64_T, t, at(&w, t, mine), MPI_SUM, w.win));
            OK(MPI_Get_accumulate(add, 2, MPI_INT64_T, seen[i], 2, MPI_INT64_T, t, at(&w, t, mine),
                                  2, MPI_INT64_T, MPI_SUM, w.win));
        }
        OK(MPI_Win_unlock(t, w.win));
        for (int i = 0; i < CHAIN; ++i) {
            CHECK_EQ(10 * i + 1, swapped[i]);
            CHECK_EQ(10 * i + 2, seen[i][0]);
            CHECK_EQ(10 * i + 1, seen[i][1]);
        }
    }
    MPI_Barrier(w.comm);
    local_begin(&w);
    for (int o = 0; o < T.ranks; ++o)
        CHECK_EQ(10 * (CHAIN - 1) + 3, ((int64_t*)w.base)[2 * o]);
    local_end_all(&w);
    window_close(&w);
}

/// Elements at odd addresses (packed structs have them): right from one origin, and added up from
/// all.
static void misaligned_elements(void) {
    struct window w;
    if (!window_open(&w, 128, 1))
        return;
    const double one = 1;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < TIMES; ++i) // bytes 61..68: across a cache line, too
        OK(MPI_Accumulate(&one, 1, MPI_DOUBLE, 0, at(&w, 0, 61), 1, MPI_DOUBLE, MPI_SUM, w.win));
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    double sum;
    memcpy(&sum, w.base + 61, sizeof sum);
    CHECK_REAL(T.rank == 0 ? (double)TIMES * T.ranks : 0, sum);
    CHECK_EQ(0, w.base[60]);
    CHECK_EQ(0, w.base[69]);
    local_end_all(&w);
    window_close(&w);
}

/// A block without entries has no type (MPI 4.0, 5.1): every second int, by a structure that has such
/// blocks of other types.
static void blocks_without_entries(void) {
    struct window w;
    if (!window_open(&w, 2 * ROOM * sizeof(int), 1))
        return;
    const int lengths[] = {0, 1, 1, 1}, t = (T.rank + 1) % T.ranks, sevens[2] = {7, 7};
    int fetched[2] = {-1, -1}, expected[ROOM] = {7, 0, 7};
    const MPI_Aint places[] = {0, 0, 4, 8};
    MPI_Datatype none, two;
    OK(MPI_Type_contiguous(0, MPI_FLOAT, &none));
    OK(MPI_Type_create_struct(4, lengths, places,
                              (MPI_Datatype[]){MPI_DOUBLE, MPI_INT, none, MPI_INT}, &two));
    OK(MPI_Type_commit(&two));
    OK(MPI_Win_lock_all(0, w.win));
    OK(MPI_Accumulate(sevens, 2, MPI_INT, t, at(&w, t, 0), 1, two, MPI_REPLACE, w.win));
    OK(MPI_Win_flush(t, w.win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT, fetched, 2, MPI_INT, t, at(&w, t, 0), 1, two, MPI_NO_OP,
                          w.win));
    OK(MPI_Win_flush(t, w.win));
    CHECK_EQ(7, fetched[0]);
    CHECK_EQ(7, fetched[1]);
    expect_ints(&w, t, expected);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
    MPI_Type_free(&two);
    MPI_Type_free(&none);
}

/// MPI_NO_OP reads: memory that may not be written to is read as well, by elements of the sizes that
/// adapters have atomics of, one by one and as arrays.
static void no_op_only_reads(void) {
    enum { WORDS = 512, SPAN = 8 * WORDS };
    int64_t* const memory =
        mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    if (memory == MAP_FAILED)
        return;
    for (int i = 0; i < WORDS; ++i)
        memory[i] = 1000 * T.rank + i;
    CHECK(mprotect(memory, SPAN, PROT_READ) == 0);
    const int t = (T.rank + 1) % T.ranks;
    int64_t one = 0, many[WORDS];
    int32_t half = 0;
    MPI_Info info;
    MPI_Win win;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "acc_single_intrinsic", "true"));
    OK(MPI_Win_create(memory, SPAN, 8, info, MPI_COMM_WORLD, &win));
    OK(MPI_Win_lock_all(0, win));
    OK(MPI_Fetch_and_op(NULL, &one, MPI_INT64_T, t, 3, MPI_NO_OP, win));
    OK(MPI_Fetch_and_op(NULL, &half, MPI_INT32_T, t, 5, MPI_NO_OP, win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT64_T, many, WORDS, MPI_INT64_T, t, 0, WORDS, MPI_INT64_T,
                          MPI_NO_OP, win));
    OK(MPI_Win_unlock_all(win));
    CHECK_EQ(1000 * t + 3, one);
    CHECK_EQ(1000 * t + 5, half);
    for (int i = 0; i < WORDS; ++i)
        CHECK_EQ(1000 * t + i, many[i]);
    OK(MPI_Win_free(&win));
    MPI_Info_free(&info);
    munmap(memory, SPAN);
}

/// A small accumulate arrives while its origin makes no further call of MPI.
static void goes_out_by_itself(void) {
    const int origin = T.ranks - 1;
    const int64_t one = 1;
    struct window w;
    if (!window_open(&w, sizeof one, 1))
        return;
    clear(&w);
    double arrived = 0, back = 0;
    OK(MPI_Win_lock_all(0, w.win));
    MPI_Barrier(w.comm);
    if (T.rank == origin) {
        OK(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, at(&w, 0, 0), 1, MPI_INT64_T, MPI_SUM, w.win));
        compute_for(0.3);
        back = now();
    } else if (T.rank == 0) {
        for (int64_t seen = 0; seen == 0;) {
            OK(MPI_Fetch_and_op(NULL, &seen, MPI_INT64_T, 0, at(&w, 0, 0), MPI_NO_OP, w.win));
            OK(MPI_Win_flush(0, w.win));
        }
        arrived = now();
    }
    MPI_Bcast(&back, 1, MPI_DOUBLE, origin, w.comm);
    if (T.rank == 0 && origin != 0)
        CHECK_THAT(arrived < back, "it arrived %.6f s after the origin's computation",
                   arrived - back);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "integers", .run = integers, .each = IN_ANY},
    {.name = "floats", .run = floats, .each = IN_ANY},
    {.name = "complexes", .run = complexes, .each = IN_ANY},
    {.name = "logicals_and_bytes", .run = logicals_and_bytes, .each = IN_ANY},
    {.name = "pairs", .run = pairs, .each = IN_ANY},
    {.name = "signs", .run = signs, .each = IN_ANY},
    {.name = "quads", .run = quads, .each = IN_ANY},
    {.name = "fewer_operands", .run = fewer_operands, .each = IN_ANY},
    {.name = "derived_types", .run = derived_types, .each = IN_ANY},
    {.name = "absolute_and_absent_origins", .run = absolute_and_absent_origins, .each = IN_ANY},
    {.name = "zero_counts_and_proc_null", .run = zero_counts_and_proc_null, .each = IN_ANY},
    {.name = "same_elements", .run = same_elements, .each = IN_ANY},
    {.name = "interleaved_neighbours", .run = interleaved_neighbours, .each = IN_ANY},
    {.name = "arrays_beside_singles", .run = arrays_beside_singles, .each = IN_ANY},
    {.name = "wide_elements", .run = wide_elements, .each = IN_ANY},
    {.name = "wide_arrays_beside_singles", .run = wide_arrays_beside_singles, .each = IN_ANY},
    {.name = "no_torn_pairs", .run = no_torn_pairs, .each = IN_ANY},
    {.name = "no_torn_elements", .run = no_torn_elements, .each = IN_ANY},
    {.name = "mixed_family", .run = mixed_family, .each = IN_ANY},
    {.name = "blocks_without_entries", .run = blocks_without_entries, .each = IN_ANY},
    {.name = "no_op_only_reads", .run = no_op_only_reads, .needs = IN_CREATE},
    {.name = "goes_out_by_itself", .run = goes_out_by_itself, .each = IN_ALLOCATE},
    {.name = "same_origin_order", .run = same_origin_order, .each = IN_ANY},
    {.name = "misaligned_elements", .run = misaligned_elements, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
