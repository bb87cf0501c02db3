// A process of a window is killed, and the others go on (mpirun --with-ft ulfm; Open MPI 5.0):
//     survive SCENARIO VICTIM MILLISECONDS
// VICTIM is its rank, MILLISECONDS what is left to it once all are there. The others find that calls
// of the window fail with MPI_ERR_PROC_FAILED, through its error handler, within twice the time of
// Open MPI's failure detector; free it; and go on with windows that they had, or make, without the
// victim. Exit status 0: each of them did; 77: this Open MPI does not go on.
#include <mpi.h>
#include <mpi-ext.h>
#include <stdio.h>

#ifndef OMPI_HAVE_MPI_EXT_FTMPI
int main(void) {
    puts("this Open MPI does not go on when a process fails");
    return 77;
}
#else
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { ELEMENTS = 100 };            // of long double, which no atomic of a CPU can add
static const double kDetector = 10; // mpi_ft_detector_timeout, seconds

static int rank, ranks, victim, handled;
static double killed_at; // CLOCK_REALTIME, seconds
static MPI_Win window;
static long* memory;

#define CHECK(what, ...)                                                                           \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "rank %d, line %d: ", rank, __LINE__);                                 \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS, "%s failed", #call)

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool is_victim(void) {
    return rank == victim;
}
static int next_of(int r) {
    return (r + 1) % ranks;
}
/// The first one that is not the victim.
static int home(void) {
    return victim == 0 ? 1 : 0;
}

// ---- what processes do until a call fails: each returns what its call has returned

/// Returns the first that is not MPI_SUCCESS.
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const int tried = (call);                                                                  \
        if (tried != MPI_SUCCESS)                                                                  \
            return tried;                                                                          \
    } while (0)

static int lock_and_put(int type, int target) {
    const long value = rank;
    TRY(MPI_Win_lock(type, target, 0, window));
    if (type == MPI_LOCK_EXCLUSIVE)
        TRY(MPI_Put(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, window));
    TRY(MPI_Win_unlock(target, window));
    return MPI_SUCCESS;
}

static int hold_for_ever(int type, int target) {
    TRY(MPI_Win_lock(type, target, 0, window));
    MPI_Barrier(MPI_COMM_WORLD);
    pause();
    return MPI_SUCCESS;
}

static int holder(void) {
    if (is_victim())
        return hold_for_ever(MPI_LOCK_EXCLUSIVE, home());
    return lock_and_put(rank % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, home());
}

static int reader(void) {
    if (is_victim())
        return hold_for_ever(MPI_LOCK_SHARED, home());
    return lock_and_put(MPI_LOCK_EXCLUSIVE, home());
}

static int holder_of_all(void) {
    if (is_victim()) {
        TRY(MPI_Win_lock_all(0, window));
        MPI_Barrier(MPI_COMM_WORLD);
        pause();
    }
    return lock_and_put(MPI_LOCK_EXCLUSIVE, next_of(rank));
}

/// The victim waits, as others do; the holder computes.
static int waiter(void) {
    if (rank != home())
        return lock_and_put(MPI_LOCK_EXCLUSIVE, home());
    TRY(MPI_Win_flush(home(), window));
    return MPI_SUCCESS;
}

static int target(void) {
    if (is_victim())
        pause();
    return lock_and_put(MPI_LOCK_EXCLUSIVE, victim);
}

static int locks(void) {
    const int type = rand() % 2 == 0 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
    if (rand() % 8 != 0)
        return lock_and_put(type, rand() % ranks);
    TRY(MPI_Win_lock_all(0, window));
    TRY(MPI_Win_unlock_all(window));
    return MPI_SUCCESS;
}

/// In an epoch that stays open.
static int accumulates(void) {
    static long double ones[ELEMENTS];
    const long one = 1;
    long before;
    const int at = rand() % ranks;
    TRY(MPI_Accumulate(ones, ELEMENTS, MPI_LONG_DOUBLE, at, 2, ELEMENTS, MPI_LONG_DOUBLE, MPI_SUM,
                       window));
    TRY(MPI_Fetch_and_op(&one, &before, MPI_LONG, at, 0, MPI_SUM, window));
    TRY(MPI_Win_flush(at, window));
    return MPI_SUCCESS;
}

