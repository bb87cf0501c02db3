/*
 * What the boundary files share: the component, and the module of one window.
 */
#ifndef OSC_RMALOCK_H
#define OSC_RMALOCK_H

#include "osc_rmalock_compat.h"

#include <stdatomic.h>

#include "rmalock_api.h"

/* An info value that somebody would write by hand fits. */
#define OSC_RMALOCK_INFO_SIZE 256

typedef struct osc_rmalock_component {
    ompi_osc_base_component_t super;
    rmalock_params_t params;
    bool params_good; /* checked when the component was initialised */
} osc_rmalock_component_t;

/* What Open MPI looks up by name; everything else stays inside. */
extern __attribute__((visibility("default"))) osc_rmalock_component_t mca_osc_rmalock_component;

/* The module of one window. */
typedef struct osc_rmalock_module {
    ompi_osc_base_module_t super; /* first: Open MPI holds a pointer to it */
    rmalock_window_t* window;
    struct ompi_communicator_t* comm; /* a duplicate of the window's */
    atomic_uint calls;                /* osc_rmalock_survive.c */
} osc_rmalock_module_t;

static inline rmalock_window_t* osc_rmalock_window(struct ompi_win_t* win) {
    return ((osc_rmalock_module_t*)win->w_osc_module)->window;
}

/* The functions of a module, without a window. */
extern const ompi_osc_base_module_t osc_rmalock_module_template;
/* Frees it, once its window is. */
void osc_rmalock_module_free(struct ompi_win_t* win);

/* osc_rmalock_survive.c: has a module's calls fail once a process of the window has. */
void osc_rmalock_survive(ompi_osc_base_module_t* module);

/* What an MPI call returns. Open MPI passes error classes through. */
static inline int osc_rmalock_error(rmalock_status_t status) {
    return (int)status;
}

/* `comm` as the core sees it. It refers to `comm`, which outlives it. one_node: the processes of a
 * node are not to be taken apart (parameter ranks_per_node). */
rmalock_comm_t osc_rmalock_comm(struct ompi_communicator_t* comm, bool one_node);

/* osc_rmalock_peers.c: which processes have this component, and this build of it. */
void osc_rmalock_peers_publish(void);
/* The first rank of `comm` that has not, or -1; all processes that have it find the same one. `why`
 * then says what it has, on the first rank that has this build, and is empty on others. */
int osc_rmalock_peers_lacking(struct ompi_communicator_t* comm, char* why, size_t why_size);
/* When the component is closed; it may be opened again. */
void osc_rmalock_peers_forget(void);
/* Has the launcher remove a file when the job is gone: by PMIx, which one thread asks at a time. */
void osc_rmalock_tell_of_file(const char* path);

/* osc_rmalock_pvars.c: registers the performance variables. */
void osc_rmalock_pvars_register(void);

/* osc_rmalock_request.c: an operation that is under way when its call returns. */
typedef struct osc_rmalock_request {
    struct ompi_request_t super;
    rmalock_completion_t completion;
    struct osc_rmalock_request* next;
} osc_rmalock_request_t;

/* NULL: no memory. */
osc_rmalock_request_t* osc_rmalock_request_new(struct ompi_win_t* win);
/* After the call that began the operation returned rc: hands out a request for it. */
int osc_rmalock_request_begun(int rc, osc_rmalock_request_t* request,
                              struct ompi_request_t** result);
/* What Open MPI's progress calls. */
int osc_rmalock_progress(void);

/* osc_rmalock_failure.c: for a creation that is about to fail, what class the program is told. */
int osc_rmalock_creation_failed(struct ompi_communicator_t* comm, int error_class);
void osc_rmalock_failures_close(void);

/* osc_rmalock_gpu.c: memory of GPUs, which the CPU cannot copy, is refused. */

/* Whether this process may have such memory; known before it has a window. Relaxed, because nothing
 * comes with it: threads that make the first windows side by side may all find it out. */
extern atomic_bool osc_rmalock_gpus_found;
static inline bool osc_rmalock_gpus(void) {
    return atomic_load_explicit(&osc_rmalock_gpus_found, memory_order_relaxed);
}
void osc_rmalock_gpus_find(void);
/* Slow: to be asked only where there are GPUs. */
bool osc_rmalock_on_gpu(const void* address, size_t bytes);

/* The RMA call, its window and target, for its messages. */
typedef struct osc_rmalock_caller {
    struct ompi_win_t* win;
    const char* call;
    int target;
} osc_rmalock_caller_t;

/* What the call is to return if its argument `name` is memory of a GPU; else OMPI_SUCCESS. */
int osc_rmalock_gpu_refuse(const osc_rmalock_caller_t* caller, const char* name,
                           const void* address, osc_rmalock_count_t count,
                           const struct ompi_datatype_t* datatype);

/* osc_rmalock_data.c */
int osc_rmalock_put(const void* origin_addr, osc_rmalock_count_t origin_count,
                    struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                    osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                    struct ompi_win_t* win);
int osc_rmalock_get(void* origin_addr, osc_rmalock_count_t origin_count,
                    struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                    osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                    struct ompi_win_t* win);
int osc_rmalock_rput(const void* origin_addr, osc_rmalock_count_t origin_count,
                     struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                     osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                     struct ompi_win_t* win, struct ompi_request_t** request);
int osc_rmalock_rget(void* origin_addr, osc_rmalock_count_t origin_count,
                     struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                     osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                     struct ompi_win_t* win, struct ompi_request_t** request);

