/*
 * Stands in for the header of this name of Open MPI 5.0, which opal/mca/threads/threads.h includes and
 * which Debian does not install. threads.h leaves one function to it.
 */
#ifndef OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_THREADS_H
#define OPAL_MCA_THREADS_PTHREADS_THREADS_PTHREADS_THREADS_H

#include <pthread.h>
#include <sched.h>

static inline void opal_thread_yield(void)
{
    sched_yield();
}

#endif
