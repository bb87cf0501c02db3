// What a program may do beside its windows over several hosts, and what may happen to the hosts.
// check_network starts this, says by the argument what, and looks at how the job ends.
//
//   fork_exit   1 forks a process that calls exit(); then 0 puts what 1 polls for in its memory
//   some_hosts  the last rank does without rmalock; windows of others link 0, 1 and 1, 2
//   some_hosts_without_windows
//   getenv      a thread reads the environment while the first window is made
//   broken      0 loses its connections while it waits for a put
//   broken_lock 2 loses its connections while it holds a lock that 0 and 1 wait for (osc_rmalock_defer off)
//   silent      1 stops, with all its threads, and 0 wants its lock
//   silent_without_thread
//               the same, and 0 can start no thread
//   cut_midway  the same as cut_link, but the link is cut when they have talked
//   cut_link    1 puts to 3, which it does not reach
//   narrow_link 0 puts and gets for longer than a peer may be silent
//   many        fetch_and_op beside many windows
//   connections all count in all ranks' windows; how many file descriptors that took
//   room_for_two, room_for_one, room_for_less
//               the same, where the limit leaves two, one, or too few for each other rank
//   scarce      0 adds to itself, has few descriptors left, and then meets the others
//   threads     several threads make the first windows, each on a communicator of its own
//   ring        each puts to the next rank, in two windows
//   pairs       the same as some_hosts, and all have rmalock
//   adapter_late, adapter_narrow, adapter_unlike, adapter_differ
//               the same, and UCX speaks of adapters for atomics: on all ranks; the same, but of 32
//               bits they have none; on the last rank alone; of 32 bits on all but the last rank
//   no_thread   1 can start no thread by which C++ serves others, and computes while 0 puts to it
//   exit        all call exit(EXIT_STATUS) with a window in use, and never MPI_Finalize
#define _GNU_SOURCE // RTLD_NEXT
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_STATUS = 7, CHILD_STATUS = 5 };
/// Descriptors that rmalock leaves for other things, where it counts them (network/network.cc).
enum { SPARE = 8 };

static int rank, size;

static void fail(const char* what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static MPI_Win window(MPI_Comm comm, volatile int** base) {
    MPI_Win win;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, comm, base, &win);
    **base = 0;
    return win;
}

static void put(MPI_Win win, int target, int value) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
}

