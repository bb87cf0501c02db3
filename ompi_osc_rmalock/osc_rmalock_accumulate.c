/*
 * MPI_Accumulate, MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap and the request forms.
 *
 * The core works on contiguous arrays of one predefined type; here derived origin and result types
 * become such arrays and back.
 */
#include "osc_rmalock.h"

#include <float.h>
#include <limits.h>

/* By op_type; RMALOCK_OP_OTHER is what the core leaves to Open MPI's own functions. */
static const rmalock_op_t op_table[OMPI_OP_NUM_OF_TYPES] = {
    [OMPI_OP_NULL] = RMALOCK_OP_OTHER,    [OMPI_OP_MAX] = RMALOCK_OP_MAX,
    [OMPI_OP_MIN] = RMALOCK_OP_MIN,       [OMPI_OP_SUM] = RMALOCK_OP_SUM,
    [OMPI_OP_PROD] = RMALOCK_OP_PROD,     [OMPI_OP_LAND] = RMALOCK_OP_LAND,
    [OMPI_OP_BAND] = RMALOCK_OP_BAND,     [OMPI_OP_LOR] = RMALOCK_OP_LOR,
    [OMPI_OP_BOR] = RMALOCK_OP_BOR,       [OMPI_OP_LXOR] = RMALOCK_OP_LXOR,
    [OMPI_OP_BXOR] = RMALOCK_OP_BXOR,     [OMPI_OP_MAXLOC] = RMALOCK_OP_MAXLOC,
    [OMPI_OP_MINLOC] = RMALOCK_OP_MINLOC, [OMPI_OP_REPLACE] = RMALOCK_OP_REPLACE,
};

static rmalock_op_t op_of(const struct ompi_op_t* op) {
    return &ompi_mpi_op_no_op.op == op ? RMALOCK_OP_NO_OP : op_table[op->op_type];
}

/* Open MPI checks this above us unless the user has switched its parameter checks off. */
static bool op_is_defined(const struct ompi_op_t* op, rmalock_op_t core_op,
                          const struct ompi_datatype_t* predefined) {
    if (RMALOCK_OP_REPLACE == core_op || RMALOCK_OP_NO_OP == core_op) {
        return true;
    }
    const int row = ompi_op_ddt_map[predefined->id];
    return row >= 0 && NULL != op->o_func.intrinsic.fns[row];
}

/* Open MPI gives Fortran's types the ids of C's types of their size. These two may differ from
 * long double, and from complex numbers of it, by their format. */
static bool is_quad(const struct ompi_datatype_t* predefined) {
    return LDBL_MANT_DIG != 113 && &ompi_mpi_real16.dt == predefined;
}
static bool is_quad_complex(const struct ompi_datatype_t* predefined) {
    return LDBL_MANT_DIG != 113 && &ompi_mpi_complex32.dt == predefined;
}