/// Of the victim's memory more often than of others'.
static int requests(void) {
    MPI_Request request;
    long value;
    const int at = rand() % 2 == 0 ? victim : rand() % ranks;
    TRY(MPI_Rget(&value, 1, MPI_LONG, at, 0, 1, MPI_LONG, window, &request));
    TRY(MPI_Wait(&request, MPI_STATUS_IGNORE));
    TRY(MPI_Win_flush(at, window));
    return MPI_SUCCESS;
}

/// Several at a time share messages between hosts. A flush that has not failed has brought them.
static int gets(void) {
    enum { GETS = 4 };
    static long values[GETS];
    const int at = rand() % 2 == 0 ? victim : rand() % ranks;
    memset(values, -1, sizeof values);
    for (int i = 0; i < GETS; ++i)
        TRY(MPI_Get(&values[i], 1, MPI_LONG, at, 0, 1, MPI_LONG, window));
    TRY(rand() % 2 == 0 ? MPI_Win_flush_local(at, window) : MPI_Win_flush_local_all(window));
    for (int i = 0; i < GETS; ++i)
        CHECK(values[i] != -1, "get %d of rank %d brought nothing", i, at);
    return MPI_SUCCESS;
}

/// Of another window, the communicator's error handler, which returns, has the failure.
static int creation(void) {
    MPI_Win another;
    long* base;
    TRY(MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &another));
    OK(MPI_Win_free(&another));
    return MPI_SUCCESS;
}

static int fence(void) {
    if (is_victim())
        pause();
    return MPI_Win_fence(0, window);
}

/// Each puts to the next, in a ring.
static int pscw(void) {
    MPI_Group all, origins, targets;
    const int next = next_of(rank), before = (rank + ranks - 1) % ranks;
    const long value = rank;
    OK(MPI_Win_get_group(window, &all));
    OK(MPI_Group_incl(all, 1, &before, &origins));
    OK(MPI_Group_incl(all, 1, &next, &targets));
    TRY(MPI_Win_post(origins, 0, window));
    TRY(MPI_Win_start(targets, 0, window));
    TRY(MPI_Put(&value, 1, MPI_LONG, next, 0, 1, MPI_LONG, window));
    TRY(MPI_Win_complete(window));
    TRY(MPI_Win_wait(window));
    MPI_Group_free(&all);
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    return MPI_SUCCESS;
}

static const struct scenario {
    const char* name;
    int (*step)(void);
    bool holds;     ///< the victim comes to a second barrier, and holds something then
    bool locks_all; ///< all are in an epoch of MPI_Win_lock_all
    bool of_comm;   ///< what fails is a call of the communicator
} scenarios[] = {
    {.name = "holder", .step = holder, .holds = true},
    {.name = "reader", .step = reader, .holds = true},
    {.name = "holder_of_all", .step = holder_of_all, .holds = true},
    {.name = "waiter", .step = waiter},
    {.name = "target", .step = target},
    {.name = "locks", .step = locks},
    {.name = "accumulates", .step = accumulates, .locks_all = true},
    {.name = "requests", .step = requests, .locks_all = true},
    {.name = "gets", .step = gets, .locks_all = true},
    {.name = "creation", .step = creation, .of_comm = true},
    {.name = "fence", .step = fence},
    {.name = "pscw", .step = pscw},
};

// ---- what is counted

static MPI_T_pvar_session variables;
static MPI_T_pvar_handle locks_of_mine, verbs_of_mine; // of this process, in `window`

static void bind(const char* name, MPI_T_pvar_handle* handle) {
    int index, count;
    OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(variables, index, &window, handle, &count));
    CHECK(count == 1, "%s has %d values", name, count);
}

static unsigned long long value_of(MPI_T_pvar_handle handle) {
    unsigned long long value = 0;
    OK(MPI_T_pvar_read(variables, handle, &value));
    return value;
}

