// Put and get of contiguous data: sizes around every boundary, any byte offset, any target, many at
// once. Derived datatypes are in datatypes.c.
#include "mpi_test.h"

enum { LARGEST = (1 << 20) + 3, GUARD = 64 };

static const int sizes[] = {0,  1,  2,  3,   4,    5,    7,    8,    9,     15,    16,     17,
                            63, 64, 65, 255, 1024, 4095, 4096, 4097, 65535, 65536, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

static unsigned char pattern(int rank, size_t i) {
    return (unsigned char)(i * 31 + i / 251 + (size_t)rank * 7 + 1);
}

static void fill(unsigned char* to, size_t bytes, int rank) {
    for (size_t i = 0; i < bytes; ++i)
        to[i] = pattern(rank, i);
}

static void put_bytes(const struct window* w, int target, MPI_Aint offset, const void* from,
                      int n) {
    OK(MPI_Put(from, n, MPI_BYTE, target, at(w, target, offset), n, MPI_BYTE, w->win));
}

static void get_bytes(const struct window* w, int target, MPI_Aint offset, void* to, int n) {
    OK(MPI_Get(to, n, MPI_BYTE, target, at(w, target, offset), n, MPI_BYTE, w->win));
}

/// Puts `n` bytes at `offset` and looks at the target's memory, and at what lies beside it.
static void put_and_look(const struct window* w, int target, MPI_Aint offset, int n,
                         const unsigned char* from) {
    local_begin(w);
    memset(w->base, 0xee, (size_t)n + (size_t)offset + GUARD);
    local_end_all(w);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
    put_bytes(w, target, offset, from, n);
    OK(MPI_Win_unlock(target, w->win));
    MPI_Barrier(w->comm);
    local_begin(w);
    const unsigned char* mine = (unsigned char*)w->base;
    const int origin = (2 * T.ranks + T.rank - (target - T.rank)) % T.ranks;
    for (MPI_Aint i = 0; i < offset; ++i)
        CHECK_EQ(0xee, mine[i]);
    int wrong = 0;
    for (int i = 0; i < n; ++i)
        wrong += mine[offset + i] != pattern(origin, (size_t)i);
    CHECK_THAT(wrong == 0, "%d of %d bytes from rank %d at offset %ld are wrong", wrong, n, origin,
               (long)offset);
    for (int i = 0; i < GUARD; ++i)
        CHECK_EQ(0xee, mine[offset + n + i]);
    local_end_all(w);
}

static void put_sizes(void) {
    struct window w;
    if (!window_open(&w, LARGEST + 2 * GUARD, 1))
        return;
    unsigned char* from = malloc(LARGEST);
    fill(from, LARGEST, T.rank);
    for (int s = 0; s < SIZES; ++s)
        for (int shift = 0; shift < T.ranks; ++shift)
            put_and_look(&w, (T.rank + shift) % T.ranks, (s * 3 + shift) % 17, sizes[s], from);
    free(from);
    window_close(&w);
}

static void get_sizes(void) {
    struct window w;
    if (!window_open(&w, LARGEST + 2 * GUARD, 1))
        return;
    local_begin(&w);
    fill((unsigned char*)w.base, LARGEST + GUARD, T.rank);
    local_end_all(&w);
    unsigned char* to = malloc(LARGEST + GUARD);
    for (int s = 0; s < SIZES; ++s)
        for (int target = 0; target < T.ranks; ++target) {
            const size_t n = (size_t)sizes[s], offset = (size_t)(s * 5 + target) % 19;
            memset(to, 0xee, n + GUARD);
            OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w.win));
            get_bytes(&w, target, (MPI_Aint)offset, to, sizes[s]);
            OK(MPI_Win_unlock(target, w.win));
            int wrong = 0;
            for (size_t i = 0; i < n; ++i)
                wrong += to[i] != pattern(target, i + offset);
            CHECK_THAT(wrong == 0, "%d of %zu bytes from rank %d are wrong", wrong, n, target);
            for (size_t i = 0; i < GUARD; ++i)
                CHECK_EQ(0xee, to[n + i]);
        }
    free(to);
    window_close(&w);
}

