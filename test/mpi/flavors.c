// What is special to one way of making a window: whose memory it is, where the parts lie, what can
// be asked about it, memory that comes and goes.
#define _GNU_SOURCE // MAP_ANONYMOUS
#include "mpi_test.h"

#include <sys/mman.h>

static int next_rank(void) {
    return (T.rank + 1) % T.ranks;
}
static int previous_rank(void) {
    return (T.rank + T.ranks - 1) % T.ranks;
}

static void put_int(MPI_Win win, int target, MPI_Aint displacement, int value) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
    OK(MPI_Put(&value, 1, MPI_INT, target, displacement, 1, MPI_INT, win));
    OK(MPI_Win_unlock(target, win));
}

static int get_int(MPI_Win win, int target, MPI_Aint displacement) {
    int value = -1;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
    OK(MPI_Get(&value, 1, MPI_INT, target, displacement, 1, MPI_INT, win));
    OK(MPI_Win_unlock(target, win));
    return value;
}

// --- What can be asked ---------------------------------------------------------------------------

static void* attribute(MPI_Win win, int key) {
    void* value = NULL;
    int found = 0;
    OK(MPI_Win_get_attr(win, key, &value, &found));
    CHECK(found);
    return value;
}

static void attributes(void) {
    static const int expected[FLAVORS] = {MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                          MPI_WIN_FLAVOR_SHARED, MPI_WIN_FLAVOR_DYNAMIC};
    struct window w;
    const MPI_Aint bytes = 64 * (T.rank + 1);
    const int unit = T.flavor == DYNAMIC ? 1 : 1 << (T.rank % 3);
    if (!window_open(&w, bytes, unit))
        return;
    CHECK_EQ(expected[T.flavor], *(int*)attribute(w.win, MPI_WIN_CREATE_FLAVOR));
    CHECK_EQ(MPI_WIN_UNIFIED, *(int*)attribute(w.win, MPI_WIN_MODEL));
    if (T.flavor == DYNAMIC) {
        CHECK(attribute(w.win, MPI_WIN_BASE) == MPI_BOTTOM);
        CHECK_EQ(0, *(MPI_Aint*)attribute(w.win, MPI_WIN_SIZE));
    } else {
        CHECK(attribute(w.win, MPI_WIN_BASE) == w.base);
        CHECK_EQ(bytes, *(MPI_Aint*)attribute(w.win, MPI_WIN_SIZE));
    }
    CHECK_EQ(unit, *(int*)attribute(w.win, MPI_WIN_DISP_UNIT));
    window_close(&w);
}

static void name_group_and_info(void) {
    struct window w;
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length, result, rank;
    if (!window_open(&w, 64, 1))
        return;
    OK(MPI_Win_set_name(w.win, "a window"));
    OK(MPI_Win_get_name(w.win, name, &length));
    CHECK(strcmp(name, "a window") == 0);
    MPI_Group mine, world;
    OK(MPI_Win_get_group(w.win, &mine));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(mine, world, &result);
    CHECK_EQ(MPI_IDENT, result);
    MPI_Group_rank(mine, &rank);
    CHECK_EQ(T.rank, rank);
    MPI_Group_free(&mine);
    MPI_Group_free(&world);
    MPI_Info info = MPI_INFO_NULL;
    OK(MPI_Win_get_info(w.win, &info));
    CHECK(info != MPI_INFO_NULL);
    OK(MPI_Win_set_info(w.win, info));
    MPI_Info_free(&info);
    window_close(&w);
}

/// The hints in use, whatever the program gives later. Open MPI 4.1 shows what it was given.
static void the_lock_stays(void) {
    MPI_Win win;
    MPI_Info info;
    char before[64] = "", now[64] = "";
    int found = 0, *base;
    if (OMPI_MAJOR_VERSION < 5) {
        skip("Open MPI 4.1 shows what MPI_Win_set_info was given");
        return;
    }
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_get_info(win, &info));
    MPI_Info_get(info, "rmalock_lock", sizeof before - 1, before, &found);
    MPI_Info_set(info, "rmalock_lock", "another");
    OK(MPI_Win_set_info(win, info));
    MPI_Info_free(&info);
    OK(MPI_Win_get_info(win, &info));
    MPI_Info_get(info, "rmalock_lock", sizeof now - 1, now, &found);
    MPI_Info_free(&info);
    CHECK(!is_served_by_rmalock(win) || strcmp(before, now) == 0);
    OK(MPI_Win_free(&win));
}

