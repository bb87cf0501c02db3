// Fetch_and_op and compare_and_swap: every type and operation they allow, and what many processes
// may conclude from the values they get back.
#include "basics.h"

#include <sys/mman.h>

enum { TIMES = 400 };

/// The types compare_and_swap takes (MPI 3.1, 11.3.4).
enum { COMPARABLE = C_INTEGER | FORTRAN_INTEGER | LOGICAL | MULTI | BYTES };

// --- One origin per element ----------------------------------------------------------------------

static void fetch_one(const struct window* w, const struct basic* b, const struct operation* o,
                      int target, int nth) {
    char origin[WIDEST], old[WIDEST], expected[WIDEST], result[WIDEST], now[WIDEST];
    const MPI_Aint place = at(w, target, WIDEST * (MPI_Aint)T.rank);
    basic_set(b, origin, nth + T.rank % 3 + 1);
    basic_set(b, expected, nth % 4 + 2);
    OK(MPI_Put(expected, 1, b->type, target, place, 1, b->type, w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Fetch_and_op(o->op == MPI_NO_OP ? NULL : origin, result, b->type, target, place, o->op,
                        w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(now, 1, b->type, target, place, 1, b->type, w->win));
    OK(MPI_Win_flush(target, w->win));
    memcpy(old, expected, b->bytes);
    basic_apply(o, b, origin, expected);
    CHECK_THAT(basic_equal(b, old, result), "%s %s: fetched the wrong value", o->name, b->name);
    CHECK_THAT(basic_equal(b, expected, now), "%s %s: stored the wrong value", o->name, b->name);
}

static void fetch_and_op(unsigned classes) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)WIDEST * T.ranks, 1))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int k = 0; k < BASICS; ++k)
        for (int j = 0; j < OPERATIONS; ++j)
            if ((basics[k].class & classes) != 0 && (operations[j].classes & basics[k].class) != 0)
                for (int t = 0; t < T.ranks; ++t)
                    fetch_one(&w, &basics[k], &operations[j], t, j + t);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

static void fetch_and_op_integers(void) {
    fetch_and_op(C_INTEGER | FORTRAN_INTEGER | MULTI);
}
static void fetch_and_op_floats(void) {
    fetch_and_op(FLOATING | COMPLEX);
}
static void fetch_and_op_pairs(void) {
    fetch_and_op(PAIR);
}
static void fetch_and_op_others(void) {
    fetch_and_op(LOGICAL | BYTES | OTHER);
}

enum { PAIRS = 3 };

/// Sets the bytes that are data of `count` elements at `buffer`, and no others.
static void set_data(MPI_Datatype type, int count, char* buffer, int byte) {
    char packed[PAIRS * WIDEST];
    int bytes, position = 0;
    MPI_Type_size(type, &bytes);
    memset(packed, byte, sizeof packed);
    MPI_Unpack(packed, count * bytes, &position, buffer, count, type, MPI_COMM_SELF);
}

/// Fetches `count` elements of zeroes; the gaps in the result, and what is behind it, stay as they
/// were.
static void gaps_stay(const struct window* w, const struct basic* b, const struct operation* o,
                      int target, int count, int fill) {
    char origin[PAIRS * WIDEST] = {0}, result[(PAIRS + 1) * WIDEST], expected[sizeof result];
    const MPI_Aint place = at(w, target, PAIRS * WIDEST * (MPI_Aint)T.rank);
    memset(result, fill, sizeof result);
    memset(expected, fill, sizeof expected);
    set_data(b->type, count, expected, 0);
    if (count == 1)
        OK(MPI_Fetch_and_op(origin, result, b->type, target, place, o->op, w->win));
    else
        OK(MPI_Get_accumulate(origin, count, b->type, result, count, b->type, target, place, count,
                              b->type, o->op, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK_THAT(memcmp(expected, result, sizeof result) == 0,
               "%s %s: %d fetched, and what is between or behind them was written", o->name,
               b->name, count);
}

/// For every pair type, those whose data end before their extent included.
static void pairs_keep_to_their_bytes(void) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)PAIRS * WIDEST * T.ranks, 1))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int k = 0; k < BASICS; ++k)
        for (int j = 0; j < OPERATIONS; ++j)
            if (basics[k].class == PAIR && (operations[j].classes & PAIR) != 0)
                for (int t = 0; t < T.ranks; ++t) {
                    gaps_stay(&w, &basics[k], &operations[j], t, 1, 0xee);
                    gaps_stay(&w, &basics[k], &operations[j], t, PAIRS, 0x55);
                }
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