static rmalock_kind_t kind_of(const struct ompi_datatype_t* predefined) {
    if (is_quad(predefined)) {
        return RMALOCK_KIND_QUAD;
    }
    if (is_quad_complex(predefined)) {
        return RMALOCK_KIND_QUAD_COMPLEX;
    }
    switch (ompi_op_ddt_map[predefined->id]) {
    case OMPI_OP_BASE_TYPE_LONG_DOUBLE:
        return RMALOCK_KIND_REAL;
    case OMPI_OP_BASE_TYPE_C_DOUBLE_COMPLEX:
    case OMPI_OP_BASE_TYPE_C_LONG_DOUBLE_COMPLEX:
        return RMALOCK_KIND_COMPLEX;
    case OMPI_OP_BASE_TYPE_SHORT_INT:
    case OMPI_OP_BASE_TYPE_2INT:
    case OMPI_OP_BASE_TYPE_LONG_INT:
        return RMALOCK_KIND_SIGNED_INT;
    case OMPI_OP_BASE_TYPE_FLOAT_INT:
    case OMPI_OP_BASE_TYPE_DOUBLE_INT:
    case OMPI_OP_BASE_TYPE_LONG_DOUBLE_INT:
        return RMALOCK_KIND_REAL_INT;
    default:
        break;
    }
    if (1 != predefined->super.nbElems) { /* a pair of two of a kind, in Fortran */
        return RMALOCK_KIND_OTHER;
    }
    /* MPI_Offset is signed; Open MPI describes it by an unsigned element. */
    if (&ompi_mpi_offset.dt == predefined) {
        return RMALOCK_KIND_SIGNED;
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

static rmalock_element_t core_element(const struct ompi_datatype_t* predefined) {
    return (rmalock_element_t){.kind = kind_of(predefined),
                               .size = (uint32_t)predefined->super.size,
                               .extent = (uint32_t)(predefined->super.ub - predefined->super.lb)};
}

/* Not inline, so that what calls it keeps nothing for it. */
static __attribute__((noinline)) const rmalock_kernels_t*
look_kernels_up(const struct ompi_op_t* op, rmalock_op_t core_op,
                const struct ompi_datatype_t* predefined) {
    static const rmalock_kernels_t none = {NULL, NULL};
    const rmalock_kernels_t* kernels = rmalock_kernels_of(core_element(predefined), core_op);
    return NULL == kernels || !op_is_defined(op, core_op, predefined) ? &none : kernels;
}

/* A number of each predefined type. */
enum { QUAD_ROW = OMPI_DATATYPE_MAX_PREDEFINED, QUAD_COMPLEX_ROW, KERNEL_ROWS };
static inline int kernel_row(const struct ompi_datatype_t* predefined) {
    if (predefined->super.size >= 16) {
        if (is_quad(predefined)) {
            return QUAD_ROW;
        }
        if (is_quad_complex(predefined)) {
            return QUAD_COMPLEX_ROW;
        }
    }
    return predefined->id;
}

/* The kernels of an operation on a predefined type; without kernels if there are none. Those of a
 * type are looked up once; two threads that do so at a time store the same. An entry is one word,
 * so that no thread sees that kernels are known before it sees which. The release of an entry brings
 * the table along that it points into. */
static inline const rmalock_kernels_t* kernels_of(const struct ompi_op_t* op, rmalock_op_t core_op,
                                                  const struct ompi_datatype_t* predefined) {
    static _Atomic(const rmalock_kernels_t*) table[KERNEL_ROWS][RMALOCK_OP_OTHER + 1];
    _Atomic(const rmalock_kernels_t*)* const entry = &table[kernel_row(predefined)][core_op];
    const rmalock_kernels_t* kernels = atomic_load_explicit(entry, memory_order_acquire);
    if (OPAL_UNLIKELY(NULL == kernels)) {
        kernels = look_kernels_up(op, core_op, predefined);
        atomic_store_explicit(entry, kernels, memory_order_release);
    }
    return kernels;
}

/* What the core's callbacks need of an accumulate. */
typedef struct {
    struct ompi_op_t* op;
    struct ompi_datatype_t* element;
    size_t count;
    osc_rmalock_side_t array_side;
} combination_t;

static void combine(void* arg, const void* operand, void* array, size_t count) {
    const combination_t* what = (const combination_t*)arg;
    const size_t extent = (size_t)(what->element->super.ub - what->element->super.lb);
    for (size_t done = 0; done < count;) { /* 4.1 counts with an int */
        const size_t now = count - done < INT_MAX ? count - done : INT_MAX;
        ompi_op_reduce(what->op, (char*)operand + done * extent, (char*)array + done * extent,
                       (int)now, what->element);
        done += now;
    }
}

static void native_layout(void* arg, void* array, rmalock_layout_t* layout) {
    combination_t* what = (combination_t*)arg;
    osc_rmalock_side_open(&what->array_side, array, what->count, what->element);
    *layout = what->array_side.layout;
}

static void native_layout_done(void* arg) {
    osc_rmalock_side_close(&((combination_t*)arg)->array_side);
}

/* One side's argument triple. An origin that MPI_NO_OP leaves unused, and a result where nothing is
 * fetched, have no datatype. */
typedef struct {
    void* addr;
    osc_rmalock_count_t count;
    struct ompi_datatype_t* datatype;
} buffer_t;

/* An accumulate as the MPI call gave it, and what was found out about it. */
typedef struct {
    const char* call;
    buffer_t origin, result, theirs; /* theirs: no address, a displacement instead */
    int target;
    ptrdiff_t target_disp;
    struct ompi_op_t* op;
    rmalock_op_t core_op;
    struct ompi_datatype_t* element;
    const rmalock_kernels_t* kernels; /* of core_op on element; NULL: not looked up yet */
    struct ompi_win_t* win;
    rmalock_completion_t* completion; /* or NULL */
} call_t;

/* `count` elements as a contiguous array: the program's own buffer where it is one already, else a copy;
 * or operands in long runs, which the core takes from where they are. */
typedef struct {
    char* array;             /* what the core works on; or NULL */
    void* copy;              /* the same, if it is a copy; to be given back */
    osc_rmalock_side_t runs; /* used where in_runs */
    bool in_runs;
} native_t;

/* The bytes from which a run is long. For shorter ones to find each costs more than the copy, which
 * Open MPI makes without. */
enum { LONG_RUN = 256 };

/* The runs take room that nobody need clear. */
static void native_open(native_t* native) {
    native->array = NULL;
    native->copy = NULL;
    native->in_runs = false;
}

/* Whether nothing has to be copied. */
static bool native_is_there(native_t* native, const buffer_t* buffer,
                            struct ompi_datatype_t* element) {
    const bool packed = element->super.size == (size_t)(element->super.ub - element->super.lb);
    ptrdiff_t offset;
    const bool range = osc_rmalock_is_range(buffer->datatype, buffer->count, &offset);
    if (buffer->datatype != element && !(packed && range)) {
        return false;
    }
    native->array = (char*)buffer->addr + offset;
    return true;
}

static int native_allocate(native_t* native, size_t count, struct ompi_datatype_t* element) {
    if (count > INT32_MAX) { /* what ompi_datatype_sndrcv counts with */
        return MPI_ERR_COUNT;
    }
    native->copy = rmalock_scratch_take(count * (size_t)(element->super.ub - element->super.lb));
    native->array = (char*)native->copy;
    return NULL == native->copy ? osc_rmalock_error(RMALOCK_ERR_NO_MEM) : OMPI_SUCCESS;
}

static bool native_takes_runs(native_t* native, const buffer_t* buffer,
                              struct ompi_datatype_t* element) {
    if (element->super.size != (size_t)(element->super.ub - element->super.lb)) {
        return false;
    }
    osc_rmalock_side_open(&native->runs, buffer->addr, (size_t)buffer->count, buffer->datatype);
    native->in_runs = osc_rmalock_side_first_run(&native->runs) >= LONG_RUN;
    if (!native->in_runs) {
        osc_rmalock_side_close(&native->runs);
    }
    return native->in_runs;
}

/* The origin's. */
static int native_read(native_t* native, const buffer_t* buffer, size_t count,
                       struct ompi_datatype_t* element) {
    if (native_is_there(native, buffer, element) || native_takes_runs(native, buffer, element)) {
        return OMPI_SUCCESS;
    }
    const int rc = native_allocate(native, count, element);
    return OMPI_SUCCESS != rc ? rc
                              : ompi_datatype_sndrcv(buffer->addr, buffer->count, buffer->datatype,
                                                     native->copy, (int32_t)count, element);
}

static void native_close(native_t* native) {
    rmalock_scratch_give(native->copy);
    if (native->in_runs) {
        osc_rmalock_side_close(&native->runs);
    }
}

/* Elements of the target side, in the order of its type. */
typedef struct {
    size_t first, count;
} part_t;

static size_t elements_of(const call_t* r, const buffer_t* buffer) {
    return (size_t)buffer->count * buffer->datatype->super.size / r->element->super.size;
}

static int accumulate_arrays(const call_t* r, part_t part, const native_t* operand, void* result,
                             rmalock_completion_t* completion) {
    const size_t size = r->element->super.size;
    osc_rmalock_side_t theirs;
    combination_t what = {.op = r->op, .element = r->element, .count = part.count};
    osc_rmalock_side_open(&theirs, NULL, (size_t)r->theirs.count, r->theirs.datatype);
    if (part.count != elements_of(r, &r->theirs)) {
        osc_rmalock_side_take_part(&theirs, part.first * size, part.count * size);
    }
    const rmalock_combination_t combination = {
        .operand = NULL != operand ? operand->array : NULL,
        .operand_side = NULL != operand && operand->in_runs ? &operand->runs.layout : NULL,
        .result = result,
        .count = part.count,
        .element = core_element(r->element),
        .op = r->core_op,
        .kernels = r->kernels,
        .target_side = &theirs.layout,
        .target_is_array = r->theirs.datatype == r->element && 0 == part.first,
        .host_arg = &what,
        .combine = combine,
        .native_layout = native_layout,
        .native_layout_done = native_layout_done,
        .completion = completion,
    };
    const int rc = osc_rmalock_error(rmalock_accumulate(osc_rmalock_window(r->win), r->call,
                                                        r->target, r->target_disp, &combination));
    osc_rmalock_side_close(&theirs);
    return rc;
}

/* The origin's data only have to fit (MPI 4.0, 12.3.4): elements at the target for which it has none
 * stay as they are, and are fetched. These go first, so that a range error has changed nothing; and as
 * nothing may come any more behind an error, that is waited for. */
static int accumulate_operands(const call_t* r, size_t operands, const native_t* operand,
                               char* result, rmalock_completion_t* completion) {
    const size_t count = elements_of(r, &r->theirs);
    if (operands < count && NULL != r->result.datatype) {
        const ptrdiff_t extent = r->element->super.ub - r->element->super.lb;
        call_t rest = *r;
        rest.core_op = RMALOCK_OP_NO_OP;
        rest.kernels = kernels_of(r->op, rest.core_op, r->element);
        const int rc = accumulate_arrays(&rest, (part_t){operands, count - operands}, NULL,
                                         result + (ptrdiff_t)operands * extent, completion);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    const int rc = accumulate_arrays(r, (part_t){0, operands}, operand, result, completion);
    if (OMPI_SUCCESS != rc && NULL != completion) {
        (void)rmalock_completion_wait(osc_rmalock_window(r->win), completion);
    } else if (OMPI_SUCCESS != rc && !rmalock_target_is_far(osc_rmalock_window(r->win), r->target)) {
        (void)rmalock_complete_held(osc_rmalock_window(r->win), r->target);
    }
    return rc;
}

/* Any types: origin and result become contiguous arrays and back. */
static int accumulate_types(const call_t* r) {
    const size_t count = elements_of(r, &r->theirs);
    size_t operands = count;
    native_t operand, result;
    int rc = OMPI_SUCCESS;
    native_open(&operand);
    native_open(&result);
    if (NULL != r->origin.datatype) {
        if (elements_of(r, &r->origin) < count) {
            operands = elements_of(r, &r->origin);
        }
        rc = native_read(&operand, &r->origin, operands, r->element);
    }
    if (OMPI_SUCCESS == rc && NULL != r->result.datatype &&
        !native_is_there(&result, &r->result, r->element)) {
        rc = native_allocate(&result, count, r->element);
    }
    if (OMPI_SUCCESS == rc) {
        rmalock_completion_t arrived = {0};
        rc = accumulate_operands(r, operands, &operand, result.array,
                                 NULL != result.copy ? &arrived : r->completion);
        if (OMPI_SUCCESS == rc && NULL != result.copy) {
            rc = osc_rmalock_error(rmalock_completion_wait(osc_rmalock_window(r->win), &arrived));
        }
    }
    if (OMPI_SUCCESS == rc && NULL != result.copy) {
        rc = ompi_datatype_sndrcv(result.copy, (int32_t)count, r->element, r->result.addr,
                                  r->result.count, r->result.datatype);
    }
    native_close(&operand);
    native_close(&result);
    return rc;
}

/* osc_rmalock_gpu_refuse for an argument that the call may not have. */
static int refuse_gpu(const call_t* r, const char* name, const buffer_t* buffer) {
    const osc_rmalock_caller_t caller = {r->win, r->call, r->target};
    return NULL == buffer->datatype || !osc_rmalock_gpus()
               ? OMPI_SUCCESS
               : osc_rmalock_gpu_refuse(&caller, name, buffer->addr, buffer->count,
                                        buffer->datatype);
}

/* Of what would be fetched the rest would have no place. */
static int check_room(const call_t* r) {
    return NULL == r->result.datatype || elements_of(r, &r->result) >= elements_of(r, &r->theirs)
               ? OMPI_SUCCESS
               : osc_rmalock_error(rmalock_refuse(osc_rmalock_window(r->win), RMALOCK_ERR_COUNT,
                                                  r->call, r->target,
                                                  "room for fewer elements than it fetches"));
}

/* Everything that accumulate below does not do at once. Not inline, so that accumulate is. */
static __attribute__((noinline)) int accumulate_in_full(call_t* r) {
    if (!ompi_datatype_is_predefined(r->theirs.datatype)) {
        r->element = osc_rmalock_element_type(r->theirs.datatype);
        if (NULL == r->element) {
            return osc_rmalock_error(RMALOCK_ERR_TYPE);
        }
    }
    if (NULL == r->kernels) {
        r->kernels = kernels_of(r->op, r->core_op, r->element);
    }
    if (!op_is_defined(r->op, r->core_op, r->element)) {
        return osc_rmalock_error(RMALOCK_ERR_OP);
    }
    if (RMALOCK_OP_NO_OP == r->core_op) {
        r->origin = (buffer_t){NULL, 0, NULL};
    }
    int rc = check_room(r);
    if (OMPI_SUCCESS == rc) {
        rc = refuse_gpu(r, "origin_addr", &r->origin);
    }
    if (OMPI_SUCCESS == rc) {
        rc = refuse_gpu(r, "result_addr", &r->result);
    }
    return OMPI_SUCCESS == rc ? accumulate_types(r) : rc;
}

/* All of the family but compare_and_swap. What programs do most goes first and straight: plain
 * arrays of one predefined type on every side, combined by CPU atomics. */
static inline int accumulate(const char* call, const void* origin_addr,
                             osc_rmalock_count_t origin_count, struct ompi_datatype_t* origin_dt,
                             void* result_addr, osc_rmalock_count_t result_count,
                             struct ompi_datatype_t* result_dt, int target, ptrdiff_t target_disp,
                             osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                             struct ompi_op_t* op, struct ompi_win_t* win,
                             rmalock_completion_t* completion) {
    const rmalock_op_t core_op = op_of(op);
    const rmalock_kernels_t* kernels = NULL;
    const bool has_operands = RMALOCK_OP_NO_OP == core_op || origin_count >= target_count;
    const bool has_room =
        NULL == result_dt || (result_dt == target_dt && result_count >= target_count);
    if (OPAL_LIKELY(!osc_rmalock_gpus()) && origin_dt == target_dt && has_operands && has_room &&
        ompi_datatype_is_predefined(target_dt)) {
        kernels = kernels_of(op, core_op, target_dt);
        const void* operand = RMALOCK_OP_NO_OP == core_op ? NULL : origin_addr;
        if (OPAL_LIKELY(1 == target_count && NULL != kernels->shared)) {
            if (OPAL_LIKELY(rmalock_combine_element(osc_rmalock_window(win), target, target_disp,
                                                    target_dt->super.size, kernels->shared, operand,
                                                    result_addr))) {
                return OMPI_SUCCESS;
            }
        } else if (0 < target_count && NULL != kernels->alone) {
            const rmalock_array_t array = {.kernels = kernels,
                                           .operand = operand,
                                           .result = result_addr,
                                           .count = (size_t)target_count,
                                           .size = target_dt->super.size,
                                           .extent =
                                               (size_t)(target_dt->super.ub - target_dt->super.lb)};
            if (rmalock_combine_array(osc_rmalock_window(win), target, target_disp, &array)) {
                return OMPI_SUCCESS;
            }
        }
    }
    call_t r = {.call = call,
                .origin = {(void*)origin_addr, origin_count, origin_dt},
                .result = {result_addr, result_count, result_dt},
                .theirs = {NULL, target_count, target_dt},
                .target = target,
                .target_disp = target_disp,
                .op = op,
                .core_op = core_op,
                .element = target_dt,
                .kernels = kernels,
                .win = win,
                .completion = completion};
    return accumulate_in_full(&r);
}

int osc_rmalock_accumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                           struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                           osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                           struct ompi_op_t* op, struct ompi_win_t* win) {
    return accumulate("MPI_Accumulate", origin_addr, origin_count, origin_dt, NULL, 0, NULL, target,
                      target_disp, target_count, target_dt, op, win, NULL);
}

int osc_rmalock_raccumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                            struct ompi_datatype_t* origin_dt, int target, ptrdiff_t target_disp,
                            osc_rmalock_count_t target_count, struct ompi_datatype_t* target_dt,
                            struct ompi_op_t* op, struct ompi_win_t* win,
                            struct ompi_request_t** request) {
    return osc_rmalock_complete_request(accumulate("MPI_Raccumulate", origin_addr, origin_count,
                                                   origin_dt, NULL, 0, NULL, target, target_disp,
                                                   target_count, target_dt, op, win, NULL),
                                        request);
}

int osc_rmalock_get_accumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                               struct ompi_datatype_t* origin_dt, void* result_addr,
                               osc_rmalock_count_t result_count, struct ompi_datatype_t* result_dt,
                               int target, ptrdiff_t target_disp, osc_rmalock_count_t target_count,
                               struct ompi_datatype_t* target_dt, struct ompi_op_t* op,
                               struct ompi_win_t* win) {
    return accumulate("MPI_Get_accumulate", origin_addr, origin_count, origin_dt, result_addr,
                      result_count, result_dt, target, target_disp, target_count, target_dt, op,
                      win, NULL);
}

