// Errors, as a table: a sequence of calls, the class of error its last call must return, and then
// the window works as if nothing had happened.
//
// Where the standard leaves the class open the row asks for ANY_ERROR.
#include "mpi_test.h"

#include <limits.h>

enum { ANY_ERROR = -1, WORDS = 16 };

static int next_rank(void) {
    return (T.rank + 1) % T.ranks;
}

static int put(const struct window* w, int target, MPI_Aint displacement, int count) {
    static const int values[WORDS + 1] = {0};
    return MPI_Put(values, count, MPI_INT, target, displacement, count, MPI_INT, w->win);
}

static MPI_Group group_of_one(int rank) {
    MPI_Group world, group;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &rank, &group);
    MPI_Group_free(&world);
    return group;
}

/// Under every kind of epoch in turn, on all ranks: the window does what it should.
static void still_works(const struct window* w) {
    int one = 1, got = -1;
    MPI_Barrier(w->comm);
    for (int t = 0; t < T.ranks; ++t) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, w->win));
        OK(MPI_Get(&got, 1, MPI_INT, t, at(w, t, WORDS - 1), 1, MPI_INT, w->win));
        OK(MPI_Win_flush(t, w->win));
        ++got;
        OK(MPI_Put(&got, 1, MPI_INT, t, at(w, t, WORDS - 1), 1, MPI_INT, w->win));
        OK(MPI_Win_unlock(t, w->win));
    }
    OK(MPI_Win_lock_all(0, w->win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, next_rank(), at(w, next_rank(), WORDS - 2), 1, MPI_INT,
                      MPI_SUM, w->win));
    OK(MPI_Win_unlock_all(w->win));
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, next_rank(), at(w, next_rank(), WORDS - 2), 1, MPI_INT,
                      MPI_SUM, w->win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    local_begin(w);
    CHECK_EQ(T.ranks, ((int*)w->base)[WORDS - 1]);
    CHECK_EQ(2, ((int*)w->base)[WORDS - 2]);
    local_end_all(w);
}

// --- Locks ---------------------------------------------------------------------------------------

static int lock_twice(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int lock_oneself_twice(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, T.rank, 0, w->win));
    const int code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, T.rank, 0, w->win);
    OK(MPI_Win_unlock(T.rank, w->win));
    return code;
}