/// While the window is whole.
static void begin_to_count(void) {
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&variables));
    bind("osc_rmalock_exclusive_locks", &locks_of_mine);
    bind("osc_rmalock_verbs_on_node", &verbs_of_mine);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window));
    OK(MPI_Win_unlock(rank, window));
    CHECK(value_of(locks_of_mine) == 1, "%llu locks are counted", value_of(locks_of_mine));
    OK(MPI_Barrier(MPI_COMM_WORLD)); // an epoch of all would keep out the others
}

/// Behind the failure what has been counted can be read. A new handle counts from now on.
static void counts_are_kept(unsigned long long* locks, unsigned long long* verbs) {
    MPI_T_pvar_handle new_one;
    *locks = value_of(locks_of_mine);
    *verbs = value_of(verbs_of_mine);
    CHECK(*locks >= 1 && *verbs >= 1, "%llu locks, %llu verbs", *locks, *verbs);
    bind("osc_rmalock_exclusive_locks", &new_one);
    CHECK(value_of(new_one) == 0, "%llu locks from now on", value_of(new_one));
    OK(MPI_T_pvar_handle_free(variables, &new_one));
}

static void end_counting(void) {
    OK(MPI_T_pvar_handle_free(variables, &locks_of_mine));
    OK(MPI_T_pvar_handle_free(variables, &verbs_of_mine));
    OK(MPI_T_pvar_session_free(&variables));
    OK(MPI_T_finalize());
}

// ---- the frame

static void die(int number) {
    kill(getpid(), number == SIGALRM ? SIGKILL : number);
}

static void stay_no_longer(int number) {
    static const char what[] = "MPI_Finalize does not end\n";
    const ssize_t written = write(STDOUT_FILENO, what, sizeof what - 1);
    _exit(number == SIGALRM && written > 0 ? 0 : 1);
}

static void handle(MPI_Win* win, int* code, ...) {
    int class = 0;
    MPI_Error_class(*code, &class);
    CHECK(*win == window && class == MPI_ERR_PROC_FAILED, "the handler got class %d", class);
    ++handled;
}

/// SURVIVE_FLAVOR: create, or else MPI_Win_allocate.
static void open_window(MPI_Comm comm, MPI_Win* win, long** base) {
    const MPI_Aint bytes = (ELEMENTS + 2) * (MPI_Aint)sizeof(long double);
    const char* const flavor = getenv("SURVIVE_FLAVOR");
    if (flavor != NULL && strcmp(flavor, "create") == 0) {
        *base = calloc(1, (size_t)bytes);
        OK(MPI_Win_create(*base, bytes, sizeof(long double), MPI_INFO_NULL, comm, win));
    } else {
        OK(MPI_Win_allocate(bytes, sizeof(long double), MPI_INFO_NULL, comm, base, win));
        memset(*base, 0, (size_t)bytes);
    }
    OK(MPI_Barrier(comm));
}

/// Everybody adds to a number at the first process, under its lock.
static void use(MPI_Comm comm, MPI_Win win) {
    enum { TIMES = 10 };
    int size;
    long value = 0;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < TIMES; ++i) {
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_flush(0, win));
        ++value;
        OK(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
        OK(MPI_Win_unlock(0, win));
    }
    OK(MPI_Barrier(comm));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    OK(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
    OK(MPI_Win_unlock(0, win));
    CHECK(value == (long)TIMES * size, "%ld of %d were added", value, TIMES * size);
    OK(MPI_Barrier(comm));
}

/// Runs until a call fails, or the victim dies.
static void run(const struct scenario* scenario, long milliseconds) {
    killed_at = now() + (double)milliseconds * 1e-3;
    OK(MPI_Bcast(&killed_at, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD));
    if (strcmp(scenario->name, "waiter") == 0 && rank == home())
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home(), 0, window));
    if (scenario->locks_all)
        OK(MPI_Win_lock_all(0, window));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (is_victim()) {
        const struct itimerval left = {
            .it_value = {milliseconds / 1000, milliseconds % 1000 * 1000}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &left, NULL);
    } else if (scenario->holds) {
        OK(MPI_Barrier(MPI_COMM_WORLD)); // the victim has what it holds
    }
    int rc = MPI_SUCCESS, class;
    while (rc == MPI_SUCCESS) {
        rc = scenario->step();
        CHECK(rc != MPI_SUCCESS || now() < killed_at + 2 * kDetector, "no call has failed");
    }
    MPI_Error_class(rc, &class);
    CHECK(class == MPI_ERR_PROC_FAILED && handled == (scenario->of_comm ? 0 : 1),
          "class %d, and the handler was called %d times", class, handled);
    const double late = now() - killed_at;
    CHECK(late > -0.1 && late < 2 * kDetector, "a call failed %.3f s behind the kill", late);
}