/// Get after put to the same place in one epoch, separated by a flush.
static void get_back_what_was_put(void) {
    struct window w;
    enum { BLOCK = 40000 };
    if (!window_open(&w, (MPI_Aint)BLOCK * T.ranks, 1))
        return;
    unsigned char *from = malloc(BLOCK), *to = malloc(BLOCK);
    OK(MPI_Win_lock_all(0, w.win));
    for (int s = 0; s < SIZES && sizes[s] <= BLOCK; ++s)
        for (int target = 0; target < T.ranks; ++target) {
            const MPI_Aint place = (MPI_Aint)BLOCK * T.rank;
            fill(from, BLOCK, T.rank + s);
            memset(to, 0, BLOCK);
            put_bytes(&w, target, place, from, sizes[s]);
            OK(MPI_Win_flush(target, w.win));
            get_bytes(&w, target, place, to, sizes[s]);
            OK(MPI_Win_flush_local(target, w.win));
            CHECK_MEM(from, to, (size_t)sizes[s]);
        }
    OK(MPI_Win_unlock_all(w.win));
    free(from);
    free(to);
    window_close(&w);
}

/// Very many small puts without a flush between them; every one must arrive.
static void unflushed_puts(int puts) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)sizeof(int) * puts, sizeof(int)))
        return;
    int* values = malloc((size_t)puts * sizeof *values);
    const int target = (T.rank + 1) % T.ranks, origin = (T.rank + T.ranks - 1) % T.ranks;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
    for (int i = 0; i < puts; ++i) {
        values[i] = i * 3 + T.rank;
        OK(MPI_Put(&values[i], 1, MPI_INT, target, at(&w, target, puts - 1 - i), 1, MPI_INT,
                   w.win));
    }
    OK(MPI_Win_unlock(target, w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    for (int i = 0; i < puts; ++i)
        CHECK_EQ(i * 3 + origin, ((int*)w.base)[puts - 1 - i]);
    local_end_all(&w);
    free(values);
    window_close(&w);
}

static void many_unflushed_puts(void) {
    unflushed_puts(20000);
}

static void million_unflushed_puts(void) {
    unflushed_puts(1000000);
}

static void many_unflushed_gets(void) {
    enum { GETS = 20000 };
    struct window w;
    if (!window_open(&w, (MPI_Aint)sizeof(int) * GETS, sizeof(int)))
        return;
    local_begin(&w);
    for (int i = 0; i < GETS; ++i)
        ((int*)w.base)[i] = i * 3 + T.rank;
    local_end_all(&w);
    int* values = calloc(GETS, sizeof *values);
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < GETS; ++i)
        OK(MPI_Get(&values[i], 1, MPI_INT, i % T.ranks, at(&w, i % T.ranks, i), 1, MPI_INT, w.win));
    OK(MPI_Win_flush_all(w.win));
    for (int i = 0; i < GETS; ++i)
        CHECK_EQ(i * 3 + i % T.ranks, values[i]);
    OK(MPI_Win_unlock_all(w.win));
    free(values);
    window_close(&w);
}

enum { LONG = 5000, AREA = 40000, CALLS = 1500 };

/// What each rank has put into its area at a target, and where the next put goes.
struct area {
    unsigned char wrote[AREA];
    int end;
};

