// What the healthy ranks of Open MPI 5.0 say when another one is gone, whatever ended it. Not run by a suite.
//
//     mpicc -o lost_rank lost_rank.c
//     mpirun -n 2 --mca pml ob1 --mca btl tcp,self ./lost_rank
//
// "An error occurred in Socket closed ... on a NULL communicator". So the message alone does not mean a fault of the transport:
// the first rank that ended is to be looked for. Open MPI 4.1 says that a "peer process has unexpectedly disconnected".
#include <mpi.h>
#include <signal.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, word = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD); // they are connected
    if (rank == 1)
        raise(SIGTERM); // as mpirun does when its time is up
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
