// Faults of Open MPI 5.0's mpirun (PRRTE 3.0.8, of 5.0.7) with spawned processes, without a window. Not run by a suite.
//
//     mpicc -o spawned spawned.c
//     vcluster run 4x2 -- mpirun --mca btl_tcp_disable_family 6 ./spawned
//
// The ranks spawn one process and exchange messages with it. On one host they get there. On several hosts mpirun and
// its daemons read and free memory behind an array (connect_release in pmix_server_dyn.c, which makes room for one
// element and destructs a second one). They say "PMIX ERROR: PMIX_ERROR in file ... pmix_server_dyn.c". After that the
// job ends, or a daemon crashes ("PRTE has lost communication with a remote daemon"; the ranks then say "Socket
// closed"), or mpirun does ("free(): invalid pointer"), or ranks of other hosts do not find the new process
// ("opal_modex_recv: failed") and wait for ever.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SECONDS = 60 };

int main(int argc, char** argv) {
    alarm(SECONDS); // a process that waits for ever
    MPI_Init(&argc, &argv);
    MPI_Comm between, both;
    MPI_Comm_get_parent(&between);
    const int is_child = between != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(between, is_child, &both);
    int rank, ranks;
    MPI_Comm_rank(both, &rank);
    MPI_Comm_size(both, &ranks);
    int* sent = calloc((size_t)ranks, sizeof *sent);
    int* got = calloc((size_t)ranks, sizeof *got);
    MPI_Alltoall(sent, 1, MPI_INT, got, 1, MPI_INT, both);
    if (rank == 0)
        printf("%d processes have met\n", ranks);
    free(sent);
    free(got);
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
}