/// Gets `n` bytes back in pieces of up to 24 bytes.
static void get_back_in_pieces(const struct window* w, int target, const struct area* area) {
    static unsigned char found[AREA];
    const MPI_Aint start = (MPI_Aint)AREA * T.rank;
    MPI_Request last = MPI_REQUEST_NULL;
    memset(found, 0, sizeof found);
    for (int at_byte = 0; at_byte < area->end; at_byte += 24) {
        const int n = area->end - at_byte < 24 ? area->end - at_byte : 24;
        const MPI_Aint there = at(w, target, start + at_byte);
        if (at_byte + n < area->end) {
            OK(MPI_Get(found + at_byte, n, MPI_BYTE, target, there, n, MPI_BYTE, w->win));
            continue;
        }
        OK(MPI_Rget(found + at_byte, n, MPI_BYTE, target, there, n, MPI_BYTE, w->win, &last));
        OK(MPI_Wait(&last, MPI_STATUS_IGNORE));
        CHECK_MEM(area->wrote + at_byte, found + at_byte, (size_t)n);
    }
    OK(MPI_Win_flush_local(target, w->win));
    CHECK_MEM(area->wrote, found, (size_t)area->end);
}

static void put_next(const struct window* w, int target, struct area* area, uint64_t* state) {
    const uint64_t r = random_next(state);
    const int n = r % 100 == 0 ? LONG : 1 + (int)(r % 40);
    if (area->end + n > AREA)
        return;
    unsigned char bytes[LONG];
    for (int i = 0; i < n; ++i)
        bytes[i] = (unsigned char)random_next(state);
    const MPI_Aint there = at(w, target, (MPI_Aint)AREA * T.rank + area->end);
    memcpy(area->wrote + area->end, bytes, (size_t)n);
    area->end += n;
    if (r % 7 == 0) {
        MPI_Request put;
        OK(MPI_Rput(bytes, n, MPI_BYTE, target, there, n, MPI_BYTE, w->win, &put));
        OK(MPI_Wait(&put, MPI_STATUS_IGNORE));
        return;
    }
    OK(MPI_Put(bytes, n, MPI_BYTE, target, there, n, MPI_BYTE, w->win));
    OK(MPI_Win_flush_local(target, w->win)); // the buffer is gone
}

/// Short and long transfers to all targets by turns, complete at this side, at both, or neither.
static void small_and_large_by_turns(void) {
    struct window w;
    if (!window_open(&w, (MPI_Aint)AREA * T.ranks, 1))
        return;
    struct area* areas = calloc((size_t)T.ranks, sizeof *areas);
    uint64_t state = 17u + (uint64_t)T.rank;
    OK(MPI_Win_lock_all(0, w.win));
    for (int call = 0; call < CALLS; ++call) {
        const int target = (int)(random_next(&state) % (uint64_t)T.ranks);
        put_next(&w, target, &areas[target], &state);
        if (random_next(&state) % 200 == 0) {
            OK(MPI_Win_flush(target, w.win));
            get_back_in_pieces(&w, target, &areas[target]);
        }
    }
    OK(MPI_Win_flush_all(w.win));
    for (int target = 0; target < T.ranks; ++target)
        get_back_in_pieces(&w, target, &areas[target]);
    OK(MPI_Win_unlock_all(w.win));
    free(areas);
    window_close(&w);
}

/// A record of many words, each put by a call of its own, is whole for the next holder of the lock.
static void the_next_holder_finds_all_puts(void) {
    enum { WORDS = 12, REPEATS = 150 };
    struct window w;
    if (!window_open(&w, sizeof(int64_t) * WORDS, 1))
        return;
    local_begin(&w);
    memset(w.base, 0, sizeof(int64_t) * WORDS);
    local_end_all(&w);
    int64_t words[WORDS], last = 0;
    int torn = 0;
    for (int repeat = 0; repeat < REPEATS; ++repeat) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        for (int i = 0; i < WORDS; ++i)
            OK(MPI_Get(&words[i], 1, MPI_INT64_T, 0, at(&w, 0, 8 * i), 1, MPI_INT64_T, w.win));
        OK(MPI_Win_flush(0, w.win));
        for (int i = 1; i < WORDS; ++i)
            torn += words[i] != words[0];
        last = words[0] + 1;
        for (int i = 0; i < WORDS; ++i) {
            words[i] = last;
            OK(MPI_Put(&words[i], 1, MPI_INT64_T, 0, at(&w, 0, 8 * i), 1, MPI_INT64_T, w.win));
        }
        OK(MPI_Win_unlock(0, w.win));
    }
    CHECK_EQ(0, torn);
    MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_INT64_T, MPI_MAX, w.comm);
    CHECK_EQ((int64_t)REPEATS * T.ranks, last);
    window_close(&w);
}

