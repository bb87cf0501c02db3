// Windows over communicators of MPI sessions (MPI 4): of a session alone, before MPI_Init; beside
// MPI_COMM_WORLD; of two sessions at a time; and of one whose threads all call MPI.
#include "use_window.h"

#include <pthread.h>

// Open MPI 5.0 has sessions, though it calls itself MPI 3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)

/// What the ranks found before MPI_Init, when a session was all that there was.
static long failures_alone;

struct session {
    MPI_Session session;
    MPI_Comm comm;
};

static bool session_open_with(struct session* s, const char* tag, MPI_Info info) {
    MPI_Group world;
    if (!OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &s->session)))
        return false;
    if (!OK(MPI_Group_from_session_pset(s->session, "mpi://WORLD", &world)))
        return false;
    const bool made =
        OK(MPI_Comm_create_from_group(world, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &s->comm));
    MPI_Group_free(&world);
    return made;
}

static bool session_open(struct session* s, const char* tag) {
    return session_open_with(s, tag, MPI_INFO_NULL);
}

static void session_close(struct session* s) {
    MPI_Comm_free(&s->comm);
    OK(MPI_Session_finalize(&s->session));
}

static bool is_on_one_host(MPI_Comm comm) {
    MPI_Comm host;
    int all, here;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(comm, &all);
    MPI_Comm_size(host, &here);
    MPI_Comm_free(&host);
    int alike = all == here, everywhere;
    MPI_Allreduce(&alike, &everywhere, 1, MPI_INT, MPI_LAND, comm);
    return everywhere;
}

/// Open MPI is set up for the session, and taken down behind it; MPI_Init then sets it up again.
static void use_a_session_alone(unsigned flavors) {
    struct session s;
    snprintf(T.name, sizeof T.name, "before MPI_Init");
    alarm(60);
    if (session_open(&s, "rmalock://alone")) {
        const bool one_host = is_on_one_host(s.comm);
        MPI_Comm_rank(s.comm, &T.rank);
        MPI_Comm_size(s.comm, &T.ranks);
        for (int flavor = 0; flavor < FLAVORS; ++flavor)
            if ((flavors & 1u << flavor) != 0 && (flavor != SHARED || one_host))
                use(s.comm, (enum flavor)flavor);
        session_close(&s);
    }
    alarm(0);
    failures_alone = T.failures;
}

static void alone(void) {
    CHECK_EQ(0, failures_alone);
}

static void beside_the_world(void) {
    struct session s;
    if (!session_open(&s, "rmalock://beside"))
        return;
    use(s.comm, T.flavor);
    use(MPI_COMM_WORLD, T.flavor);
    session_close(&s);
}

static void two_sessions(void) {
    struct session first, second;
    struct window w;
    if (!session_open(&first, "rmalock://first") || !session_open(&second, "rmalock://second"))
        return;
    if (!window_open_with(&w, T.flavor, first.comm, sizeof(int), sizeof(int), MPI_INFO_NULL))
        return;
    OK(MPI_Win_lock_all(0, w.win)); // the window of one is in use while the other's come and go
    use(second.comm, T.flavor);
    session_close(&second);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
    session_close(&first);
}

enum { COUNTS_NEAR = 100000, COUNTS_FAR = 2000 };

struct counter {
    const struct window* w;
    int target, counts;
};

static void* count_up(void* arg) {
    const struct counter* c = arg;
    const struct window* w = c->w;
    for (int i = 0; i < c->counts; ++i) {
        int count = 0;
        OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, c->target, 0, w->win));
        OK(MPI_Get(&count, 1, MPI_INT, c->target, at(w, c->target, 0), 1, MPI_INT, w->win));
        OK(MPI_Win_flush(c->target, w->win));
        ++count;
        OK(MPI_Put(&count, 1, MPI_INT, c->target, at(w, c->target, 0), 1, MPI_INT, w->win));
        OK(MPI_Win_unlock(c->target, w->win));
    }
    return NULL;
}

/// MPI_Init, and the sessions before, have asked for one thread; this session asks for many.
static void threads_of_a_session(void) {
    struct session s;
    struct window w;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    const bool opened = session_open_with(&s, "rmalock://threads", info);
    MPI_Info_free(&info);
    if (!opened || !window_open_with(&w, T.flavor, s.comm, sizeof(int), sizeof(int), MPI_INFO_NULL))
        return;
    const int counts = is_on_one_host(s.comm) ? COUNTS_NEAR : COUNTS_FAR;
    struct counter first = {&w, 0, counts}, last = {&w, w.ranks - 1, counts};
    pthread_t other;
    pthread_create(&other, NULL, count_up, &first);
    count_up(&last);
    pthread_join(other, NULL);
    MPI_Barrier(s.comm);
    local_begin(&w);
    if (w.rank == 0 || w.rank == w.ranks - 1)
        CHECK_EQ((long long)counts * w.ranks, *(volatile int*)w.base);
    local_end(&w);
    window_close(&w);
    session_close(&s);
}

#else
static const char* const kNone = "this Open MPI has no sessions (MPI 4)";

static void use_a_session_alone(unsigned flavors) {
    (void)flavors;
}

static void alone(void) {
    skip(kNone);
}
static void beside_the_world(void) {
    skip(kNone);
}
static void two_sessions(void) {
    skip(kNone);
}
static void threads_of_a_session(void) {
    skip(kNone);
}
#endif

static const struct test_case cases[] = {
    {.name = "alone", .run = alone, .needs = IN_ALLOCATE},
    {.name = "beside_the_world", .run = beside_the_world, .each = IN_ANY},
    {.name = "two_sessions", .run = two_sessions, .each = IN_ANY},
    {.name = "threads_of_a_session", .run = threads_of_a_session, .each = IN_ANY, .min_ranks = 2},
};

int main(int argc, char** argv) {
    T.program = "sessions";
    use_a_session_alone(flavor_set(parse_options(argc, argv).flavors));
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
