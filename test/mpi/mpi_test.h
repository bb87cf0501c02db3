// What the MPI tests of this folder share: checks that name line, rank and values; windows of
// every flavor behind one pair of functions; a table of cases; a watchdog.
//
// A program is a table of cases and `return test_main(...)`. A case runs on all ranks of
// MPI_COMM_WORLD, once per window flavor it lists in `each`, or once if it makes its own windows
// (`needs` then says which flavors). A failed check is recorded and the case goes on, so that no
// rank leaves a collective call alone; the result is agreed on by all ranks after each case.
//
//     program [--list] [--run P,P] [--skip P,P] [--flavors F,F] [--timeout S] [--deep]
//             [--multiple]
//
// P is a pattern (fnmatch) for `case` or `case/flavor`. --deep adds the long cases. With --multiple
// the program asks for MPI_THREAD_MULTIPLE, whatever it needs.
#pragma once

#include <mpi.h>

#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum flavor { CREATE, ALLOCATE, SHARED, DYNAMIC, FLAVORS };

enum {
    IN_CREATE = 1 << CREATE,
    IN_ALLOCATE = 1 << ALLOCATE,
    IN_SHARED = 1 << SHARED,
    IN_DYNAMIC = 1 << DYNAMIC,
    IN_ANY = (1 << FLAVORS) - 1,
};

struct test_case {
    const char* name;
    void (*run)(void);
    unsigned each;  // run once per flavor of this set, or ...
    unsigned needs; // ... once, with windows of all of these flavors
    int min_ranks;
    bool deep;        // too long for every day
    bool within_host; // its SHARED windows keep to one host each, by a communicator of its own
};

/// The case that runs now.
static struct {
    const char* program;
    char name[96];
    enum flavor flavor;
    int rank, ranks, hosts;
    long failures; // of this rank in this case; threads add to it
    const char* skipped;
} T;

// --- Checks ------------------------------------------------------------------------------------

enum { MAX_REPORTS = 8 }; // per rank and case; the rest is only counted

/// Counts a failure; true if it should also be printed.
static inline bool test_failed(void) {
    return __atomic_fetch_add(&T.failures, 1, __ATOMIC_RELAXED) < MAX_REPORTS;
}

#define TEST_REPORT(file, line, format, ...)                                                       \
    fprintf(stderr, "%s:%d: rank %d, %s: " format "\n", file, line, T.rank, T.name, __VA_ARGS__)

static inline void check_that(bool holds, const char* file, int line, const char* what) {
    if (!holds && test_failed())
        TEST_REPORT(file, line, "expected %s", what);
}

static inline void check_eq(long long expected, long long actual, const char* file, int line,
                            const char* what) {
    if (expected != actual && test_failed())
        TEST_REPORT(file, line, "%s: expected %lld (0x%llx), got %lld (0x%llx)", what, expected,
                    (unsigned long long)expected, actual, (unsigned long long)actual);
}

static inline void check_real(double expected, double actual, const char* file, int line,
                              const char* what) {
    // Exact on purpose: the tests use values whose sums are exact.
    if (!(expected >= actual && expected <= actual) && test_failed())
        TEST_REPORT(file, line, "%s: expected %.17g, got %.17g", what, expected, actual);
}

static inline void check_mem(const void* expected, const void* actual, size_t bytes,
                             const char* file, int line, const char* what) {
    const unsigned char *e = expected, *a = actual;
    for (size_t i = 0; i < bytes; ++i) {
        if (e[i] == a[i])
            continue;
        if (test_failed())
            TEST_REPORT(file, line,
                        "%s: first difference at byte %zu of %zu: expected %02x, got %02x", what, i,
                        bytes, e[i], a[i]);
        return;
    }
}