/// A small put behind another one arrives while its origin makes no further call of MPI.
static void puts_go_out_by_themselves(void) {
    const int origin = T.ranks - 1;
    const int64_t values[] = {1, 2};
    struct window w;
    if (!window_open(&w, sizeof values, 1))
        return;
    local_begin(&w);
    memset(w.base, 0, sizeof values);
    local_end_all(&w);
    double arrived = 0, back = 0;
    OK(MPI_Win_lock_all(0, w.win));
    MPI_Barrier(w.comm);
    if (T.rank == origin) {
        for (int i = 0; i < 2; ++i)
            OK(MPI_Put(&values[i], 1, MPI_INT64_T, 0, at(&w, 0, 8 * i), 1, MPI_INT64_T, w.win));
        compute_for(0.3);
        back = now();
    } else if (T.rank == 0) {
        for (int64_t seen = 0; seen == 0;) {
            OK(MPI_Get(&seen, 1, MPI_INT64_T, 0, at(&w, 0, 8), 1, MPI_INT64_T, w.win));
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

/// Operations on MPI_PROC_NULL do nothing, at any displacement, in any passive epoch.
static void proc_null(void) {
    struct window w;
    if (!window_open(&w, 64, 1))
        return;
    int value = 42;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, T.rank, 0, w.win));
    OK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, w.win));
    OK(MPI_Get(&value, 1, MPI_INT, MPI_PROC_NULL, 1 << 20, 1, MPI_INT, w.win));
    OK(MPI_Accumulate(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, MPI_SUM, w.win));
    OK(MPI_Win_unlock(T.rank, w.win));
    CHECK_EQ(42, value);
    window_close(&w);
}

/// Each rank has its own displacement unit; displacements count in the target's.
static void displacement_units_differ(void) {
    struct window w;
    const int unit = 1 << (T.rank % 4);
    if (!window_open(&w, 1024, unit))
        return;
    for (int t = 0; t < T.ranks; ++t) {
        const int64_t value = 1000 * t + T.rank;
        int64_t back = -1;
        const MPI_Aint index = 8 * (T.rank + 1) / w.unit[t];
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w.win));
        OK(MPI_Put(&value, 1, MPI_INT64_T, t, at(&w, t, index), 1, MPI_INT64_T, w.win));
        OK(MPI_Win_flush(t, w.win));
        OK(MPI_Get(&back, 1, MPI_INT64_T, t, at(&w, t, index), 1, MPI_INT64_T, w.win));
        OK(MPI_Win_unlock(t, w.win));
        CHECK_EQ(value, back);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    for (int o = 0; o < T.ranks; ++o)
        CHECK_EQ(1000 * T.rank + o, ((int64_t*)w.base)[o + 1]);
    local_end_all(&w);
    window_close(&w);
}

