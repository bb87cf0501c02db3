/*
 * The boundary between the Open MPI component (C11, osc_rmalock_*.c) and rmalock's core (C++20).
 *
 * Neither Open MPI's nor C++ types cross it, so the core does not depend on an Open MPI version and
 * no exception leaves it. Every function is called by a process for itself; those marked collective
 * are called by all processes of the window's communicator.
 */
#ifndef RMALOCK_API_H
#define RMALOCK_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Processes of a window at most; more are left to other components. */
#define RMALOCK_MOST_RANKS 65536

/* ---- results ------------------------------------------------------------------------------- */

/* What a call returns, numbered as Open MPI numbers the error classes. A failed call has been
 * reported once through rmalock_host_t.report, has changed nothing, and leaves the window usable.
 * The comments are rows of docs/reference.md (contrib/reference).
 */
typedef enum rmalock_status {
    RMALOCK_OK = 0,
    /* MPI_ERR_BUFFER: the origin, result or compare address is in memory of a GPU, which the CPU
     * cannot touch */
    RMALOCK_ERR_BUFFER = 1,
    /* MPI_ERR_COUNT: an accumulate with room for fewer results than it fetches */
    RMALOCK_ERR_COUNT = 2,
    /* MPI_ERR_TYPE: an accumulate whose type has not a single predefined element type */
    RMALOCK_ERR_TYPE = 3,
    /* MPI_ERR_RANK: a flush of a rank that does not exist */
    RMALOCK_ERR_RANK = 6,
    /* MPI_ERR_OP: an operation that is not defined on the type */
    RMALOCK_ERR_OP = 10,
    /* MPI_ERR_ARG, which creation makes MPI_ERR_INFO_VALUE: an info value that is not allowed; attach
     * of more bytes than there are from `base` on, or of a negative number */
    RMALOCK_ERR_ARG = 13,
    /* MPI_ERR_OTHER: a collective call of the window's communicator failed */
    RMALOCK_ERR_COMM = 16,
    /* MPI_ERR_INTERN: an error of the system or the network that no other class describes */
    RMALOCK_ERR_INTERN = 17,
    /* MPI_ERR_NO_MEM: no memory for a window, or `/dev/shm` is full */
    RMALOCK_ERR_NO_MEM = 39,
    /* MPI_ERR_RMA_SYNC: the call does not fit the epoch. A target is locked twice; lock inside
     * lock_all, lock_all inside lock, fence inside any of them; unlock of what is not locked;
     * unlock_all, complete, wait, test without their beginning; an RMA call or a flush outside an
     * epoch, or to a target that is not locked or not in the group; lock, lock_all or start after a
     * fence and an RMA call (after a fence alone they are legal); a window is freed inside an epoch
     */
    RMALOCK_ERR_SYNC = 47,
    /* MPI_ERR_RMA_RANGE: bytes outside the target's window, or not attached */
    RMALOCK_ERR_RANGE = 68,
    /* MPI_ERR_RMA_ATTACH: attach of what is attached, or of memory of a GPU; detach of what is not
     * attached */
    RMALOCK_ERR_ATTACH = 69,
    /* MPI_ERR_RMA_FLAVOR: attach, detach or shared_query on a window of another flavor */
    RMALOCK_ERR_FLAVOR = 70,
    /* MPI_ERR_PROC_FAILED: a process of the window has failed, and the program goes on (ULFM, only
     * where rmalock_comm_t.failed is given) */
    RMALOCK_ERR_PROC_FAILED = 75
} rmalock_status_t;

/* ---- parameters (params.def) ------------------------------------------------------------------
 */

typedef struct rmalock_params {
#define RMALOCK_PARAM_INT(name, def, low, high, scope, help) int name;
#define RMALOCK_PARAM_BOOL(name, def, scope, help) bool name;
#define RMALOCK_PARAM_CHOICE(name, def, allowed, scope, help) const char* name;
#define RMALOCK_PARAM_TEXT(name, def, scope, help) const char* name;
#include "params.def"
#undef RMALOCK_PARAM_INT
#undef RMALOCK_PARAM_BOOL
#undef RMALOCK_PARAM_CHOICE
#undef RMALOCK_PARAM_TEXT
} rmalock_params_t;

