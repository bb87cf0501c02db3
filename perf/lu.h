/* Dense LU factorization of SPLASH-2 over one-sided communication, as direct-passive (section 5.3)
 * describes it. The n x n matrix is an array of B x B blocks, the last ones of each dimension
 * smaller where B does not divide n. Blocks belong to processes by 2D scatter decomposition; each
 * process keeps its own in its part of a window, from where others fetch the diagonal and
 * perimeter blocks they need with MPI_Get. There is no pivoting: the matrix is diagonally
 * dominant. */
#ifndef RMALOCK_PERF_LU_H
#define RMALOCK_PERF_LU_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

enum lu_mode {
    LU_EXCLUSIVE, /* lock exclusive, get, unlock, as in the paper */
    LU_SHARED,    /* the same with a shared lock */
    LU_LOCK_ALL,  /* one lock_all around everything; get, flush */
};

enum lu_call { LU_LOCK, LU_GET, LU_UNLOCK, LU_FLUSH, LU_SYNC, LU_BARRIER, LU_CALLS };

/* Which matrix, and how it is spread over the processes. */
struct lu_layout {
    long order, block, blocks;     /* n, B, and blocks in each dimension */
    int grid_rows, grid_cols;      /* of processes, as square as their number allows */
    long slots_down, slots_across; /* blocks of one process in each dimension, at most */
};

struct lu {
    struct lu_layout layout;
    MPI_Comm comm;
    int rank;
    enum lu_mode mode;
    uint64_t seed; /* of the matrix's elements */
    MPI_Win window;
    double* mine;             /* this process's blocks: its part of the window */
    double* diagonal;         /* fetched blocks */
    double* row_block;        /* of the pivot row */
    double* column_blocks;    /* of the pivot column, one for each of slots_down */
    double call_ns[LU_CALLS]; /* spent in MPI by this process */
    int64_t call_count[LU_CALLS];
};

/* --- lu_blocks.c: blocks are row-major without gaps ---------------------------------------------
 */

/* a := its own L (unit lower) and U. */
void block_factor(double* a, long n);
/* a (rows x cols) := a * U^-1, U being the upper part of d (cols x cols). */
void block_divide_by_upper(double* a, const double* d, long rows, long cols);
/* a (rows x cols) := L^-1 * a, L being the unit lower part of d (rows x rows). */
void block_divide_by_lower(double* a, const double* d, long rows, long cols);
/* c (rows x cols) -= a (rows x inner) * b (inner x cols). */
void block_subtract_product(double* c, const double* a, const double* b, long rows, long inner,
                            long cols);

/* --- lu.c --------------------------------------------------------------------------------------
 */

struct lu_layout lu_layout_of(long order, long block, int ranks);
/* Of each process's part of the window. */
size_t lu_window_bytes(const struct lu_layout* layout);
/* mine is this process's part of the window. */
struct lu lu_new(struct lu_layout layout, MPI_Comm comm, MPI_Win window, void* mine);
void lu_free(struct lu* lu);
/* Collective: the matrix's elements, by the seed. */
void lu_fill(struct lu* lu);
/* Collective: replaces the matrix by its factors. Returns this process's time in ns. */
double lu_factor(struct lu* lu);
/* Collective: |A x - L U x| / (eps n (|A| |x| + |b|)), infinity norms, for a vector x. The
 * factorization is right if this is of the order of 1, or smaller. */
double lu_residual(struct lu* lu);

#endif
