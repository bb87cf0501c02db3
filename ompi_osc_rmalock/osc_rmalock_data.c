/*
 * MPI_Put, MPI_Get and their request forms.
 */
#include "osc_rmalock.h"

static int put(const char* call, const void* origin_addr, int origin_count,
               struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
               int target_count, struct ompi_datatype_t* target_dt, struct ompi_win_t* win) {
    osc_rmalock_side_t mine, theirs;
    osc_rmalock_range_t range;
    if (osc_rmalock_range(origin_dt, origin_count, target_dt, target_count, &range)) {
        return osc_rmalock_error(rmalock_put_plain(
            osc_rmalock_window(win), call, target, target_disp, range.target_offset,
            (const char*)origin_addr + range.origin_offset, range.bytes));
    }
    osc_rmalock_side_open(&mine, origin_addr, (size_t)origin_count, origin_dt);
    osc_rmalock_side_open(&theirs, NULL, (size_t)target_count, target_dt);
    const rmalock_status_t status = rmalock_put(osc_rmalock_window(win), call, target, target_disp,
                                                &mine.layout, &theirs.layout);
    osc_rmalock_side_close(&mine);
    osc_rmalock_side_close(&theirs);
    return osc_rmalock_error(status);
}

static int get(const char* call, void* origin_addr, int origin_count,
               struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
               int target_count, struct ompi_datatype_t* target_dt, struct ompi_win_t* win) {
    osc_rmalock_side_t mine, theirs;
    osc_rmalock_range_t range;
    if (osc_rmalock_range(origin_dt, origin_count, target_dt, target_count, &range)) {
        return osc_rmalock_error(rmalock_get_plain(
            osc_rmalock_window(win), call, target, target_disp, range.target_offset,
            (char*)origin_addr + range.origin_offset, range.bytes));
    }
    osc_rmalock_side_open(&mine, origin_addr, (size_t)origin_count, origin_dt);
    osc_rmalock_side_open(&theirs, NULL, (size_t)target_count, target_dt);
    const rmalock_status_t status = rmalock_get(osc_rmalock_window(win), call, target, target_disp,
                                                &mine.layout, &theirs.layout);
    osc_rmalock_side_close(&mine);
    osc_rmalock_side_close(&theirs);
    return osc_rmalock_error(status);
}

int osc_rmalock_put(const void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                    int target, ptrdiff_t target_disp, int target_count,
                    struct ompi_datatype_t* target_dt, struct ompi_win_t* win) {
    return put("MPI_Put", origin_addr, origin_count, origin_dt, target, target_disp, target_count,
               target_dt, win);
}

int osc_rmalock_rput(const void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                     int target, ptrdiff_t target_disp, int target_count,
                     struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                     struct ompi_request_t** request) {
    return osc_rmalock_complete_request(put("MPI_Rput", origin_addr, origin_count, origin_dt,
                                            target, target_disp, target_count, target_dt, win),
                                        request);
}

int osc_rmalock_get(void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                    int target, ptrdiff_t target_disp, int target_count,
                    struct ompi_datatype_t* target_dt, struct ompi_win_t* win) {
    return get("MPI_Get", origin_addr, origin_count, origin_dt, target, target_disp, target_count,
               target_dt, win);
}

int osc_rmalock_rget(void* origin_addr, int origin_count, struct ompi_datatype_t* origin_dt,
                     int target, ptrdiff_t target_disp, int target_count,
                     struct ompi_datatype_t* target_dt, struct ompi_win_t* win,
                     struct ompi_request_t** request) {
    return osc_rmalock_complete_request(get("MPI_Rget", origin_addr, origin_count, origin_dt,
                                            target, target_disp, target_count, target_dt, win),
                                        request);
}