/// A displacement unit is positive: if that of one rank is not, all of them hear so, and windows can be
/// made as before. Open MPI looks at those of other flavors itself, each rank at its own.
static void units_are_positive(void) {
    const int bad[] = {0, -1};
    for (int i = 0; i < 4; ++i) {
        const int unit = i % 2 == 0 || T.rank == T.ranks - 1 ? bad[i / 2] : 8;
        int class;
        char* base;
        MPI_Win win;
        const int code =
            MPI_Win_allocate_shared(64, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
        MPI_Error_class(code, &class);
        CHECK_EQ(MPI_ERR_DISP, class);
        if (class == MPI_SUCCESS)
            MPI_Win_free(&win);
    }
    struct window w;
    if (window_open(&w, 64, 8))
        window_close(&w);
}

/// Hints of the standard, true ones: everything must work as without them.
static void standard_hints(void) {
    struct window w;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Info_set(info, "accumulate_ordering", "rar,raw,war,waw");
    MPI_Info_set(info, "accumulate_ops", "same_op_no_op");
    MPI_Info_set(info, "same_size", "true");
    MPI_Info_set(info, "same_disp_unit", "true");
    MPI_Info_set(info, "mpi_accumulate_granularity", "8");
    MPI_Info_set(info, "a_key_nobody_knows", "to be ignored");
    const bool opened = window_open_with(&w, T.flavor, MPI_COMM_WORLD, 64, 8, info);
    MPI_Info_free(&info);
    if (!opened)
        return;
    const int64_t one = 1;
    int64_t got = -1;
    OK(MPI_Win_lock_all(0, w.win));
    for (int i = 0; i < 10; ++i)
        OK(MPI_Accumulate(&one, 1, MPI_INT64_T, next_rank(), at(&w, next_rank(), 1), 1, MPI_INT64_T,
                          MPI_SUM, w.win));
    OK(MPI_Get_accumulate(NULL, 0, MPI_INT64_T, &got, 1, MPI_INT64_T, next_rank(),
                          at(&w, next_rank(), 1), 1, MPI_INT64_T, MPI_NO_OP, w.win));
    OK(MPI_Win_unlock_all(w.win));
    CHECK_EQ(10, got);
    window_close(&w);
}

/// With no_locks the window serves fences and PSCW.
static void without_locks(void) {
    MPI_Win win;
    MPI_Info info;
    int *base, value = 5 + T.rank;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    const int code = MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    if (!OK(code))
        return;
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Put(&value, 1, MPI_INT, next_rank(), 0, 1, MPI_INT, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK_EQ(5 + previous_rank(), *(volatile int*)base);
    OK(MPI_Win_free(&win));
}

/// MPI_Win_get_info shows the standard's keys: what the program gave, or else what holds.
static void shown_hints(void) {
    static const char* const kKeys[] = {"no_locks", "same_size", "same_disp_unit",
                                        "alloc_shared_noncontig"};
    const int keys = T.flavor == SHARED ? 4 : 3;
    for (int given = 0; given < keys;
         ++given) { // one of them, but for no_locks: there are locks here
        struct window w;
        MPI_Info info;
        MPI_Info_create(&info);
        if (given > 0)
            MPI_Info_set(info, kKeys[given], "true");
        const bool opened = window_open_with(&w, T.flavor, MPI_COMM_WORLD, 64, 8, info);
        MPI_Info_free(&info);
        if (!opened)
            return;
        OK(MPI_Win_get_info(w.win, &info));
        for (int k = 0; k < keys; ++k) {
            char value[64] = "nothing";
            int found;
            MPI_Info_get(info, kKeys[k], sizeof value - 1, value, &found);
            CHECK_THAT(strcmp(value, k > 0 && k == given ? "true" : "false") == 0,
                       "%s is shown as %s", kKeys[k], value);
        }
        MPI_Info_free(&info);
        window_close(&w);
    }
}

static void has_lock(MPI_Win win, const char* lock) {
    MPI_Info info;
    char value[64] = "nothing", reason[MPI_MAX_INFO_VAL + 1] = "";
    int found;
    OK(MPI_Win_get_info(win, &info));
    MPI_Info_get(info, "rmalock_lock", sizeof value - 1, value, &found);
    MPI_Info_get(info, "rmalock_lock_reason", MPI_MAX_INFO_VAL, reason, &found);
    MPI_Info_free(&info);
    CHECK_THAT(strcmp(value, lock) == 0, "the lock is shown as %s, not as %s", value, lock);
    CHECK(*reason != '\0');
}

/// A window has one lock, that of rank 0, and MPI_Win_get_info shows it to the others, too.
static void lock_of_rank_0(void) {
    struct window w;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rmalock_lock", T.rank == 0 ? "fompi_rw" : T.rank == 1 ? "rma_rw" : "auto");
    const bool opened =
        window_open_with(&w, T.flavor, MPI_COMM_WORLD, sizeof(int), sizeof(int), info);
    MPI_Info_free(&info);
    if (!opened)
        return;
    if (is_served_by_rmalock(w.win))
        has_lock(w.win, "fompi_rw");
    for (int i = 0; i < 100; ++i) { // two locks would not exclude each other
        int value;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w.win));
        OK(MPI_Get(&value, 1, MPI_INT, 0, at(&w, 0, 0), 1, MPI_INT, w.win));
        OK(MPI_Win_flush(0, w.win));
        ++value;
        OK(MPI_Put(&value, 1, MPI_INT, 0, at(&w, 0, 0), 1, MPI_INT, w.win));
        OK(MPI_Win_unlock(0, w.win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    if (T.rank == 0)
        CHECK_EQ(100 * T.ranks, *(volatile int*)w.base);
    local_end(&w);
    window_close(&w);
}

/// What a program asks for, up to a page; and a cache line whatever it asks for.
static void memory_alignment(void) {
    static const char* const kAsked[] = {"16", "64", "128", "4096"};
    static const uintptr_t kLeast[] = {64, 64, 128, 4096};
    for (int i = 0; i < 4; ++i) {
        MPI_Win win;
        MPI_Info info;
        char* base;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_minimum_memory_alignment", kAsked[i]);
        const int code = MPI_Win_allocate(100 * (T.rank + 1), 1, info, MPI_COMM_WORLD, &base, &win);
        MPI_Info_free(&info);
        if (!OK(code))
            return;
        if (is_served_by_rmalock(win)) // others of Open MPI 4.1 do not know the key
            CHECK_EQ(0, (uintptr_t)base % kLeast[i]);
        OK(MPI_Win_free(&win));
    }
}

/// A key that one rank alone gives.
static MPI_Info given_by(int rank, const char* key, const char* value) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (T.rank == rank)
        MPI_Info_set(info, key, value);
    return info;
}

/// Memory is as much aligned as any rank asks.
static void alignment_asked_by_one(void) {
    MPI_Win win;
    char* base;
    MPI_Info info = given_by(T.ranks - 1, "mpi_minimum_memory_alignment", "4096");
    const int code = MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    if (!OK(code))
        return;
    if (is_served_by_rmalock(win))
        CHECK_EQ(0, (uintptr_t)base % 4096);
    OK(MPI_Win_free(&win));
}

/// Parts follow one another unless all say that they need not: a rank that has not said so walks
/// from its own to the next one's.
static void apart_asked_by_one(void) {
    MPI_Win win;
    char *base, *first;
    MPI_Aint bytes;
    int unit;
    MPI_Info info = given_by(0, "alloc_shared_noncontig", "true");
    const int code = MPI_Win_allocate_shared(100, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    if (!OK(code))
        return;
    OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
    if (is_served_by_rmalock(win))
        CHECK_EQ(100 * T.rank, base - first);
    OK(MPI_Win_free(&win));
}

/// A size of -1 is no memory, and leaves the window as it was.
static void dynamic_attach_nothing_real(void) {
    MPI_Win win;
    static char memory[64];
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (is_served_by_rmalock(win)) { // others attach it
        CHECK(MPI_Win_attach(win, memory, -1) != MPI_SUCCESS);
        CHECK(MPI_Win_attach(win, (void*)(UINTPTR_MAX - 15), 64) != MPI_SUCCESS);
        OK(MPI_Win_attach(win, memory, sizeof memory));
        OK(MPI_Win_detach(win, memory));
    }
    OK(MPI_Win_free(&win));
}

static int deleted;

static int on_delete(MPI_Win win, int key, void* value, void* extra) {
    (void)win, (void)key, (void)extra;
    deleted += *(int*)value;
    return MPI_SUCCESS;
}

/// A program's own attributes are deleted with the window.
static void own_attributes(void) {
    struct window w;
    int key, value = 7, found = 0, *got = NULL;
    if (!window_open(&w, 64, 1))
        return;
    OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, NULL));
    OK(MPI_Win_set_attr(w.win, key, &value));
    OK(MPI_Win_get_attr(w.win, key, &got, &found));
    CHECK(found && got == &value);
    deleted = 0;
    window_close(&w);
    CHECK_EQ(7, deleted);
    MPI_Win_free_keyval(&key);
}

// --- Parts of no size ----------------------------------------------------------------------------

/// Only the last rank has memory; all can lock all, and reach it.
static void only_one_has_memory(void) {
    struct window w;
    const int owner = T.ranks - 1;
    if (!window_open(&w, T.rank == owner ? 8 * T.ranks : 0, 1))
        return;
    for (int t = 0; t < T.ranks; ++t) {
        OK(MPI_Win_lock(t % 2 != 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, t, 0, w.win));
        OK(MPI_Win_flush(t, w.win));
        OK(MPI_Win_unlock(t, w.win));
    }
    const int64_t value = T.rank + 1;
    OK(MPI_Win_lock_all(0, w.win));
    OK(MPI_Put(&value, 1, MPI_INT64_T, owner, at(&w, owner, 8 * T.rank), 1, MPI_INT64_T, w.win));
    OK(MPI_Win_unlock_all(w.win));
    MPI_Barrier(MPI_COMM_WORLD);
    local_begin(&w);
    for (int o = 0; T.rank == owner && o < T.ranks; ++o)
        CHECK_EQ(o + 1, ((int64_t*)w.base)[o]);
    local_end_all(&w);
    window_close(&w);
}

static void nobody_has_memory(void) {
    struct window w;
    if (!window_open(&w, 0, 1))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    OK(MPI_Win_flush_all(w.win));
    OK(MPI_Win_unlock_all(w.win));
    OK(MPI_Win_fence(0, w.win));
    OK(MPI_Win_fence(0, w.win));
    window_close(&w);
}

// --- CREATE --------------------------------------------------------------------------------------

/// Any memory will do: static, on the stack, in the middle of an allocation, at an odd address.
static void create_on_any_memory(void) {
    static char in_static[64];
    char on_stack[64];
    char* in_heap = malloc(4096);
    char* const places[] = {in_static + 8, on_stack, in_heap + 2001};
    for (int p = 0; p < 3; ++p) {
        MPI_Win win;
        memset(places[p], 0, 40);
        if (!OK(MPI_Win_create(places[p], 40, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
            break;
        put_int(win, next_rank(), 36, 100 * p + T.rank);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(100 * p + T.rank, get_int(win, next_rank(), 36));
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, T.rank, 0, win));
        int got;
        memcpy(&got, places[p] + 36, sizeof got);
        CHECK_EQ(100 * p + previous_rank(), got);
        OK(MPI_Win_unlock(T.rank, win));
        OK(MPI_Win_free(&win));
    }
    free(in_heap);
}

/// Two windows on the same memory, and on parts of it.
static void create_twice_on_one_memory(void) {
    int memory[16] = {0};
    MPI_Win whole, half;
    if (!OK(MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &whole)) ||
        !OK(MPI_Win_create(memory + 8, 32, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &half)))
        return;
    put_int(whole, next_rank(), 9, 1000 + T.rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(1000 + T.rank, get_int(half, next_rank(), 4));
    put_int(half, next_rank(), 8, 2000 + T.rank);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ(2000 + T.rank, get_int(whole, next_rank(), 10));
    OK(MPI_Win_free(&whole));
    CHECK_EQ(1000 + T.rank, get_int(half, next_rank(), 4));
    OK(MPI_Win_free(&half));
}

// --- SHARED --------------------------------------------------------------------------------------

struct part {
    char* base;
    MPI_Aint bytes;
    int unit;
};

static struct part query(MPI_Win win, int rank) {
    struct part p = {NULL, -1, -1};
    OK(MPI_Win_shared_query(win, rank, &p.bytes, &p.unit, &p.base));
    return p;
}

/// Parts follow each other without a gap, in the order of the ranks, whatever their sizes.
static void shared_parts_are_contiguous(void) {
    MPI_Win win;
    char* base;
    const MPI_Aint bytes = 24 * (T.rank % 3) + (T.rank == T.ranks - 1 ? 13 : 0);
    if (!OK(MPI_Win_allocate_shared(bytes, 1 + T.rank, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win)))
        return;
    MPI_Aint all[64];
    MPI_Allgather(&bytes, 1, MPI_AINT, all, 1, MPI_AINT, MPI_COMM_WORLD);
    const struct part first = query(win, MPI_PROC_NULL);
    MPI_Aint offset = 0;
    for (int r = 0; r < T.ranks; ++r) {
        const struct part p = query(win, r);
        CHECK_EQ(all[r], p.bytes);
        CHECK_EQ(1 + r, p.unit);
        if (all[r] > 0)
            CHECK_EQ(offset, p.base - first.base);
        offset += all[r];
    }
    if (bytes > 0)
        CHECK(query(win, T.rank).base == base);
    OK(MPI_Win_free(&win));
}

/// Each rank stores into all parts; the owners read what came, after a barrier between two syncs.
static void load_and_store(MPI_Win win, MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    OK(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int r = 0; r < ranks; ++r) {
        const struct part p = query(win, r);
        CHECK(p.bytes >= (MPI_Aint)sizeof(int) * ranks);
        CHECK_EQ(0, (long long)((uintptr_t)p.base % sizeof(int)));
        const int value = 100 * r + rank;
        memcpy(p.base + sizeof(int) * (size_t)rank, &value, sizeof value);
    }
    OK(MPI_Win_sync(win));
    MPI_Barrier(comm);
    OK(MPI_Win_sync(win));
    const struct part mine = query(win, rank);
    for (int o = 0; o < ranks; ++o) {
        int value;
        memcpy(&value, mine.base + sizeof(int) * (size_t)o, sizeof value);
        CHECK_EQ(100 * rank + o, value);
        // The same memory, through the window.
        OK(MPI_Get(&value, 1, MPI_INT, rank, (MPI_Aint)sizeof(int) * o, 1, MPI_INT, win));
        OK(MPI_Win_flush(rank, win));
        CHECK_EQ(100 * rank + o, value);
    }
    OK(MPI_Win_unlock_all(win));
}

static void shared_load_and_store_on(MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int apart = 0; apart < 2; ++apart) {
        MPI_Win win;
        MPI_Info info;
        char* base;
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
        const MPI_Aint bytes = (MPI_Aint)sizeof(int) * ranks + (apart ? rank : 0);
        const int code = MPI_Win_allocate_shared(bytes, 1, info, comm, &base, &win);
        MPI_Info_free(&info);
        if (!OK(code))
            return;
        load_and_store(win, comm);
        OK(MPI_Win_free(&win));
    }
}

static void shared_load_and_store(void) {
    shared_load_and_store_on(MPI_COMM_WORLD);
}

/// The window that programs share memory with, where they run on several hosts.
static void shared_on_each_host(void) {
    MPI_Comm host;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -T.rank, MPI_INFO_NULL, &host);
    MPI_Comm_set_errhandler(host, MPI_ERRORS_RETURN);
    shared_load_and_store_on(host);
    MPI_Comm_free(&host);
}

