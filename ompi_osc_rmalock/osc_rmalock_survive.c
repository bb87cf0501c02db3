/*
 * Calls of windows where the program goes on when a process fails (mpirun --with-ft ulfm).
 *
 * Each first asks whether all processes of the window are there, and fails with MPI_ERR_PROC_FAILED if
 * one is not, whether the call has to do with it or not: the locks are what that process has left. So does
 * a call that was waiting. MPI_Win_free then frees, in whatever epoch, and waits for the survivors only.
 *
 * Other jobs have the functions of osc_rmalock_module_template, which ask nothing.
 */
#include "osc_rmalock.h"

static const ompi_osc_base_module_t* const plain = &osc_rmalock_module_template;

static int survives(struct ompi_win_t* win, bool look) {
    return osc_rmalock_error(rmalock_window_survives(osc_rmalock_window(win), look));
}

/* For calls that move data: they hear of a failure when others have. */
static int before_access(struct ompi_win_t* win) {
    return survives(win, false);
}

/* For all others. A program that finds its locks free may call nothing else that would hear of it. */
static int before(struct ompi_win_t* win) {
    static const unsigned often = 16;
    osc_rmalock_module_t* module = (osc_rmalock_module_t*)win->w_osc_module;
    /* Relaxed: calls may be miscounted. */
    return survives(win, 0 == atomic_fetch_add_explicit(&module->calls, 1, memory_order_relaxed) %
                                  often);
}

/* What a call has returned. One that another process's failure has stopped half way may say so in other
 * words, and may have heard of it by what it did to the communicator. */
static int after(struct ompi_win_t* win, int rc) {
    if (OMPI_SUCCESS == rc) {
        return rc;
    }
    if (RMALOCK_ERR_PROC_FAILED == rc) {
        rmalock_window_await_failure(osc_rmalock_window(win));
    }
    const int lost = survives(win, true);
    return OMPI_SUCCESS == lost ? rc : lost;
}

/* A function of the module: what it asks first, its name, its parameters, and what is passed on. */
#define FUNCTION(ask, name, parameters, arguments)                                                 \
    static int survivors_##name parameters {                                                       \
        const int rc = ask(win);                                                                   \
        return OMPI_SUCCESS == rc ? after(win, plain->osc_##name arguments) : rc;                  \
    }
#define CALL(name, parameters, arguments) FUNCTION(before, name, parameters, arguments)
#define ACCESS(name, parameters, arguments) FUNCTION(before_access, name, parameters, arguments)
#define WIN struct ompi_win_t* win
#define DATATYPE struct ompi_datatype_t*
#define COUNT osc_rmalock_count_t

CALL(win_attach, (WIN, void* base, size_t size), (win, base, size))
CALL(win_detach, (WIN, const void* base), (win, base))

CALL(fence, (int assert, WIN), (assert, win))
CALL(start, (struct ompi_group_t * group, int assert, WIN), (group, assert, win))
CALL(complete, (WIN), (win))
CALL(post, (struct ompi_group_t * group, int assert, WIN), (group, assert, win))
CALL(wait, (WIN), (win))
CALL(test, (WIN, int* flag), (win, flag))

CALL(lock, (int type, int target, int assert, WIN), (type, target, assert, win))
CALL(unlock, (int target, WIN), (target, win))
CALL(lock_all, (int assert, WIN), (assert, win))
CALL(unlock_all, (WIN), (win))
CALL(sync, (WIN), (win))
CALL(flush, (int target, WIN), (target, win))
CALL(flush_all, (WIN), (win))
CALL(flush_local, (int target, WIN), (target, win))
CALL(flush_local_all, (WIN), (win))

ACCESS(put,
       (const void* origin, COUNT origin_count, DATATYPE origin_dt, int target, ptrdiff_t disp,
        COUNT count, DATATYPE dt, WIN),
       (origin, origin_count, origin_dt, target, disp, count, dt, win))
ACCESS(get,
       (void* origin, COUNT origin_count, DATATYPE origin_dt, int target, ptrdiff_t disp,
        COUNT count, DATATYPE dt, WIN),
       (origin, origin_count, origin_dt, target, disp, count, dt, win))
ACCESS(accumulate,
       (const void* origin, COUNT origin_count, DATATYPE origin_dt, int target, ptrdiff_t disp,
        COUNT count, DATATYPE dt, struct ompi_op_t* op, WIN),
       (origin, origin_count, origin_dt, target, disp, count, dt, op, win))
