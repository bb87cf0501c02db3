/*
 * MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap and the request forms.
 *
 * The core works on plain arrays of one predefined type; here derived origin and result types become
 * such arrays and back.
 */
#include "osc_rmalock.h"

#include <stdlib.h>

static rmalock_op_t op_of(const struct ompi_op_t *op)
{
    if (&ompi_mpi_op_no_op.op == op) {
        return RMALOCK_OP_NO_OP;
    }
    switch (op->op_type) {
    case OMPI_OP_SUM:
        return RMALOCK_OP_SUM;
    case OMPI_OP_PROD:
        return RMALOCK_OP_PROD;
    case OMPI_OP_MAX:
        return RMALOCK_OP_MAX;
    case OMPI_OP_MIN:
        return RMALOCK_OP_MIN;
    case OMPI_OP_LAND:
        return RMALOCK_OP_LAND;
    case OMPI_OP_LOR:
        return RMALOCK_OP_LOR;
    case OMPI_OP_LXOR:
        return RMALOCK_OP_LXOR;
    case OMPI_OP_BAND:
        return RMALOCK_OP_BAND;
    case OMPI_OP_BOR:
        return RMALOCK_OP_BOR;
    case OMPI_OP_BXOR:
        return RMALOCK_OP_BXOR;
    case OMPI_OP_REPLACE:
        return RMALOCK_OP_REPLACE;
    default:
        return RMALOCK_OP_OTHER;
    }
}

/* Open MPI checks this above us unless the user has switched its parameter checks off. */
static bool op_is_defined(const struct ompi_op_t *op, rmalock_op_t core_op,
                          const struct ompi_datatype_t *predefined)
{
    if (RMALOCK_OP_REPLACE == core_op || RMALOCK_OP_NO_OP == core_op) {
        return true;
    }
    const int row = ompi_op_ddt_map[predefined->id];
    return row >= 0 && NULL != op->o_func.intrinsic.fns[row];
}

static rmalock_kind_t kind_of(const struct ompi_datatype_t *predefined)
{
    if (1 != predefined->super.nbElems) { /* a pair */
        return RMALOCK_KIND_OTHER;
    }
    switch (predefined->super.id) {
    case OPAL_DATATYPE_INT1:
    case OPAL_DATATYPE_INT2:
    case OPAL_DATATYPE_INT4:
    case OPAL_DATATYPE_INT8:
    case OPAL_DATATYPE_LONG:
        return RMALOCK_KIND_SIGNED;
    case OPAL_DATATYPE_UINT1:
    case OPAL_DATATYPE_UINT2:
    case OPAL_DATATYPE_UINT4:
    case OPAL_DATATYPE_UINT8:
    case OPAL_DATATYPE_UNSIGNED_LONG:
        return RMALOCK_KIND_UNSIGNED;
    case OPAL_DATATYPE_FLOAT4:
    case OPAL_DATATYPE_FLOAT8:
        return RMALOCK_KIND_REAL;
    case OPAL_DATATYPE_FLOAT_COMPLEX:
        return RMALOCK_KIND_COMPLEX;
    case OPAL_DATATYPE_BOOL:
        return RMALOCK_KIND_BOOL;
    default:
        return RMALOCK_KIND_OTHER;
    }
}

static rmalock_element_t core_element(const struct ompi_datatype_t *predefined)
{
    ptrdiff_t lb, extent;
    ompi_datatype_get_extent(predefined, &lb, &extent);
    return (rmalock_element_t){.kind = kind_of(predefined),
                               .size = (uint32_t) predefined->super.size,
                               .extent = (uint32_t) extent};
}

/* What the core's callbacks need of an accumulate. */
typedef struct {
    struct ompi_op_t *op;
    struct ompi_datatype_t *element;
    size_t count;
    osc_rmalock_side_t array_side;
} combination_t;

static void combine(void *arg, const void *operand, void *array, size_t count)
{
    combination_t *what = (combination_t *) arg;
    ompi_op_reduce(what->op, (void *) operand, array, count, what->element);
}

