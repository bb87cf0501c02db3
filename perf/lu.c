/* The factorization: decomposition, communication, and the proof that the factors are right. */
#include "lu.h"

#include "bench.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* --- layout ---------------------------------------------------------------------------------- */

struct lu_layout lu_layout_of(long order, long block, int ranks) {
    struct lu_layout l = {.order = order, .block = block, .grid_cols = (int)sqrt((double)ranks)};
    while (0 != ranks % l.grid_cols)
        l.grid_cols--;
    l.grid_rows = ranks / l.grid_cols;
    l.blocks = (order + block - 1) / block;
    l.slots_down = (l.blocks + l.grid_rows - 1) / l.grid_rows;
    l.slots_across = (l.blocks + l.grid_cols - 1) / l.grid_cols;
    return l;
}

static long slot_doubles(const struct lu_layout* l) {
    return l->block * l->block;
}

size_t lu_window_bytes(const struct lu_layout* l) {
    return (size_t)(l->slots_down * l->slots_across * slot_doubles(l)) * sizeof(double);
}

static int owner(const struct lu_layout* l, long row, long col) {
    return (int)(row % l->grid_rows) * l->grid_cols + (int)(col % l->grid_cols);
}

/* Where a block begins in its owner's part of the window, in doubles. */
static long position(const struct lu_layout* l, long row, long col) {
    return (row / l->grid_rows * l->slots_across + col / l->grid_cols) * slot_doubles(l);
}

/* Rows of the blocks in block row i, or columns of those in block column i. */
static long extent(const struct lu_layout* l, long i) {
    const long left = l->order - i * l->block;
    return left < l->block ? left : l->block;
}

static bool owns(const struct lu* lu, long row, long col) {
    return owner(&lu->layout, row, col) == lu->rank;
}

static double* own(const struct lu* lu, long row, long col) {
    return lu->mine + position(&lu->layout, row, col);
}

/* First index >= from that is congruent to this process's place in the grid. */
static long first_own(long from, int place, int stride) {
    return from + (place - from % stride + stride) % stride;
}

static long first_row(const struct lu* lu, long from) {
    return first_own(from, lu->rank / lu->layout.grid_cols, lu->layout.grid_rows);
}

static long first_col(const struct lu* lu, long from) {
    return first_own(from, lu->rank % lu->layout.grid_cols, lu->layout.grid_cols);
}

static double* doubles_new(long count) {
    double* values = calloc((size_t)(count > 0 ? count : 1), sizeof *values);
    if (NULL == values)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return values;
}

struct lu lu_new(struct lu_layout layout, MPI_Comm comm, MPI_Win window, void* mine) {
    const long slot = slot_doubles(&layout);
    struct lu lu = {.layout = layout, .comm = comm, .window = window, .mine = mine};
    MPI_Comm_rank(comm, &lu.rank);
    lu.diagonal = doubles_new(slot);
    lu.row_block = doubles_new(slot);
    lu.column_blocks = doubles_new(slot * layout.slots_down);
    return lu;
}

void lu_free(struct lu* lu) {
    free(lu->diagonal);
    free(lu->row_block);
    free(lu->column_blocks);
}

/* --- communication, timed call by call ------------------------------------------------------- */

static double charge(struct lu* lu, enum lu_call call, double start) {
    const double now = now_ns();
    lu->call_ns[call] += now - start;
    lu->call_count[call]++;
    return now;
}

static void barrier(struct lu* lu) {
    const double start = now_ns();
    MPI_Barrier(lu->comm);
    charge(lu, LU_BARRIER, start);
}

static void fetch_from(struct lu* lu, long row, long col, double* buffer) {
    const int target = owner(&lu->layout, row, col);
    const int count = (int)(extent(&lu->layout, row) * extent(&lu->layout, col));
    const MPI_Aint at = position(&lu->layout, row, col) * (MPI_Aint)sizeof(double);
    double time = now_ns();
    if (LU_LOCK_ALL != lu->mode) {
        const int type = LU_EXCLUSIVE == lu->mode ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
        MPI_Win_lock(type, target, 0, lu->window);
        time = charge(lu, LU_LOCK, time);
    }
    MPI_Get(buffer, count, MPI_DOUBLE, target, at, count, MPI_DOUBLE, lu->window);
    time = charge(lu, LU_GET, time);
    if (LU_LOCK_ALL != lu->mode) {
        MPI_Win_unlock(target, lu->window);
        charge(lu, LU_UNLOCK, time);
    } else {
        MPI_Win_flush(target, lu->window);
        charge(lu, LU_FLUSH, time);
    }
}