/* What the parameter `lock` may be: auto, and each row of locks/all.def. */
extern const char rmalock_lock_choices[];

/* Checks every value. On RMALOCK_ERR_ARG `why` names the parameter, the value and what is allowed.
 */
rmalock_status_t rmalock_params_check(const rmalock_params_t* params, char* why, size_t why_size);

/* Calls visit for the name of every parameter that a window's info can set. */
void rmalock_params_each_window_key(void (*visit)(const char* name, void* arg), void* arg);

/* Sets one of those from the value of its info key. Of a choice or a text the pointer is kept:
 * `value` outlives *params. Errors as above, and *params is unchanged. */
rmalock_status_t rmalock_params_set(rmalock_params_t* params, const char* name, const char* value,
                                    char* why, size_t why_size);

/* ---- counters (counters.def) -------------------------------------------------------------------
 */

typedef struct rmalock_counters {
#define RMALOCK_COUNTER(name, values, help) uint64_t name[values];
#include "counters.def"
#undef RMALOCK_COUNTER
} rmalock_counters_t;

/* ---- the host: what the core needs from MPI ----------------------------------------------------
 */

typedef struct rmalock_host {
    void (*progress)(void);                         /* runs MPI's communication; may be NULL */
    void (*report)(int level, const char* message); /* 0: an error; 1..3: verbose levels */
    int verbosity; /* messages of a higher level are not formatted */
    /* Has a file removed, if it is there, when the process is gone, however it ends; as far as the
     * launcher can. May be NULL. */
    void (*remove_at_end)(const char* path);
    /* NULL, or visits each process (rmalock_spec_t.process) that has failed since the last call with `seen`, which
     * is 0 at first. Any thread; fast if there are none. */
    void (*each_failed)(size_t* seen, void (*visit)(uint64_t process));
    /* From here on MPI's progress calls rmalock_send_held. May be NULL. */
    void (*call_progress)(void);
    /* Keeps the code in memory until the process ends. May be NULL. */
    void (*stay_loaded)(void);
} rmalock_host_t;

/* Called once, before any window exists. The struct is copied. */
void rmalock_init(const rmalock_host_t* host);

/* A communicator. Functions return 0 or a host error code; all but free are collective. */
typedef struct rmalock_comm {
    void* handle;
    int rank;
    int size;
    int (*barrier)(void* handle);
    int (*allgather)(void* handle, const void* mine, void* all, size_t bytes);
    int (*broadcast)(void* handle, void* data, size_t bytes, int root);
    int node; /* the lowest rank that is on the caller's node */
    /* NULL: the host ends the job when a process fails. Else the lowest rank that is known to have
     * failed, or -1. *seen, 0 at first: what the last call has looked at. Any thread; fast. */
    int (*failed)(void* handle, size_t* seen);
    /* With `failed`: a barrier of the ranks that have not. */
    int (*meet_survivors)(void* handle);
} rmalock_comm_t;

/* Of a process that has no memory for a step which all processes of `comm` take together: the others
 * wait for it, so it ends the job, with a message. RMALOCK_ERR_NO_MEM if there are no others. */
rmalock_status_t rmalock_lacks_memory(const rmalock_comm_t* comm);

/* ---- the network -------------------------------------------------------------------------------
 */

/* Opens it, unless it is open: every process that will create a window over several nodes. Any
 * thread; *opened: it was this call that opened it. false: `why` says what UCX refused. */
bool rmalock_network_open(const rmalock_params_t* params, bool* opened, char* why, size_t why_size);
/* What a process knows about whether the processes of a communicator reach each other through it,
 * from worst to best. Of those in which some have found it out, they all know the same. */
typedef enum rmalock_reach {
    RMALOCK_REACH_NOT_ALL, /* the caller could not reach one of them */
    RMALOCK_REACH_UNTRIED,
    RMALOCK_REACH_ALL
} rmalock_reach_t;
/* Processes by rmalock_spec_t.process. NOT_ALL: `why` says what UCX refused; else it stays. */
rmalock_reach_t rmalock_network_reach(const uint64_t* processes, size_t count, char* why,
                                      size_t why_size);
/* Collective: finds it out, in bounded time, and what does atomics; progress threads start. Windows
 * over several nodes need it; the caller leaves them to others if not *reached, which is the same
 * for all. `processes` by rank. `why` says what is wrong at one of those that know, and stays as it
 * is at the others. */