/// Whatever is called now.
static void all_calls_fail(void) {
    const long value = 0;
    int flag;
    const int expected = handled + 8;
    MPI_Win_lock(MPI_LOCK_SHARED, home(), 0, window);
    MPI_Put(&value, 1, MPI_LONG, home(), 0, 1, MPI_LONG, window);
    MPI_Win_flush_all(window);
    MPI_Win_unlock(home(), window);
    MPI_Win_lock_all(0, window);
    MPI_Win_fence(0, window);
    MPI_Win_sync(window);
    MPI_Win_test(window, &flag);
    CHECK(handled == expected, "%d of 8 calls failed", handled - expected + 8);
}

/// The program's memory is its own again: nobody's put or accumulate comes late.
static void nothing_comes_late(MPI_Comm comm) {
    const size_t bytes = (ELEMENTS + 2) * sizeof(long double);
    if (getenv("SURVIVE_FLAVOR") == NULL || strcmp(getenv("SURVIVE_FLAVOR"), "create") != 0)
        return;
    memset(memory, 0x5a, bytes);
    for (int i = 0; i < 10; ++i) // which runs progress
        OK(MPI_Barrier(comm));
    for (size_t i = 0; i < bytes; ++i)
        CHECK(((const char*)memory)[i] == 0x5a, "byte %zu was changed", i);
    free(memory);
}

int main(int argc, char** argv) {
    const struct scenario* scenario = NULL;
    MPI_Comm others, shrunk;
    MPI_Win theirs, new_one;
    MPI_Errhandler handler;
    long *their_memory, *new_memory;
    if (getenv("SURVIVE_ASKED") != NULL) // whether this program is more than the one above
        return 0;
    for (size_t i = 0; argc == 4 && i < sizeof scenarios / sizeof *scenarios; ++i)
        if (strcmp(argv[1], scenarios[i].name) == 0)
            scenario = &scenarios[i];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(scenario != NULL, "survive SCENARIO VICTIM MILLISECONDS");
    victim = atoi(argv[2]);
    srand((unsigned)(atoi(argv[3]) * 64 + rank));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    OK(MPI_Comm_split(MPI_COMM_WORLD, is_victim() ? MPI_UNDEFINED : 0, rank, &others));
    open_window(MPI_COMM_WORLD, &window, &memory);
    OK(MPI_Win_create_errhandler(handle, &handler));
    OK(MPI_Win_set_errhandler(window, handler));
    if (!is_victim())
        open_window(others, &theirs, &their_memory);
    begin_to_count();
    run(scenario, atol(argv[3]));
    unsigned long long counted[2], again[2];
    counts_are_kept(&counted[0], &counted[1]);
    all_calls_fail();
    counts_are_kept(&again[0], &again[1]);
    CHECK(memcmp(counted, again, sizeof again) == 0, "calls that failed have counted");
    end_counting();
    OK(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL, "the window was not freed");
    nothing_comes_late(others);
    use(others, theirs);
    OK(MPIX_Comm_shrink(MPI_COMM_WORLD, &shrunk));
    open_window(shrunk, &new_one, &new_memory);
    use(shrunk, new_one);
    OK(MPI_Win_free(&new_one));
    OK(MPI_Win_free(&theirs));
    printf("rank %d went on\n", rank);
    fflush(stdout);
    // Of jobs without a window, too, one in twenty stays in MPI_Finalize for ever (Open MPI 5.0.7, which
    // waits there for a process that has failed).
    signal(SIGALRM, stay_no_longer);
    alarm(5);
    MPI_Finalize();
    return 0;
}
#endif
