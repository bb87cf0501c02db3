/* Every call with every operation on types of every kind, from one element to 1 MB, in a row or every
 * second one, with a flush for each and for 64: so that no cell stays unmeasured in which a
 * component is slow. Rank 0 against rank 1, inside one shared lock. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum call { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH_AND_OP };
enum { DEPTH = 64, LARGEST = 1 << 20, STRIDE = 2 };

/* What one result is about. */
struct cell {
    enum call call;
    MPI_Op op;
    MPI_Datatype type, target_type; /* the latter of all elements where they are strided */
    const char *op_name, *type_name;
    int count, depth;
    bool strided;
};

static struct cell cell; /* one at a time */

static void call_once(struct bench* bench) {
    const MPI_Datatype theirs = cell.strided ? cell.target_type : cell.type;
    const int count = cell.strided ? 1 : cell.count;
    void* result = bench->local + LARGEST;
    switch (cell.call) {
    case PUT:
        MPI_Put(bench->local, cell.count, cell.type, TARGET, 0, count, theirs, bench->window);
        break;
    case GET:
        MPI_Get(bench->local, cell.count, cell.type, TARGET, 0, count, theirs, bench->window);
        break;
    case ACCUMULATE:
        MPI_Accumulate(bench->local, cell.count, cell.type, TARGET, 0, count, theirs, cell.op,
                       bench->window);
        break;
    case GET_ACCUMULATE:
        MPI_Get_accumulate(bench->local, cell.count, cell.type, result, cell.count, cell.type,
                           TARGET, 0, count, theirs, cell.op, bench->window);
        break;
    case FETCH_AND_OP:
        MPI_Fetch_and_op(bench->local, result, cell.type, TARGET, 0, cell.op, bench->window);
        break;
    }
}

/* n calls, with a flush after each `depth` of them. */
static void calls(struct bench* bench, int64_t n) {
    for (int64_t i = 0; i < n * cell.depth; i++) {
        call_once(bench);
        if (0 == (i + 1) % cell.depth)
            MPI_Win_flush(TARGET, bench->window);
    }
}

/* --- verification: one call, and what MPI_Reduce_local makes of the same elements -------------- */

static int element_bytes(MPI_Datatype type) {
    MPI_Aint low, extent;
    MPI_Type_get_extent(type, &low, &extent);
    return (int)extent;
}

/* Of these, as many bytes hold its value; the rest of a long double holds nothing. */
static size_t value_bytes(void) {
    return MPI_LONG_DOUBLE == cell.type ? 10 : (size_t)element_bytes(cell.type);
}

/* Small numbers of the type, which add up without a rounding error. */
static void fill(unsigned char* bytes, int value) {
    const int extent = element_bytes(cell.type);
    memset(bytes, 0, (size_t)cell.count * (size_t)extent);
    for (int i = 0; i < cell.count; i++) {
        unsigned char* at = bytes + (size_t)i * (size_t)extent;
        if (MPI_DOUBLE == cell.type || MPI_DOUBLE_INT == cell.type ||
            MPI_C_DOUBLE_COMPLEX == cell.type)
            *(double*)(void*)at = value;
        else if (MPI_FLOAT == cell.type || MPI_FLOAT_INT == cell.type)
            *(float*)(void*)at = (float)value;
        else if (MPI_LONG_DOUBLE == cell.type)
            *(long double*)(void*)at = value;
        else
            *at = (unsigned char)value;
    }
}

/* What the target's elements are before the call, and the origin's: so that no operation that changes
 * elements leaves them as they are. */
static int theirs(void) {
    return MPI_MIN == cell.op || MPI_MINLOC == cell.op || MPI_BAND == cell.op ? 3 : 2;
}
static int mine(void) {
    return 5 - theirs();
}

