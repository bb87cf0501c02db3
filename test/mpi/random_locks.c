// Windows, locks and data at random for a given time. Each rank keeps a line on a board, a file that all map: what it
// is doing, and what memory and descriptors it has whenever no window is open. test/mpi/soak reads the board, picks
// from it the moment at which it kills a rank, and looks for growth.
//
//     random_locks --board FILE --seed N --seconds S [--flavors F,F] [--folder DIR] [--names]
//
// All data is guarded by locks, and a rank that holds a lock takes another one only of a window that was made later:
// so the program ends under every lock, with and without a shared mode. --folder: where the segments of windows are.
// --names: the ranks hide from each other, so that segments need names.
#include "mpi_test.h"

#include "hide.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>

enum { WINDOWS = 3, STEPS = 60, MOST_RANKS = 64, PAIR = 0, SUM = 2, WORDS = 3 };

/// What a rank is doing; soak has the same names in the same order.
enum doing { STARTS, CREATES, WAITS, HOLDS, MEETS, FREES, ENDS };

/// A rank's line on the board.
struct line {
    int64_t pid, doing, rounds, locks;
    int64_t descriptors, maps, segments, heap, resident; // as they were when no window was open
    int64_t held; // the targets that it has locked: a bit for each rank of MPI_COMM_WORLD
    int64_t unused[6];
};

static struct {
    struct line* mine;
    const char* folder;
    unsigned flavors;
    uint64_t shared_draws; // alike on all ranks
    uint64_t own_draws;
    MPI_Comm halves;
} S;

static int below(uint64_t* draws, int bound) {
    return (int)(random_next(draws) % (uint64_t)bound);
}

static void now_it(enum doing doing) {
    __atomic_store_n(&S.mine->doing, doing, __ATOMIC_RELEASE);
}

/// The rank of the window as a bit of MPI_COMM_WORLD's: the halves are of the even ranks and of the odd.
static int64_t bit_of(const struct window* w, int target) {
    const int rank = w->comm == S.halves ? 2 * target + T.rank % 2 : target;
    return (int64_t)((uint64_t)1 << rank);
}

static int64_t all_of(const struct window* w) {
    int64_t all = 0;
    for (int t = 0; t < w->ranks; ++t)
        all |= bit_of(w, t);
    return all;
}

/// Returns what it has held before.
static int64_t now_it_holds(int64_t ranks) {
    const int64_t before = S.mine->held;
    __atomic_store_n(&S.mine->held, before | ranks, __ATOMIC_RELAXED);
    now_it(HOLDS);
    ++S.mine->locks;
    return before;
}

static void now_it_has_given(int64_t before) {
    __atomic_store_n(&S.mine->held, before, __ATOMIC_RELAXED);
}

// --- One lock after another ----------------------------------------------------------------------

struct round {
    struct window windows[WINDOWS];
    int64_t expected[WINDOWS][MOST_RANKS][2]; // added by this rank to each target's pair and sum
    int count;
};

static void linger(void) {
    switch (below(&S.own_draws, 4)) {
    case 0:
        usleep((useconds_t)below(&S.own_draws, 300));
        break;
    case 1:
        sched_yield();
        break;
    default:
        break;
    }
}

/// Returns what unlock_one takes.
static int64_t lock_one(const struct window* w, int kind, int target) {
    now_it(WAITS);
    OK(MPI_Win_lock(kind, target, 0, w->win));
    return now_it_holds(bit_of(w, target));
}

static void unlock_one(const struct window* w, int target, int64_t before) {
    OK(MPI_Win_unlock(target, w->win));
    now_it_has_given(before);
}

