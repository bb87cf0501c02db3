/*
 * The component: registers its parameters, says which windows it serves, and creates them.
 */
#include "osc_rmalock.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include "ompi/runtime/mpiruntime.h"

static int component_register(void);
static int component_open(void) {
    osc_rmalock_peers_publish();
    return OMPI_SUCCESS;
}

/* MPI_Finalize closes the component: for what may be called behind that. */
static void stay_loaded(void) {
    Dl_info here;
    if (0 != dladdr(&mca_osc_rmalock_component, &here)) {
        (void)dlopen(here.dli_fname, RTLD_NOW); /* and never closed */
    }
}

static int component_init(bool enable_progress_threads, bool enable_mpi_threads);
static int component_finalize(void);
static int component_query(struct ompi_win_t* win, void** base, size_t size,
                           osc_rmalock_unit_t disp_unit, struct ompi_communicator_t* comm,
                           struct opal_info_t* info, int flavor);
static int component_select(struct ompi_win_t* win, void** base, size_t size,
                            osc_rmalock_unit_t disp_unit, struct ompi_communicator_t* comm,
                            struct opal_info_t* info, int flavor, int* model);

osc_rmalock_component_t mca_osc_rmalock_component = {
    .super = {.osc_version = {OSC_RMALOCK_INTERFACE, .mca_component_name = "rmalock",
                              MCA_BASE_MAKE_VERSION(component, RMALOCK_MAJOR, RMALOCK_MINOR,
                                                    RMALOCK_RELEASE),
                              .mca_open_component = component_open,
                              .mca_register_component_params = component_register},
              .osc_data = {MCA_BASE_METADATA_PARAM_NONE},
              .osc_init = component_init,
              .osc_query = component_query,
              .osc_select = component_select,
              .osc_finalize = component_finalize},
};

/* ---- parameters ------------------------------------------------------------------------------ */

static void register_param(const char* name, const char* help, const char* allowed,
                           mca_base_var_type_t type, void* storage) {
    char text[512];
    snprintf(text, sizeof text, "%s%s%s%s", help, *allowed ? " (" : "", allowed,
             *allowed ? ")" : "");
    (void)mca_base_component_var_register(&mca_osc_rmalock_component.super.osc_version, name, text,
                                          type, NULL, 0, 0, OPAL_INFO_LVL_3,
                                          MCA_BASE_VAR_SCOPE_GROUP, storage);
}