/// An origin and a result whose data end where a page ends: the last 4 of a MPI_DOUBLE_INT's 16
/// bytes are nobody's to read or to write.
static void pairs_end_with_their_data(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), data = sizeof(double) + sizeof(int);
    struct window w;
    if (!window_open(&w, sizeof(struct {
            double value;
            int index;
        }),
                     1))
        return;
    char* pages = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    CHECK_EQ(0, mprotect(pages + page, page, PROT_NONE));
    CHECK_EQ(0, mprotect(pages + 3 * page, page, PROT_NONE));
    char *const origin = pages + page - data, *const result = pages + 3 * page - data;
    const double value = T.rank;
    memcpy(origin, &value, sizeof value);
    OK(MPI_Win_lock_all(0, w.win));
    for (int j = 0; j < OPERATIONS; ++j)
        if ((operations[j].classes & PAIR) != 0)
            for (int t = 0; t < T.ranks; ++t) {
                OK(MPI_Fetch_and_op(origin, result, MPI_DOUBLE_INT, t, at(&w, t, 0),
                                    operations[j].op, w.win));
                OK(MPI_Win_flush(t, w.win));
            }
    OK(MPI_Win_unlock_all(w.win));
    munmap(pages, 4 * page);
    window_close(&w);
}

static void swap_one(const struct window* w, const struct basic* b, int target, bool equal) {
    char old[WIDEST], new[WIDEST], compare[WIDEST], result[WIDEST], now[WIDEST];
    const MPI_Aint place = at(w, target, WIDEST * (MPI_Aint)T.rank);
    basic_set(b, old, 4 + target);
    basic_set(b, new, 77 + target);
    basic_set(b, compare, equal ? 4 + target : 5 + target);
    memset(result, 0xee, sizeof result);
    OK(MPI_Put(old, 1, b->type, target, place, 1, b->type, w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Compare_and_swap(new, compare, result, b->type, target, place, w->win));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(now, 1, b->type, target, place, 1, b->type, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK_THAT(basic_equal(b, old, result), "%s, %s: fetched the wrong value", b->name,
               equal ? "equal" : "different");
    CHECK_THAT(basic_equal(b, equal ? new : old, now), "%s, %s: stored the wrong value", b->name,
               equal ? "equal" : "different");
}

static void compare_and_swap(void) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)WIDEST * T.ranks, 1))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int k = 0; k < BASICS; ++k)
        for (int t = 0; t < T.ranks && (basics[k].class & COMPARABLE) != 0; ++t) {
            swap_one(&w, &basics[k], t, true);
            swap_one(&w, &basics[k], t, false);
        }
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

/// Only the bytes of the element are compared and swapped, wherever it lies in a wider word.
static void small_swaps_leave_neighbours(void) {
    struct window w;
    if (!window_open(&w, 64, 1))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = T.rank; i < 64; i += T.ranks)
        for (uint8_t v = 0; v < 100; ++v) {
            const uint8_t next = (uint8_t)(v + 1);
            uint8_t seen = 0xff;
            OK(MPI_Compare_and_swap(&next, &v, &seen, MPI_UINT8_T, 0, at(&w, 0, i), w.win));
            OK(MPI_Win_flush(0, w.win));
            CHECK_EQ(v, seen);
        }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    for (int i = 0; i < 64; ++i)
        CHECK_EQ(T.rank == 0 ? 100 : 0, w.base[i]);
    local_end_all(&w);
    window_close(&w);
}

// --- Contention ----------------------------------------------------------------------------------

/// Tickets drawn by all ranks, gathered at rank 0: each number exactly once.
static void check_tickets(const int64_t* mine, const char* what) {
    const int all = TIMES * T.ranks;
    int64_t* tickets = malloc((size_t)all * sizeof *tickets);
    char* seen = calloc((size_t)all, 1);
    MPI_Gather(mine, TIMES, MPI_INT64_T, tickets, TIMES, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int i = 0; i < all && T.rank == 0; ++i) {
        const bool good = tickets[i] >= 0 && tickets[i] < all;
        CHECK_THAT(good, "%s: ticket %lld was never printed", what, (long long)tickets[i]);
        if (good)
            CHECK_THAT(!seen[tickets[i]]++, "%s: ticket %lld was drawn twice", what,
                       (long long)tickets[i]);
    }
    for (int i = 1; i < TIMES; ++i)
        CHECK_THAT(mine[i] > mine[i - 1], "%s: time ran backwards", what);
    free(tickets);
    free(seen);
}