rmalock_status_t rmalock_network_try(const rmalock_comm_t* comm, const uint64_t* processes,
                                     bool* reached, char* why, size_t why_size);
/* Whether this process may open the file descriptors that connections to all of these take, beside
 * those to the other nodes' processes of its windows. Processes by rmalock_spec_t.process. */
bool rmalock_network_has_room(const uint64_t* processes, size_t count, char* why, size_t why_size);
/* One round of its progress; returns how much was done. Any thread; never calls the host. */
int rmalock_network_progress(void);
/* At the end: closes the connections, if it is open. Before rmalock_network_close the processes of each group
 * meet, and go on making progress, so that none of them misses another's answer. */
void rmalock_network_disconnect(void);
/* Calls visit for each group of processes of the job that windows have linked; none is within
 * another one, and all members of a group have it. Processes by rmalock_spec_t.process. */
void rmalock_network_each_group(void (*visit)(const uint64_t* processes, size_t count,
                                              void* argument),
                                void* argument);
void rmalock_network_close(void);

/* ---- windows ----------------------------------------------------------------------------------
 */

typedef enum rmalock_flavor {
    RMALOCK_FLAVOR_CREATE,   /* the caller's memory */
    RMALOCK_FLAVOR_ALLOCATE, /* memory of ours, mapped by every process of the node */
    RMALOCK_FLAVOR_SHARED,   /* the same, and one contiguous range of addresses over all ranks */
    RMALOCK_FLAVOR_DYNAMIC   /* attached and detached by the program; displacements are addresses */
} rmalock_flavor_t;

typedef struct rmalock_spec {
    const char* name;  /* the program's name for it; read whenever a message needs it */
    const char* label; /* how messages call it while the program has given no name; copied */
    rmalock_flavor_t flavor;
    void* base; /* CREATE only */
    size_t size;
    ptrdiff_t disp_unit;
    bool noncontiguous; /* SHARED: each rank's part may start on a page of its own */
    bool page_aligned;  /* ALLOCATE, SHARED: parts that need not follow another begin with a page */
    bool single_intrinsic; /* accumulates are mostly of few elements: see acc_single_intrinsic */
    bool oversubscribed;   /* more ranks than cores on this node, of the whole job */
    bool threads;          /* several threads of the process may call (MPI_THREAD_MULTIPLE) */
    bool progress_yields;  /* the host's progress gives the core away when it finds nothing to do */
    uint64_t process;      /* the calling process; its job, and in the lower 32 bits its
                           * rank in MPI_COMM_WORLD */
    rmalock_comm_t comm;
    rmalock_params_t params;
} rmalock_spec_t;

typedef struct rmalock_window rmalock_window_t;

/* Collective. Whether each process may read and write the memory of every other one
 * (process_vm_readv, process_vm_writev), which CREATE and DYNAMIC windows need. The answer is the
 * caller's own; the caller agrees with the others. */
rmalock_status_t rmalock_probe_peer_memory(const rmalock_comm_t* comm, bool* reachable);

/* Whether the calling process can make a file in the folder for segments (parameter shm_dir). */
bool rmalock_has_shared_memory(const rmalock_params_t* params, char* why, size_t why_size);

/* Collective. On success *base is the calling process's part of the window. */
rmalock_status_t rmalock_window_create(const rmalock_spec_t* spec, rmalock_window_t** window,
                                       void** base);
/* Collective, with barrier semantics. RMALOCK_ERR_SYNC, and nothing freed, inside an epoch. */
rmalock_status_t rmalock_window_free(rmalock_window_t* window);
/* Local. Instead of rmalock_window_free when the program ends and has not freed the window, in an epoch or
 * outside: nobody calls anything of it any more. Other processes may be at its memory until they end as well. */
void rmalock_window_leave(rmalock_window_t* window);
/* Local. Frees the windows that were left, once the processes that windows link to this one have come to
 * their end as well, or are waited for no longer. */
void rmalock_windows_drop(void);
/* RMALOCK_ERR_PROC_FAILED, once it is known that a process of the window has failed: then its locks
 * and counters are what that process left, and rmalock_window_abandon is the only call that is still to
 * be made. look: the host's progress runs first, as it is what hears of failures. */
