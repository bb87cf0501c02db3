// A job of two ranks that is killed while it creates a window whose segment has a name, in the
// folder of the argument. Rank 1 takes no further part in the creation as soon as the name is there,
// however fast pages are made, and kills rank 0 at once: the launcher must have heard of the name
// before it was made. check_parameters looks at what is left. Exit status 0: the window was made before.
#include "hide.h"

#include <dirent.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char* folder;
static int victim;        // the process that makes the file
static pthread_t creator; // rank 1's thread that creates the window
static volatile sig_atomic_t may_go_on;

static int has_segment(void) {
    int found = 0;
    DIR* const open = opendir(folder);
    for (struct dirent* entry; open != NULL && (entry = readdir(open)) != NULL;)
        found |= strncmp(entry->d_name, "rmalock.", 8) == 0;
    if (open != NULL)
        closedir(open);
    return found;
}

static void* kill_when_named(void* unused) {
    while (!has_segment())
        usleep(20);
    pthread_kill(creator, SIGUSR1);
    if (has_segment()) {
        puts("killed when the segment had a name");
        fflush(stdout);
        kill(victim, SIGKILL);
    }
    may_go_on = 1;
    return unused;
}

static void wait_here(int signal) {
    (void)signal;
    while (!may_go_on)
        usleep(1000);
}

int main(int argc, char** argv) {
    int rank, provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2)
        MPI_Abort(MPI_COMM_WORLD, 2);
    folder = argv[1];
    hide();
    victim = (int)getpid();
    MPI_Bcast(&victim, 1, MPI_INT, 0, MPI_COMM_WORLD);
    pthread_t watcher;
    creator = pthread_self();
    signal(SIGUSR1, wait_here);
    if (rank == 1)
        pthread_create(&watcher, NULL, kill_when_named, NULL);
    // Large: the name is there while the pages are made, long enough for rank 1 to see it.
    void* base;
    MPI_Win win;
    MPI_Win_allocate((MPI_Aint)256 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    puts("the window was made before");
    MPI_Abort(MPI_COMM_WORLD, 0);
}
