/*
 * The requests of MPI_Rput, MPI_Rget and MPI_Rget_accumulate to other nodes. Operations on the node
 * are complete when their call returns, and have no request of their own.
 *
 * An operation may be completed by the progress thread, which must not call Open MPI; so its
 * request is completed by the next call of Open MPI's progress, which looks through all that are
 * open.
 */
#include "osc_rmalock.h"

#include <pthread.h>

static pthread_mutex_t open_mutex = PTHREAD_MUTEX_INITIALIZER;
/* A list. Changed under the mutex; osc_rmalock_progress looks without it whether there are any. Relaxed: under
 * the mutex that orders it. */
static _Atomic(osc_rmalock_request_t*) open_requests = NULL;

/* Relaxed: several threads may count past each other. */
void osc_rmalock_count_complete(void) {
    enum { OFTEN = 64 };
    static _Atomic(unsigned) made;
    const unsigned now = atomic_load_explicit(&made, memory_order_relaxed) + 1;
    atomic_store_explicit(&made, now, memory_order_relaxed);
    if (0 == now % OFTEN) {
        opal_progress();
    }
}

static int request_free(struct ompi_request_t** request) {
    osc_rmalock_request_t* mine = (osc_rmalock_request_t*)*request;
    *request = MPI_REQUEST_NULL;
    OMPI_REQUEST_FINI(&mine->super);
    OBJ_RELEASE(mine);
    return OMPI_SUCCESS;
}

static int request_cancel(struct ompi_request_t* request, int flag) {
    (void)request;
    (void)flag;
    return MPI_ERR_REQUEST;
}

static void construct(osc_rmalock_request_t* request) {
    request->super.req_type = OMPI_REQUEST_WIN;
    request->super.req_free = request_free;
    request->super.req_cancel = request_cancel;
    request->completion = (rmalock_completion_t){0};
    request->next = NULL;
}

OBJ_CLASS_INSTANCE(osc_rmalock_request_t, ompi_request_t, construct, NULL);

osc_rmalock_request_t* osc_rmalock_request_new(struct ompi_win_t* win) {
    osc_rmalock_request_t* request = OBJ_NEW(osc_rmalock_request_t);
    if (NULL != request) {
        OMPI_REQUEST_INIT(&request->super, false);
        request->super.req_mpi_object.win = win;
        request->super.req_state = OMPI_REQUEST_ACTIVE;
        request->super.req_status.MPI_ERROR = MPI_SUCCESS;
        request->super.req_status._cancelled = 0;
        request->super.req_status._ucount = 0;
    }
    return request;
}

int osc_rmalock_request_begun(int rc, osc_rmalock_request_t* request,
                              struct ompi_request_t** result) {
    const bool done = rmalock_completion_done(&request->completion);
    if (OMPI_SUCCESS == rc && done && rmalock_completion_lost(&request->completion)) {
        rc = osc_rmalock_error(RMALOCK_ERR_PROC_FAILED);
    }
    if (OMPI_SUCCESS != rc || done) {
        struct ompi_request_t* unused = &request->super;
        (void)request_free(&unused);
        return osc_rmalock_complete_request(rc, result);
    }
    *result = &request->super;
    OBJ_RETAIN(request); /* the list's: the program may free its own at any time */
    pthread_mutex_lock(&open_mutex);
    request->next = atomic_load_explicit(&open_requests, memory_order_relaxed);
    atomic_store_explicit(&open_requests, request, memory_order_relaxed);
    pthread_mutex_unlock(&open_mutex);
    return OMPI_SUCCESS;
}

/* Takes the completed ones out of the list. */
static osc_rmalock_request_t* take_done(void) {
    osc_rmalock_request_t* first = atomic_load_explicit(&open_requests, memory_order_relaxed);
    osc_rmalock_request_t *done = NULL, **at = &first;
    while (NULL != *at) {
        osc_rmalock_request_t* request = *at;
        if (rmalock_completion_done(&request->completion)) {
            *at = request->next;
            request->next = done;
            done = request;
        } else {
            at = &request->next;
        }
    }
    atomic_store_explicit(&open_requests, first, memory_order_relaxed);
    return done;
}

int osc_rmalock_progress(void) {
    int count = rmalock_network_progress();
    rmalock_send_held();
    /* Relaxed: only the question goes without the mutex, and another thread's request that it
     * misses waits for the next call. */
    if (NULL == atomic_load_explicit(&open_requests, memory_order_relaxed) ||
        0 != pthread_mutex_trylock(&open_mutex)) {
        return count; /* another thread is at it, or this one: progress may be called from within */
    }
    osc_rmalock_request_t* done = take_done();
    pthread_mutex_unlock(&open_mutex);
    while (NULL != done) {
        osc_rmalock_request_t* next = done->next;
        if (rmalock_completion_lost(&done->completion)) {
            done->super.req_status.MPI_ERROR = osc_rmalock_error(RMALOCK_ERR_PROC_FAILED);
        }
        ompi_request_complete(&done->super, true);
        OBJ_RELEASE(done);
        done = next;
        ++count;
    }
    return count;
}