/// Parts that need not follow one another: a rank without memory has no base, here and for others.
static void shared_query_without_memory(void) {
    MPI_Win win;
    MPI_Info info;
    char* base = NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    const int code =
        MPI_Win_allocate_shared(T.rank % 2 * 100, 1, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    if (!OK(code))
        return;
    CHECK((base != NULL) == (T.rank % 2 != 0));
    for (int r = 0; r < T.ranks; ++r) {
        const struct part p = query(win, r);
        CHECK((p.bytes != 0) == (r % 2 != 0)); // osc/sm has whole pages
        CHECK((p.base != NULL) == (r % 2 != 0));
        CHECK(r != T.rank || p.base == base);
    }
    OK(MPI_Win_lock_all(0, win));
    for (int r = 1; r < T.ranks; r += 2)
        OK(MPI_Put("x", 1, MPI_CHAR, r, T.rank, 1, MPI_CHAR, win));
    OK(MPI_Put("x", 0, MPI_CHAR, 0, 0, 0, MPI_CHAR, win));
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int r = 0; r < T.ranks && base != NULL; ++r)
        CHECK_EQ('x', base[r]);
    OK(MPI_Win_free(&win));
}

/// MPI_PROC_NULL asks for the lowest rank that has memory.
static void shared_query_proc_null(void) {
    for (int owner = 0; owner < T.ranks; ++owner) {
        MPI_Win win;
        char* base;
        if (!OK(MPI_Win_allocate_shared(T.rank >= owner ? 32 + T.rank : 0, 2 + T.rank,
                                        MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win)))
            return;
        const struct part p = query(win, MPI_PROC_NULL), same = query(win, owner);
        CHECK_EQ(32 + owner, p.bytes);
        CHECK_EQ(2 + owner, p.unit);
        CHECK(p.base == same.base);
        OK(MPI_Win_free(&win));
    }
}

