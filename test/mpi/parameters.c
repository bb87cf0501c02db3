// What a bad or special parameter does to the creation of windows. The case is the argument, its
// outcome the exit status; check_parameters sets the MCA parameters and looks at what is printed.
//
//   create BYTES     creates a window by MPI_Win_allocate, uses it, frees it: exit 0
//   refused BYTES    the creation fails with an error class, on every rank: exit 0
//   info KEY VALUE   like create, with an info key; refused_info: like refused
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make(MPI_Aint bytes, MPI_Info info) {
    char* base = NULL;
    MPI_Win win = MPI_WIN_NULL;
    const int code = MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
    if (code != MPI_SUCCESS) {
        int class;
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_class(code, &class);
        MPI_Error_string(code, text, &length);
        printf("refused: class %d, %s\n", class, text);
        return 0;
    }
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(base, 1, (size_t)bytes); // touches every page
    MPI_Win_unlock(rank, win);
    return MPI_Win_free(&win) == MPI_SUCCESS;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    const int with_info = strstr(argv[1], "info") != NULL;
    MPI_Info info = MPI_INFO_NULL;
    if (with_info) {
        MPI_Info_create(&info);
        MPI_Info_set(info, argv[2], argv[3]);
    }
    const int made = make(with_info ? 64 : atoll(argv[2]), info), wanted = argv[1][0] != 'r';
    const int again = make(64, MPI_INFO_NULL); // a failed creation leaves nothing behind
    if (with_info)
        MPI_Info_free(&info);
    int mine = made == wanted && again, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    MPI_Finalize();
    return all ? 0 : 1;
}