/// One operation, one count of a small type: more than 2 GiB. The origin is one block, over and
/// over (extent 0), so that only the target needs the memory.
static void beyond_2_gib(void) {
    enum { BLOCK = 1 << 20, BLOCKS = 2100 };
    struct window w;
    if (!window_open(&w, T.rank == T.ranks - 1 ? (MPI_Aint)BLOCK * BLOCKS : 0, 1))
        return;
    MPI_Datatype block, again;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_commit(&block);
    MPI_Type_create_resized(block, 0, 0, &again);
    MPI_Type_commit(&again);
    unsigned char* data = malloc(BLOCK);
    fill(data, BLOCK, 3);
    if (T.rank == 0) {
        const int target = T.ranks - 1;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w.win));
        OK(MPI_Put(data, BLOCKS, again, target, at(&w, target, 0), BLOCKS, block, w.win));
        OK(MPI_Win_unlock(target, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (w.bytes > 0) {
        local_begin(&w);
        for (int i = 0; i < BLOCKS; ++i)
            CHECK_MEM(data, w.base + (size_t)i * BLOCK, BLOCK);
        local_end(&w);
    }
    free(data);
    MPI_Type_free(&block);
    MPI_Type_free(&again);
    window_close(&w);
}

// --- Flags ---------------------------------------------------------------------------------------

/// Rank 1 puts rising numbers into rank 0's flag. Rank 0 takes what it finds there and leaves 0,
/// and tells in the word behind it which number it took last.
enum { FLAG_TAKES = 1000000, FLAG_AHEAD = 30000, FLAG_LINE = 64, FLAG_LOOKS = 1024 };
static const double flag_seconds = 0.4; // of each kind

/// What is put at a time: `count` of `type`, in which the flag is element `which`, of `bytes` bytes.
struct flag {
    const char* what;
    MPI_Datatype type;
    int count, bytes, which;
};

static void put_flags(const struct window* w, const struct flag* flag, volatile uint16_t* taken,
                      volatile bool* enough) {
    uint64_t elements[4];
    for (uint64_t number = 1; !*enough;) {
        if ((uint16_t)(number - *taken) > FLAG_AHEAD) // so that no number is old when it comes anew
            continue;
        for (int i = 0; i < 4; ++i) // little-endian
            memcpy((char*)elements + i * flag->bytes, &number, (size_t)flag->bytes);
        OK(MPI_Put(elements, flag->count, flag->type, 0, at(w, 0, 0), flag->count, flag->type,
                   w->win));
        number = number % UINT16_MAX + 1;
    }
}

/// Takes numbers for a while; returns how many were no later than the one before.
#define DEFINE_TAKE_FLAGS(element)                                                                 \
    static long take_##element##_flags(element* flag, volatile uint16_t* taken, long* takes) {     \
        long wrong = 0;                                                                            \
        const double until = MPI_Wtime() + flag_seconds;                                           \
        for (long look = 0; look % FLAG_LOOKS != 0 || MPI_Wtime() < until; ++look) {               \
            const element seen = __atomic_exchange_n(flag, 0, __ATOMIC_SEQ_CST);                   \
            if (seen == 0)                                                                         \
                continue;                                                                          \
            const uint16_t later = (uint16_t)(seen - *taken);                                      \
            if (later == 0 || later > FLAG_AHEAD + 1)                                              \
                ++wrong;                                                                           \
            else                                                                                   \
                *taken = (uint16_t)seen;                                                           \
            ++*takes;                                                                              \
            if (*takes >= FLAG_TAKES)                                                              \
                break;                                                                             \
        }                                                                                          \
        return wrong;                                                                              \
    }
DEFINE_TAKE_FLAGS(uint16_t)
DEFINE_TAKE_FLAGS(uint32_t)
DEFINE_TAKE_FLAGS(uint64_t)