#define DRAW_TICKETS(w, c_type, mpi_type)                                                          \
    do {                                                                                           \
        int64_t mine_[TIMES];                                                                      \
        const c_type one_ = 1;                                                                     \
        OK(MPI_Win_lock_all(0, (w)->win));                                                         \
        for (int i_ = 0; i_ < TIMES; ++i_) {                                                       \
            c_type got_ = 0;                                                                       \
            OK(MPI_Fetch_and_op(&one_, &got_, mpi_type, 0, at((w), 0, 0), MPI_SUM, (w)->win));     \
            OK(MPI_Win_flush(0, (w)->win));                                                        \
            mine_[i_] = (int64_t)got_;                                                             \
        }                                                                                          \
        OK(MPI_Win_unlock_all((w)->win));                                                          \
        check_tickets(mine_, #mpi_type);                                                           \
        local_begin(w);                                                                            \
        memset((w)->base, 0, 16);                                                                  \
        local_end_all(w);                                                                          \
    } while (0)

static void integer_tickets(void) {
    struct window w;
    if (!window_open(&w, 16, 1))
        return;
    DRAW_TICKETS(&w, int64_t, MPI_INT64_T);
    DRAW_TICKETS(&w, uint64_t, MPI_UINT64_T);
    DRAW_TICKETS(&w, int32_t, MPI_INT32_T);
    DRAW_TICKETS(&w, int16_t, MPI_INT16_T);
    window_close(&w);
}

static void floating_tickets(void) {
    struct window w;
    if (!window_open(&w, 16, 1))
        return;
    DRAW_TICKETS(&w, double, MPI_DOUBLE);
    DRAW_TICKETS(&w, float, MPI_FLOAT);
    DRAW_TICKETS(&w, long double, MPI_LONG_DOUBLE);
    window_close(&w);
}

/// A counter moved by compare_and_swap alone, in 4 and in 8 bytes.
#define COUNT_BY_SWAPS(w, c_type, mpi_type)                                                        \
    do {                                                                                           \
        OK(MPI_Win_lock_all(0, (w)->win));                                                         \
        for (int i_ = 0; i_ < TIMES; ++i_) {                                                       \
            c_type seen_ = 0, want_ = 1;                                                           \
            while (seen_ != want_) {                                                               \
                want_ = seen_;                                                                     \
                const c_type next_ = want_ + 1;                                                    \
                OK(MPI_Compare_and_swap(&next_, &want_, &seen_, mpi_type, 0, at((w), 0, 0),        \
                                        (w)->win));                                                \
                OK(MPI_Win_flush(0, (w)->win));                                                    \
            }                                                                                      \
        }                                                                                          \
        OK(MPI_Win_unlock_all((w)->win));                                                          \
        MPI_Barrier((w)->comm);                                                                    \
        local_begin(w);                                                                            \
        if (T.rank == 0)                                                                           \
            CHECK_EQ((long long)TIMES* T.ranks, *(c_type*)(w)->base);                              \
        memset((w)->base, 0, 16);                                                                  \
        local_end_all(w);                                                                          \
    } while (0)

static void swap_counter(void) {
    struct window w;
    if (!window_open(&w, 16, 1))
        return;
    COUNT_BY_SWAPS(&w, int64_t, MPI_INT64_T);
    COUNT_BY_SWAPS(&w, int32_t, MPI_INT32_T);
    COUNT_BY_SWAPS(&w, int16_t, MPI_INT16_T);
    window_close(&w);
}

/// A spin lock of the program's own, as coarray and PGAS runtimes build it: swap in, swap out, with
/// plain puts and gets between, in one shared epoch.
static void own_spin_lock(void) {
    struct window w;
    if (!window_open(&w, 2 * sizeof(int64_t), sizeof(int64_t)))
        return;
    const int64_t free_ = 0, taken = T.rank + 1;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < TIMES / 4; ++i) {
        int64_t seen = -1, value = 0;
        while (seen != free_) {
            OK(MPI_Compare_and_swap(&taken, &free_, &seen, MPI_INT64_T, 0, at(&w, 0, 0), w.win));
            OK(MPI_Win_flush(0, w.win));
        }
        OK(MPI_Get(&value, 1, MPI_INT64_T, 0, at(&w, 0, 1), 1, MPI_INT64_T, w.win));
        OK(MPI_Win_flush(0, w.win));
        ++value;
        OK(MPI_Put(&value, 1, MPI_INT64_T, 0, at(&w, 0, 1), 1, MPI_INT64_T, w.win));
        OK(MPI_Win_flush(0, w.win));
        OK(MPI_Fetch_and_op(&free_, &seen, MPI_INT64_T, 0, at(&w, 0, 0), MPI_REPLACE, w.win));
        OK(MPI_Win_flush(0, w.win));
        CHECK_EQ(taken, seen);
    }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    if (T.rank == 0)
        CHECK_EQ((long long)TIMES / 4 * T.ranks, ((int64_t*)w.base)[1]);
    local_end_all(&w);
    window_close(&w);
}