/// Locks protect loads and stores: all increment one pair of words in rank 0's part, by hand.
static void shared_locks_protect_stores(void) {
    enum { TIMES = 300 };
    MPI_Win win;
    char* base;
    if (!OK(MPI_Win_allocate_shared(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win)))
        return;
    volatile int64_t* words = (volatile int64_t*)query(win, 0).base;
    if (T.rank == 0)
        words[0] = words[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        CHECK_EQ(words[0], words[1]);
        ++words[0];
        compute_for(1e-6);
        ++words[1];
        OK(MPI_Win_unlock(0, win));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQ((long long)TIMES * T.ranks, words[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_free(&win));
}

// --- DYNAMIC -------------------------------------------------------------------------------------

enum { REGIONS = 64 };

static MPI_Aint address_of(const void* p) {
    MPI_Aint a;
    MPI_Get_address(p, &a);
    return a;
}

static void gather_addresses(int* const* regions, int n, MPI_Aint* all) {
    MPI_Aint mine[REGIONS];
    for (int i = 0; i < n; ++i)
        mine[i] = address_of(regions[i]);
    MPI_Allgather(mine, n, MPI_AINT, all, n, MPI_AINT, MPI_COMM_WORLD);
}

/// Many regions, attached and detached in any order; the ones that stay can be reached throughout.
static void dynamic_many_regions(void) {
    MPI_Win win;
    int* regions[REGIONS];
    MPI_Aint* all = malloc((size_t)(REGIONS * T.ranks) * sizeof *all);
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    for (int i = 0; i < REGIONS; ++i) {
        regions[i] = calloc(1, sizeof(int) * 4 * (size_t)(i + 1));
        OK(MPI_Win_attach(win, regions[i], (MPI_Aint)sizeof(int) * 4 * (i + 1)));
    }
    gather_addresses(regions, REGIONS, all);
    for (int round = 0; round < 2; ++round) {
        for (int i = round; i < REGIONS; i += 1 + round)
            put_int(win, next_rank(), all[REGIONS * next_rank() + i] + 12,
                    100 * i + T.rank + round);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = round; i < REGIONS; i += 1 + round)
            CHECK_EQ(100 * i + previous_rank() + round, regions[i][3]);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < REGIONS && round == 0; i += 2) // every other one goes
            OK(MPI_Win_detach(win, regions[i]));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < REGIONS; ++i) {
        if (i % 2 != 0)
            OK(MPI_Win_detach(win, regions[i]));
        free(regions[i]);
    }
    OK(MPI_Win_free(&win));
    free(all);
}

