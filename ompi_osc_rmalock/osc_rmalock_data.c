/*
 * MPI_Put, MPI_Get and their request forms.
 */
#include "osc_rmalock.h"
#include "window/create/copy_once.h"

/* Between two datatypes Open MPI's copy goes through a buffer of so many bytes. What takes more than one
 * round of it can get lost: 2 GiB out of a type with extent 0 did, on 4.1.4. */
enum { ONE_ROUND = 65536 };

/* The sizes of elements go first. The two may overlap. */
static inline void copy_bytes(void* to, const void* from, size_t bytes) {
    if (sizeof(uint64_t) == bytes) {
        rmalock_store_uint64_t(to, rmalock_load_uint64_t(from));
    } else if (sizeof(uint32_t) == bytes) {
        rmalock_store_uint32_t(to, rmalock_load_uint32_t(from));
    } else if (sizeof(uint16_t) == bytes) {
        rmalock_store_uint16_t(to, rmalock_load_uint16_t(from));
    } else {
        rmalock_copy(to, from, bytes);
    }
}

/* Elements with gaps, in memory that this process maps: Open MPI's own copy between two datatypes
 * is the fastest, since it need not ask for the runs of both. It stores by memmove, so short puts,
 * in which there may be a flag, go run by run. */
static inline bool open_mpi_copies(bool is_put, size_t bytes, bool same_type) {
    return (same_type || bytes <= ONE_ROUND) && (!is_put || bytes > RMALOCK_ONCE_MOST);
}

static inline int copy_elements(bool is_put, void* origin_addr, osc_rmalock_count_t origin_count,
                                struct ompi_datatype_t* origin_dt, void* memory,
                                osc_rmalock_count_t target_count,
                                struct ompi_datatype_t* target_dt) {
    return is_put ? ompi_datatype_sndrcv(origin_addr, origin_count, origin_dt, memory, target_count,
                                         target_dt)
                  : ompi_datatype_sndrcv(memory, target_count, target_dt, origin_addr, origin_count,
                                         origin_dt);
}

static __attribute__((noinline)) bool
copied_elements(bool is_put, void* origin_addr, osc_rmalock_count_t origin_count,
                struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                struct ompi_win_t* win, int* rc) {
    ptrdiff_t low, high;
    const size_t bytes = origin_dt->super.size * (size_t)origin_count;
    const bool same_type = origin_dt == target_dt && origin_count == target_count;
    if (0 == bytes || !open_mpi_copies(is_put, bytes, same_type) || 0 == target_count) {
        return false;
    }
    osc_rmalock_span(target_dt, (size_t)target_count, &low, &high);
    char* memory = rmalock_direct_address(osc_rmalock_window(win), is_put, target, target_disp, low,
                                          (size_t)(high - low));
    if (NULL == memory) {
        return false;
    }
    *rc = copy_elements(is_put, origin_addr, origin_count, origin_dt, memory - low, target_count,
                        target_dt);
    return true;
}

/* The short ways, for which nothing has to be asked or told: whether one was taken. */
static inline __attribute__((always_inline)) bool
copied(bool is_put, void* origin_addr, osc_rmalock_count_t origin_count,
       struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
       osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
       int* rc) {
    osc_rmalock_range_t range;
    if (OPAL_UNLIKELY(osc_rmalock_gpus())) {
        return false;
    }
    if (!osc_rmalock_range(origin_dt, origin_count, target_dt, target_count, &range)) {
        return copied_elements(is_put, origin_addr, origin_count, origin_dt, target, target_disp,
                               target_count, target_dt, win, rc);
    }
    void* memory = rmalock_direct_address(osc_rmalock_window(win), is_put, target, target_disp,
                                          range.target_offset, range.bytes);
    if (NULL == memory) {
        return false;
    }
    char* first = (char*)origin_addr + range.origin_offset;
    copy_bytes(is_put ? memory : first, is_put ? first : memory, range.bytes);
    *rc = OMPI_SUCCESS;
    return true;
}