static bool same_values(const unsigned char* seen, size_t stride, const unsigned char* expected) {
    const size_t extent = (size_t)element_bytes(cell.type);
    bool same = true;
    for (size_t i = 0; i < (size_t)cell.count; i++)
        same &= 0 == memcmp(seen + i * stride * extent, expected + i * extent, value_bytes());
    return same;
}

static size_t target_stride(void) {
    return cell.strided ? STRIDE : 1;
}

/* At the target: its elements before the call. */
static void set_elements(struct bench* bench) {
    const size_t extent = (size_t)element_bytes(cell.type);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
    fill(bench->local, theirs());
    for (size_t i = 0; i < (size_t)cell.count; i++)
        memcpy(bench->memory + i * target_stride() * extent, bench->local + i * extent, extent);
    MPI_Win_unlock(TARGET, bench->window);
}

/* At the target: whether its elements are what they should be after one call. */
static bool elements_are_right(struct bench* bench) {
    unsigned char *expected = bench->local, *operand = bench->local + LARGEST;
    fill(expected, theirs());
    fill(operand, mine());
    if (PUT == cell.call || MPI_REPLACE == cell.op)
        fill(expected, mine());
    else if (GET != cell.call && MPI_NO_OP != cell.op)
        MPI_Reduce_local(operand, expected, cell.count, cell.type, cell.op);
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    const bool right = same_values(bench->memory, target_stride(), expected);
    MPI_Win_unlock(TARGET, bench->window);
    return right;
}

/* At the origin: one call, and whether it has fetched what was there. */
static bool fetches(struct bench* bench) {
    unsigned char *result = bench->local + LARGEST, *expected = result + LARGEST;
    fill(bench->local, GET == cell.call ? 0 : mine());
    fill(result, 0);
    fill(expected, theirs());
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
    call_once(bench);
    MPI_Win_unlock(TARGET, bench->window);
    if (PUT == cell.call || ACCUMULATE == cell.call)
        return true;
    return same_values(GET == cell.call ? bench->local : result, 1, expected);
}

static bool cell_verified(struct bench* bench) {
    bool right = true;
    MPI_Barrier(bench->comm); /* the cell before is measured */
    if (TARGET == bench->rank)
        set_elements(bench);
    MPI_Barrier(bench->comm);
    if (ORIGIN == bench->rank)
        right = fetches(bench);
    MPI_Barrier(bench->comm);
    if (TARGET == bench->rank)
        right = elements_are_right(bench);
    return verified(bench, right, cell.type_name);
}

/* --- the cells --------------------------------------------------------------------------------- */

static void measure(struct bench* bench) {
    if (cell.strided) {
        MPI_Type_vector(cell.count, 1, STRIDE, cell.type, &cell.target_type);
        MPI_Type_commit(&cell.target_type);
    }
    if (cell_verified(bench)) {
        char params[160];
        snprintf(params, sizeof params,
                 "\"op\":\"%s\",\"type\":\"%s\",\"bytes\":%d,\"layout\":\"%s\",\"depth\":%d",
                 cell.op_name, cell.type_name, cell.count * element_bytes(cell.type),
                 cell.strided ? "strided" : "contiguous", cell.depth);
        if (ORIGIN == bench->rank)
            MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
        struct samples samples = sample_origin(bench, calls);
        for (int i = 0; i < samples.count; i++)
            samples.values[i] /= cell.depth;
        if (ORIGIN == bench->rank)
            MPI_Win_unlock(TARGET, bench->window);
        report_result(bench, params, "latency", "ns", &samples, "");
    }
    if (cell.strided)
        MPI_Type_free(&cell.target_type);
}

/* From one element to 1 MB, and then one of them often, and every second of them. */
static void measure_sizes(struct bench* bench) {
    static const int sizes[] = {0, 64, 1024, 8192, 65536, LARGEST};
    const int extent = element_bytes(cell.type);
    cell.depth = 1;
    cell.strided = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cell.count = sizes[i] < extent ? 1 : sizes[i] / extent;
        if (FETCH_AND_OP != cell.call || 0 == i)
            measure(bench);
    }
    cell.count = 1;
    cell.depth = DEPTH;
    measure(bench);
    if (FETCH_AND_OP == cell.call)
        return;
    cell.depth = 1;
    cell.strided = true;
    cell.count = 65536 / STRIDE / extent;
    measure(bench);
}