/// The same memory goes and comes back with another size; a neighbour's stale view must not matter.
static void dynamic_attach_again(void) {
    MPI_Win win;
    static int memory[1024];
    int* const region = memory;
    MPI_Aint all[64];
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    gather_addresses(&region, 1, all);
    for (int round = 1; round <= 20; ++round) {
        OK(MPI_Win_attach(win, memory, (MPI_Aint)sizeof(int) * 50 * round));
        MPI_Barrier(MPI_COMM_WORLD);
        const MPI_Aint last = MPI_Aint_add(all[next_rank()], 4 * (50 * round - 1));
        put_int(win, next_rank(), last, 1000 * round + T.rank);
        CHECK_EQ(1000 * round + T.rank, get_int(win, next_rank(), last));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(1000 * round + previous_rank(), memory[50 * round - 1]);
        OK(MPI_Win_detach(win, memory));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Win_free(&win));
}

static int32_t put_and_get_back(MPI_Win win, int target, MPI_Aint address, int32_t value) {
    int32_t back = -1;
    OK(MPI_Put(&value, 1, MPI_INT32_T, target, address, 1, MPI_INT32_T, win));
    OK(MPI_Win_flush(target, win));
    OK(MPI_Get(&back, 1, MPI_INT32_T, target, address, 1, MPI_INT32_T, win));
    OK(MPI_Win_flush(target, win));
    return back;
}

