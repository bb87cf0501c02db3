/*
 * The MPI calls on a window, but for those that move data: Open MPI's arguments become the core's.
 */
#include "osc_rmalock.h"

#include <stdlib.h>

/* What the core returns is what an MPI call returns. */
_Static_assert(RMALOCK_OK == MPI_SUCCESS && RMALOCK_ERR_BUFFER == MPI_ERR_BUFFER &&
                   RMALOCK_ERR_COUNT == MPI_ERR_COUNT && RMALOCK_ERR_TYPE == MPI_ERR_TYPE &&
                   RMALOCK_ERR_RANK == MPI_ERR_RANK && RMALOCK_ERR_OP == MPI_ERR_OP &&
                   RMALOCK_ERR_ARG == MPI_ERR_ARG && RMALOCK_ERR_COMM == MPI_ERR_OTHER &&
                   RMALOCK_ERR_INTERN == MPI_ERR_INTERN && RMALOCK_ERR_NO_MEM == MPI_ERR_NO_MEM &&
                   RMALOCK_ERR_SYNC == MPI_ERR_RMA_SYNC && RMALOCK_ERR_RANGE == MPI_ERR_RMA_RANGE &&
                   RMALOCK_ERR_ATTACH == MPI_ERR_RMA_ATTACH &&
                   RMALOCK_ERR_FLAVOR == MPI_ERR_RMA_FLAVOR,
               "the core's numbers of error classes");
#ifdef MPI_ERR_PROC_FAILED
_Static_assert(RMALOCK_ERR_PROC_FAILED == MPI_ERR_PROC_FAILED, "as above; Open MPI 5.0 and later");
#endif

static int comm_barrier(void* handle) {
    struct ompi_communicator_t* comm = (struct ompi_communicator_t*)handle;
    return comm->c_coll->coll_barrier(comm, comm->c_coll->coll_barrier_module);
}

static int comm_allgather(void* handle, const void* mine, void* all, size_t bytes) {
    struct ompi_communicator_t* comm = (struct ompi_communicator_t*)handle;
    return comm->c_coll->coll_allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm,
                                        comm->c_coll->coll_allgather_module);
}

static int comm_broadcast(void* handle, void* data, size_t bytes, int root) {
    struct ompi_communicator_t* comm = (struct ompi_communicator_t*)handle;
    return comm->c_coll->coll_bcast(data, (int)bytes, MPI_BYTE, root, comm,
                                    comm->c_coll->coll_bcast_module);
}

static int comm_failed(void* handle, size_t* seen) {
    return osc_rmalock_failed((struct ompi_communicator_t*)handle, seen);
}

static int comm_meet_survivors(void* handle) {
    return osc_rmalock_meet_survivors((struct ompi_communicator_t*)handle);
}

/* The lowest rank of the caller's node; `chunk`, if not 0, so many ranks of a node make one. */
static int first_of_node(struct ompi_communicator_t* comm, int chunk) {
    const struct ompi_group_t* group = comm->c_local_group;
    const int me = ompi_comm_rank(comm);
    int first = me, before = 0; /* before: ranks of the node that are lower than this one */
    for (int r = 0; r < me; ++r) {
        if (!osc_rmalock_on_node(group, r)) {
            continue;
        }
        if (0 == before || (0 != chunk && 0 == before % chunk)) {
            first = r;
        }
        ++before;
    }
    return 0 != chunk && 0 == before % chunk ? me : first;
}

rmalock_comm_t osc_rmalock_comm(struct ompi_communicator_t* comm, bool one_node) {
    return (rmalock_comm_t){
        .handle = comm,
        .rank = ompi_comm_rank(comm),
        .size = ompi_comm_size(comm),
        .barrier = comm_barrier,
        .allgather = comm_allgather,
        .broadcast = comm_broadcast,
        .failed = osc_rmalock_tolerates_failures() ? comm_failed : NULL,
        .meet_survivors = comm_meet_survivors,
        .node = first_of_node(comm, one_node ? 0 : mca_osc_rmalock_component.params.ranks_per_node),
    };
}

/* ---- the window itself ----------------------------------------------------------------------- */

void osc_rmalock_module_free(struct ompi_win_t* win) {
    osc_rmalock_module_t* module = (osc_rmalock_module_t*)win->w_osc_module;
    ompi_comm_free(&module->comm);
    free(module);
    win->w_osc_module = NULL;
}

static int win_free(struct ompi_win_t* win) {
    osc_rmalock_module_t* module = (osc_rmalock_module_t*)win->w_osc_module;
    /* What the program has left, each process in an order of its own. */
    if (osc_rmalock_in_finalize()) {
        rmalock_window_leave(module->window);
        osc_rmalock_module_free(win);
        return OMPI_SUCCESS;
    }
    const rmalock_status_t status = rmalock_window_free(module->window);
    if (RMALOCK_OK != status) {
        return osc_rmalock_error(status);
    }
    osc_rmalock_module_free(win);
    return OMPI_SUCCESS;
}

static int win_shared_query(struct ompi_win_t* win, int rank, size_t* size,
                            osc_rmalock_unit_t* disp_unit, void* baseptr) {
    ptrdiff_t unit = 0;
    const rmalock_status_t status =
        rmalock_window_shared_query(osc_rmalock_window(win), rank, size, &unit, (void**)baseptr);
    if (RMALOCK_OK == status) {
        *disp_unit = (osc_rmalock_unit_t)unit;
    }
    return osc_rmalock_error(status);
}

