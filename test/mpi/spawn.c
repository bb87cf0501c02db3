// Windows shared with processes that were started later: spawned, and merged into one communicator.
#include "use_window.h"

// One: the start-up of several at once sometimes hangs in PMIx (Open MPI 4.1 with PMIx 4.2). That
// of one does so as well, once in some hundred times, before MPI has anything to do with it; `run`
// starts the program again then.
enum { CHILDREN = 1, START_SECONDS = 20 };

static char* own_path;

/// Everybody uses one window; the failures of all are everybody's.
static void use_together(MPI_Comm between, bool children_first) {
    MPI_Comm both;
    MPI_Intercomm_merge(between, children_first, &both);
    MPI_Comm_set_errhandler(both, MPI_ERRORS_RETURN);
    use(both, T.flavor);
    use(both, T.flavor);
    long failures;
    MPI_Allreduce(&T.failures, &failures, 1, MPI_LONG, MPI_SUM, both);
    T.failures = failures;
    MPI_Comm_free(&both);
    MPI_Comm_disconnect(&between);
}

static void spawned_and_merged(void) {
    // mpirun of Open MPI 5.0 loses what the ranks of other hosts are to know: test/programs/openmpi/spawned.c.
    if (T.hosts > 1 && OMPI_MAJOR_VERSION == 5) {
        skip("Open MPI 5.0 on several hosts");
        return;
    }
    char flavor[] = {(char)('0' + T.flavor), '\0'};
    char* arguments[] = {"--child", flavor, NULL};
    MPI_Comm between;
    MPI_Info info;
    MPI_Info_create(&info);
    if (OK(MPI_Comm_spawn(own_path, arguments, CHILDREN, info, 0, MPI_COMM_WORLD, &between,
                          MPI_ERRCODES_IGNORE)))
        use_together(between, false);
    MPI_Info_free(&info);
}

static int child(int argc, char** argv) {
    MPI_Comm parents;
    T.program = "spawn";
    snprintf(T.name, sizeof T.name, "child does not start");
    watch_signals();
    alarm(START_SECONDS);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &T.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &T.ranks);
    T.flavor = (enum flavor)(argv[2][0] - '0');
    snprintf(T.name, sizeof T.name, "spawned child/%s", flavor_names[T.flavor]);
    watch_signals();
    alarm(60);
    MPI_Comm_get_parent(&parents);
    use_together(parents, true);
    MPI_Finalize();
    return 0; // the parents report
}

static const struct test_case cases[] = {
    {.name = "spawned_and_merged", .run = spawned_and_merged, .each = IN_ANY},
};

int main(int argc, char** argv) {
    if (argc == 3 && strcmp(argv[1], "--child") == 0)
        return child(argc, argv);
    own_path = realpath(argv[0], NULL);
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