/// All ranks have reached all others.
static void use(MPI_Win win) {
    for (int target = 0; target < size; ++target)
        put(win, target, 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void fork_exit(void) {
    volatile int* word;
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    use(win);
    if (rank == 1) {
        const pid_t child = fork();
        int status = 0;
        if (child == 0)
            exit(CHILD_STATUS);
        if (waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
            WEXITSTATUS(status) != CHILD_STATUS)
            fail("the forked process did not exit as it should");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        put(win, 1, 1);
    while (rank == 1 && *word == 0)
        usleep(1000);
    MPI_Win_free(&win);
}

static void some_hosts(void) {
    for (int first = 0; first < 2; ++first) {
        MPI_Comm pair;
        volatile int* word;
        const bool in = rank == first || rank == first + 1;
        MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, rank, &pair);
        if (!in)
            continue;
        MPI_Win win = window(pair, &word);
        put(win, 0, 1);
        put(win, 1, 1);
        MPI_Win_free(&win);
        MPI_Comm_free(&pair);
    }
}

static void nothing(void) {}

static int changes; // of the environment

/// Stand in for the library's, whose callers are counted.
int setenv(const char* name, const char* value, int overwrite) {
    int (*const real)(const char*, const char*, int) =
        (int (*)(const char*, const char*, int))dlsym(RTLD_NEXT, "setenv");
    __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
    return real(name, value, overwrite);
}
int unsetenv(const char* name) {
    int (*const real)(const char*) = (int (*)(const char*))dlsym(RTLD_NEXT, "unsetenv");
    __atomic_fetch_add(&changes, 1, __ATOMIC_RELAXED);
    return real(name);
}

static int made; // by the main thread, read by the other

/// A name that is not there: the whole environment is looked through.
static void* read_environment(void* found) {
    while (!__atomic_load_n(&made, __ATOMIC_ACQUIRE))
        *(bool*)found |= getenv("RMALOCK_TEST_NOT_THERE") != NULL;
    return NULL;
}

static void environment(void) {
    pthread_t thread;
    bool found = false;
    volatile int* word;
    const int before = changes;
    pthread_create(&thread, NULL, read_environment, &found);
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    __atomic_store_n(&made, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    if (changes != before)
        fail("the environment was changed");
    if (found)
        fail("a variable that nobody has set");
    MPI_Win_free(&win);
}

/// As on a host where it is not installed. The launcher tells the ranks before MPI does.
static void go_without_rmalock_on_the_last_rank(void) {
    const char* const mine = getenv("OMPI_COMM_WORLD_RANK");
    const char* const all = getenv("OMPI_COMM_WORLD_SIZE");
    if (mine != NULL && all != NULL && atoi(mine) == atoi(all) - 1)
        setenv("OMPI_MCA_osc", "^rmalock", 1);
}

/// Ends all TCP connections that were made since a descriptor numbered `first` was the next one.
static void break_connections(int first) {
    for (int fd = first; fd < first + 200; ++fd) {
        struct sockaddr_storage address;
        socklen_t bytes = sizeof address;
        if (getpeername(fd, (struct sockaddr*)&address, &bytes) == 0 &&
            (address.ss_family == AF_INET || address.ss_family == AF_INET6))
            shutdown(fd, SHUT_RDWR);
    }
}

static int next_descriptor(void) {
    const int fd = dup(0);
    close(fd);
    return fd;
}

/// Until the launcher ends the job.
static void wait_for_the_end(void) {
    sleep(300);
}

static void* break_soon(void* first) {
    sleep(1);
    break_connections(*(int*)first);
    return NULL;
}

static void broken(void) {
    pthread_t thread;
    enum { LONG = 1 << 25 }; // more than lies in sockets
    int first = next_descriptor();
    volatile int* word;
    MPI_Win win;
    MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
    use(win);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        raise(SIGSTOP);
    MPI_Put(malloc(LONG), LONG, MPI_BYTE, 1, 0, LONG, MPI_BYTE, win);
    pthread_create(&thread, NULL, break_soon, &first);
    MPI_Win_flush(1, win);
    fail("lost connections are no error");
}

static void broken_lock(void) {
    const int first = next_descriptor();
    volatile int* word;
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    use(win);
    if (rank == 2)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        sleep(1);
        break_connections(first);
        wait_for_the_end();
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    fail("a lock that another rank holds");
}

static void silent(void) {
    volatile int* word;
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    use(win);
    if (rank == 1)
        raise(SIGSTOP);
    for (;;) // the first one may be quicker than the signal
        put(win, 1, 1);
}

static void put_across_the_cut(MPI_Win win) {
    if (rank == 1) {
        put(win, 3, 1);
        fail("a rank answers across a link that is cut");
    }
    wait_for_the_end();
}

static void cut_link(void) {
    volatile int* word;
    put_across_the_cut(window(MPI_COMM_WORLD, &word));
}

/// The environment says what cuts it.
static void cut_midway(void) {
    volatile int* word;
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    use(win);
    const char* const cut = getenv("CUT");
    if (cut == NULL || system(cut) != 0)
        fail("the link is not cut");
    MPI_Barrier(MPI_COMM_WORLD);
    put_across_the_cut(win);
}

/// More than the narrow link carries within the time after which a silent peer counts as lost.
static void narrow_link(void) {
    enum { INTS = 8 << 20 };
    int* const mine = malloc(INTS * sizeof(int));
    int* base;
    MPI_Win win;
    if (mine == NULL)
        fail("no memory");
    for (int i = 0; i < INTS; ++i)
        mine[i] = 3 * i;
    MPI_Win_allocate(rank == 1 ? INTS * (MPI_Aint)sizeof(int) : 0, sizeof(int), MPI_INFO_NULL,
                     MPI_COMM_WORLD, (void*)&base, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        const double begin = MPI_Wtime();
        MPI_Put(mine, INTS, MPI_INT, 1, 0, INTS, MPI_INT, win);
        MPI_Win_flush(1, win);
        const double half = MPI_Wtime();
        memset(mine, 0, INTS * sizeof(int));
        MPI_Get(mine, INTS, MPI_INT, 1, 0, INTS, MPI_INT, win);
        MPI_Win_unlock(1, win);
        printf("put: %.1f s, get: %.1f s\n", half - begin, MPI_Wtime() - half);
        for (int i = 0; i < INTS; ++i)
            if (mine[i] != 3 * i)
                fail("wrong data");
    }
    MPI_Win_free(&win);
    free(mine);
}

enum { MANY = 3000, TRIES = 1000 };

/// Seconds of the fastest of many: others on the machine make none of them faster.
static double fastest_fetch(MPI_Win win) {
    double least = 1;
    for (int i = 0; rank == 0 && i < TRIES; ++i) {
        const int one = 1;
        int before;
        const double begin = MPI_Wtime();
        MPI_Fetch_and_op(&one, &before, MPI_INT, size - 1, 0, MPI_SUM, win);
        MPI_Win_flush(size - 1, win);
        const double seconds = MPI_Wtime() - begin;
        least = seconds < least ? seconds : least;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return least;
}

static void many(void) {
    static MPI_Win more[MANY];
    volatile int* word;
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    MPI_Win_lock_all(0, win);
    const double alone = fastest_fetch(win);
    for (int i = 0; i < MANY; ++i)
        more[i] = window(MPI_COMM_WORLD, &word);
    const double beside = fastest_fetch(win);
    if (rank == 0)
        printf("fetch_and_op alone: %.1f us, beside %d windows: %.1f us\n", 1e6 * alone, MANY,
               1e6 * beside);
    MPI_Win_unlock_all(win);
    for (int i = 0; i < MANY; ++i)
        MPI_Win_free(&more[i]);
    MPI_Win_free(&win);
    // Virtual cores are now and then slower by half for seconds.
    if (rank == 0 && beside > 2 * alone)
        fail("each window more costs time");
}

static void make_window(MPI_Comm comm) {
    volatile int* word;
    int me, value = -1;
    MPI_Comm_rank(comm, &me);
    MPI_Win win = window(comm, &word);
    MPI_Barrier(comm);
    put(win, (me + 1) % size, me);
    MPI_Barrier(comm);
    MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
    value = *word;
    MPI_Win_unlock(me, win);
    if (value != (me + size - 1) % size)
        fail("not what was put");
    MPI_Win_free(&win);
}

enum { THREADS = 6 };

static pthread_barrier_t all_started;

static void* make_window_with_others(void* communicator) {
    pthread_barrier_wait(&all_started);
    make_window(*(MPI_Comm*)communicator);
    return NULL;
}

/// In every second communicator the ranks are in another order, and so is what is tried out first.
static void threads(void) {
    pthread_t thread[THREADS];
    MPI_Comm comm[THREADS];
    for (int i = 0; i < THREADS; ++i)
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 == 0 ? rank : size - rank, &comm[i]);
    pthread_barrier_init(&all_started, NULL, THREADS);
    for (int i = 0; i < THREADS; ++i)
        pthread_create(&thread[i], NULL, make_window_with_others, &comm[i]);
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(thread[i], NULL);
        MPI_Comm_free(&comm[i]);
    }
    pthread_barrier_destroy(&all_started);
}

static void ring(void) {
    make_window(MPI_COMM_WORLD);
    make_window(MPI_COMM_WORLD);
}

static bool refuses_threads;

/// Stands in for the library's, and can refuse what libstdc++ asks for, as where there are too
/// many.
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                   void* argument) {
    typedef int (*create_t)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    const create_t real = (create_t)dlsym(RTLD_NEXT, "pthread_create");
    Dl_info caller;
    if (refuses_threads && dladdr(__builtin_return_address(0), &caller) != 0 &&
        strstr(caller.dli_fname, "libstdc++") != NULL)
        return EAGAIN;
    return real(thread, attributes, start, argument);
}

/// Longer than the timeout for nodes whose thread does not answer.
static void no_thread(void) {
    volatile int* word;
    refuses_threads = rank == 1;
    ring();
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    use(win);
    if (rank == 1)
        sleep(4);
    else
        put(win, 1, 1);
    MPI_Win_free(&win);
}

static void silent_without_thread(void) {
    refuses_threads = rank == 0;
    silent();
}

/// A window over hosts may need more file descriptors than the soft limit allows.
static void descriptors(void) {
    struct rlimit limit;
    volatile int* word;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 256;
    if (limit.rlim_max <= limit.rlim_cur || setrlimit(RLIMIT_NOFILE, &limit) != 0)
        fail("the limit cannot be set");
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != limit.rlim_max)
        fail("the soft limit of file descriptors is below the hard one");
    MPI_Win_free(&win);
}