static inline int error_class(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

static inline const char* class_name(int class) {
    static _Thread_local char text[2][MPI_MAX_ERROR_STRING];
    static _Thread_local int which;
    int length;
    which = !which;
    MPI_Error_string(class, text[which], &length);
    return text[which];
}

static inline bool check_class(int class, int code, const char* file, int line, const char* what) {
    if (error_class(code) == class)
        return true;
    if (test_failed())
        TEST_REPORT(file, line, "%s: expected %s, got %s", what, class_name(class),
                    class_name(error_class(code)));
    return false;
}

#define CHECK(condition) check_that((condition), __FILE__, __LINE__, #condition)
#define CHECK_EQ(expected, actual) check_eq((expected), (actual), __FILE__, __LINE__, #actual)
#define CHECK_REAL(expected, actual) check_real((expected), (actual), __FILE__, __LINE__, #actual)
#define CHECK_MEM(expected, actual, bytes)                                                         \
    check_mem((expected), (actual), (bytes), __FILE__, __LINE__, #actual)
/// The MPI call succeeds (true) or the failure is recorded.
#define OK(call) check_class(MPI_SUCCESS, (call), __FILE__, __LINE__, #call)
/// The MPI call returns an error of this class.
#define FAILS(class, call) check_class((class), (call), __FILE__, __LINE__, #call)

/// A check with an explanation of one's own: which type, which operation, which element.
#define CHECK_THAT(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition) && test_failed()) {                                                       \
            char why_[256];                                                                        \
            snprintf(why_, sizeof why_, __VA_ARGS__);                                              \
            TEST_REPORT(__FILE__, __LINE__, "%s", why_);                                           \
        }                                                                                          \
    } while (0)

/// The case cannot be run here; all ranks must come to the same conclusion.
static inline void skip(const char* why) {
    T.skipped = why;
}

// --- Windows -----------------------------------------------------------------------------------

static const char* const flavor_names[FLAVORS] = {"create", "allocate", "shared", "dynamic"};

/// A window with `bytes` of memory on this rank, whatever its flavor.
struct window {
    MPI_Win win;
    MPI_Comm comm;
    enum flavor flavor;
    int rank, ranks;
    char* base;
    MPI_Aint bytes;
    MPI_Aint* address; // DYNAMIC: where each rank's memory begins; NULL otherwise
    int* unit;         // displacement unit of each rank
};

static inline void window_exchange(struct window* w, int unit) {
    w->unit = malloc(sizeof *w->unit * (size_t)w->ranks);
    MPI_Allgather(&unit, 1, MPI_INT, w->unit, 1, MPI_INT, w->comm);
    w->address = NULL;
    if (w->flavor != DYNAMIC)
        return;
    MPI_Aint mine = 0;
    if (w->bytes > 0)
        MPI_Get_address(w->base, &mine);
    w->address = malloc(sizeof *w->address * (size_t)w->ranks);
    MPI_Allgather(&mine, 1, MPI_AINT, w->address, 1, MPI_AINT, w->comm);
}

static inline int window_make(struct window* w, int unit, MPI_Info info) {
    const size_t padded = ((size_t)w->bytes + 63) / 64 * 64;
    int code = MPI_SUCCESS;
    if ((w->flavor == CREATE || w->flavor == DYNAMIC) && w->bytes > 0)
        w->base = aligned_alloc(64, padded);
    switch (w->flavor) {
    case CREATE:
        return MPI_Win_create(w->base, w->bytes, unit, info, w->comm, &w->win);
    case ALLOCATE:
        return MPI_Win_allocate(w->bytes, unit, info, w->comm, &w->base, &w->win);
    case SHARED:
        return MPI_Win_allocate_shared(w->bytes, unit, info, w->comm, &w->base, &w->win);
    case DYNAMIC:
    default:
        code = MPI_Win_create_dynamic(info, w->comm, &w->win);
        if (code == MPI_SUCCESS && w->bytes > 0)
            code = MPI_Win_attach(w->win, w->base, w->bytes);
        return code;
    }
}

/// Displacement of the target's element `index`, counted in the target's displacement units.
static inline MPI_Aint at(const struct window* w, int target, MPI_Aint index) {
    if (w->address == NULL)
        return index;
    return MPI_Aint_add(w->address[target], index * w->unit[target]);
}

/// Loads and stores to one's own memory happen between these two.
static inline void local_begin(const struct window* w) {
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w->rank, 0, w->win));
}

static inline void local_end(const struct window* w) {
    OK(MPI_Win_unlock(w->rank, w->win));
}

/// As local_end, and nobody goes on before all have come here.
static inline void local_end_all(const struct window* w) {
    local_end(w);
    MPI_Barrier(w->comm);
}

/// Opens a window on `comm`; false (and a failure) if any rank could not. Memory is zeroed.
static inline bool window_open_with(struct window* w, enum flavor flavor, MPI_Comm comm,
                                    MPI_Aint bytes, int unit, MPI_Info info) {
    *w = (struct window){.comm = comm, .flavor = flavor, .bytes = bytes, .win = MPI_WIN_NULL};
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->ranks);
    int mine = OK(window_make(w, unit, info)), all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_LAND, comm);
    if (!all)
        return false;
    MPI_Win_set_errhandler(w->win, MPI_ERRORS_RETURN);
    window_exchange(w, unit);
    local_begin(w);
    if (bytes > 0)
        memset(w->base, 0, (size_t)bytes);
    local_end_all(w);
    return true;
}