/* osc_rmalock_accumulate.c */
int osc_rmalock_accumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                           struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                           osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                           struct ompi_op_t* op, struct ompi_win_t* win);
int osc_rmalock_get_accumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                               struct ompi_datatype_t* origin_dt, void* result_addr,
                               osc_rmalock_count_t result_count, struct ompi_datatype_t* result_dt,
                               int target, ptrdiff_t target_disp, osc_rmalock_count_t target_count,
                               struct ompi_datatype_t* target_dt, struct ompi_op_t* op,
                               struct ompi_win_t* win);
int osc_rmalock_raccumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                            struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                            osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                            struct ompi_op_t* op, struct ompi_win_t* win,
                            struct ompi_request_t** request);
int osc_rmalock_rget_accumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                                struct ompi_datatype_t* origin_dt, void* result_addr,
                                osc_rmalock_count_t result_count, struct ompi_datatype_t* result_dt,
                                int target, ptrdiff_t target_disp, osc_rmalock_count_t target_count,
                                struct ompi_datatype_t* target_dt, struct ompi_op_t* op,
                                struct ompi_win_t* win, struct ompi_request_t** request);
int osc_rmalock_fetch_and_op(const void* origin_addr, void* result_addr, struct ompi_datatype_t* dt,
                             int target, ptrdiff_t target_disp, struct ompi_op_t* op,
                             struct ompi_win_t* win);
int osc_rmalock_compare_and_swap(const void* origin_addr, const void* compare_addr,
                                 void* result_addr, struct ompi_datatype_t* dt, int target,
                                 ptrdiff_t target_disp, struct ompi_win_t* win);

/* osc_rmalock_layout.c: datatypes as the core sees them. */

/* A layout with the room it needs when it is not contiguous. */
typedef struct osc_rmalock_side {
    rmalock_layout_t layout;
    uintptr_t base;
    size_t count;
    const struct ompi_datatype_t* datatype;
    opal_convertor_t convertor;
    bool prepared; /* the convertor is in use */
    bool done;     /* and has handed out everything */
    bool is_part;  /* of its bytes as many as the layout says, behind these: */
    size_t skipped;
    size_t ahead, left; /* in the present round: to be left out, and to be handed out */
} osc_rmalock_side_t;

/* Describes `count` elements of `datatype` at `base`; on the target's side base is 0. */
void osc_rmalock_side_open(osc_rmalock_side_t* side, const void* base, size_t count,
                           const struct ompi_datatype_t* datatype);
/* Only `bytes` of its bytes, behind the first `skipped`. The span stays that of the whole. */
void osc_rmalock_side_take_part(osc_rmalock_side_t* side, size_t skipped, size_t bytes);
/* The bytes of its first run; of one that is contiguous, all. */
size_t osc_rmalock_side_first_run(osc_rmalock_side_t* side);
void osc_rmalock_side_close(osc_rmalock_side_t* side);

/* The predefined type that all entries of a datatype have; NULL: they have several, or there are none. */
struct ompi_datatype_t* osc_rmalock_element_type(struct ompi_datatype_t* datatype);

/* The span of bytes that `count` > 0 elements touch, relative to their address. */
static inline void osc_rmalock_span(const struct ompi_datatype_t* datatype, size_t count,
                                    ptrdiff_t* low, ptrdiff_t* high) {
    const opal_datatype_t* type = &datatype->super;
    const ptrdiff_t last = (ptrdiff_t)(count - 1) * (type->ub - type->lb);
    *low = type->true_lb + (last < 0 ? last : 0);
    *high = type->true_ub + (last > 0 ? last : 0);
}

/* A transfer that is one contiguous range on both sides. */
typedef struct osc_rmalock_range {
    ptrdiff_t origin_offset,
        target_offset; /* of its first byte from the address, the displacement */
    size_t bytes;
} osc_rmalock_range_t;

/* Whether `count` elements are one range without gaps; *offset is that of its first byte. */
static inline bool osc_rmalock_is_range(const struct ompi_datatype_t* datatype,
                                        osc_rmalock_count_t count, ptrdiff_t* offset) {
    *offset = datatype->super.true_lb;
    return 0 != opal_datatype_is_contiguous_memory_layout(&datatype->super, count);
}

static inline bool osc_rmalock_range(const struct ompi_datatype_t* origin_dt,
                                     osc_rmalock_count_t origin_count,
                                     const struct ompi_datatype_t* target_dt,
                                     osc_rmalock_count_t target_count, osc_rmalock_range_t* range) {
    const size_t here = origin_dt->super.size * (size_t)origin_count,
                 there = target_dt->super.size * (size_t)target_count;
    range->bytes = here < there ? here : there;
    return osc_rmalock_is_range(origin_dt, origin_count, &range->origin_offset) &&
           osc_rmalock_is_range(target_dt, target_count, &range->target_offset);
}

/* To wait for a request that is complete runs no progress. A program that makes such operations in a loop,
 * until another process has done something, makes progress by each so-manieth. */
void osc_rmalock_count_complete(void);

/* One request for all operations that are complete when their call returns. */
static inline int osc_rmalock_complete_request(int rc, struct ompi_request_t** request) {
    if (OMPI_SUCCESS == rc) {
        *request = &ompi_request_empty;
        osc_rmalock_count_complete();
    }
    return rc;
}

#endif /* OSC_RMALOCK_H */