static int component_register(void) {
    rmalock_params_t* params = &mca_osc_rmalock_component.params;
#define RMALOCK_PARAM_INT(name, def, low, high, scope, help)                                       \
    params->name = def;                                                                            \
    register_param(#name, help, #low " to " #high, MCA_BASE_VAR_TYPE_INT, &params->name);
#define RMALOCK_PARAM_BOOL(name, def, scope, help)                                                 \
    params->name = def;                                                                            \
    register_param(#name, help, "", MCA_BASE_VAR_TYPE_BOOL, &params->name);
#define RMALOCK_PARAM_CHOICE(name, def, allowed, scope, help)                                      \
    params->name = def;                                                                            \
    register_param(#name, help, allowed, MCA_BASE_VAR_TYPE_STRING, &params->name);
#define RMALOCK_PARAM_TEXT(name, def, scope, help)                                                 \
    params->name = def;                                                                            \
    register_param(#name, help, "", MCA_BASE_VAR_TYPE_STRING, &params->name);
#include "params.def"
#undef RMALOCK_PARAM_INT
#undef RMALOCK_PARAM_BOOL
#undef RMALOCK_PARAM_CHOICE
#undef RMALOCK_PARAM_TEXT
    osc_rmalock_pvars_register();
    return OMPI_SUCCESS;
}

/* ---- life of the component ------------------------------------------------------------------- */

static void run_progress(void) {
    (void)opal_progress();
}

/* What is registered twice Open MPI calls once. */
static void call_progress(void) {
    (void)opal_progress_register(osc_rmalock_progress);
}

static void report(int level, const char* message) {
    opal_output(0, "osc/rmalock: %s%s", 0 == level ? "error: " : "", message);
}

static int component_init(bool enable_progress_threads, bool enable_mpi_threads) {
    osc_rmalock_component_t* component = &mca_osc_rmalock_component;
    const rmalock_host_t host = {
        .progress = run_progress,
        .report = report,
        .verbosity = component->params.verbose,
        .remove_at_end = osc_rmalock_tell_of_file,
        .each_failed = osc_rmalock_tolerates_failures() ? osc_rmalock_each_failed : NULL,
        .call_progress = call_progress,
        .stay_loaded = stay_loaded};
    char why[256];
    (void)enable_progress_threads;
    (void)
        enable_mpi_threads; /* in MPI 4 each session has a level of its own: asked for each window */
    const char* differs = osc_rmalock_layout_differs();
    if (NULL != differs) {
        snprintf(why, sizeof why, "not loaded: compiled for another Open MPI (%s differs)",
                 differs);
        report(0, why);
        return OMPI_ERROR;
    }
    rmalock_init(&host);
    component->params_good =
        RMALOCK_OK == rmalock_params_check(&component->params, why, sizeof why);
    if (!component->params_good) {
        report(0, why);
    }
    /* Stay loaded even so: queries are collective, and other ranks may have good parameters. */
    return OMPI_SUCCESS;
}

/* All come here at about the same time, out of MPI_Finalize's own barrier; one that was killed
 * never does. */
enum { MOST_MEETING_SECONDS = 10 };

/* Of a clock that is never set. */
static time_t seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void begin_to_meet(const uint64_t* processes, size_t count, void* meetings) {
    osc_rmalock_meet((osc_rmalock_meetings_t*)meetings, processes, count);
}

/* Until the processes that windows have linked to this one come here as well, for a bounded time.
 * Not all of the job: this component may be on some of its hosts only. */
static void meet_linked_processes(void) {
    static osc_rmalock_meetings_t meetings; /* may be counted down after the time is over */
    const time_t end = seconds() + MOST_MEETING_SECONDS;
    rmalock_network_each_group(begin_to_meet, &meetings);
    while (!osc_rmalock_have_met(&meetings) && seconds() <= end) {
        osc_rmalock_meeting_progress(rmalock_network_progress);
    }
    if (!osc_rmalock_have_met(&meetings)) {
        /* PMIx calls when all have come, behind that as well. (4.1.4 has closed PMIx by then; no other version was
         * tried.) */
        stay_loaded();
    }
}

/* Where no network is open, all that is about it does nothing. */
static int component_finalize(void) {
    osc_rmalock_failures_close();
    rmalock_network_disconnect();
    meet_linked_processes();
    rmalock_windows_drop();
    (void)opal_progress_unregister(osc_rmalock_progress);
    rmalock_network_close();
    osc_rmalock_peers_forget();
    return OMPI_SUCCESS;
}

/* ---- which windows --------------------------------------------------------------------------- */

/* Bytes for the reason of a vote. */
enum { RMALOCK_WHY = 512 };

/* What the processes of a communicator agree on: the least of their votes. */
typedef enum {
    /* An error: no component is to create this window behind the user's back. */
    VOTE_REFUSE_UNIT, /* of the displacement unit */
    VOTE_REFUSE,
    VOTE_DECLINE,
    VOTE_SERVE
} vote_t;

typedef struct {
    struct opal_info_t* info;
    rmalock_params_t* params;
    char (*values)[OSC_RMALOCK_INFO_SIZE]; /* the texts that *params refers to */
    int used;
    bool good;
    char why[256];
} info_reader_t;

/* Keeps as many info values as there are window parameters. */
#define MAX_WINDOW_KEYS 32

static void read_info_key(const char* name, void* arg) {
    info_reader_t* reader = (info_reader_t*)arg;
    char key[MPI_MAX_INFO_KEY];
    snprintf(key, sizeof key, "rmalock_%s", name);
    if (!reader->good || MAX_WINDOW_KEYS == reader->used) {
        return;
    }
    char* value = reader->values[reader->used];
    if (osc_rmalock_info_get(reader->info, key, value, OSC_RMALOCK_INFO_SIZE)) {
        ++reader->used;
        reader->good = RMALOCK_OK == rmalock_params_set(reader->params, name, value, reader->why,
                                                        sizeof reader->why);
    }
}

/* The parameters of one window: the component's, and over them the info's. */
static bool window_params(struct opal_info_t* info, rmalock_params_t* params,
                          char (*values)[OSC_RMALOCK_INFO_SIZE], char* why, size_t why_size) {
    info_reader_t reader = {.info = info, .params = params, .values = values, .good = true};
    *params = mca_osc_rmalock_component.params;
    rmalock_params_each_window_key(read_info_key, &reader);
    if (!reader.good) {
        snprintf(why, why_size, "%s", reader.why);
    }
    return reader.good;
}

static const char* flavor_name(int flavor) {
    switch (flavor) {
    case MPI_WIN_FLAVOR_CREATE:
        return "create";
    case MPI_WIN_FLAVOR_ALLOCATE:
        return "allocate";
    case MPI_WIN_FLAVOR_SHARED:
        return "allocate_shared";
    default:
        return "create_dynamic";
    }
}

/* Whether the window's processes are on several nodes, or are to be treated so. */
static bool is_far(struct ompi_communicator_t* comm, int flavor) {
    const rmalock_params_t* params = &mca_osc_rmalock_component.params;
    const bool split = 0 != params->ranks_per_node && MPI_WIN_FLAVOR_SHARED != flavor;
    return ompi_group_have_remote_peers(comm->c_local_group) ||
           (split && ompi_comm_size(comm) > params->ranks_per_node);
}

static bool needs_network(struct ompi_communicator_t* comm, int flavor) {
    return is_far(comm, flavor) || 0 == strcmp(mca_osc_rmalock_component.params.domain, "nic");
}

static bool open_network(char* why, size_t why_size) {
    bool opened;
    if (!rmalock_network_open(&mca_osc_rmalock_component.params, &opened, why, why_size)) {
        return false;
    }
    if (opened) {
        call_progress();
    }
    return true;
}

/* Whether the limit of file descriptors allows connections to the processes on other nodes. */
static bool has_descriptors(struct ompi_communicator_t* comm, char* why, size_t why_size) {
    const bool split = 0 != mca_osc_rmalock_component.params.ranks_per_node; /* then to all */
    const int size = ompi_comm_size(comm);
    uint64_t* const far = (uint64_t*)malloc((size_t)size * sizeof *far);
    size_t count = 0;
    if (NULL == far) {
        snprintf(why, why_size, "no memory");
        return false;
    }
    for (int r = 0; r < size; ++r) {
        const bool own =
            split ? ompi_comm_rank(comm) == r : osc_rmalock_on_node(comm->c_local_group, r);
        if (!own) {
            far[count++] = osc_rmalock_process_of(comm->c_local_group, r);
        }
    }
    const bool has = rmalock_network_has_room(far, count, why, why_size);
    free(far);
    return has;
}

/* Of processes on several nodes nobody can make such a window. */
static bool shares_no_memory(struct ompi_communicator_t* comm, int flavor) {
    return MPI_WIN_FLAVOR_SHARED == flavor && ompi_group_have_remote_peers(comm->c_local_group);
}

/* This process's vote. Everything that may differ between processes is in it; what query does
 * before it (probing peers) all processes do alike. */
static vote_t vote(struct ompi_communicator_t* comm, const rmalock_comm_t* core_comm,
                   struct opal_info_t* info, int flavor, osc_rmalock_unit_t disp_unit,
                   bool peers_reachable, bool on_gpu, char* why, size_t why_size) {
    rmalock_params_t params;
    char values[MAX_WINDOW_KEYS][OSC_RMALOCK_INFO_SIZE];
    if (!mca_osc_rmalock_component.params_good) {
        snprintf(why, why_size, "its parameters are wrong");
        return VOTE_DECLINE;
    }
    if (!window_params(info, &params, values, why, why_size)) {
        return VOTE_REFUSE;
    }
    if (params.enable && 0 >= disp_unit && MPI_WIN_FLAVOR_DYNAMIC != flavor) {
        snprintf(why, why_size, "disp_unit is %td; it is to be positive", (ptrdiff_t)disp_unit);
        return VOTE_REFUSE_UNIT;
    }
    if (shares_no_memory(comm, flavor)) {
        snprintf(why, why_size, "the communicator spans several nodes, which share no memory");
    } else if (!params.enable) {
        snprintf(why, why_size, "disabled by parameter or info key 'enable'");
    } else if (ompi_comm_size(comm) > RMALOCK_MOST_RANKS) {
        snprintf(why, why_size, "it has %d processes; rmalock serves %d at most",
                 ompi_comm_size(comm), RMALOCK_MOST_RANKS);
    } else if (on_gpu) {
        snprintf(why, why_size, "its memory is a GPU's, which rmalock does not serve");
    } else if (needs_network(comm, flavor) &&
               !(open_network(why, why_size) && has_descriptors(comm, why, why_size))) {
        ; /* why says it */
    } else if (core_comm->rank == core_comm->node &&
               !rmalock_has_shared_memory(&params, why, why_size)) {
        ; /* the others of the node open what the first one has made */
    } else if (!peers_reachable) {
        snprintf(why, why_size,
                 "this process may not read its peers' memory (process_vm_readv), which windows of "
                 "MPI_Win_create and MPI_Win_create_dynamic need");
    } else {
        return VOTE_SERVE;
    }
    return VOTE_DECLINE;
}

/* Windows on memory that the processes do not map. */
static bool needs_peer_memory(int flavor) {
    return MPI_WIN_FLAVOR_CREATE == flavor || MPI_WIN_FLAVOR_DYNAMIC == flavor;
}

/* What a process brings to the agreement: each may differ, by info or environment, and the
 * components would be mixed up if a process went by its own. */
typedef struct {
    vote_t vote;
    int priority;
    bool near; /* the window does not need the network */
    rmalock_reach_t reach;
} ballot_t;

/* Makes each part of the ballot the least of all processes'. */
static void agree(struct ompi_communicator_t* comm, ballot_t* ballot) {
    const int in[] = {(int)ballot->vote, ballot->priority, ballot->near, (int)ballot->reach};
    enum { PARTS = sizeof in / sizeof *in };
    int out[PARTS];
    if (1 == ompi_comm_size(comm)) {
        return;
    }
    if (OMPI_SUCCESS == comm->c_coll->coll_allreduce(in, out, PARTS, MPI_INT, MPI_MIN, comm,
                                                     comm->c_coll->coll_allreduce_module)) {
        *ballot = (ballot_t){(vote_t)out[0], out[1], 0 != out[2], (rmalock_reach_t)out[3]};
    } else {
        ballot->vote = VOTE_DECLINE;
    }
}

/* The communicator's processes, by rank; the caller frees them. NULL: no memory. */
static uint64_t* processes_of(struct ompi_communicator_t* comm) {
    const int size = ompi_comm_size(comm);
    uint64_t* const processes = (uint64_t*)malloc((size_t)size * sizeof *processes);
    for (int r = 0; NULL != processes && r < size; ++r) {
        processes[r] = osc_rmalock_process_of(comm->c_local_group, r);
    }
    return processes;
}

/* Whether the processes reach each other through the network, which all of them find out together
 * unless they know. */
static bool all_reach_each_other(const rmalock_comm_t* comm, rmalock_reach_t known,
                                 const uint64_t* processes, char* why, size_t why_size) {
    bool reached = RMALOCK_REACH_ALL == known;
    if (RMALOCK_REACH_UNTRIED == known &&
        RMALOCK_OK != rmalock_network_try(comm, processes, &reached, why, why_size)) {
        reached = false;
    }
    return reached;
}

/* Tells why a window is left to others, or is no window at all: each process with a vote against
 * it, each that has something to say about the network, and in any case rank 0. */
static void tell_why(const rmalock_comm_t* comm, int flavor, vote_t mine, const char* why) {
    char text[RMALOCK_WHY + 128];
    const bool refused = VOTE_DECLINE > mine;
    snprintf(text, sizeof text, "window of MPI_Win_%s on %d ranks, rank %d: %s: %s",
             flavor_name(flavor), comm->size, comm->rank, refused ? "refused" : "declined", why);
    if (refused) {
        report(0, text);
    } else if (mca_osc_rmalock_component.params.verbose >= 1) {
        report(1, text);
    }
}

/* The votes of all processes; then, if the window needs the network and all would serve it, whether
 * they reach each other. Each step is alike on all processes. */
static vote_t elect(struct ompi_communicator_t* comm, const rmalock_comm_t* core_comm,
                    ballot_t* ballot, char* why, size_t why_size) {
    char not_reached[RMALOCK_WHY] = "";
    uint64_t* const processes = processes_of(comm);
    if (NULL == processes) {
        snprintf(why, why_size, "no memory");
        ballot->vote = VOTE_DECLINE;
    } else if (!ballot->near) {
        ballot->reach = rmalock_network_reach(processes, (size_t)core_comm->size, not_reached,
                                              sizeof not_reached);
    }
    agree(comm, ballot);
    if (VOTE_SERVE == ballot->vote && !ballot->near &&
        !all_reach_each_other(core_comm, ballot->reach, processes, not_reached,
                              sizeof not_reached)) {
        ballot->vote = VOTE_DECLINE;
    }
    if ('\0' != *not_reached) {
        snprintf(why, why_size, "%s", not_reached);
    }
    free(processes);
    return ballot->vote;
}

/* What query has last agreed on in this thread: Open MPI calls select for the window next, and the
 * processes need not agree a second time. */
static _Thread_local vote_t elected;

/* Whether a process of the communicator is known to have failed: no component can serve a window of it. */
static bool has_lost_one(struct ompi_communicator_t* comm) {
    size_t seen = 0;
    return osc_rmalock_tolerates_failures() && osc_rmalock_failed(comm, &seen) >= 0;
}

static int component_query(struct ompi_win_t* win, void** base, size_t size,
                           osc_rmalock_unit_t disp_unit, struct ompi_communicator_t* comm,
                           struct opal_info_t* info, int flavor) {
    const rmalock_comm_t core_comm = osc_rmalock_comm(comm, MPI_WIN_FLAVOR_SHARED == flavor);
    bool peers_reachable = true;
    char why[RMALOCK_WHY] = "";
    (void)win;

    if (osc_rmalock_peers_lacking(comm, why, sizeof why) >= 0) {
        if ('\0' != *why) {
            tell_why(&core_comm, flavor, VOTE_DECLINE, why);
        }
        return -1;
    }
    osc_rmalock_gpus_find(); /* not earlier: test/mpi/device_memory.c has its GPU after MPI_Init */
    const bool on_gpu = MPI_WIN_FLAVOR_CREATE == flavor && osc_rmalock_on_gpu(*base, size);

    if (needs_peer_memory(flavor) &&
        RMALOCK_OK != rmalock_probe_peer_memory(&core_comm, &peers_reachable)) {
        return -1;
    }
    const vote_t mine =
        vote(comm, &core_comm, info, flavor, disp_unit, peers_reachable, on_gpu, why, sizeof why);
    ballot_t ballot = {mine, mca_osc_rmalock_component.params.priority, !is_far(comm, flavor),
                       RMALOCK_REACH_ALL};
    const vote_t all = elect(comm, &core_comm, &ballot, why, sizeof why);
    if (VOTE_SERVE != all && ('\0' != *why || 0 == core_comm.rank)) {
        tell_why(&core_comm, flavor, mine, '\0' != *why ? why : "another process declined");
    }
    elected = all; /* a refusal is carried out in select */
    if (VOTE_DECLINE == all && has_lost_one(comm)) {
        elected = VOTE_REFUSE;
        return ballot.priority;
    }
    if (VOTE_DECLINE == all && shares_no_memory(comm, flavor)) {
        return ballot.priority; /* 5.0 asks select alone for the reason of an error */
    }
    return VOTE_DECLINE == all ? -1 : ballot.priority;
}

/* ---- creation -------------------------------------------------------------------------------- */

static rmalock_flavor_t core_flavor(int flavor) {
    switch (flavor) {
    case MPI_WIN_FLAVOR_CREATE:
        return RMALOCK_FLAVOR_CREATE;
    case MPI_WIN_FLAVOR_SHARED:
        return RMALOCK_FLAVOR_SHARED;
    case MPI_WIN_FLAVOR_DYNAMIC:
        return RMALOCK_FLAVOR_DYNAMIC;
    default:
        return RMALOCK_FLAVOR_ALLOCATE;
    }
}

static bool info_says(struct opal_info_t* info, const char* key) {
    char value[OSC_RMALOCK_INFO_SIZE];
    return osc_rmalock_info_get(info, key, value, sizeof value) && 0 == strcmp(value, "true");
}

/* Whether more than the alignment of a cache line is asked for, which all windows' memory has. */
static bool wants_page(struct opal_info_t* info) {
    enum { LINE = 64 };
    char value[OSC_RMALOCK_INFO_SIZE];
    return osc_rmalock_info_get(info, "mpi_minimum_memory_alignment", value, sizeof value) &&
           strtoull(value, NULL, 10) > LINE;
}

/* The key as osc/ucx and osc/rdma have it, without our prefix; or the standard's (MPI 4.1, 12.2.1). */
static bool is_single_intrinsic(struct opal_info_t* info, const rmalock_params_t* params) {
    static const long widest = 8;
    char value[OSC_RMALOCK_INFO_SIZE];
    if (osc_rmalock_info_get(info, "acc_single_intrinsic", value, sizeof value)) {
        return 0 == strcmp(value, "true");
    }
    if (osc_rmalock_info_get(info, "mpi_accumulate_granularity", value, sizeof value)) {
        const long granularity = strtol(value, NULL, 10);
        return 0 < granularity && widest >= granularity;
    }
    return params->acc_single_intrinsic;
}

static bool oversubscribed(void) {
    const int cpus = osc_rmalock_usable_cpus();
    /* A user that asks Open MPI to yield knows of other load on the machine. */
    return opal_progress_yield_when_idle || (cpus > 0 && osc_rmalock_local_ranks() > cpus);
}

/* What the window has, which no hint changes any more (MPI 4.0, 12.2.7: the hints in use). */
static osc_rmalock_info_text_t chosen(opal_infosubscriber_t* object, osc_rmalock_info_text_t key,
                                      osc_rmalock_info_text_t value) {
    const rmalock_window_t* window = osc_rmalock_window((struct ompi_win_t*)object);
    const char* reason;
    const char* lock = rmalock_window_lock_name(window, &reason);
    (void)value;
    if (0 == strcmp(key, "rmalock_lock")) {
        return (osc_rmalock_info_text_t)lock;
    }
    if (0 == strcmp(key, "rmalock_lock_reason")) {
        return (osc_rmalock_info_text_t)reason;
    }
    return (osc_rmalock_info_text_t)(rmalock_window_single_intrinsic(window) ? "true" : "false");
}

/* Shows through MPI_Win_get_info what was chosen. */
static void show_choices(struct ompi_win_t* win, struct opal_info_t* info, int flavor) {
    // What holds without being asked for: accumulates are always ordered, their operations may
    // always differ, and rmalock takes nothing for granted.
    static const char* const standard[][2] = {{"accumulate_ordering", "rar,raw,war,waw"},
                                              {"accumulate_ops", "same_op_no_op"},
                                              {"no_locks", "false"},
                                              {"same_size", "false"},
                                              {"same_disp_unit", "false"}};
    char value[OSC_RMALOCK_INFO_SIZE];
    for (size_t i = 0; i < sizeof standard / sizeof *standard; ++i) {
        if (!osc_rmalock_info_get(info, standard[i][0], value, sizeof value)) {
            osc_rmalock_info_show(win, standard[i][0], standard[i][1]);
        }
    }
    if (MPI_WIN_FLAVOR_SHARED == flavor) {
        osc_rmalock_info_show(win, "alloc_shared_noncontig",
                              info_says(info, "alloc_shared_noncontig") ? "true" : "false");
    }
    /* Not what was asked for: that can be `auto`, or another lock than rank 0's. */
    osc_rmalock_info_insist(win, "rmalock_lock", chosen);
    osc_rmalock_info_insist(win, "rmalock_lock_reason", chosen);
    osc_rmalock_info_insist(win, "acc_single_intrinsic", chosen);
}

/* Collective. A module without a window, with a communicator of its own; NULL: *rc says why not. */
static osc_rmalock_module_t* make_module(struct ompi_communicator_t* comm, int* rc) {
    osc_rmalock_module_t* module = (osc_rmalock_module_t*)calloc(1, sizeof *module);
    if (NULL == module) {
        const rmalock_comm_t all = osc_rmalock_comm(comm, false);
        *rc = osc_rmalock_creation_failed(comm, osc_rmalock_error(rmalock_lacks_memory(&all)));
        return NULL;
    }
    /* Not ompi_comm_dup, which runs the program's attribute callbacks, as only the calls may that
     * duplicate a communicator for the program (MPI 4.0, 7.7.1). */
    *rc = ompi_comm_split(comm, 0, ompi_comm_rank(comm), &module->comm, false);
    if (OMPI_SUCCESS != *rc) {
        free(module);
        *rc = osc_rmalock_creation_failed(comm, has_lost_one(comm) ? RMALOCK_ERR_PROC_FAILED : *rc);
        return NULL;
    }
    module->super = osc_rmalock_module_template;
    if (osc_rmalock_tolerates_failures()) {
        osc_rmalock_survive(&module->super);
    }
    return module;
}

static int component_select(struct ompi_win_t* win, void** base, size_t size,
                            osc_rmalock_unit_t disp_unit, struct ompi_communicator_t* comm,
                            struct opal_info_t* info, int flavor, int* model) {
    char values[MAX_WINDOW_KEYS][OSC_RMALOCK_INFO_SIZE], why[256], label[64];
    rmalock_params_t params;
    if (has_lost_one(comm)) {
        return osc_rmalock_creation_failed(comm, RMALOCK_ERR_PROC_FAILED);
    }
    if (shares_no_memory(comm, flavor)) {
        return OMPI_ERR_RMA_SHARED; /* as Open MPI's own, on 4.1 */
    }
    if (VOTE_REFUSE_UNIT == elected) {
        return osc_rmalock_creation_failed(comm, MPI_ERR_DISP);
    }
    if (!window_params(info, &params, values, why, sizeof why) || VOTE_REFUSE == elected) {
        return osc_rmalock_creation_failed(comm, MPI_ERR_INFO_VALUE);
    }
    int rc;
    osc_rmalock_module_t* module = make_module(comm, &rc);
    if (NULL == module) {
        return rc;
    }
    snprintf(label, sizeof label, "%s-%d", flavor_name(flavor),
             osc_rmalock_comm_number(module->comm));
    const rmalock_spec_t spec = {
        .name = win->w_name,
        .label = label,
        .flavor = core_flavor(flavor),
        .base = MPI_WIN_FLAVOR_CREATE == flavor ? *base : NULL,
        .size = size,
        .disp_unit = disp_unit,
        .noncontiguous = info_says(info, "alloc_shared_noncontig"),
        .page_aligned = wants_page(info),
        .single_intrinsic = is_single_intrinsic(info, &params),
        .oversubscribed = oversubscribed(),
        .threads = osc_rmalock_threads(),
        .progress_yields = opal_progress_yield_when_idle,
        .process = osc_rmalock_process(),
        .comm = osc_rmalock_comm(module->comm, MPI_WIN_FLAVOR_SHARED == flavor),
        .params = params,
    };
    void* memory;
    rc = osc_rmalock_error(rmalock_window_create(&spec, &module->window, &memory));
    if (OMPI_SUCCESS != rc) {
        ompi_comm_free(&module->comm);
        free(module);
        return osc_rmalock_creation_failed(comm, has_lost_one(comm) ? RMALOCK_ERR_PROC_FAILED : rc);
    }
    if (NULL != base) { /* NULL for dynamic windows */
        *base = memory;
    }
    win->w_osc_module = &module->super;
    *model = MPI_WIN_UNIFIED;
    show_choices(win, info, flavor);
    return OMPI_SUCCESS;
}