static int used_descriptors(void) {
    int used = 0;
    DIR* const all = opendir("/proc/self/fd");
    while (readdir(all) != NULL)
        ++used;
    closedir(all);
    return used - 3; // ".", "..", and that of the folder
}

/// The network is open afterwards, with one connection at most.
static int descriptors_of_the_network(void) {
    MPI_Comm pair;
    volatile int* word;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Win win = window(pair, &word);
    const int used = used_descriptors();
    MPI_Win_free(&win);
    MPI_Comm_free(&pair);
    MPI_Barrier(MPI_COMM_WORLD);
    return used;
}

enum { ROUNDS = 40 }; // so many releases have words told by an endpoint of their own

/// Everybody adds to everybody's counter, under exclusive locks.
static void count_everywhere(MPI_Win win) {
    for (int i = 0; i < ROUNDS * size; ++i) {
        const int target = (rank + i) % size;
        int count;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&count, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        ++count;
        MPI_Put(&count, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void take_descriptors_up_to(int left) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    while (used_descriptors() + left < (int)limit.rlim_cur)
        dup(0);
}

/// `left`, if not 0: the program takes all other descriptors for itself, once it has the window.
static void use_all_connections(int left) {
    volatile int* word;
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    MPI_Barrier(MPI_COMM_WORLD);
    if (left != 0)
        take_descriptors_up_to(left);
    count_everywhere(win);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (*word != ROUNDS * size)
        fail("the counter does not add up");
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
}

static void connections(void) {
    const int before = descriptors_of_the_network();
    use_all_connections(0);
    const int more = used_descriptors() - before;
    if (rank == 0)
        printf("%d descriptors for %d remote processes\n", more, size - 1);
    if (more > 2 * (size - 1))
        fail("more than two descriptors for each remote process");
}

/// With so many more than are used then.
static void few_descriptors(int more, int left) {
    const rlim_t all = (rlim_t)(descriptors_of_the_network() + more);
    const struct rlimit limit = {all, all};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        fail("the limit cannot be set");
    use_all_connections(left);
}

static void room_for_two(void) {
    enum { FILES = 4 }; // open while a window is made
    // Two processes that connect to each other at once have both connections for a moment.
    const int crossing = size - 1;
    few_descriptors(SPARE + FILES + crossing + 2 * (size - 1), 0);
}
static void room_for_one(void) {
    few_descriptors(SPARE + size - 1, 2);
}
static void room_for_less(void) {
    few_descriptors(SPARE + size - 3, 0);
}

static void add(MPI_Win win, int target) {
    const int one = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(target, win);
}

static void scarce(void) {
    enum { LIMIT = 400, FREE = 30 };
    volatile int* word;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max = LIMIT;
    setrlimit(RLIMIT_NOFILE, &limit);
    MPI_Win win = window(MPI_COMM_WORLD, &word);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < 20; ++i)
            add(win, 0);
        for (int file = 0; file >= 0 && file < LIMIT - FREE;)
            file = open("/dev/null", O_RDONLY);
        for (int target = 1; target < size; ++target)
            put(win, target, 1);
    }
    MPI_Win_free(&win);
}