static int lock_in_lock_all(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

static int lock_all_in_lock(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_lock_all(0, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int lock_all_twice(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_lock_all(0, w->win);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

static int unlock_without_lock(const struct window* w) {
    return MPI_Win_unlock(next_rank(), w->win);
}

static int unlock_all_without_lock_all(const struct window* w) {
    return MPI_Win_unlock_all(w->win);
}

static int unlock_another_target(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_unlock((T.rank + 2) % T.ranks, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int unlock_in_lock_all(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_unlock(next_rank(), w->win);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

static int unlock_all_in_lock(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_unlock_all(w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int lock_rank_out_of_range(const struct window* w) {
    return MPI_Win_lock(MPI_LOCK_SHARED, T.ranks, 0, w->win);
}

static int lock_of_unknown_kind(const struct window* w) {
    return MPI_Win_lock(12345, next_rank(), 0, w->win);
}

static int lock_with_unknown_assertion(const struct window* w) {
    return MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 1 << 30, w->win);
}

// --- Calls outside an epoch ----------------------------------------------------------------------

static int put_without_epoch(const struct window* w) {
    return put(w, next_rank(), at(w, next_rank(), 0), 1);
}

static int get_without_epoch(const struct window* w) {
    int value;
    return MPI_Get(&value, 1, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, MPI_INT, w->win);
}

static int accumulate_without_epoch(const struct window* w) {
    int value = 1;
    return MPI_Accumulate(&value, 1, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, MPI_INT,
                          MPI_SUM, w->win);
}

static int get_accumulate_without_epoch(const struct window* w) {
    int value = 1, result;
    return MPI_Get_accumulate(&value, 1, MPI_INT, &result, 1, MPI_INT, next_rank(),
                              at(w, next_rank(), 0), 1, MPI_INT, MPI_SUM, w->win);
}

static int fetch_without_epoch(const struct window* w) {
    int value = 1, result;
    return MPI_Fetch_and_op(&value, &result, MPI_INT, next_rank(), at(w, next_rank(), 0), MPI_SUM,
                            w->win);
}

static int swap_without_epoch(const struct window* w) {
    int value = 1, compare = 0, result;
    return MPI_Compare_and_swap(&value, &compare, &result, MPI_INT, next_rank(),
                                at(w, next_rank(), 0), w->win);
}

static int rput_without_epoch(const struct window* w) {
    int value = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    return MPI_Rput(&value, 1, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, MPI_INT, w->win,
                    &request);
}

static int rget_without_epoch(const struct window* w) {
    int value = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    return MPI_Rget(&value, 1, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, MPI_INT, w->win,
                    &request);
}

static int put_to_another_target(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int other = (T.rank + 2) % T.ranks, code = put(w, other, at(w, other, 0), 1);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int put_after_unlock(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    OK(put(w, next_rank(), at(w, next_rank(), 0), 1));
    OK(MPI_Win_unlock(next_rank(), w->win));
    return put(w, next_rank(), at(w, next_rank(), 0), 1);
}

static int flush_without_epoch(const struct window* w) {
    return MPI_Win_flush(next_rank(), w->win);
}
static int flush_all_without_epoch(const struct window* w) {
    return MPI_Win_flush_all(w->win);
}

static int flush_local_without_epoch(const struct window* w) {
    return MPI_Win_flush_local(next_rank(), w->win);
}

static int flush_local_all_without_epoch(const struct window* w) {
    return MPI_Win_flush_local_all(w->win);
}

static int flush_another_target(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_flush((T.rank + 2) % T.ranks, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int flush_rank_out_of_range(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_flush(T.ranks, w->win);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

static int flush_negative_rank(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_flush_local(-77, w->win);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

/// Flushes of the least ranks there are: all are refused. Returns the first code that is of another
/// class, or else one of theirs.
static int flush_least_ranks(const struct window* w) {
    int code = MPI_SUCCESS;
    for (int rank = INT_MIN; rank < INT_MIN + 3; ++rank) {
        code = MPI_Win_flush(rank, w->win);
        if (error_class(code) != MPI_ERR_RANK)
            return code;
        code = MPI_Win_flush_local(rank, w->win);
        if (error_class(code) != MPI_ERR_RANK)
            return code;
    }
    return code;
}

static int flush_least_ranks_in_lock(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = flush_least_ranks(w);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int flush_least_ranks_in_two_locks(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, T.rank, 0, w->win));
    const int code = flush_least_ranks(w);
    OK(MPI_Win_unlock(T.rank, w->win));
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int flush_least_ranks_in_lock_all(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = flush_least_ranks(w);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

// --- Outside the window --------------------------------------------------------------------------

/// The code of an access of `count` ints at `displacement`, by the call `which`.
static int access_at(const struct window* w, int which, MPI_Aint displacement, int count) {
    int in[WORDS + 1] = {0}, out[WORDS + 1];
    const int n = next_rank();
    OK(MPI_Win_lock(MPI_LOCK_SHARED, n, 0, w->win));
    int code = MPI_SUCCESS;
    switch (which) {
    case 0:
        code = put(w, n, displacement, count);
        break;
    case 1:
        code = MPI_Get(out, count, MPI_INT, n, displacement, count, MPI_INT, w->win);
        break;
    case 2:
        code = MPI_Accumulate(in, count, MPI_INT, n, displacement, count, MPI_INT, MPI_SUM, w->win);
        break;
    case 3:
        code = MPI_Get_accumulate(in, count, MPI_INT, out, count, MPI_INT, n, displacement, count,
                                  MPI_INT, MPI_SUM, w->win);
        break;
    case 4:
        code = MPI_Fetch_and_op(in, out, MPI_INT, n, displacement, MPI_SUM, w->win);
        break;
    default:
        code = MPI_Compare_and_swap(in, in, out, MPI_INT, n, displacement, w->win);
    }
    OK(MPI_Win_unlock(n, w->win));
    return code;
}

static int put_behind_the_end(const struct window* w) {
    return access_at(w, 0, WORDS, 1);
}
static int put_across_the_end(const struct window* w) {
    return access_at(w, 0, WORDS - 2, 3);
}
/// It opens no fence epoch, so a lock may follow.
static int put_across_the_end_after_fence(const struct window* w) {
    OK(MPI_Win_fence(0, w->win));
    const int code = put(w, next_rank(), at(w, next_rank(), WORDS - 2), 3);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}
static int put_far_away(const struct window* w) {
    return access_at(w, 0, (MPI_Aint)1 << 60, 1);
}
static int get_behind_the_end(const struct window* w) {
    return access_at(w, 1, WORDS, 1);
}
static int get_across_the_end(const struct window* w) {
    return access_at(w, 1, 0, WORDS + 1);
}
static int accumulate_across_the_end(const struct window* w) {
    return access_at(w, 2, WORDS - 2, 3);
}
static int get_accumulate_across_the_end(const struct window* w) {
    return access_at(w, 3, 1, WORDS);
}
static int fetch_behind_the_end(const struct window* w) {
    return access_at(w, 4, WORDS, 1);
}
static int swap_behind_the_end(const struct window* w) {
    return access_at(w, 5, WORDS, 1);
}
static int negative_displacement(const struct window* w) {
    return access_at(w, 0, -1, 1);
}

/// Nothing is wrong with the last word, with no word at the end, and so the range check is exact.
static int up_to_the_end(const struct window* w) {
    const MPI_Aint end = at(w, next_rank(), WORDS);
    const MPI_Aint last = at(w, next_rank(), WORDS - 1);
    OK(access_at(w, 0, at(w, next_rank(), 0), WORDS));
    OK(access_at(w, 1, last, 1));
    OK(access_at(w, 4, last, 1));
    return access_at(w, 0, end, 0);
}

/// The data of a derived type decides, not its extent: here only the last block is outside.
static int derived_type_across_the_end(const struct window* w) {
    MPI_Datatype comb;
    MPI_Type_vector(3, 1, WORDS / 2, MPI_INT, &comb);
    MPI_Type_commit(&comb);
    const int values[3] = {0};
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code =
        MPI_Put(values, 3, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, comb, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    MPI_Type_free(&comb);
    return code;
}

/// ... and blocks before the window's begin, by a negative lower bound.
static int derived_type_before_the_begin(const struct window* w) {
    MPI_Datatype backwards;
    MPI_Type_vector(2, 1, -1, MPI_INT, &backwards);
    MPI_Type_commit(&backwards);
    const int values[2] = {0};
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code =
        MPI_Put(values, 2, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, backwards, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    MPI_Type_free(&backwards);
    return code;
}

/// Memory that was never attached, next to memory that was.
static int not_attached(const struct window* w) {
    return access_at(w, 0, at(w, next_rank(), 64 + WORDS), 1);
}

static int target_out_of_range(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = put(w, T.ranks, 0, 1);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

// --- Epochs of different kinds mixed -------------------------------------------------------------

static int lock_in_fence_epoch(const struct window* w) {
    OK(MPI_Win_fence(0, w->win));
    OK(put(w, next_rank(), at(w, next_rank(), 0), 1));
    const int code = MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    return code;
}

static int lock_all_in_fence_epoch(const struct window* w) {
    OK(MPI_Win_fence(0, w->win));
    OK(put(w, next_rank(), at(w, next_rank(), 0), 1));
    const int code = MPI_Win_lock_all(0, w->win);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    return code;
}

static int flush_in_fence_epoch(const struct window* w) {
    OK(MPI_Win_fence(0, w->win));
    OK(put(w, next_rank(), at(w, next_rank(), 0), 1));
    const int code = MPI_Win_flush(next_rank(), w->win);
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
    return code;
}

static int fence_in_lock(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_fence(0, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int fence_in_lock_all(const struct window* w) {
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_fence(0, w->win);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

static int start_in_lock(const struct window* w) {
    MPI_Group group = group_of_one(next_rank());
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_start(group, 0, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    MPI_Group_free(&group);
    return code;
}

/// What all ranks do inside a PSCW epoch on their right-hand neighbour.
static int in_pscw_epoch(const struct window* w, int (*call)(const struct window*)) {
    MPI_Group to = group_of_one(next_rank()), from = group_of_one((T.rank + T.ranks - 1) % T.ranks);
    OK(MPI_Win_post(from, 0, w->win));
    OK(MPI_Win_start(to, 0, w->win));
    const int code = call(w);
    OK(MPI_Win_complete(w->win));
    OK(MPI_Win_wait(w->win));
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    return code;
}

static int lock_next(const struct window* w) {
    return MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win);
}

static int lock_everybody(const struct window* w) {
    return MPI_Win_lock_all(0, w->win);
}
static int fence_now(const struct window* w) {
    return MPI_Win_fence(0, w->win);
}

static int start_again(const struct window* w) {
    MPI_Group group = group_of_one(next_rank());
    const int code = MPI_Win_start(group, 0, w->win);
    MPI_Group_free(&group);
    return code;
}

static int post_again(const struct window* w) {
    MPI_Group group = group_of_one(next_rank());
    const int code = MPI_Win_post(group, 0, w->win);
    MPI_Group_free(&group);
    return code;
}

static int put_beyond_the_group(const struct window* w) {
    const int other = (T.rank + 2) % T.ranks;
    return put(w, other, at(w, other, 0), 1);
}

static int lock_in_start(const struct window* w) {
    return in_pscw_epoch(w, lock_next);
}
static int lock_all_in_start(const struct window* w) {
    return in_pscw_epoch(w, lock_everybody);
}
static int fence_in_start(const struct window* w) {
    return in_pscw_epoch(w, fence_now);
}
static int start_twice(const struct window* w) {
    return in_pscw_epoch(w, start_again);
}
static int post_twice(const struct window* w) {
    return in_pscw_epoch(w, post_again);
}
static int put_outside_the_group(const struct window* w) {
    return in_pscw_epoch(w, put_beyond_the_group);
}

static int complete_without_start(const struct window* w) {
    return MPI_Win_complete(w->win);
}
static int wait_without_post(const struct window* w) {
    return MPI_Win_wait(w->win);
}

static int test_without_post(const struct window* w) {
    int done;
    return MPI_Win_test(w->win, &done);
}

static int free_in_lock(const struct window* w) {
    MPI_Win same = w->win;
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code = MPI_Win_free(&same);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int free_in_lock_all(const struct window* w) {
    MPI_Win same = w->win;
    OK(MPI_Win_lock_all(0, w->win));
    const int code = MPI_Win_free(&same);
    OK(MPI_Win_unlock_all(w->win));
    return code;
}

// --- Arguments -----------------------------------------------------------------------------------

static int accumulate_with(const struct window* w, MPI_Datatype type, MPI_Op op) {
    const char value[16] = {0};
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code =
        MPI_Accumulate(value, 1, type, next_rank(), at(w, next_rank(), 0), 1, type, op, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    return code;
}

static int and_of_doubles(const struct window* w) {
    return accumulate_with(w, MPI_DOUBLE, MPI_BAND);
}
static int maxloc_of_ints(const struct window* w) {
    return accumulate_with(w, MPI_INT, MPI_MAXLOC);
}

static void nothing(void* in, void* inout, int* length, MPI_Datatype* type) {
    (void)in, (void)inout, (void)length, (void)type;
}

static int operation_of_ones_own(const struct window* w) {
    MPI_Op own;
    MPI_Op_create(nothing, 1, &own);
    const int code = accumulate_with(w, MPI_INT, own);
    MPI_Op_free(&own);
    return code;
}

static int negative_count(const struct window* w) {
    return access_at(w, 0, at(w, next_rank(), 0), -1);
}

static int uncommitted_type(const struct window* w) {
    MPI_Datatype type;
    int values[2] = {0};
    MPI_Type_contiguous(2, MPI_INT, &type);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, w->win));
    const int code =
        MPI_Put(values, 2, MPI_INT, next_rank(), at(w, next_rank(), 0), 1, type, w->win);
    OK(MPI_Win_unlock(next_rank(), w->win));
    MPI_Type_free(&type);
    return code;
}

/// Of the four ints of a neighbour.
static int fewer_results_than_elements(const struct window* w) {
    const int one[4] = {1, 1, 1, 1}, t = next_rank();
    int before[2];
    OK(MPI_Win_lock(MPI_LOCK_SHARED, t, 0, w->win));
    const int code = MPI_Get_accumulate(one, 4, MPI_INT, before, 2, MPI_INT, t, at(w, t, 0), 4,
                                        MPI_INT, MPI_SUM, w->win);
    OK(MPI_Win_unlock(t, w->win));
    return code;
}

static int query_not_shared(const struct window* w) {
    MPI_Aint size;
    int unit;
    void* base;
    return MPI_Win_shared_query(w->win, 0, &size, &unit, &base);
}

static int attach_not_dynamic(const struct window* w) {
    static int memory[4];
    return MPI_Win_attach(w->win, memory, sizeof memory);
}

static int detach_not_attached(const struct window* w) {
    static int memory[4];
    return MPI_Win_detach(w->win, memory);
}

// --- The table -----------------------------------------------------------------------------------

enum { NOT_DYNAMIC = IN_CREATE | IN_ALLOCATE | IN_SHARED, NOT_SHARED = IN_ANY & ~IN_SHARED };

#define SYNC(name, ranks)                                                                          \
    { #name, name, MPI_ERR_RMA_SYNC, IN_ANY, ranks }
#define RANGE(name)                                                                                \
    { #name, name, MPI_ERR_RMA_RANGE, NOT_DYNAMIC, 1 }

static const struct row {
    const char* name;
    int (*sequence)(const struct window*);
    int class;
    unsigned flavors;
    int min_ranks;
} rows[] = {
    SYNC(lock_twice, 1),
    SYNC(lock_oneself_twice, 1),
    SYNC(lock_in_lock_all, 1),
    SYNC(lock_all_in_lock, 1),
    SYNC(lock_all_twice, 1),
    SYNC(unlock_without_lock, 1),
    SYNC(unlock_all_without_lock_all, 1),
    SYNC(unlock_another_target, 2),
    SYNC(unlock_in_lock_all, 1),
    SYNC(unlock_all_in_lock, 1),
    {"lock_rank_out_of_range", lock_rank_out_of_range, MPI_ERR_RANK, IN_ANY, 1},
    {"lock_of_unknown_kind", lock_of_unknown_kind, MPI_ERR_LOCKTYPE, IN_ANY, 1},
    {"lock_with_unknown_assertion", lock_with_unknown_assertion, MPI_ERR_ASSERT, IN_ANY, 1},
    SYNC(put_without_epoch, 1),
    SYNC(get_without_epoch, 1),
    SYNC(accumulate_without_epoch, 1),
    SYNC(get_accumulate_without_epoch, 1),
    SYNC(fetch_without_epoch, 1),
    SYNC(swap_without_epoch, 1),
    SYNC(rput_without_epoch, 1),
    SYNC(rget_without_epoch, 1),
    SYNC(put_to_another_target, 3),
    SYNC(put_after_unlock, 1),
    SYNC(flush_without_epoch, 1),
    SYNC(flush_all_without_epoch, 1),
    SYNC(flush_local_without_epoch, 1),
    SYNC(flush_local_all_without_epoch, 1),
    SYNC(flush_another_target, 3),
    {"flush_rank_out_of_range", flush_rank_out_of_range, MPI_ERR_RANK, IN_ANY, 1},
    {"flush_negative_rank", flush_negative_rank, MPI_ERR_RANK, IN_ANY, 1},
    {"flush_least_ranks", flush_least_ranks, MPI_ERR_RANK, IN_ANY, 1},
    {"flush_least_ranks_in_lock", flush_least_ranks_in_lock, MPI_ERR_RANK, IN_ANY, 1},
    {"flush_least_ranks_in_two_locks", flush_least_ranks_in_two_locks, MPI_ERR_RANK, IN_ANY, 2},
    {"flush_least_ranks_in_lock_all", flush_least_ranks_in_lock_all, MPI_ERR_RANK, IN_ANY, 1},
    RANGE(put_behind_the_end),
    RANGE(put_across_the_end),
    RANGE(put_across_the_end_after_fence),
    RANGE(put_far_away),
    RANGE(get_behind_the_end),
    RANGE(get_across_the_end),
    RANGE(accumulate_across_the_end),
    RANGE(get_accumulate_across_the_end),
    RANGE(fetch_behind_the_end),
    RANGE(swap_behind_the_end),
    RANGE(derived_type_across_the_end),
    RANGE(derived_type_before_the_begin),
    {"negative_displacement", negative_displacement, MPI_ERR_DISP, NOT_DYNAMIC, 1},
    {"not_attached", not_attached, MPI_ERR_RMA_RANGE, IN_DYNAMIC, 1},
    {"up_to_the_end", up_to_the_end, MPI_SUCCESS, IN_ANY, 1},
    {"target_out_of_range", target_out_of_range, MPI_ERR_RANK, IN_ANY, 1},
    SYNC(lock_in_fence_epoch, 1),
    SYNC(lock_all_in_fence_epoch, 1),
    SYNC(flush_in_fence_epoch, 1),
    SYNC(fence_in_lock, 1),
    SYNC(fence_in_lock_all, 1),
    SYNC(start_in_lock, 1),
    SYNC(lock_in_start, 1),
    SYNC(lock_all_in_start, 1),
    SYNC(fence_in_start, 1),
    SYNC(start_twice, 1),
    SYNC(post_twice, 1),
    SYNC(put_outside_the_group, 3),
    SYNC(complete_without_start, 1),
    SYNC(wait_without_post, 1),
    SYNC(test_without_post, 1),
    SYNC(free_in_lock, 1),
    SYNC(free_in_lock_all, 1),
    {"and_of_doubles", and_of_doubles, MPI_ERR_OP, IN_ANY, 1},
    {"maxloc_of_ints", maxloc_of_ints, MPI_ERR_OP, IN_ANY, 1},
    {"operation_of_ones_own", operation_of_ones_own, MPI_ERR_OP, IN_ANY, 1},
    {"negative_count", negative_count, MPI_ERR_COUNT, IN_ANY, 1},
    {"fewer_results_than_elements", fewer_results_than_elements, MPI_ERR_COUNT, IN_ANY, 1},
    {"uncommitted_type", uncommitted_type, MPI_ERR_TYPE, IN_ANY, 1},
    {"query_not_shared", query_not_shared, MPI_ERR_RMA_FLAVOR, NOT_SHARED, 1},
    {"attach_not_dynamic", attach_not_dynamic, MPI_ERR_RMA_FLAVOR, NOT_DYNAMIC, 1},
    {"detach_not_attached", detach_not_attached, ANY_ERROR, IN_DYNAMIC, 1},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void run_row(void) {
    const struct row* row = rows;
    const size_t length = strcspn(T.name, "/");
    while (strncmp(row->name, T.name, length) != 0 || row->name[length] != '\0')
        ++row;
    struct window w;
    if (!window_open(&w, WORDS * sizeof(int), sizeof(int)))
        return;
    const int code = row->sequence(&w);
    if (row->class == ANY_ERROR)
        CHECK(code != MPI_SUCCESS);
    else
        FAILS(row->class, code);
    still_works(&w);
    window_close(&w);
}

// --- The window's error handler ------------------------------------------------------------------

static struct {
    int calls, class;
    MPI_Win window;
} handled;

static void handler(MPI_Win* win, int* code, ...) {
    ++handled.calls;
    handled.class = error_class(*code);
    handled.window = *win;
}

/// An error is raised once, on the window it concerns, through the handler set there.
static void goes_to_the_windows_handler(void) {
    struct window a, b;
    if (!window_open(&a, WORDS * sizeof(int), sizeof(int)) ||
        !window_open(&b, WORDS * sizeof(int), sizeof(int)))
        return;
    MPI_Errhandler own;
    MPI_Win_create_errhandler(handler, &own);
    OK(MPI_Win_set_errhandler(a.win, own));
    memset(&handled, 0, sizeof handled);
    FAILS(MPI_ERR_RMA_SYNC, MPI_Win_unlock(0, b.win));
    CHECK_EQ(0, handled.calls);
    MPI_Win_unlock(0, a.win);
    CHECK_EQ(1, handled.calls);
    CHECK_EQ(MPI_ERR_RMA_SYNC, handled.class);
    CHECK(handled.window == a.win);
    MPI_Win_unlock_all(a.win);
    CHECK_EQ(2, handled.calls);
    MPI_Errhandler_free(&own);
    still_works(&a);
    still_works(&b);
    window_close(&a);
    window_close(&b);
}

int main(int argc, char** argv) {
    struct test_case cases[ROWS + 1] = {{.name = "goes_to_the_windows_handler",
                                         .run = goes_to_the_windows_handler,
                                         .each = IN_ANY}};
    for (int i = 0; i < ROWS; ++i)
        cases[i + 1] = (struct test_case){.name = rows[i].name,
                                          .run = run_row,
                                          .each = rows[i].flavors,
                                          .min_ranks = rows[i].min_ranks};
    return test_main(argc, argv, cases, ROWS + 1, MPI_THREAD_SINGLE);
}