int osc_rmalock_rget_accumulate(const void* origin_addr, osc_rmalock_count_t origin_count,
                                struct ompi_datatype_t* origin_dt, void* result_addr,
                                osc_rmalock_count_t result_count, struct ompi_datatype_t* result_dt,
                                int target, ptrdiff_t target_disp, osc_rmalock_count_t target_count,
                                struct ompi_datatype_t* target_dt, struct ompi_op_t* op,
                                struct ompi_win_t* win, struct ompi_request_t** request) {
    static const char call[] = "MPI_Rget_accumulate";
    if (!rmalock_target_is_far(osc_rmalock_window(win), target)) {
        int rc = accumulate(call, origin_addr, origin_count, origin_dt, result_addr, result_count,
                            result_dt, target, target_disp, target_count, target_dt, op, win, NULL);
        if (OMPI_SUCCESS == rc) {
            rc = osc_rmalock_error(rmalock_complete_held(osc_rmalock_window(win), target));
        }
        return osc_rmalock_complete_request(rc, request);
    }
    osc_rmalock_request_t* mine = osc_rmalock_request_new(win);
    if (NULL == mine) {
        return osc_rmalock_error(RMALOCK_ERR_NO_MEM);
    }
    const int rc =
        accumulate(call, origin_addr, origin_count, origin_dt, result_addr, result_count, result_dt,
                   target, target_disp, target_count, target_dt, op, win, &mine->completion);
    return osc_rmalock_request_begun(rc, mine, request);
}