rmalock_status_t rmalock_window_survives(rmalock_window_t* window, bool look);
/* Behind a call that has returned RMALOCK_ERR_PROC_FAILED: waits until the host has heard of it, too, or ends
 * the job if it does not. */
void rmalock_window_await_failure(rmalock_window_t* window);
/* Frees a window of which a process has failed, in an epoch or outside; collective over the others. */
void rmalock_window_abandon(rmalock_window_t* window);

/* SHARED. rank < 0 stands for the lowest rank whose size is not 0. */
rmalock_status_t rmalock_window_shared_query(rmalock_window_t* window, int rank, size_t* size,
                                             ptrdiff_t* disp_unit, void** base);

/* DYNAMIC; local calls. RMALOCK_ERR_ATTACH: part of the memory is attached already; no attached
 * memory begins at `base`. */
rmalock_status_t rmalock_window_attach(rmalock_window_t* window, void* base, size_t size);
rmalock_status_t rmalock_window_detach(rmalock_window_t* window, const void* base);

/* For calls that the host refuses itself: reports `what` like any error, and returns `status`.
 * target < 0: the call has none. */
rmalock_status_t rmalock_refuse(const rmalock_window_t* window, rmalock_status_t status,
                                const char* call, int target, const char* what);

/* The name of the lock algorithm of the window, and why it was chosen. Static text. */
const char* rmalock_window_lock_name(const rmalock_window_t* window, const char** reason);
/* Whether network adapters change single elements by their own atomics. */
bool rmalock_window_single_intrinsic(const rmalock_window_t* window);

/* What this process has counted since the window was created. Any time, any thread. */
void rmalock_window_counters(const rmalock_window_t* window, rmalock_counters_t* counters);

/* ---- passive target ---------------------------------------------------------------------------
 */

rmalock_status_t rmalock_lock(rmalock_window_t* window, bool exclusive, int target, bool nocheck);
rmalock_status_t rmalock_unlock(rmalock_window_t* window, int target);
rmalock_status_t rmalock_lock_all(rmalock_window_t* window, bool nocheck);
rmalock_status_t rmalock_unlock_all(rmalock_window_t* window);

rmalock_status_t rmalock_flush(rmalock_window_t* window, int target);
rmalock_status_t rmalock_flush_local(rmalock_window_t* window, int target);
rmalock_status_t rmalock_flush_all(rmalock_window_t* window);
rmalock_status_t rmalock_flush_local_all(rmalock_window_t* window);
rmalock_status_t rmalock_sync(rmalock_window_t* window);

/* ---- active target ----------------------------------------------------------------------------
 */

/* Collective. nosucceed: MPI_MODE_NOSUCCEED, the fence starts no epoch. */
rmalock_status_t rmalock_fence(rmalock_window_t* window, bool nosucceed);
/* Groups are given as ranks of the window. */
rmalock_status_t rmalock_start(rmalock_window_t* window, const int* group, int count, bool nocheck);
rmalock_status_t rmalock_complete(rmalock_window_t* window);
rmalock_status_t rmalock_post(rmalock_window_t* window, const int* group, int count, bool nocheck);
rmalock_status_t rmalock_wait(rmalock_window_t* window);
rmalock_status_t rmalock_test(rmalock_window_t* window, bool* done);

/* ---- data -------------------------------------------------------------------------------------
 */

/*
 * The bytes one side of a transfer touches, in type-map order. On the origin's side addresses are
 * addresses; on the target's side they are byte offsets from displacement 0 of the call.
 * A contiguous layout is [base, base + bytes). Any other hands out its segments through `next`:
 * at most `max` of them, 0 at the end; `rewind` starts over.
 */
typedef struct rmalock_layout {
    bool contiguous;
    uintptr_t base;
    size_t bytes; /* in total */
    /* Target side: the lowest and one past the highest offset touched, for the range check. */
    ptrdiff_t low, high;
    void* state;
    size_t (*next)(void* state, struct iovec* segments, size_t max);
    void (*rewind)(void* state);
} rmalock_layout_t;

/* Says when an operation is complete at the origin: for the request forms. Zeroed by the caller; it
 * and the origin's buffers outlive the operation. */