/* A block: in place if it is this process's own, else fetched into the buffer. */
static const double* fetch(struct lu* lu, long row, long col, double* buffer) {
    if (owns(lu, row, col))
        return own(lu, row, col);
    fetch_from(lu, row, col, buffer);
    return buffer;
}

/* What this process has stored in its blocks becomes what others get. The barrier that follows in
 * the algorithm says when. */
static void publish(struct lu* lu) {
    double time = now_ns();
    if (LU_LOCK_ALL == lu->mode) {
        MPI_Win_sync(lu->window);
        charge(lu, LU_SYNC, time);
        return;
    }
    const int type = LU_EXCLUSIVE == lu->mode ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    MPI_Win_lock(type, lu->rank, 0, lu->window);
    time = charge(lu, LU_LOCK, time);
    MPI_Win_unlock(lu->rank, lu->window);
    charge(lu, LU_UNLOCK, time);
}

/* --- the three steps of each pivot ----------------------------------------------------------- */

static void factor_diagonal(struct lu* lu, long k) {
    if (!owns(lu, k, k))
        return;
    block_factor(own(lu, k, k), extent(&lu->layout, k));
    publish(lu);
}

static void divide_perimeter(struct lu* lu, long k) {
    const struct lu_layout* l = &lu->layout;
    const long size = extent(l, k);
    const double* diagonal = NULL;
    if (first_col(lu, k) == k) {
        for (long i = first_row(lu, k + 1); i < l->blocks; i += l->grid_rows) {
            diagonal = diagonal ? diagonal : fetch(lu, k, k, lu->diagonal);
            block_divide_by_upper(own(lu, i, k), diagonal, extent(l, i), size);
        }
    }
    if (first_row(lu, k) == k) {
        for (long j = first_col(lu, k + 1); j < l->blocks; j += l->grid_cols) {
            diagonal = diagonal ? diagonal : fetch(lu, k, k, lu->diagonal);
            block_divide_by_lower(own(lu, k, j), diagonal, size, extent(l, j));
        }
    }
    if (NULL != diagonal)
        publish(lu);
}

static void update_interior(struct lu* lu, long k) {
    const struct lu_layout* l = &lu->layout;
    const double* left[l->slots_down];
    const long first_i = first_row(lu, k + 1), first_j = first_col(lu, k + 1);
    if (first_j >= l->blocks)
        return;
    for (long i = first_i, slot = 0; i < l->blocks; i += l->grid_rows, slot++)
        left[slot] = fetch(lu, i, k, lu->column_blocks + slot * slot_doubles(l));
    for (long j = first_j; j < l->blocks && first_i < l->blocks; j += l->grid_cols) {
        const double* upper = fetch(lu, k, j, lu->row_block);
        for (long i = first_i, slot = 0; i < l->blocks; i += l->grid_rows, slot++)
            block_subtract_product(own(lu, i, j), left[slot], upper, extent(l, i), extent(l, k),
                                   extent(l, j));
    }
}

double lu_factor(struct lu* lu) {
    for (int call = 0; call < LU_CALLS; call++) {
        lu->call_ns[call] = 0;
        lu->call_count[call] = 0;
    }
    MPI_Barrier(lu->comm);
    const double start = now_ns();
    if (LU_LOCK_ALL == lu->mode) {
        MPI_Win_lock_all(0, lu->window);
        charge(lu, LU_LOCK, start);
    }
    for (long k = 0; k < lu->layout.blocks; k++) {
        factor_diagonal(lu, k);
        barrier(lu);
        divide_perimeter(lu, k);
        barrier(lu);
        update_interior(lu, k);
    }
    if (LU_LOCK_ALL == lu->mode) {
        const double time = now_ns();
        MPI_Win_unlock_all(lu->window);
        charge(lu, LU_UNLOCK, time);
    }
    barrier(lu);
    return now_ns() - start;
}

/* --- the matrix, and the residual ------------------------------------------------------------ */

