/*
 * The error class of a window that could not be made.
 *
 * Whatever a component returns, Open MPI (4.1 and 5.0) tells the communicator's error handler of
 * MPI_ERR_WIN, and returns what the handler leaves. So a creation that rmalock lets fail puts a
 * handler of its own in front of the program's, for that one call: it puts the program's back,
 * and passes the error on to it with its class.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "osc_rmalock.h"

#include "ompi/errhandler/errhandler.h"

/* A communicator whose handler is ours at the moment. */
typedef struct failure {
    struct ompi_communicator_t* comm;
    ompi_errhandler_t* theirs;
    int error_class;
    struct failure* next;
} failure_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static failure_t* failures;
static ompi_errhandler_t* ours;

static failure_t* take(const struct ompi_communicator_t* comm) {
    failure_t** at = &failures;
    pthread_mutex_lock(&lock);
    while (NULL != *at && (*at)->comm != comm) {
        at = &(*at)->next;
    }
    failure_t* found = *at;
    if (NULL != found) {
        *at = found->next;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* As MPI_Comm_errhandler_function; the third argument is the name of the call. */
static void tell_class(MPI_Comm* comm, int* code, ...) {
    static const char window_call[] = "MPI_Win_";
    failure_t* failure = take(*comm);
    va_list arguments;
    va_start(arguments, code);
    const char* call = va_arg(arguments, const char*);
    va_end(arguments);
    if (NULL == failure) {
        return;
    }
    (*comm)->error_handler = failure->theirs;
    if (NULL != call && 0 == strncmp(call, window_call, sizeof window_call - 1)) {
        *code = failure->error_class;
    }
    *code =
        ompi_errhandler_invoke(failure->theirs, *comm, (int)(*comm)->errhandler_type, *code, call);
    free(failure);
}

int osc_rmalock_creation_failed(struct ompi_communicator_t* comm, int error_class) {
    failure_t* failure = (failure_t*)malloc(sizeof *failure);
    pthread_mutex_lock(&lock);
    if (NULL == ours) {
        ours = ompi_errhandler_create(OMPI_ERRHANDLER_TYPE_COMM,
                                      (ompi_errhandler_generic_handler_fn_t*)tell_class,
                                      OMPI_ERRHANDLER_LANG_C);
    }
    if (NULL != failure && NULL != ours && comm->error_handler != ours) {
        *failure = (failure_t){comm, comm->error_handler, error_class, failures};
        failures = failure;
        failure = NULL;
        comm->error_handler = ours;
    }
    pthread_mutex_unlock(&lock);
    free(failure); /* then it stays MPI_ERR_WIN */
    return error_class;
}

void osc_rmalock_failures_close(void) {
    if (NULL != ours) {
        OBJ_RELEASE(ours);
        ours = NULL;
    }
}