static int win_attach(struct ompi_win_t* win, void* base, size_t size) {
    if (osc_rmalock_on_gpu(base, size)) {
        return osc_rmalock_error(
            rmalock_refuse(osc_rmalock_window(win), RMALOCK_ERR_ATTACH, "MPI_Win_attach", -1,
                           "base is memory of a GPU, which rmalock does not serve"));
    }
    return osc_rmalock_error(rmalock_window_attach(osc_rmalock_window(win), base, size));
}

static int win_detach(struct ompi_win_t* win, const void* base) {
    return osc_rmalock_error(rmalock_window_detach(osc_rmalock_window(win), base));
}

/* ---- passive target -------------------------------------------------------------------------- */

static int win_lock(int lock_type, int target, int assert, struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_lock(osc_rmalock_window(win), MPI_LOCK_EXCLUSIVE == lock_type,
                                          target, 0 != (assert& MPI_MODE_NOCHECK)));
}

static int win_unlock(int target, struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_unlock(osc_rmalock_window(win), target));
}

static int win_lock_all(int assert, struct ompi_win_t* win) {
    return osc_rmalock_error(
        rmalock_lock_all(osc_rmalock_window(win), 0 != (assert& MPI_MODE_NOCHECK)));
}

static int win_unlock_all(struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_unlock_all(osc_rmalock_window(win)));
}

static int win_flush(int target, struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_flush(osc_rmalock_window(win), target));
}

static int win_flush_local(int target, struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_flush_local(osc_rmalock_window(win), target));
}

static int win_flush_all(struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_flush_all(osc_rmalock_window(win)));
}

static int win_flush_local_all(struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_flush_local_all(osc_rmalock_window(win)));
}

static int win_sync(struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_sync(osc_rmalock_window(win)));
}

/* ---- active target --------------------------------------------------------------------------- */

static int win_fence(int assert, struct ompi_win_t* win) {
    return osc_rmalock_error(
        rmalock_fence(osc_rmalock_window(win), 0 != (assert& MPI_MODE_NOSUCCEED)));
}

/* The ranks of a group's processes in the window. */
static int ranks_in_window(struct ompi_group_t* group, struct ompi_win_t* win, int** ranks) {
    const int size = ompi_group_size(group);
    int* theirs = (int*)calloc(2 * (size_t)(size + 1), sizeof(int));
    if (NULL == theirs) {
        return osc_rmalock_error(RMALOCK_ERR_NO_MEM);
    }
    int* ours = theirs + size + 1;
    for (int i = 0; i < size; ++i) {
        theirs[i] = i;
    }
    int rc = ompi_group_translate_ranks(group, size, theirs, win->w_group, ours);
    for (int i = 0; OMPI_SUCCESS == rc && i < size; ++i) {
        if (MPI_UNDEFINED == ours[i]) {
            rc = MPI_ERR_GROUP;
        }
        theirs[i] = ours[i];
    }
    *ranks = theirs;
    if (OMPI_SUCCESS != rc) {
        free(theirs);
        *ranks = NULL;
    }
    return rc;
}

static int with_group(rmalock_status_t (*call)(rmalock_window_t*, const int*, int, bool),
                      struct ompi_group_t* group, int assert, struct ompi_win_t* win) {
    int* ranks;
    int rc = ranks_in_window(group, win, &ranks);
    if (OMPI_SUCCESS == rc) {
        rc = osc_rmalock_error(call(osc_rmalock_window(win), ranks, ompi_group_size(group),
                                    0 != (assert& MPI_MODE_NOCHECK)));
        free(ranks);
    }
    return rc;
}

static int win_start(struct ompi_group_t* group, int assert, struct ompi_win_t* win) {
    return with_group(rmalock_start, group, assert, win);
}

static int win_post(struct ompi_group_t* group, int assert, struct ompi_win_t* win) {
    return with_group(rmalock_post, group, assert, win);
}

static int win_complete(struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_complete(osc_rmalock_window(win)));
}

static int win_wait(struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_wait(osc_rmalock_window(win)));
}

static int win_test(struct ompi_win_t* win, int* flag) {
    bool done = false;
    const int rc = osc_rmalock_error(rmalock_test(osc_rmalock_window(win), &done));
    *flag = done;
    return rc;
}

const ompi_osc_base_module_t osc_rmalock_module_template = {
    .osc_win_shared_query = win_shared_query,
    .osc_win_attach = win_attach,
    .osc_win_detach = win_detach,
    .osc_free = win_free,

    .osc_put = osc_rmalock_put,
    .osc_get = osc_rmalock_get,
    .osc_accumulate = osc_rmalock_accumulate,
    .osc_compare_and_swap = osc_rmalock_compare_and_swap,
    .osc_fetch_and_op = osc_rmalock_fetch_and_op,
    .osc_get_accumulate = osc_rmalock_get_accumulate,

    .osc_rput = osc_rmalock_rput,
    .osc_rget = osc_rmalock_rget,
    .osc_raccumulate = osc_rmalock_raccumulate,
    .osc_rget_accumulate = osc_rmalock_rget_accumulate,

    .osc_fence = win_fence,

    .osc_start = win_start,
    .osc_complete = win_complete,
    .osc_post = win_post,
    .osc_wait = win_wait,
    .osc_test = win_test,

    .osc_lock = win_lock,
    .osc_unlock = win_unlock,
    .osc_lock_all = win_lock_all,
    .osc_unlock_all = win_unlock_all,

    .osc_sync = win_sync,
    .osc_flush = win_flush,
    .osc_flush_all = win_flush_all,
    .osc_flush_local = win_flush_local,
    .osc_flush_local_all = win_flush_local_all,
};