// All four calls. A get writes to origin_addr, a put only reads it.
static int transfer(bool is_put, const char* call, void* origin_addr,
                    osc_rmalock_count_t origin_count, struct ompi_datatype_t* origin_dt, int target,
                    ptrdiff_t target_disp, osc_rmalock_count_t target_count,
                    struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                    rmalock_completion_t* completion) {
    rmalock_window_t* window = osc_rmalock_window(win);
    osc_rmalock_range_t range;
    if (OPAL_UNLIKELY(osc_rmalock_gpus())) {
        const int rc = osc_rmalock_gpu_refuse(&(osc_rmalock_caller_t){win, call, target},
                                              "origin_addr", origin_addr, origin_count, origin_dt);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    if (osc_rmalock_range(origin_dt, origin_count, target_dt, target_count, &range)) {
        char* first = (char*)origin_addr + range.origin_offset;
        return osc_rmalock_error(
            is_put ? rmalock_put_contiguous(window, call, target, target_disp, range.target_offset,
                                            first, range.bytes, completion)
                   : rmalock_get_contiguous(window, call, target, target_disp, range.target_offset,
                                            first, range.bytes, completion));
    }
    osc_rmalock_side_t mine, theirs;
    osc_rmalock_side_open(&theirs, NULL, (size_t)target_count, target_dt);
    rmalock_status_t status = RMALOCK_OK;
    void* memory = NULL;
    const bool same_type = origin_dt == target_dt && origin_count == target_count;
    if (open_mpi_copies(is_put, range.bytes, same_type)) {
        status = rmalock_find_memory(window, call, target, target_disp, theirs.layout.low,
                                     theirs.layout.high, is_put, &memory);
    }
    if (RMALOCK_OK != status) {
        return osc_rmalock_error(status);
    }
    if (NULL != memory) {
        return copy_elements(is_put, origin_addr, origin_count, origin_dt, memory, target_count,
                             target_dt);
    }
    osc_rmalock_side_open(&mine, origin_addr, (size_t)origin_count, origin_dt);
    status = (is_put ? rmalock_put : rmalock_get)(window, call, target, target_disp, &mine.layout,
                                                  &theirs.layout, completion);
    osc_rmalock_side_close(&mine);
    osc_rmalock_side_close(&theirs);
    return osc_rmalock_error(status);
}

int osc_rmalock_put(const void* origin_addr, osc_rmalock_count_t origin_count,
                    struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                    osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                    struct ompi_win_t* win) {
    int rc;
    if (copied(true, (void*)origin_addr, origin_count, origin_dt, target, target_disp, target_count,
               target_dt, win, &rc)) {
        return rc;
    }
    return transfer(true, "MPI_Put", (void*)origin_addr, origin_count, origin_dt, target,
                    target_disp, target_count, target_dt, win, NULL);
}

/* The request forms. Where the target is on the node, or nothing is left to wait for, the request
 * is one that is complete. */
static int transfer_with_request(bool is_put, const char* call, void* origin_addr,
                                 osc_rmalock_count_t origin_count,
                                 struct ompi_datatype_t* origin_dt, int target,
                                 ptrdiff_t target_disp, osc_rmalock_count_t target_count,
                                 struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                                 struct ompi_request_t** request) {
    if (!rmalock_target_is_far(osc_rmalock_window(win), target)) {
        int rc = transfer(is_put, call, origin_addr, origin_count, origin_dt, target, target_disp,
                          target_count, target_dt, win, NULL);
        if (OMPI_SUCCESS == rc && !is_put) {
            rc = osc_rmalock_error(rmalock_complete_held(osc_rmalock_window(win), target));
        }
        return osc_rmalock_complete_request(rc, request);
    }
    osc_rmalock_request_t* mine = osc_rmalock_request_new(win);
    if (NULL == mine) {
        return osc_rmalock_error(RMALOCK_ERR_NO_MEM);
    }
    const int rc = transfer(is_put, call, origin_addr, origin_count, origin_dt, target, target_disp,
                            target_count, target_dt, win, &mine->completion);
    return osc_rmalock_request_begun(rc, mine, request);
}

int osc_rmalock_rput(const void* origin_addr, osc_rmalock_count_t origin_count,
                     struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                     osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                     struct ompi_win_t* win, struct ompi_request_t** request) {
    int rc;
    if (copied(true, (void*)origin_addr, origin_count, origin_dt, target, target_disp, target_count,
               target_dt, win, &rc)) {
        return osc_rmalock_complete_request(rc, request);
    }
    return transfer_with_request(true, "MPI_Rput", (void*)origin_addr, origin_count, origin_dt,
                                 target, target_disp, target_count, target_dt, win, request);
}

int osc_rmalock_get(void* origin_addr, osc_rmalock_count_t origin_count,
                    struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                    osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                    struct ompi_win_t* win) {
    int rc;
    if (copied(false, origin_addr, origin_count, origin_dt, target, target_disp, target_count,
               target_dt, win, &rc)) {
        return rc;
    }
    return transfer(false, "MPI_Get", origin_addr, origin_count, origin_dt, target, target_disp,
                    target_count, target_dt, win, NULL);
}

int osc_rmalock_rget(void* origin_addr, osc_rmalock_count_t origin_count,
                     struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                     osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                     struct ompi_win_t* win, struct ompi_request_t** request) {
    int rc;
    if (copied(false, origin_addr, origin_count, origin_dt, target, target_disp, target_count,
               target_dt, win, &rc)) {
        return osc_rmalock_complete_request(rc, request);
    }
    return transfer_with_request(false, "MPI_Rget", origin_addr, origin_count, origin_dt, target,
                                 target_disp, target_count, target_dt, win, request);
}
