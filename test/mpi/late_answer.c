// PMIx answers when the time that MPI_Finalize gives it is over: the job ends all the same, and what the answer calls
// is there.
//
// The component asks in MPI_Finalize whether the processes that its windows have linked are there, too. Here that
// question is kept back, and answered when PMIx is closed: at 4.1.4 before the component is unloaded. check_network
// starts this on two nodes of one rank each.
#define _GNU_SOURCE // RTLD_NOLOAD
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef void answer_t(int status, void* data);

static int size;
static answer_t* kept; ///< to be called with `kept_data`
static void* kept_data;

/// PMIx was loaded with Open MPI's components, where RTLD_NEXT does not look.
static void* of_pmix(const char* name) {
    return dlsym(dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD), name);
}

/// These stand in for PMIx's. Open MPI itself asks for all processes, without a list of them.
int PMIx_Fence_nb(const void* processes, size_t count, const void* info, size_t infos,
                  answer_t* answer, void* data) {
    typedef int fence_t(const void*, size_t, const void*, size_t, answer_t*, void*);
    if (size > 1 && count == (size_t)size && kept == NULL) {
        kept = answer;
        kept_data = data;
        return 0;
    }
    return ((fence_t*)of_pmix("PMIx_Fence_nb"))(processes, count, info, infos, answer, data);
}
int PMIx_Finalize(const void* info, size_t infos) {
    typedef int finalize_t(const void*, size_t);
    if (kept != NULL) {
        kept(0, kept_data);
        static const char said[] = "answered late\n"; // stdio may be closed
        if (write(STDOUT_FILENO, said, strlen(said)) < 0)
            perror("write");
    }
    return ((finalize_t*)of_pmix("PMIx_Finalize"))(info, infos);
}

int main(int argc, char** argv) {
    int rank, *word;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(sizeof *word, sizeof *word, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, win);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_unlock((rank + 1) % size, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