typedef struct rmalock_completion {
    uint32_t open, lost;
} rmalock_completion_t;
bool rmalock_completion_done(const rmalock_completion_t* completion);
/* Of a done one: whether it will never be complete, as the target has failed. */
bool rmalock_completion_lost(const rmalock_completion_t* completion);
/* Waits for it. */
rmalock_status_t rmalock_completion_wait(rmalock_window_t* window,
                                         const rmalock_completion_t* completion);
/* Whether operations to `target` can be under way when their call returns. */
bool rmalock_target_is_far(const rmalock_window_t* window, int target);

/* The memory of a put or get of one contiguous range, `bytes` bytes at `offset` bytes from the
 * displacement, if the caller may copy at once. NULL: it may be wrong, or take more than that; one
 * of the next two tells. */
void* rmalock_direct_address(rmalock_window_t* window, bool is_put, int target,
                             ptrdiff_t displacement, ptrdiff_t offset, size_t bytes);

/* Put and get of one contiguous range: `bytes` at `origin`, and at `offset` bytes from the
 * displacement. Otherwise as below. */
rmalock_status_t rmalock_put_contiguous(rmalock_window_t* window, const char* call, int target,
                                        ptrdiff_t displacement, ptrdiff_t offset,
                                        const void* origin, size_t bytes,
                                        rmalock_completion_t* completion);
rmalock_status_t rmalock_get_contiguous(rmalock_window_t* window, const char* call, int target,
                                        ptrdiff_t displacement, ptrdiff_t offset, void* origin,
                                        size_t bytes, rmalock_completion_t* completion);

/* For a put or get of `bytes` bytes, of which the target's are within [low, high) of the
 * displacement: *memory becomes where the caller may copy to or from, displacement 0 of the
 * target's side; NULL: only rmalock_put or rmalock_get can do it, or there is nothing to do. */
rmalock_status_t rmalock_find_memory(rmalock_window_t* window, const char* call, int target,
                                     ptrdiff_t displacement, ptrdiff_t low, ptrdiff_t high,
                                     bool is_put, void** memory);

/* Put and get, whatever MPI call they come from; `call` is its name for messages. On the node both
 * are complete at the target on return, but for small ones on memory that is not mapped. Of these a put
 * is complete at the origin; rmalock_complete_held completes both, and so do the calls that complete all. Across the network they are
 * under way, and `completion` (may be NULL) is done when they are complete at the origin. The displacement is in units of the
 * target's displacement unit. */
rmalock_status_t rmalock_put(rmalock_window_t* window, const char* call, int target,
                             ptrdiff_t displacement, const rmalock_layout_t* origin_side,
                             const rmalock_layout_t* target_side, rmalock_completion_t* completion);
rmalock_status_t rmalock_get(rmalock_window_t* window, const char* call, int target,
                             ptrdiff_t displacement, const rmalock_layout_t* origin_side,
                             const rmalock_layout_t* target_side, rmalock_completion_t* completion);

/* What is held back for a target of the node. */
rmalock_status_t rmalock_complete_held(rmalock_window_t* window, int target);
/* In all windows, unless another thread is at it. Any thread. */
void rmalock_send_held(void);

typedef enum rmalock_op {
    RMALOCK_OP_SUM,
    RMALOCK_OP_PROD,
    RMALOCK_OP_MAX,
    RMALOCK_OP_MIN,
    RMALOCK_OP_LAND,
    RMALOCK_OP_LOR,
    RMALOCK_OP_LXOR,
    RMALOCK_OP_BAND,
    RMALOCK_OP_BOR,
    RMALOCK_OP_BXOR,
    RMALOCK_OP_REPLACE,
    RMALOCK_OP_NO_OP,
    RMALOCK_OP_MAXLOC,
    RMALOCK_OP_MINLOC,
    RMALOCK_OP_OTHER
} rmalock_op_t;

typedef enum rmalock_kind {
    RMALOCK_KIND_SIGNED,
    RMALOCK_KIND_UNSIGNED,
    RMALOCK_KIND_REAL,    /* float, double, long double */
    RMALOCK_KIND_COMPLEX, /* of these */
    RMALOCK_KIND_QUAD,    /* binary128 of IEEE 754, where long double is another format */
    RMALOCK_KIND_QUAD_COMPLEX,
    RMALOCK_KIND_BOOL,
    RMALOCK_KIND_SIGNED_INT, /* a pair: a signed integer, and an int */
    RMALOCK_KIND_REAL_INT,   /* a pair: a real number, and an int */
    RMALOCK_KIND_OTHER       /* only the host knows how */
} rmalock_kind_t;