/// What MPI_REPLACE puts in somebody takes out, once: the sum of all that went in and came out is
/// the value that stayed.
static void swaps_conserve(void) {
    struct window w;
    if (!window_open(&w, sizeof(int64_t), 1))
        return;
    int64_t balance = 0, all;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < TIMES; ++i) {
        const int64_t in = (int64_t)(i * T.ranks + T.rank + 1) * 1000003;
        int64_t out = 0;
        OK(MPI_Fetch_and_op(&in, &out, MPI_INT64_T, 0, at(&w, 0, 0), MPI_REPLACE, w.win));
        OK(MPI_Win_flush(0, w.win));
        balance += in - out;
    }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Reduce(&balance, &all, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    local_begin(&w);
    if (T.rank == 0)
        CHECK_EQ(all, *(int64_t*)w.base);
    local_end_all(&w);
    window_close(&w);
}

/// Many posted without a flush, then one: every result has arrived.
static void many_unflushed(void) {
    enum { MANY = 3000 };
    struct window w;
    if (!window_open(&w, 2 * sizeof(int64_t), sizeof(int64_t)))
        return;
    int64_t* got = malloc(MANY * sizeof *got);
    const int64_t one = 1;
    const int target = (T.rank + 1) % T.ranks;
    memset(got, 0xff, MANY * sizeof *got);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
    for (int i = 0; i < MANY; ++i)
        OK(MPI_Fetch_and_op(&one, &got[i], MPI_INT64_T, target, at(&w, target, 0), MPI_SUM, w.win));
    OK(MPI_Win_unlock(target, w.win));
    for (int i = 0; i < MANY; ++i)
        CHECK_EQ(i, got[i]);
    free(got);
    window_close(&w);
}

/// Targets by turns, one's own among them: the same word is reached from near and far.
static void every_target(void) {
    struct window w;
    if (!window_open(&w, sizeof(int64_t), 1))
        return;
    const int64_t one = 1;
    int64_t got;
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, w.win));
    for (int i = 0; i < TIMES; ++i) {
        const int target = (T.rank + i) % T.ranks;
        OK(MPI_Fetch_and_op(&one, &got, MPI_INT64_T, target, at(&w, target, 0), MPI_SUM, w.win));
        OK(MPI_Win_flush_local(target, w.win));
        CHECK(got >= 0 && got < (int64_t)TIMES * T.ranks);
    }
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(w.comm);
    local_begin(&w);
    int64_t mine = *(int64_t*)w.base, sum;
    local_end_all(&w);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, w.comm);
    CHECK_EQ((long long)TIMES * T.ranks, sum);
    window_close(&w);
}

static const struct test_case cases[] = {
    {.name = "fetch_and_op_integers", .run = fetch_and_op_integers, .each = IN_ANY},
    {.name = "fetch_and_op_floats", .run = fetch_and_op_floats, .each = IN_ANY},
    {.name = "fetch_and_op_pairs", .run = fetch_and_op_pairs, .each = IN_ANY},
    {.name = "fetch_and_op_others", .run = fetch_and_op_others, .each = IN_ANY},
    {.name = "pairs_keep_to_their_bytes", .run = pairs_keep_to_their_bytes, .each = IN_ANY},
    {.name = "pairs_end_with_their_data", .run = pairs_end_with_their_data, .each = IN_ANY},
    {.name = "compare_and_swap", .run = compare_and_swap, .each = IN_ANY},
    {.name = "small_swaps_leave_neighbours", .run = small_swaps_leave_neighbours, .each = IN_ANY},
    {.name = "integer_tickets", .run = integer_tickets, .each = IN_ANY},
    {.name = "floating_tickets", .run = floating_tickets, .each = IN_ANY},
    {.name = "swap_counter", .run = swap_counter, .each = IN_ANY},
    {.name = "own_spin_lock", .run = own_spin_lock, .each = IN_ANY},
    {.name = "swaps_conserve", .run = swaps_conserve, .each = IN_ANY},
    {.name = "many_unflushed", .run = many_unflushed, .each = IN_ANY},
    {.name = "every_target", .run = every_target, .each = IN_ANY},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
