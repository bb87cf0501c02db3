// How a program may end with windows, and what it may lack while it makes them. check_network starts this, says
// by the argument how, and looks at how the job ends; check_ground has it lack rights.
//
//   left          nothing is freed, and the epochs are open
//   unflushed     the same, and puts and gets are under way that nothing has flushed
//   deferred      the same, and short critical sections have begun that nothing has sent
//   session       the same; a window of an MPI session is used behind MPI_Finalize (Open MPI 5.0)
//   out_of_order  nothing is freed, and Open MPI's tables of windows differ between ranks
//   at_exit       all is done by a handler of exit() that was there before MPI_Init
//   shortage      rank 1 has no descriptors left for a while; a window made later has no name
//   no_rights     the umask takes the owner's rights as well, which only root does not need
#define _GNU_SOURCE
#include "hide.h"

#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, size;

static void fail(const char* what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Win window(MPI_Comm comm) {
    MPI_Win win;
    long* base;
    MPI_Win_allocate(sizeof *base, sizeof *base, MPI_INFO_NULL, comm, &base, &win);
    *base = 0;
    MPI_Barrier(comm);
    return win;
}

/// Adds 1 at the next rank, under a lock.
static void add(MPI_Win win) {
    const long one = 1;
    const int target = (rank + 1) % size;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_unlock(target, win);
}

static void left(void) {
    const long one = 1;
    const MPI_Win passive = window(MPI_COMM_WORLD), active = window(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, passive);
    MPI_Accumulate(&one, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, MPI_SUM, passive);
    MPI_Win_flush_all(passive);
    MPI_Win_fence(0, active);
    MPI_Put(&one, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, active);
    MPI_Win_fence(0, active);
}

/// To and from every rank, far more at a time than a connection holds: the target is on its way out, too.
static void unflushed(void) {
    enum { LONG = 4 << 20, LONGS = 2, SHORTS = 100 };
    static char into[LONG];
    char* base;
    MPI_Win win;
    MPI_Win_allocate(2 * LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    char* const from = calloc(1, LONG);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i <= size; ++i) {
        const int target = (rank + i) % size;
        for (int n = 0; n < LONGS; ++n)
            MPI_Put(from, LONG, MPI_CHAR, target, 0, LONG, MPI_CHAR, win);
        MPI_Get(into, LONG, MPI_CHAR, target, LONG, LONG, MPI_CHAR, win);
        for (int n = 0; n < SHORTS; ++n) {
            MPI_Put(from, 8, MPI_CHAR, target, 16 * n, 8, MPI_CHAR, win);
            MPI_Accumulate(from, 1, MPI_LONG, target, 16 * n + 8, 1, MPI_LONG, MPI_SUM, win);
        }
    }
}

/// At the opposite rank, which is on another node if there are any. A process has one deferred lock at a
/// time, and acquires it before the next: so each rank ends with another one of these.
static void deferred(void) {
    static const long one = 1;
    static long before[2];
    const int target = (rank + size / 2) % size;
    enum { EMPTY, ADDS, FETCHES, FLUSHED, KINDS };
    for (int i = 0; i < KINDS; ++i) {
        const int kind = (i + rank) % KINDS;
        const MPI_Win win = window(MPI_COMM_WORLD);
        MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
        if (kind >= ADDS)
            MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
        if (kind >= FETCHES)
            MPI_Fetch_and_op(&one, &before[0], MPI_LONG, target, 0, MPI_SUM, win);
        if (kind == FLUSHED) {
            MPI_Win_flush(target, win);
            MPI_Fetch_and_op(&one, &before[1], MPI_LONG, target, 0, MPI_SUM, win);
        }
    }
}

static void nothing_more(void) {}

#if OMPI_MAJOR_VERSION >= 5
static MPI_Session its_session;
static MPI_Comm comm_of_session;
static MPI_Win of_session;

static void in_session(void) {
    MPI_Group all;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &its_session);
    MPI_Group_from_session_pset(its_session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, "rmalock://ends", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                               &comm_of_session);
    MPI_Group_free(&all);
    of_session = window(comm_of_session);
    add(of_session);
    deferred();
}

static void session_goes_on(void) {
    add(of_session);
    MPI_Win_free(&of_session);
    MPI_Comm_free(&comm_of_session);
    MPI_Session_finalize(&its_session);
}
#else
static void in_session(void) {
    puts("no sessions");
}
#define session_goes_on nothing_more
#endif

/// Rank 0 has a place in its table that others have not, and takes it for the second window.
static void out_of_order(void) {
    MPI_Win own = MPI_WIN_NULL;
    if (rank == 0)
        own = window(MPI_COMM_SELF);
    const MPI_Win first = window(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Win_free(&own);
    const MPI_Win second = window(MPI_COMM_WORLD);
    add(first);
    add(second);
}

static MPI_Win used_to_the_end;

static void last_deeds(void) {
    add(used_to_the_end);
    MPI_Win more = window(MPI_COMM_WORLD);
    add(more);
    MPI_Win_free(&more);
    MPI_Win_free(&used_to_the_end);
    MPI_Finalize();
    puts("finalized");
}

static void at_exit(void) {
    used_to_the_end = window(MPI_COMM_WORLD);
}

/// Whether a segment of this process has, or had, a name of rmalock's.
static int is_named(void) {
    char line[1024];
    int found = 0;
    FILE* const maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, "/rmalock.") != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

static void shortage(void) {
    enum { MOST = 300 };
    static int files[MOST];
    struct rlimit before, few;
    int count = 0;
    getrlimit(RLIMIT_NOFILE, &before);
    few = before;
    few.rlim_cur = MOST;
    if (rank == 1) {
        setrlimit(RLIMIT_NOFILE, &few);
        while ((files[count] = open("/dev/null", O_RDONLY)) >= 0)
            ++count;
    }
    long* base;
    MPI_Win win;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_allocate(sizeof *base, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win) ==
        MPI_SUCCESS)
        fail("a window without a descriptor");
    while (count > 0)
        close(files[--count]);
    setrlimit(RLIMIT_NOFILE, &before);
    win = window(MPI_COMM_WORLD);
    add(win);
    if (is_named())
        fail("the segment has a name");
    MPI_Win_free(&win);
}

static void no_rights(void) {
    const mode_t before = umask(0777);
    for (int named = 0; named < 2; ++named) {
        MPI_Win win = window(MPI_COMM_WORLD);
        add(win);
        if (is_named() != named)
            fail(named ? "the segment has no name" : "the segment has a name");
        MPI_Win_free(&win);
        hide(); // the next one needs a name
    }
    umask(before);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
        void (*behind_finalize)(void);
    } kinds[] = {
        {"left", left, nothing_more},
        {"unflushed", unflushed, nothing_more},
        {"deferred", deferred, nothing_more},
        {"session", in_session, session_goes_on},
        {"out_of_order", out_of_order, nothing_more},
        {"at_exit", at_exit, nothing_more},
        {"shortage", shortage, nothing_more},
        {"no_rights", no_rights, nothing_more},
    };
    const char* const kind = argc > 1 ? argv[1] : "";
    const int by_handler = strcmp(kind, "at_exit") == 0;
    size_t k = 0;
    while (strcmp(kind, kinds[k].name) != 0)
        if (++k == sizeof kinds / sizeof *kinds)
            return 2;
    if (by_handler)
        atexit(last_deeds);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    kinds[k].run();
    if (!by_handler) {
        MPI_Finalize();
        kinds[k].behind_finalize();
        puts("finalized");
    }
    return 0;
}