static void add_to_pair(struct round* r, int number, int target) {
    const struct window* w = &r->windows[number];
    int64_t pair[2] = {-1, -2};
    const int64_t before = lock_one(w, MPI_LOCK_EXCLUSIVE, target);
    OK(MPI_Get(pair, 2, MPI_INT64_T, target, at(w, target, PAIR), 2, MPI_INT64_T, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK_EQ(pair[0], pair[1]);
    ++pair[0], ++pair[1];
    linger();
    OK(MPI_Put(pair, 2, MPI_INT64_T, target, at(w, target, PAIR), 2, MPI_INT64_T, w->win));
    unlock_one(w, target, before);
    ++r->expected[number][target][0];
}

static void read_pair(const struct window* w, int target) {
    int64_t pair[2] = {-1, -2};
    const int64_t before = lock_one(w, MPI_LOCK_SHARED, target);
    OK(MPI_Get(pair, 2, MPI_INT64_T, target, at(w, target, PAIR), 2, MPI_INT64_T, w->win));
    OK(MPI_Win_flush(target, w->win));
    linger();
    unlock_one(w, target, before);
    CHECK_EQ(pair[0], pair[1]);
}

static void add_to_all_sums(struct round* r, int number) {
    const struct window* w = &r->windows[number];
    const int64_t one = 1;
    int64_t sum = -1;
    now_it(WAITS);
    OK(MPI_Win_lock_all(0, w->win));
    const int64_t before = now_it_holds(all_of(w));
    for (int t = 0; t < w->ranks; ++t) {
        if (below(&S.own_draws, 2) == 0) {
            OK(MPI_Accumulate(&one, 1, MPI_INT64_T, t, at(w, t, SUM), 1, MPI_INT64_T, MPI_SUM,
                              w->win));
        } else {
            OK(MPI_Fetch_and_op(&one, &sum, MPI_INT64_T, t, at(w, t, SUM), MPI_SUM, w->win));
            OK(MPI_Win_flush(t, w->win));
            CHECK(sum >= 0);
        }
        ++r->expected[number][t][1];
    }
    linger();
    OK(MPI_Win_unlock_all(w->win));
    now_it_has_given(before);
}

static void use_window(struct round* r, int number) {
    const struct window* w = &r->windows[number];
    const int target = below(&S.own_draws, 3) == 0 ? 0 : below(&S.own_draws, w->ranks);
    switch (below(&S.own_draws, 4)) {
    case 0:
        read_pair(w, target);
        break;
    case 1:
        add_to_all_sums(r, number);
        break;
    default:
        add_to_pair(r, number, target);
        break;
    }
}

/// Holds a lock of one window, and uses the windows made later.
static void use_while_holding(struct round* r, int number) {
    const struct window* w = &r->windows[number];
    const int target = below(&S.own_draws, w->ranks);
    const int64_t before =
        lock_one(w, below(&S.own_draws, 2) == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target);
    for (int later = number + 1; later < r->count; ++later)
        use_window(r, later);
    unlock_one(w, target, before);
}

static void step(struct round* r) {
    const int number = below(&S.own_draws, r->count);
    if (below(&S.own_draws, 3) == 0)
        use_while_holding(r, number);
    else
        use_window(r, number);
}

// --- Rounds: windows come, are used, and go -------------------------------------------------------

static enum flavor draw_flavor(void) {
    for (;;) {
        const int flavor = below(&S.shared_draws, FLAVORS);
        if ((S.flavors & 1u << flavor) != 0)
            return (enum flavor)flavor;
    }
}

static bool create(struct round* r) {
    const int count = 1 + below(&S.shared_draws, WINDOWS);
    *r = (struct round){.count = 0};
    now_it(CREATES);
    for (; r->count < count; ++r->count) {
        const enum flavor flavor = draw_flavor();
        const MPI_Comm comm = below(&S.shared_draws, 3) == 0 ? S.halves : MPI_COMM_WORLD;
        const int words = below(&S.shared_draws, 4) == 0 ? 1 << 16 : WORDS;
        if (!window_open_with(&r->windows[r->count], flavor, comm, words * (MPI_Aint)8, 8,
                              MPI_INFO_NULL))
            return false;
    }
    return true;
}

/// What is at this rank is what all ranks have added to it.
static void check_sums(const struct round* r) {
    for (int i = 0; i < r->count; ++i) {
        const struct window* w = &r->windows[i];
        int64_t all[MOST_RANKS][2];
        now_it(MEETS);
        MPI_Allreduce(r->expected[i], all, 2 * w->ranks, MPI_INT64_T, MPI_SUM, w->comm);
        local_begin(w);
        CHECK_EQ(all[w->rank][0], ((const int64_t*)w->base)[PAIR]);
        CHECK_EQ(all[w->rank][0], ((const int64_t*)w->base)[PAIR + 1]);
        CHECK_EQ(all[w->rank][1], ((const int64_t*)w->base)[SUM]);
        local_end_all(w);
    }
}

static void run_round(void) {
    static struct round r;
    if (!create(&r))
        return;
    for (int i = 0; i < STEPS; ++i)
        step(&r);
    check_sums(&r);
    now_it(FREES);
    for (int i = r.count - 1; i >= 0; --i)
        window_close(&r.windows[i]);
    now_it(MEETS);
}

// --- What the process has -----------------------------------------------------------------------

static int64_t count_descriptors(void) {
    int64_t count = -1; // the folder's own
    DIR* const folder = opendir("/proc/self/fd");
    for (struct dirent* entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void count_maps(struct line* mine) {
    char text[4096];
    int64_t maps = 0, segments = 0;
    FILE* const file = fopen("/proc/self/maps", "r");
    while (file != NULL && fgets(text, sizeof text, file) != NULL) {
        ++maps;
        segments += S.folder != NULL && strstr(text, S.folder) != NULL;
    }
    if (file != NULL)
        fclose(file);
    mine->maps = maps;
    mine->segments = segments;
}

static int64_t resident_bytes(void) {
    long pages = 0, resident = 0;
    FILE* const file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static void count_what_i_have(void) {
    struct line* const mine = S.mine;
    mine->descriptors = count_descriptors();
    count_maps(mine);
    mine->heap = (int64_t)mallinfo2().uordblks;
    mine->resident = resident_bytes();
    __atomic_store_n(&mine->rounds, mine->rounds + 1, __ATOMIC_RELEASE);
}

// --- Start and end --------------------------------------------------------------------------------

struct arguments {
    const char* board;
    uint64_t seed;
    double seconds;
    bool names;
};

static struct arguments parse(int argc, char** argv) {
    struct arguments a = {NULL, 1, 5, false};
    S.flavors = IN_ANY;
    for (int i = 1; i < argc; ++i) {
        const char* value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--names") == 0)
            a.names = true;
        else if (strcmp(argv[i], "--board") == 0)
            a.board = value, ++i;
        else if (strcmp(argv[i], "--seed") == 0)
            a.seed = strtoull(value, NULL, 0), ++i;
        else if (strcmp(argv[i], "--seconds") == 0)
            a.seconds = atof(value), ++i;
        else if (strcmp(argv[i], "--flavors") == 0)
            S.flavors = flavor_set(value), ++i;
        else if (strcmp(argv[i], "--folder") == 0)
            S.folder = value, ++i;
        else
            a.board = NULL, i = argc;
    }
    if (a.board == NULL || S.flavors == 0) {
        fprintf(stderr,
                "%s --board FILE --seed N --seconds S [--flavors F,F] [--folder DIR] "
                "[--names]; flavors: create allocate shared dynamic\n",
                argv[0]);
        exit(2);
    }
    return a;
}

static void open_board(const char* path) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    const size_t bytes = sizeof(struct line) * (size_t)T.ranks;
    void* const board = file < 0 || ftruncate(file, (off_t)bytes) != 0
                            ? MAP_FAILED
                            : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (board == MAP_FAILED) {
        fprintf(stderr, "%s: the board %s cannot be mapped\n", T.program, path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    close(file);
    S.mine = (struct line*)board + T.rank;
    S.mine->pid = getpid();
}

int main(int argc, char** argv) {
    const struct arguments a = parse(argc, argv);
    T.program = "random_locks";
    watch_signals();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &T.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &T.ranks);
    if (T.ranks > MOST_RANKS)
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (a.names)
        hide();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_split(MPI_COMM_WORLD, T.rank % 2, 0, &S.halves);
    open_board(a.board);
    S.shared_draws = a.seed;
    S.own_draws = a.seed * 1000003 + (uint64_t)T.rank;
    long failures = 0;
    int go_on = 1;
    for (const double end = MPI_Wtime() + a.seconds; go_on && failures == 0;) {
        snprintf(T.name, sizeof T.name, "seed %llu round %lld", (unsigned long long)a.seed,
                 (long long)S.mine->rounds);
        run_round();
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&T.failures, &failures, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        count_what_i_have();
    }
    now_it(ENDS);
    MPI_Comm_free(&S.halves);
    if (T.rank == 0)
        printf("random_locks: %d passed, %d failed, 0 skipped\n", failures == 0, failures != 0);
    MPI_Finalize();
    return failures != 0;
}