/* The predefined type that all elements of an accumulate have. */
typedef struct rmalock_element {
    rmalock_kind_t kind;
    uint32_t size;   /* bytes of data */
    uint32_t extent; /* distance of neighbours in an array */
} rmalock_element_t;

/* Combines `count` elements. operand: as many, NULL for NO_OP; result: NULL, or room for what was
 * there before. Both may be misaligned. */
typedef void (*rmalock_kernel_t)(void* elements, const void* operand, void* result, size_t count);
/* The kernels of an operation on a type. */
typedef struct rmalock_kernels {
    rmalock_kernel_t shared; /* aligned elements, each atomically; NULL: there is none */
    rmalock_kernel_t alone; /* elements that nobody else touches, an extent apart; NULL: likewise */
} rmalock_kernels_t;
/* NULL: there are none. */
const rmalock_kernels_t* rmalock_kernels_of(rmalock_element_t element, rmalock_op_t op);

/*
 * An accumulate, get_accumulate or fetch_and_op. `operand` and `result` are contiguous arrays of `count`
 * elements; operand is NULL for NO_OP, result where nothing is fetched. Operands may also lie in runs
 * of whole elements without gaps (operand_side, in place of operand). When the core cannot apply
 * the operation with CPU atomics it copies elements into an array (native_layout describes such an
 * array at `array` to the copy), has the host combine (array[i] = operand[i] op array[i]), and
 * copies back, all under the target's accumulate lock. An array that the process can address is
 * combined in its place. On the node, small ones on memory that is not mapped wait for others like puts
 * and gets, unless `completion` is given for what they fetch: rmalock_complete_held completes them.
 */
typedef struct rmalock_combination {
    const void* operand;
    const rmalock_layout_t* operand_side; /* or NULL */
    void* result;
    size_t count;
    rmalock_element_t element;
    rmalock_op_t op;
    const rmalock_kernels_t* kernels; /* of `op` on `element`; not NULL */
    const rmalock_layout_t* target_side;
    bool target_is_array; /* a plain one of `count` elements, like operand and result */
    void* host_arg;
    void (*combine)(void* host_arg, const void* operand, void* array, size_t count);
    void (*native_layout)(void* host_arg, void* array, rmalock_layout_t* layout);
    void (*native_layout_done)(void* host_arg);
    rmalock_completion_t* completion; /* may be NULL */
} rmalock_combination_t;

/* Memory for the copy that a call makes, aligned for any element, to be given back. Null: there is
 * none. See window/create/scratch.hh. */
void* rmalock_scratch_take(size_t bytes);
void rmalock_scratch_give(void* memory); /* may be null */

rmalock_status_t rmalock_accumulate(rmalock_window_t* window, const char* call, int target,
                                    ptrdiff_t displacement, const rmalock_combination_t* what);

/* The short way for one element of `size` bytes, a power of two; `kernel` is that for shared ones.
 * false: nothing has happened; the call above does it, or tells what is wrong. */
bool rmalock_combine_element(rmalock_window_t* window, int target, ptrdiff_t displacement,
                             size_t size, rmalock_kernel_t kernel, const void* operand,
                             void* result);

/* The same for plain arrays. `size` and `extent` are the element's, `count` is not 0; the rest is
 * as in rmalock_combination_t. */
typedef struct rmalock_array {
    const rmalock_kernels_t* kernels; /* not NULL; there is one for elements that are alone */
    const void* operand;
    void* result;
    size_t count, size, extent;
} rmalock_array_t;
bool rmalock_combine_array(rmalock_window_t* window, int target, ptrdiff_t displacement,
                           const rmalock_array_t* array);

/* MPI_Compare_and_swap on `size` (1, 2, 4, 8 or 16) bytes. */
rmalock_status_t rmalock_compare_and_swap(rmalock_window_t* window, int target,
                                          ptrdiff_t displacement, size_t size, const void* compare,
                                          const void* desired, void* result);

#ifdef __cplusplus
}
#endif

#endif /* RMALOCK_API_H */