static void flags_of(const struct window* w, const struct flag* flag) {
    char* const base = w->rank == 0 ? w->base : w->base - w->bytes;
    char* const place = base + flag->which * flag->bytes;
    volatile uint16_t* const taken = (uint16_t*)(base + FLAG_LINE);
    volatile bool* const enough = (bool*)(base + FLAG_LINE + sizeof *taken);
    OK(MPI_Win_lock_all(0, w->win));
    if (w->rank == 1)
        put_flags(w, flag, taken, enough);
    if (w->rank == 0) {
        long takes = 0;
        const long wrong = flag->bytes == 2 ? take_uint16_t_flags((uint16_t*)place, taken, &takes)
                           : flag->bytes == 4
                               ? take_uint32_t_flags((uint32_t*)place, taken, &takes)
                               : take_uint64_t_flags((uint64_t*)place, taken, &takes);
        CHECK_THAT(wrong == 0, "flags of %d bytes, %s: %ld of %ld came twice, or in parts",
                   flag->bytes, flag->what, wrong, takes);
        CHECK(takes != 0);
        *enough = true;
    }
    OK(MPI_Win_unlock_all(w->win));
    MPI_Barrier(w->comm);
    if (w->rank == 0)
        memset(base, 0, (size_t)w->bytes);
    MPI_Barrier(w->comm);
}

static void flags_come_once(void) {
    struct window w;
    if (!window_open(&w, 2 * FLAG_LINE, 1))
        return;
    MPI_Datatype apart;
    OK(MPI_Type_vector(2, 1, 2, MPI_UINT32_T, &apart));
    OK(MPI_Type_commit(&apart));
    const struct flag flags[] = {
        {"alone", MPI_UINT16_T, 1, 2, 0},         {"alone", MPI_UINT32_T, 1, 4, 0},
        {"alone", MPI_UINT64_T, 1, 8, 0},         {"in the middle", MPI_UINT16_T, 3, 2, 1},
        {"in the middle", MPI_UINT32_T, 3, 4, 1}, {"in the middle", MPI_UINT64_T, 3, 8, 1},
        {"with a gap behind", apart, 1, 4, 0},
    };
    for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i)
        flags_of(&w, &flags[i]);
    OK(MPI_Type_free(&apart));
    window_close(&w);
}

/// Between nodes more than 8 MiB go in pieces.
static void longer_than_a_piece(void) {
    enum { INTS = (20 << 20) / (int)sizeof(int) + 3000 };
    struct window w;
    const int t = T.ranks - 1;
    if (!window_open(&w, (T.rank == t ? INTS : 1) * (MPI_Aint)sizeof(int), 1))
        return;
    if (T.rank == 0) {
        int* const mine = malloc(INTS * sizeof(int));
        long wrong = 0;
        for (int i = 0; i < INTS; ++i)
            mine[i] = 3 * i;
        OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w.win));
        OK(MPI_Put(mine, INTS, MPI_INT, t, at(&w, t, 0), INTS, MPI_INT, w.win));
        OK(MPI_Win_flush(t, w.win));
        memset(mine, 0, INTS * sizeof(int));
        OK(MPI_Get(mine, INTS, MPI_INT, t, at(&w, t, 0), INTS, MPI_INT, w.win));
        OK(MPI_Win_unlock(t, w.win));
        for (int i = 0; i < INTS; ++i)
            wrong += mine[i] != 3 * i;
        CHECK_EQ(0, wrong);
        free(mine);
    }
    window_close(&w);
}

// --- A longer origin ---------------------------------------------------------------------------

enum { LONGER = 3 }; // times as long as the target side