static void native_layout(void *arg, void *array, rmalock_layout_t *layout)
{
    combination_t *what = (combination_t *) arg;
    osc_rmalock_side_open(&what->array_side, array, what->count, what->element);
    *layout = what->array_side.layout;
}

static void native_layout_done(void *arg)
{
    osc_rmalock_side_close(&((combination_t *) arg)->array_side);
}

/* `count` elements as a plain array: the program's own buffer where it is one already, else a copy. */
typedef struct {
    char *array; /* what the core works on */
    void *copy;  /* the same, if it is a copy; to be freed */
} native_t;

static int native_open(native_t *native, const void *addr, size_t addr_count,
                       struct ompi_datatype_t *datatype, size_t count,
                       struct ompi_datatype_t *element)
{
    ptrdiff_t lb, extent;
    ompi_datatype_get_extent(element, &lb, &extent);
    const bool packed = element->super.size == (size_t) extent;
    native->copy = NULL;
    if (datatype == element ||
        (packed && ompi_datatype_is_contiguous_memory_layout(datatype, (int32_t) addr_count))) {
        ptrdiff_t true_lb, true_extent;
        ompi_datatype_get_true_extent(datatype, &true_lb, &true_extent);
        native->array = (char *) addr + true_lb;
        return OMPI_SUCCESS;
    }
    if (count > INT32_MAX) { /* what ompi_datatype_sndrcv counts with */
        return MPI_ERR_COUNT;
    }
    native->copy = malloc(count * (size_t) extent);
    native->array = (char *) native->copy;
    return NULL == native->copy && count > 0 ? OMPI_ERR_OUT_OF_RESOURCE : OMPI_SUCCESS;
}

static size_t elements_in(size_t count, const struct ompi_datatype_t *datatype,
                          const struct ompi_datatype_t *element)
{
    return count * datatype->super.size / element->super.size;
}

/* All of the family but compare_and_swap. result_dt is NULL where nothing is fetched. */
static int accumulate(const char *call, const void *origin_addr, int origin_count,
                      struct ompi_datatype_t *origin_dt, void *result_addr, int result_count,
                      struct ompi_datatype_t *result_dt, int target, ptrdiff_t target_disp,
                      int target_count, struct ompi_datatype_t *target_dt, struct ompi_op_t *op,
                      struct ompi_win_t *win)
{
    struct ompi_datatype_t *element =
        ompi_datatype_is_predefined(target_dt)
            ? target_dt
            : ompi_datatype_get_single_predefined_type_from_args(target_dt);
    if (NULL == element) {
        return MPI_ERR_TYPE;
    }
    const rmalock_op_t core_op = op_of(op);
    if (!op_is_defined(op, core_op, element)) {
        return osc_rmalock_error(RMALOCK_ERR_OP);
    }
    if (element == target_dt && (element == origin_dt || RMALOCK_OP_NO_OP == core_op) &&
        (NULL == result_dt || element == result_dt)) {
        bool done;
        const rmalock_status_t status = rmalock_accumulate_plain(
            osc_rmalock_window(win), call, target, target_disp, core_element(element), core_op,
            RMALOCK_OP_NO_OP == core_op ? NULL : origin_addr, result_addr, (size_t) target_count,
            &done);
        if (done || RMALOCK_OK != status) {
            return osc_rmalock_error(status);
        }
    }
    const size_t count = elements_in((size_t) target_count, target_dt, element);
    native_t operand = {NULL, NULL}, result = {NULL, NULL};
    int rc = OMPI_SUCCESS;

