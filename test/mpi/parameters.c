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

static int told, told_times; // by the error handler

static void on_error(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    MPI_Error_class(*code, &told);
    ++told_times;
}

static const char* name_of(int class) {
    return class == MPI_ERR_NO_MEM       ? "MPI_ERR_NO_MEM"
           : class == MPI_ERR_INFO_VALUE ? "MPI_ERR_INFO_VALUE"
                                         : "another class";
}

static int make(MPI_Aint bytes, MPI_Info info) {
    char* base = NULL;
    MPI_Win win = MPI_WIN_NULL;
    const int code = MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, &base, &win);
    if (code != MPI_SUCCESS) {
        int class;
        MPI_Error_class(code, &class);
        const int once = told_times == 1 && told == class;
        printf("creation failed: %s%s\n", name_of(class), once ? "" : ", told otherwise");
        told_times = 0;
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
    MPI_Errhandler handler, kept;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
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
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &kept);
    int mine = made == wanted && again && kept == handler, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    MPI_Errhandler_free(&kept);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return all ? 0 : 1;
}
