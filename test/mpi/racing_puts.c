// A race on purpose: two threads put to one word and do nothing that orders them. MPI permits it,
// and leaves open which value stays. ThreadSanitizer has to report it, in the component's own code,
// which does the storing; else check_tsan would prove nothing.
#include <mpi.h>

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 2, TIMES = 1000 };

static MPI_Win win;
static int rank;
static pthread_barrier_t start;

static void* put_often(void* unused) {
    (void)unused;
    pthread_barrier_wait(&start);
    for (int64_t i = 0; i < TIMES; ++i)
        MPI_Put(&i, 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T, win);
    return NULL;
}

int main(int argc, char** argv) {
    pthread_t threads[THREADS];
    int64_t* word;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof *word, sizeof *word, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
    MPI_Win_lock_all(0, win);
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&threads[i], NULL, put_often, NULL);
    for (int i = 0; i < THREADS; ++i)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