/// Regions of no bytes, before, at and within another region: it stays attached as they come and
/// go.
static void dynamic_empty_regions(void) {
    MPI_Win win;
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    int32_t* memory = calloc(1000, sizeof *memory);
    MPI_Aint* addresses = malloc(sizeof *addresses * (size_t)T.ranks);
    MPI_Get_address(memory + 10, &addresses[T.rank]);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
    OK(MPI_Win_lock_all(0, win));
    const int t = next_rank();
    for (int step = 0; step < 8; ++step) {
        switch (step) {
        case 0: // an empty one goes first, and then others come
            OK(MPI_Win_attach(win, memory, 0));
            OK(MPI_Win_attach(win, memory, 1000 * sizeof *memory));
            break;
        case 1:
        case 2:
            OK(MPI_Win_attach(win, memory, 0));
            break;
        case 3:
            OK(MPI_Win_attach(win, memory + 500, 0));
            break;
        case 4:
            OK(MPI_Win_detach(win, memory + 500));
            break;
        default:
            OK(MPI_Win_detach(win, memory));
        }
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK_EQ(step, put_and_get_back(win, t, addresses[t], step));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_detach(win, memory));
    CHECK(MPI_Win_detach(win, memory) != MPI_SUCCESS);
    OK(MPI_Win_free(&win));
    free(memory);
    free(addresses);
}