static void plain_exit(void) {
    volatile int* word;
    use(window(MPI_COMM_WORLD, &word));
    exit(EXIT_STATUS);
}

static const char* adapter = "";       // what follows "adapter_" in the kind
static _Atomic unsigned long features; // of UCX's context that was opened last
enum { AMO32 = 1 << 2 };               // UCP_FEATURE_AMO32

static bool has_adapter(void) {
    const bool narrow = (features & AMO32) != 0, last = rank == size - 1;
    if (strcmp(adapter, "unlike") == 0)
        return last;
    if (strcmp(adapter, "narrow") == 0)
        return !narrow;
    if (strcmp(adapter, "differ") == 0)
        return !last || !narrow;
    return strcmp(adapter, "late") == 0;
}

/// UCX was loaded with the component, where RTLD_NEXT does not look.
static void* of_ucx(const char* name) {
    void* const found = dlsym(dlopen("libucp.so.0", RTLD_NOW | RTLD_NOLOAD), name);
    if (found == NULL)
        fail("no function of UCX's is behind the one of this program");
    return found;
}

/// These stand in for UCX's. Parameters begin with two words, the second of which are features.
int ucp_init_version(unsigned major, unsigned minor, const unsigned long* params,
                     const void* config, void* context) {
    int (*const real)(unsigned, unsigned, const unsigned long*, const void*, void*) = (int (*)(
        unsigned, unsigned, const unsigned long*, const void*, void*))of_ucx("ucp_init_version");
    features = params[1];
    return real(major, minor, params, config, context);
}
void ucp_context_print_info(const void* context, FILE* stream) {
    ((void (*)(const void*, FILE*))of_ucx("ucp_context_print_info"))(context, stream);
    if (adapter[0] != '\0')
        fputs("#     resource 99 :  md 9  dev 9  flags -- rc_mlx5/mlx5_0:1\n", stream);
}
void ucp_worker_print_info(void* worker, FILE* stream) {
    if (has_adapter())
        fputs("#                 atomics: 99:rc_mlx5/mlx5_0:1\n", stream);
    else
        ((void (*)(void*, FILE*))of_ucx("ucp_worker_print_info"))(worker, stream);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } kinds[] = {{"broken", broken},
                 {"broken_lock", broken_lock},
                 {"silent", silent},
                 {"silent_without_thread", silent_without_thread},
                 {"scarce", scarce},
                 {"cut_link", cut_link},
                 {"cut_midway", cut_midway},
                 {"narrow_link", narrow_link},
                 {"many", many},
                 {"fork_exit", fork_exit},
                 {"exit", plain_exit},
                 {"descriptors", descriptors},
                 {"connections", connections},
                 {"room_for_two", room_for_two},
                 {"room_for_one", room_for_one},
                 {"room_for_less", room_for_less},
                 {"getenv", environment},
                 {"threads", threads},
                 {"ring", ring},
                 {"adapter_late", ring},
                 {"adapter_narrow", ring},
                 {"adapter_unlike", ring},
                 {"adapter_differ", ring},
                 {"pairs", some_hosts},
                 {"no_thread", no_thread},
                 {"some_hosts", some_hosts},
                 {"some_hosts_without_windows", nothing}};
    if (argc > 1 && strncmp(argv[1], "some_hosts", strlen("some_hosts")) == 0)
        go_without_rmalock_on_the_last_rank();
    if (argc > 1 && strncmp(argv[1], "adapter_", strlen("adapter_")) == 0)
        adapter = argv[1] + strlen("adapter_");
    int threads_given;
    MPI_Init_thread(&argc, &argv,
                    argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE
                                                                : MPI_THREAD_SINGLE,
                    &threads_given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        if (argc > 1 && strcmp(argv[1], kinds[i].name) == 0)
            kinds[i].run();
    MPI_Finalize();
    return 0;
}