/// Gets `count` ints, as the last of the window, into a buffer that has room for more of them.
static void get_into(const struct window* w, int target, int count, MPI_Datatype origin_type,
                     int distance, bool by_request) {
    const int first = (int)(w->bytes / (MPI_Aint)sizeof(int)) - count;
    int* const into = malloc(sizeof(int) * (size_t)(LONGER * count * distance));
    for (int i = 0; i < LONGER * count * distance; ++i)
        into[i] = -1;
    MPI_Request request;
    if (by_request) {
        OK(MPI_Rget(into, LONGER * count, origin_type, target, at(w, target, 4 * (MPI_Aint)first),
                    count, MPI_INT, w->win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        OK(MPI_Get(into, LONGER * count, origin_type, target, at(w, target, 4 * (MPI_Aint)first),
                   count, MPI_INT, w->win));
        OK(MPI_Win_flush(target, w->win));
    }
    long wrong = 0;
    for (int i = 0; i < LONGER * count * distance; ++i)
        wrong +=
            into[i] !=
            (i % distance == 0 && i / distance < count ? 1000 * target + first + i / distance : -1);
    CHECK_THAT(wrong == 0, "%d ints, %d apart: %ld are wrong", count, distance, wrong);
    free(into);
}

/// What a get brings only has to fit (MPI 4.0, 12.3.2).
static void origin_is_longer(void) {
    enum { INTS = 20000 };
    struct window w;
    if (!window_open(&w, INTS * sizeof(int), 1))
        return;
    MPI_Datatype wide;
    OK(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &wide));
    OK(MPI_Type_commit(&wide));
    local_begin(&w);
    for (int i = 0; i < INTS; ++i)
        ((int*)w.base)[i] = 1000 * T.rank + i;
    local_end_all(&w);
    OK(MPI_Win_lock_all(0, w.win));
    const int counts[] = {1, 5, 3000, INTS};
    for (int t = 0; t < T.ranks; ++t)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; ++i)
            for (int by_request = 0; by_request < 2; ++by_request) {
                get_into(&w, t, counts[i], MPI_INT, 1, by_request != 0);
                get_into(&w, t, counts[i], wide, 2, by_request != 0);
            }
    int untouched = -1;
    OK(MPI_Get(&untouched, 1, MPI_INT, 0, at(&w, 0, 0), 0, MPI_INT, w.win));
    OK(MPI_Win_unlock_all(w.win));
    CHECK_EQ(-1, untouched);
    MPI_Type_free(&wide);
    window_close(&w);
}

// --- Waiting by calls that a program repeats ------------------------------------------------------

// Ways to look at a flag that a program may try over and over.
static int64_t by_sync(const struct window* w, int at_rank) {
    (void)at_rank; // its own
    OK(MPI_Win_sync(w->win));
    return *(const volatile int64_t*)w->base;
}
static int64_t by_flush(const struct window* w, int at_rank) {
    int64_t seen = 0;
    OK(MPI_Get(&seen, 1, MPI_INT64_T, at_rank, at(w, at_rank, 0), 1, MPI_INT64_T, w->win));
    OK(MPI_Win_flush(at_rank, w->win));
    return seen;
}
static int64_t by_request(const struct window* w, int at_rank) {
    int64_t seen = 0;
    MPI_Request request;
    OK(MPI_Rget(&seen, 1, MPI_INT64_T, at_rank, at(w, at_rank, 0), 1, MPI_INT64_T, w->win,
                &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return seen;
}
static int64_t by_lock(const struct window* w, int at_rank) {
    int64_t seen = 0;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, at_rank, 0, w->win));
    OK(MPI_Get(&seen, 1, MPI_INT64_T, at_rank, at(w, at_rank, 0), 1, MPI_INT64_T, w->win));
    OK(MPI_Win_unlock(at_rank, w->win));
    return seen;
}
static int64_t by_lock_all(const struct window* w, int at_rank) {
    int64_t seen = 0;
    OK(MPI_Win_lock_all(0, w->win));
    OK(MPI_Get(&seen, 1, MPI_INT64_T, at_rank, at(w, at_rank, 0), 1, MPI_INT64_T, w->win));
    OK(MPI_Win_unlock_all(w->win));
    return seen;
}