/// Regions attached in the middle of other ranks' passive epochs, told by a message.
static void dynamic_attach_in_an_epoch(void) {
    MPI_Win win;
    int* region = NULL;
    MPI_Aint all[64];
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    OK(MPI_Win_lock_all(0, win));
    for (int round = 0; round < 20; ++round) {
        region = calloc(1, 4096);
        OK(MPI_Win_attach(win, region, 4096));
        gather_addresses(&region, 1, all);
        const int value = 100 * round + T.rank;
        const MPI_Aint place = MPI_Aint_add(all[next_rank()], 4 * (round + 1));
        OK(MPI_Put(&value, 1, MPI_INT, next_rank(), place, 1, MPI_INT, win));
        OK(MPI_Win_flush(next_rank(), win));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_sync(win));
        CHECK_EQ(100 * round + previous_rank(), ((volatile int*)region)[round + 1]);
        OK(MPI_Win_detach(win, region));
        free(region);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
}

/// MPI 4.0, 12.2.3: memory that cannot be shared.
static void shared_over_hosts(void) {
    MPI_Win win;
    void* base;
    if (T.hosts == 1)
        return skip("all ranks are on one host");
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int rc = MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    int class = MPI_SUCCESS;
    MPI_Error_class(rc, &class);
    CHECK_EQ(MPI_ERR_RMA_SHARED, class);
}

/// A page that holds the value, at that address; at any if it is null.
static int* page_at(int* address, int value) {
    enum { PAGE = 4096 };
    if (address != NULL)
        munmap(address, PAGE);
    int* const page = mmap(address, PAGE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | (address != NULL ? MAP_FIXED : 0), -1, 0);
    CHECK(page != MAP_FAILED);
    *page = value;
    return page;
}

/// Memory is replaced by other memory at the same address, while all others are in an epoch and have
/// read it without a flush. A message tells of it.
static void dynamic_attach_another_in_an_epoch(void) {
    MPI_Win win;
    MPI_Aint all[64];
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    int* page = page_at(NULL, 0);
    OK(MPI_Win_attach(win, page, sizeof *page));
    gather_addresses(&page, 1, all);
    OK(MPI_Win_lock_all(0, win));
    const int t = next_rank();
    for (int round = 0; round < 20; ++round) {
        int seen = -1;
        MPI_Request request;
        OK(MPI_Rget(&seen, 1, MPI_INT, t, all[t], 1, MPI_INT, win, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        CHECK_EQ(100 * round + (round != 0 ? t : 0), seen);
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_Win_detach(win, page));
        page_at(page, 100 * (round + 1) + T.rank);
        OK(MPI_Win_attach(win, page, sizeof *page));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_Win_unlock_all(win));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_Win_detach(win, page));
    OK(MPI_Win_free(&win));
    munmap(page, 4096);
}