struct operand {
    MPI_Op op;
    MPI_Datatype type;
    const char *op_name, *type_name;
};

static void sweep(struct bench* bench, enum call call, const struct operand* operands, size_t n) {
    for (size_t i = 0; i < n; i++) {
        cell = (struct cell){.call = call,
                             .op = operands[i].op,
                             .type = operands[i].type,
                             .op_name = operands[i].op_name,
                             .type_name = operands[i].type_name};
        measure_sizes(bench);
    }
}

#define SWEEP(bench, call, ...)                                                                    \
    sweep(bench, call, (const struct operand[]){__VA_ARGS__},                                      \
          sizeof((const struct operand[]){__VA_ARGS__}) / sizeof(struct operand))

#define REDUCTIONS                                                                                 \
    {MPI_SUM, MPI_DOUBLE, "sum", "double"}, {MPI_SUM, MPI_FLOAT, "sum", "float"},                  \
        {MPI_SUM, MPI_INT8_T, "sum", "int8"}, {MPI_SUM, MPI_INT16_T, "sum", "int16"},              \
        {MPI_SUM, MPI_INT32_T, "sum", "int32"}, {MPI_SUM, MPI_INT64_T, "sum", "int64"},            \
        {MPI_SUM, MPI_C_DOUBLE_COMPLEX, "sum", "double_complex"},                                  \
        {MPI_SUM, MPI_LONG_DOUBLE, "sum", "long_double"},                                          \
        {MPI_PROD, MPI_DOUBLE, "prod", "double"}, {MPI_PROD, MPI_INT32_T, "prod", "int32"},        \
        {MPI_MAX, MPI_DOUBLE, "max", "double"}, {MPI_MAX, MPI_INT32_T, "max", "int32"},            \
        {MPI_MIN, MPI_UINT8_T, "min", "uint8"}, {MPI_BAND, MPI_UINT32_T, "band", "uint32"},        \
        {MPI_BXOR, MPI_UINT64_T, "bxor", "uint64"}, {MPI_LOR, MPI_INT32_T, "lor", "int32"},        \
        {MPI_MINLOC, MPI_2INT, "minloc", "2int"},                                                  \
        {MPI_MINLOC, MPI_DOUBLE_INT, "minloc", "double_int"},                                      \
        {MPI_MAXLOC, MPI_FLOAT_INT, "maxloc", "float_int"}, {                                      \
        MPI_REPLACE, MPI_INT8_T, "replace", "int8"                                                 \
    }

void run_sweep_put(struct bench* bench) {
    SWEEP(bench, PUT, {MPI_REPLACE, MPI_DOUBLE, "-", "double"},
          {MPI_REPLACE, MPI_INT8_T, "-", "int8"});
}

void run_sweep_get(struct bench* bench) {
    SWEEP(bench, GET, {MPI_NO_OP, MPI_DOUBLE, "-", "double"}, {MPI_NO_OP, MPI_INT8_T, "-", "int8"});
}

void run_sweep_accumulate(struct bench* bench) {
    SWEEP(bench, ACCUMULATE, REDUCTIONS, {MPI_REPLACE, MPI_DOUBLE, "replace", "double"});
}

void run_sweep_get_accumulate(struct bench* bench) {
    SWEEP(bench, GET_ACCUMULATE, REDUCTIONS, {MPI_NO_OP, MPI_DOUBLE, "no_op", "double"});
}

void run_sweep_fetch_and_op(struct bench* bench) {
    SWEEP(bench, FETCH_AND_OP, REDUCTIONS, {MPI_NO_OP, MPI_DOUBLE, "no_op", "double"});
}