    if (RMALOCK_OP_NO_OP != core_op) {
        rc = native_open(&operand, origin_addr, (size_t) origin_count, origin_dt, count, element);
        if (OMPI_SUCCESS == rc && NULL != operand.copy) {
            rc = ompi_datatype_sndrcv(origin_addr, origin_count, origin_dt, operand.copy,
                                      (int32_t) count, element);
        }
    }
    if (OMPI_SUCCESS == rc && NULL != result_dt) {
        rc = native_open(&result, result_addr, (size_t) result_count, result_dt, count, element);
    }
    if (OMPI_SUCCESS == rc) {
        osc_rmalock_side_t theirs;
        combination_t what = {.op = op, .element = element, .count = count};
        osc_rmalock_side_open(&theirs, NULL, (size_t) target_count, target_dt);
        const rmalock_combination_t combination = {
            .operand = operand.array,
            .result = result.array,
            .count = count,
            .element = core_element(element),
            .op = core_op,
            .target_side = &theirs.layout,
            .host_arg = &what,
            .combine = combine,
            .native_layout = native_layout,
            .native_layout_done = native_layout_done,
        };
        rc = osc_rmalock_error(rmalock_accumulate(osc_rmalock_window(win), call, target,
                                                  target_disp, &combination));
        osc_rmalock_side_close(&theirs);
    }
    if (OMPI_SUCCESS == rc && NULL != result.copy) {
        rc = ompi_datatype_sndrcv(result.copy, (int32_t) count, element, result_addr, result_count,
                                  result_dt);
    }
    free(operand.copy);
    free(result.copy);
    return rc;
}

int osc_rmalock_accumulate(const void *origin_addr, int origin_count,
                           struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                           int target_count, struct ompi_datatype_t *target_dt,
                           struct ompi_op_t *op, struct ompi_win_t *win)
{
    return accumulate("MPI_Accumulate", origin_addr, origin_count, origin_dt, NULL, 0, NULL, target,
                      target_disp, target_count, target_dt, op, win);
}

int osc_rmalock_raccumulate(const void *origin_addr, int origin_count,
                            struct ompi_datatype_t *origin_dt, int target, ptrdiff_t target_disp,
                            int target_count, struct ompi_datatype_t *target_dt,
                            struct ompi_op_t *op, struct ompi_win_t *win,
                            struct ompi_request_t **request)
{
    return osc_rmalock_complete_request(accumulate("MPI_Raccumulate", origin_addr, origin_count,
                                                   origin_dt, NULL, 0, NULL, target, target_disp,
                                                   target_count, target_dt, op, win),
                                        request);
}

int osc_rmalock_get_accumulate(const void *origin_addr, int origin_count,
                               struct ompi_datatype_t *origin_dt, void *result_addr,
                               int result_count, struct ompi_datatype_t *result_dt, int target,
                               ptrdiff_t target_disp, int target_count,
                               struct ompi_datatype_t *target_dt, struct ompi_op_t *op,
                               struct ompi_win_t *win)
{
    return accumulate("MPI_Get_accumulate", origin_addr, origin_count, origin_dt, result_addr,
                      result_count, result_dt, target, target_disp, target_count, target_dt, op, win);
}

int osc_rmalock_rget_accumulate(const void *origin_addr, int origin_count,
                                struct ompi_datatype_t *origin_dt, void *result_addr,
                                int result_count, struct ompi_datatype_t *result_dt, int target,
                                ptrdiff_t target_disp, int target_count,
                                struct ompi_datatype_t *target_dt, struct ompi_op_t *op,
                                struct ompi_win_t *win, struct ompi_request_t **request)
{
    return osc_rmalock_complete_request(
        accumulate("MPI_Rget_accumulate", origin_addr, origin_count, origin_dt, result_addr,
                   result_count, result_dt, target, target_disp, target_count, target_dt, op, win),
        request);
}

int osc_rmalock_fetch_and_op(const void *origin_addr, void *result_addr, struct ompi_datatype_t *dt,
                             int target, ptrdiff_t target_disp, struct ompi_op_t *op,
                             struct ompi_win_t *win)
{
    return accumulate("MPI_Fetch_and_op", origin_addr, 1, dt, result_addr, 1, dt, target,
                      target_disp, 1, dt, op, win);
}

int osc_rmalock_compare_and_swap(const void *origin_addr, const void *compare_addr,
                                 void *result_addr, struct ompi_datatype_t *dt, int target,
                                 ptrdiff_t target_disp, struct ompi_win_t *win)
{
    return osc_rmalock_error(rmalock_compare_and_swap(osc_rmalock_window(win), target, target_disp,
                                                      dt->super.size, compare_addr, origin_addr,
                                                      result_addr));
}