/// Rank 0 waits for a put that comes behind a message, which takes both sides to call MPI.
static void wait_for_flag(int64_t (*look)(const struct window*, int), bool within_an_epoch,
                          int at_rank) {
    enum { LARGE = 4 << 20 };
    struct window w;
    if (!window_open(&w, sizeof(int64_t), 1))
        return;
    const int64_t one = 1;
    char* const message = calloc(LARGE, 1);
    MPI_Request arrives;
    if (T.rank == 0)
        OK(MPI_Irecv(message, LARGE, MPI_BYTE, 1, 0, w.comm, &arrives));
    else if (T.rank == 1)
        OK(MPI_Send(message, LARGE, MPI_BYTE, 0, 0, w.comm));
    if (T.rank != 0 || within_an_epoch)
        OK(MPI_Win_lock_all(0, w.win));
    if (T.rank == 1)
        OK(MPI_Put(&one, 1, MPI_INT64_T, at_rank, at(&w, at_rank, 0), 1, MPI_INT64_T, w.win));
    while (T.rank == 0 && look(&w, at_rank) == 0)
        continue;
    if (T.rank != 0 || within_an_epoch)
        OK(MPI_Win_unlock_all(w.win));
    if (T.rank == 0)
        OK(MPI_Wait(&arrives, MPI_STATUS_IGNORE));
    free(message);
    window_close(&w);
}

/// A flag of the process that waits, and one of another process.
static void wait_in_a_loop(int64_t (*look)(const struct window*, int), bool within_an_epoch) {
    wait_for_flag(look, within_an_epoch, 0);
    wait_for_flag(look, within_an_epoch, T.ranks - 1);
}

static void sync_in_a_loop(void) {
    wait_for_flag(by_sync, true, 0);
}
static void flush_in_a_loop(void) {
    wait_in_a_loop(by_flush, true);
}
static void rget_in_a_loop(void) {
    wait_in_a_loop(by_request, true);
}
static void lock_in_a_loop(void) {
    wait_in_a_loop(by_lock, false);
}
static void lock_all_in_a_loop(void) {
    wait_in_a_loop(by_lock_all, false);
}

static const struct test_case cases[] = {
    {.name = "put_sizes", .run = put_sizes, .each = IN_ANY},
    {.name = "get_sizes", .run = get_sizes, .each = IN_ANY},
    {.name = "get_back_what_was_put", .run = get_back_what_was_put, .each = IN_ANY},
    {.name = "many_unflushed_puts", .run = many_unflushed_puts, .each = IN_ANY},
    {.name = "million_unflushed_puts", .run = million_unflushed_puts, .each = IN_ANY, .deep = true},
    {.name = "many_unflushed_gets", .run = many_unflushed_gets, .each = IN_ANY},
    {.name = "small_and_large_by_turns", .run = small_and_large_by_turns, .each = IN_ANY},
    {.name = "the_next_holder_finds_all_puts",
     .run = the_next_holder_finds_all_puts,
     .each = IN_ANY},
    {.name = "puts_go_out_by_themselves", .run = puts_go_out_by_themselves, .each = IN_ALLOCATE},
    {.name = "proc_null", .run = proc_null, .each = IN_ANY},
    {.name = "displacement_units_differ",
     .run = displacement_units_differ,
     .each = IN_CREATE | IN_ALLOCATE | IN_SHARED},
    {.name = "beyond_2_gib", .run = beyond_2_gib, .each = IN_ANY, .deep = true},
    {.name = "longer_than_a_piece", .run = longer_than_a_piece, .each = IN_ALLOCATE},
    {.name = "origin_is_longer", .run = origin_is_longer, .each = IN_ANY},
    {.name = "sync_in_a_loop", .run = sync_in_a_loop, .each = IN_ALLOCATE, .min_ranks = 2},
    {.name = "flush_in_a_loop", .run = flush_in_a_loop, .each = IN_ALLOCATE, .min_ranks = 2},
    {.name = "rget_in_a_loop", .run = rget_in_a_loop, .each = IN_ALLOCATE, .min_ranks = 2},
    {.name = "lock_in_a_loop", .run = lock_in_a_loop, .each = IN_ALLOCATE, .min_ranks = 2},
    {.name = "lock_all_in_a_loop", .run = lock_all_in_a_loop, .each = IN_ALLOCATE, .min_ranks = 2},
    {.name = "flags_come_once", .run = flags_come_once, .each = IN_SHARED, .min_ranks = 2},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