int osc_rmalock_fetch_and_op(const void* origin_addr, void* result_addr, struct ompi_datatype_t* dt,
                             int target, ptrdiff_t target_disp, struct ompi_op_t* op,
                             struct ompi_win_t* win) {
    return accumulate("MPI_Fetch_and_op", origin_addr, 1, dt, result_addr, 1, dt, target,
                      target_disp, 1, dt, op, win, NULL);
}

static inline int swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                       struct ompi_datatype_t* dt, int target, ptrdiff_t target_disp,
                       struct ompi_win_t* win) {
    return osc_rmalock_error(rmalock_compare_and_swap(osc_rmalock_window(win), target, target_disp,
                                                      dt->super.size, compare_addr, origin_addr,
                                                      result_addr));
}

/* Out of the way of processes without a GPU: what it keeps over its calls would cost them more than
 * the test. */
static __attribute__((noinline, cold)) int
swap_beside_gpus(const void* origin_addr, const void* compare_addr, void* result_addr,
                 struct ompi_datatype_t* dt, int target, ptrdiff_t target_disp,
                 struct ompi_win_t* win) {
    const osc_rmalock_caller_t caller = {win, "MPI_Compare_and_swap", target};
    int rc = osc_rmalock_gpu_refuse(&caller, "origin_addr", origin_addr, 1, dt);
    if (OMPI_SUCCESS == rc) {
        rc = osc_rmalock_gpu_refuse(&caller, "compare_addr", compare_addr, 1, dt);
    }
    if (OMPI_SUCCESS == rc) {
        rc = osc_rmalock_gpu_refuse(&caller, "result_addr", result_addr, 1, dt);
    }
    return OMPI_SUCCESS != rc
               ? rc
               : swap(origin_addr, compare_addr, result_addr, dt, target, target_disp, win);
}

int osc_rmalock_compare_and_swap(const void* origin_addr, const void* compare_addr,
                                 void* result_addr, struct ompi_datatype_t* dt, int target,
                                 ptrdiff_t target_disp, struct ompi_win_t* win) {
    return OPAL_UNLIKELY(osc_rmalock_gpus())
               ? swap_beside_gpus(origin_addr, compare_addr, result_addr, dt, target, target_disp,
                                  win)
               : swap(origin_addr, compare_addr, result_addr, dt, target, target_disp, win);
}