/// The window most cases want: the case's flavor, over all ranks.
static inline bool window_open(struct window* w, MPI_Aint bytes, int unit) {
    return window_open_with(w, T.flavor, MPI_COMM_WORLD, bytes, unit, MPI_INFO_NULL);
}

/// Where Open MPI's own components are known to do otherwise.
static inline bool is_served_by_rmalock(MPI_Win win) {
    MPI_Info info;
    char value[64];
    int found = 0;
    OK(MPI_Win_get_info(win, &info));
    MPI_Info_get(info, "rmalock_lock", sizeof value - 1, value, &found);
    MPI_Info_free(&info);
    return found;
}

static inline void window_close(struct window* w) {
    if (w->flavor == DYNAMIC) {
        MPI_Barrier(w->comm); // nobody is still at work on what is detached
        if (w->bytes > 0)
            OK(MPI_Win_detach(w->win, w->base));
    }
    OK(MPI_Win_free(&w->win));
    if (w->flavor == CREATE || w->flavor == DYNAMIC)
        free(w->base);
    free(w->address);
    free(w->unit);
}

// --- Odds and ends -------------------------------------------------------------------------------

/// A small reproducible generator (splitmix64), one state per use.
static inline uint64_t random_next(uint64_t* state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// One clock for all processes of the machine, virtual hosts included.
static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/// Occupies the CPU without calling MPI.
static inline void compute_for(double seconds) {
    const double until = MPI_Wtime() + seconds;
    volatile double sink = 0;
    while (MPI_Wtime() < until)
        for (int i = 0; i < 1000; ++i)
            sink = sink + i;
}

// --- Running the table ---------------------------------------------------------------------------

struct test_options {
    const char *run, *skip, *flavors;
    unsigned timeout;
    bool list, deep, multiple;
};

static inline bool matches(const char* patterns, const char* name, const char* full) {
    char copy[4096], *rest = copy;
    snprintf(copy, sizeof copy, "%s", patterns);
    for (char* p; (p = strtok_r(rest, ",", &rest)) != NULL;)
        if (fnmatch(p, name, 0) == 0 || fnmatch(p, full, 0) == 0)
            return true;
    return false;
}

static inline void say(const char* text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return; // nobody left to tell
}

static struct sigaction test_previous[NSIG];

/// Names the case in which a process hangs or crashes, then lets things take their course.
static inline void on_signal(int number, siginfo_t* info, void* context) {
    say(number == SIGALRM ? "\nTIMEOUT" : "\nCRASH");
    const char rank[] = {' ', 'r', 'a', 'n', 'k', ' ', (char)('0' + T.rank % 10), ' ', '\0'};
    say(rank);
    say(T.program);
    say(" ");
    say(T.name);
    say("\n");
    if (number == SIGALRM)
        _exit(124);
    if (test_previous[number].sa_sigaction != NULL &&
        (test_previous[number].sa_flags & SA_SIGINFO) != 0)
        test_previous[number].sa_sigaction(number, info, context);
    _exit(128 + number);
}

static inline void watch_signals(void) {
    static const int numbers[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_signal;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        sigaction(numbers[i], &action, &test_previous[numbers[i]]);
}

static inline struct test_options parse_options(int argc, char** argv) {
    struct test_options o = {NULL, "", "create,allocate,shared,dynamic", 60, false, false, false};
    for (int i = 1; i < argc; ++i) {
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--list") == 0)
            o.list = true;
        else if (strcmp(argv[i], "--deep") == 0)
            o.deep = true;
        else if (strcmp(argv[i], "--multiple") == 0)
            o.multiple = true;
        else if (strcmp(argv[i], "--run") == 0)
            o.run = value, ++i;
        else if (strcmp(argv[i], "--skip") == 0)
            o.skip = value, ++i;
        else if (strcmp(argv[i], "--flavors") == 0)
            o.flavors = value, ++i;
        else if (strcmp(argv[i], "--timeout") == 0)
            o.timeout = (unsigned)atoi(value), ++i;
        else {
            fprintf(stderr, "%s: unknown option %s (see mpi_test.h)\n", argv[0], argv[i]);
            exit(2);
        }
    }
    return o;
}

static inline unsigned flavor_set(const char* list) {
    unsigned set = 0;
    for (int f = 0; f < FLAVORS; ++f)
        if (matches(list, flavor_names[f], flavor_names[f]))
            set |= 1u << f;
    return set;
}

enum verdict { PASSED, FAILED, SKIPPED, NOT_ASKED, VERDICTS };

/// Sets of ranks that share memory.
static inline int count_hosts(void) {
    MPI_Comm host;
    int rank, hosts;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &rank);
    MPI_Comm_free(&host);
    const int first = rank == 0;
    MPI_Allreduce(&first, &hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return hosts;
}

/// Why the case cannot be run with these ranks, or NULL.
static inline const char* cannot_run(const struct test_case* c, unsigned flavors) {
    if (T.ranks < c->min_ranks)
        return "too few ranks";
    if (T.hosts > 1 && (flavors & IN_SHARED) != 0 && !c->within_host)
        return "the ranks are on several hosts";
    return NULL;
}

/// Runs the case, with windows of these flavors, on all ranks and agrees on what came out.
static inline enum verdict run_one(const struct test_case* c, unsigned flavors, unsigned timeout) {
    T.failures = 0;
    T.skipped = cannot_run(c, flavors);
    const double begin = MPI_Wtime();
    if (T.skipped == NULL) {
        alarm(timeout);
        c->run();
        MPI_Barrier(MPI_COMM_WORLD);
        alarm(0);
    }
    long failures;
    MPI_Allreduce(&T.failures, &failures, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    const enum verdict v = failures != 0 ? FAILED : T.skipped != NULL ? SKIPPED : PASSED;
    static const char* const words[] = {"ok", "FAIL", "skip"};
    if (T.rank == 0)
        printf("%-4s %-40s %.2f s%s%s\n", words[v], T.name, MPI_Wtime() - begin,
               T.skipped != NULL ? "  " : "", T.skipped != NULL ? T.skipped : "");
    fflush(stdout);
    return v;
}

static inline enum verdict consider(const struct test_case* c, int flavor,
                                    const struct test_options* o) {
    const unsigned selected = flavor_set(o->flavors);
    const unsigned needed = flavor < 0 ? c->needs : 1u << flavor;
    T.flavor = flavor < 0 ? ALLOCATE : (enum flavor)flavor;
    snprintf(T.name, sizeof T.name, "%s%s%s", c->name, flavor < 0 ? "" : "/",
             flavor < 0 ? "" : flavor_names[flavor]);
    if ((needed & ~selected) != 0 || matches(o->skip, c->name, T.name))
        return NOT_ASKED;
    if (o->run != NULL ? !matches(o->run, c->name, T.name) : c->deep && !o->deep)
        return NOT_ASKED;
    if (!o->list)
        return run_one(c, needed, o->timeout * (c->deep ? 5 : 1));
    if (T.rank == 0)
        printf("%s\n", T.name);
    return NOT_ASKED;
}

/// main() of every program; `level` is the thread support the program wants.
static inline int test_main(int argc, char** argv, const struct test_case* cases, size_t count,
                            int level) {
    const struct test_options o = parse_options(argc, argv);
    const char* slash = strrchr(argv[0], '/');
    T.program = slash != NULL ? slash + 1 : argv[0];
    if (o.multiple)
        level = MPI_THREAD_MULTIPLE;
    int provided;
    MPI_Init_thread(&argc, &argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &T.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &T.ranks);
    T.hosts = count_hosts();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    watch_signals();
    int tally[VERDICTS] = {0};
    if (provided < level)
        printf("%s: MPI gives thread level %d, %d is needed\n", T.program, provided, level);
    for (size_t i = 0; i < count && provided >= level; ++i)
        for (int f = cases[i].each != 0 ? 0 : -1; f < (cases[i].each != 0 ? FLAVORS : 0); ++f)
            if (f < 0 || (cases[i].each & 1u << f) != 0)
                ++tally[consider(&cases[i], f, &o)];
    if (T.rank == 0 && !o.list)
        printf("%s: %d passed, %d failed, %d skipped (%d ranks)\n", T.program, tally[PASSED],
               tally[FAILED], tally[SKIPPED], T.ranks);
    alarm(o.timeout);
    MPI_Finalize();
    return tally[FAILED] != 0;
}