ACCESS(get_accumulate,
       (const void* origin, COUNT origin_count, DATATYPE origin_dt, void* result,
        COUNT result_count, DATATYPE result_dt, int target, ptrdiff_t disp, COUNT count,
        DATATYPE dt, struct ompi_op_t* op, WIN),
       (origin, origin_count, origin_dt, result, result_count, result_dt, target, disp, count, dt,
        op, win))
ACCESS(fetch_and_op,
       (const void* origin, void* result, DATATYPE dt, int target, ptrdiff_t disp,
        struct ompi_op_t* op, WIN),
       (origin, result, dt, target, disp, op, win))
ACCESS(compare_and_swap,
       (const void* origin, const void* compare, void* result, DATATYPE dt, int target,
        ptrdiff_t disp, WIN),
       (origin, compare, result, dt, target, disp, win))
ACCESS(rput,
       (const void* origin, COUNT origin_count, DATATYPE origin_dt, int target, ptrdiff_t disp,
        COUNT count, DATATYPE dt, WIN, struct ompi_request_t** request),
       (origin, origin_count, origin_dt, target, disp, count, dt, win, request))
ACCESS(rget,
       (void* origin, COUNT origin_count, DATATYPE origin_dt, int target, ptrdiff_t disp,
        COUNT count, DATATYPE dt, WIN, struct ompi_request_t** request),
       (origin, origin_count, origin_dt, target, disp, count, dt, win, request))
ACCESS(raccumulate,
       (const void* origin, COUNT origin_count, DATATYPE origin_dt, int target, ptrdiff_t disp,
        COUNT count, DATATYPE dt, struct ompi_op_t* op, WIN, struct ompi_request_t** request),
       (origin, origin_count, origin_dt, target, disp, count, dt, op, win, request))
ACCESS(rget_accumulate,
       (const void* origin, COUNT origin_count, DATATYPE origin_dt, void* result,
        COUNT result_count, DATATYPE result_dt, int target, ptrdiff_t disp, COUNT count,
        DATATYPE dt, struct ompi_op_t* op, WIN, struct ompi_request_t** request),
       (origin, origin_count, origin_dt, result, result_count, result_dt, target, disp, count, dt,
        op, win, request))

static int survivors_free(struct ompi_win_t* win) {
    if (osc_rmalock_in_finalize()) {
        return plain->osc_free(win);
    }
    const int lost = survives(win, true);
    const int rc = OMPI_SUCCESS == lost ? plain->osc_free(win) : lost;
    if (OMPI_SUCCESS == rc) {
        return rc;
    }
    if (OMPI_SUCCESS == lost && RMALOCK_ERR_PROC_FAILED != after(win, rc)) {
        return rc; /* an error of the caller */
    }
    rmalock_window_abandon(osc_rmalock_window(win));
    osc_rmalock_module_free(win);
    return OMPI_SUCCESS;
}

void osc_rmalock_survive(ompi_osc_base_module_t* module) {
    const ompi_osc_base_module_t surviving = {
        .osc_win_shared_query = plain->osc_win_shared_query,
        .osc_win_attach = survivors_win_attach,
        .osc_win_detach = survivors_win_detach,
        .osc_free = survivors_free,
        .osc_put = survivors_put,
        .osc_get = survivors_get,
        .osc_accumulate = survivors_accumulate,
        .osc_compare_and_swap = survivors_compare_and_swap,
        .osc_fetch_and_op = survivors_fetch_and_op,
        .osc_get_accumulate = survivors_get_accumulate,
        .osc_rput = survivors_rput,
        .osc_rget = survivors_rget,
        .osc_raccumulate = survivors_raccumulate,
        .osc_rget_accumulate = survivors_rget_accumulate,
        .osc_fence = survivors_fence,
        .osc_start = survivors_start,
        .osc_complete = survivors_complete,
        .osc_post = survivors_post,
        .osc_wait = survivors_wait,
        .osc_test = survivors_test,
        .osc_lock = survivors_lock,
        .osc_unlock = survivors_unlock,
        .osc_lock_all = survivors_lock_all,
        .osc_unlock_all = survivors_unlock_all,
        .osc_sync = survivors_sync,
        .osc_flush = survivors_flush,
        .osc_flush_all = survivors_flush_all,
        .osc_flush_local = survivors_flush_local,
        .osc_flush_local_all = survivors_flush_local_all,
    };
    *module = surviving;
}
