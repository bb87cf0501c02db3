/*
 * MPI_Put, MPI_Get and their request forms.
 */
#include "osc_rmalock.h"

// All four calls. A get writes to origin_addr, a put only reads it.
static inline int transfer(bool is_put, const char* call, void* origin_addr, int origin_count,
                           struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                           int target_count, struct ompi_datatype_t* target_dt,
                           struct ompi_win_t* win, rmalock_completion_t* completion) {
    rmalock_window_t* window = osc_rmalock_window(win);
    osc_rmalock_range_t range;
    if (osc_rmalock_range(origin_dt, origin_count, target_dt, target_count, &range)) {
        char* first = (char*)origin_addr + range.origin_offset;
        return osc_rmalock_error(
            is_put ? rmalock_put_plain(window, call, target, target_disp, range.target_offset,
                                       first, range.bytes, completion)
                   : rmalock_get_plain(window, call, target, target_disp, range.target_offset,
                                       first, range.bytes, completion));
    }
    osc_rmalock_side_t mine, theirs;
    osc_rmalock_side_open(&mine, origin_addr, (size_t)origin_count, origin_dt);
    osc_rmalock_side_open(&theirs, NULL, (size_t)target_count, target_dt);
    const rmalock_status_t status = (is_put ? rmalock_put : rmalock_get)(
        window, call, target, target_disp, &mine.layout, &theirs.layout, completion);
    osc_rmalock_side_close(&mine);
    osc_rmalock_side_close(&theirs);
    return osc_rmalock_error(status);
}

int osc_rmalock_put(const void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                    int target, ptrdiff_t target_disp, int target_count,
                    struct ompi_datatype_t* target_dt, struct ompi_win_t* win) {
    return transfer(true, "MPI_Put", (void*)origin_addr, origin_count, origin_dt, target,
                    target_disp, target_count, target_dt, win, NULL);
}

/* The request forms. Where the target is on the node, or nothing is left to wait for, the request
 * is one that is complete. */
static int transfer_with_request(bool is_put, const char* call, void* origin_addr, int origin_count,
                                 struct ompi_datatype_t* origin_dt, int target,
                                 ptrdiff_t target_disp, int target_count,
                                 struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                                 struct ompi_request_t** request) {
    if (!rmalock_target_is_far(osc_rmalock_window(win), target)) {
        return osc_rmalock_complete_request(transfer(is_put, call, origin_addr, origin_count,
                                                     origin_dt, target, target_disp, target_count,
                                                     target_dt, win, NULL),
                                            request);
    }
    osc_rmalock_request_t* mine = osc_rmalock_request_new(win);
    if (NULL == mine) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    const int rc = transfer(is_put, call, origin_addr, origin_count, origin_dt, target, target_disp,
                            target_count, target_dt, win, &mine->completion);
    return osc_rmalock_request_begun(rc, mine, request);
}

int osc_rmalock_rput(const void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                     int target, ptrdiff_t target_disp, int target_count,
                     struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                     struct ompi_request_t** request) {
    return transfer_with_request(true, "MPI_Rput", (void*)origin_addr, origin_count, origin_dt,
                                 target, target_disp, target_count, target_dt, win, request);
}

int osc_rmalock_get(void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                    int target, ptrdiff_t target_disp, int target_count,
                    struct ompi_datatype_t* target_dt, struct ompi_win_t* win) {
    return transfer(false, "MPI_Get", origin_addr, origin_count, origin_dt, target, target_disp,
                    target_count, target_dt, win, NULL);
}

int osc_rmalock_rget(void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                     int target, ptrdiff_t target_disp, int target_count,
                     struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                     struct ompi_request_t** request) {
    return transfer_with_request(false, "MPI_Rget", origin_addr, origin_count, origin_dt, target,
                                 target_disp, target_count, target_dt, win, request);
}
