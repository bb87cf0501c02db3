/* Faults for test_bench.py, put between rma_bench and MPI through the profiling interface: the
 * benchmark must notice every one of them.
 *   RMA_FAULT=lose    data operations do nothing
 *   RMA_FAULT=shared  every lock is shared, so nothing is excluded */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int fault_is(const char* name) {
    const char* fault = getenv("RMA_FAULT");
    return NULL != fault && 0 == strcmp(fault, name);
}

int MPI_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint at,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
    /* Holders stay long between their get and their put, so that they do meet, whatever the
     * scheduler does. */
    const struct timespec inside = {.tv_nsec = 100000};
    if (fault_is("shared"))
        nanosleep(&inside, NULL);
    return fault_is("lose") ? MPI_SUCCESS
                            : PMPI_Put(origin, origin_count, origin_type, target, at, target_count,
                                       target_type, window);
}

int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint at,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
    return fault_is("lose") ? MPI_SUCCESS
                            : PMPI_Get(origin, origin_count, origin_type, target, at, target_count,
                                       target_type, window);
}

int MPI_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                   MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win window) {
    return fault_is("lose") ? MPI_SUCCESS
                            : PMPI_Accumulate(origin, origin_count, origin_type, target, at,
                                              target_count, target_type, op, window);
}

int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint at,
                     MPI_Op op, MPI_Win window) {
    return fault_is("lose") ? MPI_SUCCESS
                            : PMPI_Fetch_and_op(origin, result, type, target, at, op, window);
}

int MPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                         int target, MPI_Aint at, MPI_Win window) {
    return fault_is("lose")
               ? MPI_SUCCESS
               : PMPI_Compare_and_swap(origin, compare, result, type, target, at, window);
}

int MPI_Get_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint at,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window) {
    return fault_is("lose") ? MPI_SUCCESS
                            : PMPI_Get_accumulate(origin, origin_count, origin_type, result,
                                                  result_count, result_type, target, at,
                                                  target_count, target_type, op, window);
}

/* A request that is complete at once. */
static int lost(MPI_Request* request) {
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Rput(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
             MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Win window,
             MPI_Request* request) {
    return fault_is("lose") ? lost(request)
                            : PMPI_Rput(origin, origin_count, origin_type, target, at, target_count,
                                        target_type, window, request);
}

int MPI_Rget(void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint at,
             int target_count, MPI_Datatype target_type, MPI_Win window, MPI_Request* request) {
    return fault_is("lose") ? lost(request)
                            : PMPI_Rget(origin, origin_count, origin_type, target, at, target_count,
                                        target_type, window, request);
}

int MPI_Raccumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                    MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Op op,
                    MPI_Win window, MPI_Request* request) {
    return fault_is("lose") ? lost(request)
                            : PMPI_Raccumulate(origin, origin_count, origin_type, target, at,
                                               target_count, target_type, op, window, request);
}

int MPI_Rget_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type,
                        void* result, int result_count, MPI_Datatype result_type, int target,
                        MPI_Aint at, int target_count, MPI_Datatype target_type, MPI_Op op,
                        MPI_Win window, MPI_Request* request) {
    return fault_is("lose") ? lost(request)
                            : PMPI_Rget_accumulate(origin, origin_count, origin_type, result,
                                                   result_count, result_type, target, at,
                                                   target_count, target_type, op, window, request);
}

int MPI_Win_lock(int type, int target, int assertion, MPI_Win window) {
    const int granted = fault_is("shared") ? MPI_LOCK_SHARED : type;
    return PMPI_Win_lock(granted, target, assertion, window);
}
