/*
 * The one-sided framework's interface as it is in the main branch of Open MPI, which is to become 6.0: component 3.0.0,
 * module 4.0.0. Stated for a compiler, not for a program: test/check_interface compiles the component with this file in
 * place of the installed one, and everything else of Open MPI as it is installed.
 *
 * Against 3.0.0: counts are size_t, displacement units ptrdiff_t, and there are calls with notification, which rmalock
 * leaves out.
 */
#ifndef OMPI_MCA_OSC_OSC_H
#define OMPI_MCA_OSC_OSC_H

#include "opal_config.h"

#include <stddef.h>

#include "ompi/mca/mca.h"

struct ompi_win_t;
struct opal_info_t;
struct ompi_communicator_t;
struct ompi_group_t;
struct ompi_datatype_t;
struct ompi_op_t;
struct ompi_request_t;

#define OMPI_OSC_BASE_VERSION_4_0_0 OMPI_MCA_BASE_VERSION_2_1_0("osc", 4, 0, 0)

/* What several calls have in common: the lists of parameters. */
#define STATED_BUFFER(name) size_t name##_count, struct ompi_datatype_t *name##_type
#define STATED_TARGET int target, ptrdiff_t displacement
#define STATED_PUT const void *origin, STATED_BUFFER(origin), STATED_TARGET, STATED_BUFFER(target)
#define STATED_GET void *origin, STATED_BUFFER(origin), STATED_TARGET, STATED_BUFFER(target)
#define STATED_FETCH                                                                               \
    const void *origin, STATED_BUFFER(origin), void *result, STATED_BUFFER(result), STATED_TARGET, \
        STATED_BUFFER(target), struct ompi_op_t *op
#define STATED_WINDOW struct ompi_win_t* win
#define STATED_REQUEST STATED_WINDOW, struct ompi_request_t** request
#define STATED_CREATION                                                                            \
    STATED_WINDOW, void **base, size_t size, ptrdiff_t unit, struct ompi_communicator_t *comm,     \
        struct opal_info_t *info, int flavor

typedef struct ompi_osc_base_component_3_0_0_t {
    mca_base_component_t osc_version;
    mca_base_component_data_t osc_data;
    int (*osc_init)(bool progress_threads, bool mpi_threads);
    int (*osc_query)(STATED_CREATION);
    int (*osc_select)(STATED_CREATION, int* model);
    int (*osc_finalize)(void);
} ompi_osc_base_component_3_0_0_t;
typedef ompi_osc_base_component_3_0_0_t ompi_osc_base_component_t;

typedef struct ompi_osc_base_module_4_0_0_t {
    int (*osc_win_shared_query)(STATED_WINDOW, int rank, size_t* size, ptrdiff_t* unit, void* base);
    int (*osc_win_attach)(STATED_WINDOW, void* base, size_t size);
    int (*osc_win_detach)(STATED_WINDOW, const void* base);
    int (*osc_free)(STATED_WINDOW);

    int (*osc_put)(STATED_PUT, STATED_WINDOW);
    int (*osc_put_notify)(STATED_PUT, int notify, STATED_WINDOW);
    int (*osc_get)(STATED_GET, STATED_WINDOW);
    int (*osc_get_notify)(STATED_GET, int notify, STATED_WINDOW);
    int (*osc_win_get_notify_value)(STATED_WINDOW, int notify, size_t* value);
    int (*osc_win_set_notify_value)(STATED_WINDOW, int notify, size_t value);
    int (*osc_win_reset_notify_value)(STATED_WINDOW, int notify, size_t* value);
    int (*osc_accumulate)(STATED_PUT, struct ompi_op_t* op, STATED_WINDOW);
    int (*osc_compare_and_swap)(const void* origin, const void* compare, void* result,
                                struct ompi_datatype_t* type, STATED_TARGET, STATED_WINDOW);
    int (*osc_fetch_and_op)(const void* origin, void* result, struct ompi_datatype_t* type,
                            STATED_TARGET, struct ompi_op_t* op, STATED_WINDOW);
    int (*osc_get_accumulate)(STATED_FETCH, STATED_WINDOW);

    int (*osc_rput)(STATED_PUT, STATED_REQUEST);
    int (*osc_rput_notify)(STATED_PUT, int notify, STATED_REQUEST);
    int (*osc_rget)(STATED_GET, STATED_REQUEST);
    int (*osc_rget_notify)(STATED_GET, int notify, STATED_REQUEST);
    int (*osc_raccumulate)(STATED_PUT, struct ompi_op_t* op, STATED_REQUEST);
    int (*osc_rget_accumulate)(STATED_FETCH, STATED_REQUEST);

    int (*osc_fence)(int assertion, STATED_WINDOW);
    int (*osc_start)(struct ompi_group_t* group, int assertion, STATED_WINDOW);
    int (*osc_complete)(STATED_WINDOW);
    int (*osc_post)(struct ompi_group_t* group, int assertion, STATED_WINDOW);
    int (*osc_wait)(STATED_WINDOW);
    int (*osc_test)(STATED_WINDOW, int* flag);

    int (*osc_lock)(int type, int target, int assertion, STATED_WINDOW);
    int (*osc_unlock)(int target, STATED_WINDOW);
    int (*osc_lock_all)(int assertion, STATED_WINDOW);
    int (*osc_unlock_all)(STATED_WINDOW);
    int (*osc_sync)(STATED_WINDOW);
    int (*osc_flush)(int target, STATED_WINDOW);
    int (*osc_flush_all)(STATED_WINDOW);
    int (*osc_flush_local)(int target, STATED_WINDOW);
    int (*osc_flush_local_all)(STATED_WINDOW);
} ompi_osc_base_module_4_0_0_t;
typedef ompi_osc_base_module_4_0_0_t ompi_osc_base_module_t;

#endif