/// Of two regions at each rank the first int and the last: one type, with absolute addresses.
static MPI_Datatype ends_of(const MPI_Aint* regions, int last) {
    const MPI_Aint places[] = {regions[0], MPI_Aint_add(regions[1], last * (MPI_Aint)sizeof(int))};
    MPI_Datatype type;
    MPI_Type_create_hindexed_block(2, 1, places, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

/// Types that count from displacement 0, of all targets, of the process itself as well.
static void dynamic_absolute_types(void) {
    enum { INTS = 16 };
    int a[INTS] = {0}, b[INTS] = {0};
    MPI_Win win;
    if (!OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    OK(MPI_Win_attach(win, a, sizeof a));
    OK(MPI_Win_attach(win, b, sizeof b));
    MPI_Aint* all = malloc(sizeof *all * 2 * (size_t)T.ranks);
    gather_addresses((int* const[]){a, b}, 2, all);
    for (int t = 0; t < T.ranks; ++t) {
        const int from[] = {100 * T.rank + t, 1000 + T.rank}, one[] = {1, 2};
        int to[] = {0, 0}, first = 0;
        MPI_Datatype ends = ends_of(all + 2 * t, INTS - 1), start;
        MPI_Type_create_hindexed_block(1, 1, all + 2 * t, MPI_INT, &start);
        MPI_Type_commit(&start);
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, win));
        OK(MPI_Put(from, 2, MPI_INT, t, 0, 1, ends, win));
        OK(MPI_Win_flush(t, win));
        OK(MPI_Accumulate(one, 2, MPI_INT, t, 0, 1, ends, MPI_SUM, win));
        OK(MPI_Accumulate(one, 1, MPI_INT, t, 0, 1, start, MPI_SUM, win));
        OK(MPI_Win_flush(t, win));
        OK(MPI_Get(to, 2, MPI_INT, t, 0, 1, ends, win));
        OK(MPI_Get(&first, 1, MPI_INT, t, 0, 1, start, win));
        OK(MPI_Win_unlock(t, win));
        CHECK_EQ(from[0] + 2, to[0]);
        CHECK_EQ(from[1] + 2, to[1]);
        CHECK_EQ(from[0] + 2, first);
        MPI_Type_free(&ends);
        MPI_Type_free(&start);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(all);
    OK(MPI_Win_detach(win, a));
    OK(MPI_Win_detach(win, b));
    OK(MPI_Win_free(&win));
}

static const struct test_case cases[] = {
    {.name = "attributes", .run = attributes, .each = IN_ANY},
    {.name = "name_group_and_info", .run = name_group_and_info, .each = IN_ANY},
    {.name = "shown_hints", .run = shown_hints, .each = IN_ANY},
    {.name = "lock_of_rank_0", .run = lock_of_rank_0, .each = IN_ANY},
    {.name = "standard_hints", .run = standard_hints, .each = IN_ANY},
    {.name = "without_locks", .run = without_locks, .needs = IN_ALLOCATE},
    {.name = "memory_alignment", .run = memory_alignment, .needs = IN_ALLOCATE},
    {.name = "own_attributes", .run = own_attributes, .each = IN_ANY},
    {.name = "only_one_has_memory", .run = only_one_has_memory, .each = IN_ANY},
    {.name = "nobody_has_memory", .run = nobody_has_memory, .each = IN_ANY},
    {.name = "create_on_any_memory", .run = create_on_any_memory, .needs = IN_CREATE},
    {.name = "create_twice_on_one_memory", .run = create_twice_on_one_memory, .needs = IN_CREATE},
    {.name = "the_lock_stays", .run = the_lock_stays, .needs = IN_ALLOCATE},
    {.name = "units_are_positive", .run = units_are_positive, .each = IN_SHARED},
    {.name = "alignment_asked_by_one", .run = alignment_asked_by_one, .needs = IN_ALLOCATE},
    {.name = "apart_asked_by_one", .run = apart_asked_by_one, .needs = IN_SHARED},
    {.name = "dynamic_attach_nothing_real",
     .run = dynamic_attach_nothing_real,
     .needs = IN_DYNAMIC},
    {.name = "shared_parts_are_contiguous", .run = shared_parts_are_contiguous, .needs = IN_SHARED},
    {.name = "shared_load_and_store", .run = shared_load_and_store, .needs = IN_SHARED},
    {.name = "shared_on_each_host",
     .run = shared_on_each_host,
     .needs = IN_SHARED,
     .within_host = true},
    {.name = "shared_over_hosts", .run = shared_over_hosts, .needs = IN_ALLOCATE},
    {.name = "shared_query_without_memory", .run = shared_query_without_memory, .needs = IN_SHARED},
    {.name = "shared_query_proc_null", .run = shared_query_proc_null, .needs = IN_SHARED},
    {.name = "shared_locks_protect_stores", .run = shared_locks_protect_stores, .needs = IN_SHARED},
    {.name = "dynamic_many_regions", .run = dynamic_many_regions, .needs = IN_DYNAMIC},
    {.name = "dynamic_absolute_types", .run = dynamic_absolute_types, .needs = IN_DYNAMIC},
    {.name = "dynamic_attach_again", .run = dynamic_attach_again, .needs = IN_DYNAMIC},
    {.name = "dynamic_empty_regions", .run = dynamic_empty_regions, .needs = IN_DYNAMIC},
    {.name = "dynamic_attach_in_an_epoch", .run = dynamic_attach_in_an_epoch, .needs = IN_DYNAMIC},
    {.name = "dynamic_attach_another_in_an_epoch",
     .run = dynamic_attach_another_in_an_epoch,
     .needs = IN_DYNAMIC},
};

int main(int argc, char** argv) {
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