/* In [-0.5, 0.5), from the bits of three numbers. */
static double scatter(uint64_t seed, long i, long j) {
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i * UINT64_C(0xbf58476d1ce4e5b9) +
                 (uint64_t)j * UINT64_C(0x94d049bb133111eb);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (double)((x ^ (x >> 31)) >> 11) * 0x1p-53 - 0.5;
}

static double element(const struct lu* lu, long i, long j) {
    const double value = scatter(lu->seed, i, j);
    return i == j ? value + 0.5 * (double)lu->layout.order + 1 : value;
}

typedef void (*block_fn)(struct lu* lu, double* block, long row, long col, void* context);

static void each_own_block(struct lu* lu, block_fn visit, void* context) {
    for (long i = first_row(lu, 0); i < lu->layout.blocks; i += lu->layout.grid_rows)
        for (long j = first_col(lu, 0); j < lu->layout.blocks; j += lu->layout.grid_cols)
            visit(lu, own(lu, i, j), i, j, context);
}

static void fill_block(struct lu* lu, double* block, long row, long col, void* unused) {
    const struct lu_layout* l = &lu->layout;
    (void)unused;
    for (long i = 0; i < extent(l, row); i++)
        for (long j = 0; j < extent(l, col); j++)
            *block++ = element(lu, row * l->block + i, col * l->block + j);
}

void lu_fill(struct lu* lu) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, lu->rank, 0, lu->window);
    each_own_block(lu, fill_block, NULL);
    MPI_Win_unlock(lu->rank, lu->window);
    MPI_Barrier(lu->comm);
}

/* Vectors of the whole order; every process holds its blocks' contribution until they are summed.
 */
struct vectors {
    double *x, *upper_x, *lower_upper_x, *matrix_x, *row_sums;
};

static void upper_times(struct lu* lu, double* block, long row, long col, void* context) {
    const struct lu_layout* l = &lu->layout;
    struct vectors* v = context;
    for (long i = row * l->block; i < row * l->block + extent(l, row); i++)
        for (long j = col * l->block; j < col * l->block + extent(l, col); j++, block++)
            if (j >= i)
                v->upper_x[i] += *block * v->x[j];
}

static void lower_times(struct lu* lu, double* block, long row, long col, void* context) {
    const struct lu_layout* l = &lu->layout;
    struct vectors* v = context;
    for (long i = row * l->block; i < row * l->block + extent(l, row); i++) {
        for (long j = col * l->block; j < col * l->block + extent(l, col); j++, block++) {
            if (j <= i)
                v->lower_upper_x[i] += (i == j ? 1 : *block) * v->upper_x[j];
            v->matrix_x[i] += element(lu, i, j) * v->x[j];
            v->row_sums[i] += fabs(element(lu, i, j));
        }
    }
}

static void add_up(const struct lu* lu, double* vector) {
    MPI_Allreduce(MPI_IN_PLACE, vector, (int)lu->layout.order, MPI_DOUBLE, MPI_SUM, lu->comm);
}

/* Like fmax(), but a number that is none wins. */
static double worst(double a, double b) {
    return a >= b ? a : b > a ? b : NAN;
}

double lu_residual(struct lu* lu) {
    const long n = lu->layout.order;
    double* all = doubles_new(5 * n);
    struct vectors v = {all, all + n, all + 2 * n, all + 3 * n, all + 4 * n};
    double difference = 0, norm_x = 0, norm_a = 0, norm_b = 0;
    for (long i = 0; i < n; i++)
        v.x[i] = 1 + scatter(lu->seed, -1, i);
    MPI_Win_lock(MPI_LOCK_SHARED, lu->rank, 0, lu->window);
    each_own_block(lu, upper_times, &v);
    add_up(lu, v.upper_x);
    each_own_block(lu, lower_times, &v);
    MPI_Win_unlock(lu->rank, lu->window);
    add_up(lu, v.lower_upper_x);
    add_up(lu, v.matrix_x);
    add_up(lu, v.row_sums);
    for (long i = 0; i < n; i++) {
        difference = worst(difference, fabs(v.lower_upper_x[i] - v.matrix_x[i]));
        norm_x = worst(norm_x, fabs(v.x[i]));
        norm_a = worst(norm_a, v.row_sums[i]);
        norm_b = worst(norm_b, fabs(v.matrix_x[i]));
    }
    free(all);
    return difference / (DBL_EPSILON * (double)n * (norm_a * norm_x + norm_b));
}
