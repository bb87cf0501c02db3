/*
 * What differs between the Open MPI series that rmalock builds for (4.1, 5.0), and nothing else.
 * The other boundary files include Open MPI through this one and call what it defines.
 *
 * The one-sided framework's interface is a matter of its own: 3.0.0 (with component 2.0.0) in both series, and 4.0.0
 * (with component 3.0.0) in what is to become 6.0. It has counts of type size_t, and displacement units of type
 * ptrdiff_t. test/interface states it, and compiles this component against it.
 */
#ifndef OSC_RMALOCK_COMPAT_H
#define OSC_RMALOCK_COMPAT_H

#include "ompi_config.h"

#include <pthread.h>
#include <sched.h>

#include "mpi.h"

#include "ompi/communicator/communicator.h"
#include "ompi/constants.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/errhandler/errhandler.h"
#include "ompi/group/group.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/osc/base/base.h"
#include "ompi/mca/osc/osc.h"
#include "ompi/op/op.h"
#include "ompi/request/request.h"
#include "ompi/win/win.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/datatype/opal_datatype_internal.h"
#include "opal/mca/base/mca_base_var.h"
#include "opal/mca/hwloc/base/base.h"
#if OMPI_MAJOR_VERSION >= 5
#include <pmix.h>

#include "opal/mca/accelerator/base/base.h"
#else
#include "opal/mca/pmix/pmix.h"
#include "opal/runtime/opal_params.h"

#include "ompi/runtime/mpiruntime.h"
#endif
#include "opal/runtime/opal_progress.h"
#include "opal/util/info.h"
#include "opal/util/info_subscriber.h"
#include "opal/util/output.h"
#include "opal/util/proc.h"

#if OMPI_MAJOR_VERSION < 4 || (OMPI_MAJOR_VERSION == 4 && OMPI_MINOR_VERSION < 1) ||               \
    OMPI_MAJOR_VERSION > 5
#error "rmalock knows Open MPI 4.1 and 5.0"
#endif

#ifdef OMPI_OSC_BASE_VERSION_4_0_0
#define OSC_RMALOCK_INTERFACE OMPI_OSC_BASE_VERSION_4_0_0
typedef size_t osc_rmalock_count_t;
typedef ptrdiff_t osc_rmalock_unit_t;
#else
#define OSC_RMALOCK_INTERFACE OMPI_OSC_BASE_VERSION_3_0_0
typedef int osc_rmalock_count_t;
typedef int osc_rmalock_unit_t;
#endif

/* Copies the value of an info key; false: the key is not set. Longer values are cut. */
static inline bool osc_rmalock_info_get(struct opal_info_t* info, const char* key, char* value,
                                        int size) {
    int found = 0;
    if (NULL == info) {
        return false;
    }
#if OMPI_MAJOR_VERSION >= 5
    opal_cstring_t* text = NULL;
    if (OPAL_SUCCESS != opal_info_get(info, key, &text, &found) || !found) {
        return false;
    }
    snprintf(value, (size_t)size, "%s", text->string);
    OBJ_RELEASE(text);
    return true;
#else
    return OPAL_SUCCESS == opal_info_get(info, key, size - 1, value, &found) && found;
#endif
}

#if OMPI_MAJOR_VERSION >= 5
typedef const char* osc_rmalock_info_text_t;
#else
typedef char* osc_rmalock_info_text_t;
#endif

/* Answers what a window has for an info key: the value given, or another one. */
typedef osc_rmalock_info_text_t (*osc_rmalock_info_answer_t)(opal_infosubscriber_t* object,
                                                             osc_rmalock_info_text_t key,
                                                             osc_rmalock_info_text_t value);

/* The value given, at creation or later. */
static inline osc_rmalock_info_text_t osc_rmalock_info_keep(opal_infosubscriber_t* object,
                                                            osc_rmalock_info_text_t key,
                                                            osc_rmalock_info_text_t value) {
    (void)object;
    (void)key;
    return value;
}

/* Makes MPI_Win_get_info show `key` with `value`. */
static inline void osc_rmalock_info_show(struct ompi_win_t* win, const char* key,
                                         const char* value) {
    opal_infosubscribe_subscribe(&win->super, (osc_rmalock_info_text_t)key,
                                 (osc_rmalock_info_text_t)value, osc_rmalock_info_keep);
}

/* What `answer` says, whatever the program gives for the key, now or later. (4.1 shows what MPI_Win_set_info was given
 * all the same: it keeps that beside the answer.) */
static inline void osc_rmalock_info_insist(struct ompi_win_t* win, const char* key,
                                           osc_rmalock_info_answer_t answer) {
    const osc_rmalock_info_text_t value =
        answer(&win->super, (osc_rmalock_info_text_t)key, (osc_rmalock_info_text_t) "");
    if (NULL != win->super.s_info) {
        (void)opal_info_set(win->super.s_info, key, value);
    }
    opal_infosubscribe_subscribe(&win->super, (osc_rmalock_info_text_t)key, value, answer);
}

/* Whether several threads may call at a time. 5.0: that a session asked for it counts as well. 4.1 says so by
 * opal_using_threads for every level but MPI_THREAD_SINGLE. */
static inline bool osc_rmalock_threads(void) {
#if OMPI_MAJOR_VERSION >= 5
    return opal_using_threads();
#else
    return ompi_mpi_thread_multiple;
#endif
}

/* Hardware threads this node offers, 0 if unknown. Open MPI finds them out when it is asked first, and takes no care of
 * threads then. */
static inline int osc_rmalock_usable_cpus(void) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    const int rc = opal_hwloc_base_get_topology();
    pthread_mutex_unlock(&mutex);
    return OPAL_SUCCESS != rc
               ? 0
               : hwloc_bitmap_weight(hwloc_topology_get_allowed_cpuset(opal_hwloc_topology));
}

/* Whether a member of a group is on this node. Processes that Open MPI has not met yet never are.
 */
static inline bool osc_rmalock_on_node(const struct ompi_group_t* group, int rank) {
    const ompi_proc_t* proc = ompi_group_get_proc_ptr_raw((ompi_group_t*)group, rank);
    return !ompi_proc_is_sentinel((ompi_proc_t*)proc) &&
           OPAL_PROC_ON_LOCAL_NODE(proc->super.proc_flags);
}

/* The window that a performance variable's handle is bound to. MPI_T_pvar_handle_alloc is given the
 * address of an MPI_Win; some releases hand that to the component, others what is there. */
static inline struct ompi_win_t* osc_rmalock_pvar_window(void* object) {
    if (NULL != object && OBJ_CLASS(ompi_win_t) != ((opal_object_t*)object)->obj_class) {
        object = *(void**)object;
    }
    return (struct ompi_win_t*)object;
}

/* The number this process has for a communicator; for messages. */
static inline int osc_rmalock_comm_number(const struct ompi_communicator_t* comm) {
#if OMPI_MAJOR_VERSION >= 5
    return (int)ompi_comm_get_local_cid(comm); /* c_contextid is a structure, alike on all ranks */
#else
    return (int)comm->c_contextid;
#endif
}

/* A number of this process that no other one has: its job, and its rank in MPI_COMM_WORLD. */
static inline uint64_t osc_rmalock_process(void) {
    const opal_process_name_t name = opal_proc_local_get()->proc_name;
    return (uint64_t)name.jobid << 32 | (uint32_t)name.vpid;
}

/* The same of a member of a group. */
static inline uint64_t osc_rmalock_process_of(struct ompi_group_t* group, int rank) {
    const opal_process_name_t name = ompi_group_get_proc_name(group, rank);
    return (uint64_t)name.jobid << 32 | (uint32_t)name.vpid;
}

/* Says something to all processes of the job, with what Open MPI exchanges in MPI_Init. */
static inline void osc_rmalock_publish(const char* key, uint64_t value) {
    int rc;
#if OMPI_MAJOR_VERSION >= 5
    OPAL_MODEX_SEND_VALUE(rc, PMIX_GLOBAL, (char*)key, &value, PMIX_UINT64);
#else
    OPAL_MODEX_SEND_VALUE(rc, OPAL_PMIX_GLOBAL, (char*)key, &value, OPAL_UINT64);
#endif
    (void)rc; /* then nobody is told, and this process counts as one without the component */
}

/* Whether all that processes of the job have published is here when MPI_Init has ended. */
static inline bool osc_rmalock_all_is_published(void) {
    return opal_pmix_collect_all_data && !opal_pmix_base_async_modex;
}

#if OMPI_MAJOR_VERSION >= 5
/* By way of the process's host, which has what this one has not fetched yet: Open MPI 5.0 brings to a
 * process what another one has published only when it first asks for it, whatever its parameters say. A
 * host that has no such thing is asked for so many seconds. */
static inline bool osc_rmalock_published_there(const char* key, const opal_process_name_t* name,
                                               uint64_t* value) {
    const int patience = 10;
    pmix_proc_t process;
    pmix_info_t timeout;
    pmix_value_t* found = NULL;
    OPAL_PMIX_CONVERT_NAME(&process, name);
    PMIX_INFO_LOAD(&timeout, PMIX_TIMEOUT, &patience, PMIX_INT);
    const bool is = PMIX_SUCCESS == PMIx_Get(&process, key, &timeout, 1, &found) && NULL != found &&
                    PMIX_UINT64 == found->type;
    if (is) {
        *value = found->data.uint64;
    }
    if (NULL != found) {
        PMIX_VALUE_RELEASE(found);
    }
    PMIX_INFO_DESTRUCT(&timeout);
    return is;
}
#endif

/* What a process of the job (osc_rmalock_process) has published. False: nothing, or nothing that is known here
 * and its host may not be asked. */
static inline bool osc_rmalock_published(const char* key, uint64_t process, bool ask_its_host,
                                         uint64_t* value) {
    opal_process_name_t name = {.jobid = (opal_jobid_t)(process >> 32),
                                .vpid = (opal_vpid_t)(uint32_t)process};
    int rc;
#if OMPI_MAJOR_VERSION >= 5
    OPAL_MODEX_RECV_VALUE_IMMEDIATE(rc, (char*)key, &name, &value, PMIX_UINT64);
    if (OPAL_SUCCESS != rc && ask_its_host) {
        return osc_rmalock_published_there(key, &name, value);
    }
#else
    (void)ask_its_host; /* all is here */
    OPAL_MODEX_RECV_VALUE_IMMEDIATE(rc, (char*)key, &name, &value, OPAL_UINT64);
#endif
    return OPAL_SUCCESS == rc;
}

/* Whether the end of MPI is beyond what a program can still take part in (callbacks of MPI_COMM_SELF): in 5.0 that of
 * MPI_Finalize and of all sessions. */
static inline bool osc_rmalock_in_finalize(void) {
#if OMPI_MAJOR_VERSION >= 5
    return 0 == ompi_instance_count;
#else
    return ompi_mpi_state >= OMPI_MPI_STATE_FINALIZE_PAST_COMM_SELF_DESTRUCT;
#endif
}

/* Ranks of this job on this node. */
static inline int osc_rmalock_local_ranks(void) {
    return (int)opal_process_info.num_local_peers + 1;
}

/* Processes that fail, where the program goes on without them (User-Level Failure Mitigation; Open MPI 5.0
 * with mpirun --with-ft ulfm).
 * osc_rmalock_tolerates_failures: whether it does.
 * osc_rmalock_failed: the lowest member of the communicator that is known to have failed, or -1. *seen, 0 at
 * first, is how many of all processes the last call knew of: of no more the answer is the same. Relaxed, as
 * the mutex orders the failed processes themselves.
 * osc_rmalock_each_failed, osc_rmalock_has_failed: of all processes, by osc_rmalock_process.
 * osc_rmalock_meet_survivors: returns when all members have called it, but for those that have failed. */
#if OMPI_MAJOR_VERSION >= 5 && OPAL_ENABLE_FT_MPI
static inline bool osc_rmalock_tolerates_failures(void) {
    return ompi_ftmpi_enabled;
}
/* How many, late in MPI_Finalize none; with the mutex locked, or as a hint. */
static inline int osc_rmalock_failed_count(void) {
    return NULL == ompi_group_all_failed_procs ? 0 : ompi_group_size(ompi_group_all_failed_procs);
}
static inline int osc_rmalock_failed(struct ompi_communicator_t* comm, size_t* seen) {
    opal_mutex_lock(&ompi_group_afp_mutex);
    const size_t known = (size_t)osc_rmalock_failed_count();
    opal_mutex_unlock(&ompi_group_afp_mutex);
    if (known == __atomic_exchange_n(seen, known, __ATOMIC_RELAXED)) {
        return -1;
    }
    for (int r = 0; r < ompi_comm_size(comm); ++r) {
        if (!ompi_comm_is_proc_active(comm, r, false)) {
            return r;
        }
    }
    return -1;
}
static inline void osc_rmalock_each_failed(size_t* seen, void (*visit)(uint64_t process)) {
    opal_mutex_lock(&ompi_group_afp_mutex);
    const int known = osc_rmalock_failed_count();
    for (int i = (int)__atomic_exchange_n(seen, (size_t)known, __ATOMIC_RELAXED); i < known; ++i) {
        visit(osc_rmalock_process_of(ompi_group_all_failed_procs, i)); /* new ones are behind */
    }
    opal_mutex_unlock(&ompi_group_afp_mutex);
}
static inline bool osc_rmalock_has_failed(uint64_t process) {
    bool found = false;
    opal_mutex_lock(&ompi_group_afp_mutex);
    for (int i = 0; !found && i < osc_rmalock_failed_count(); ++i) {
        found = process == osc_rmalock_process_of(ompi_group_all_failed_procs, i);
    }
    opal_mutex_unlock(&ompi_group_afp_mutex);
    return found;
}
static inline int osc_rmalock_meet_survivors(struct ompi_communicator_t* comm) {
    int flag = 1;
    ompi_group_t* acknowledged;
    int rc = ompi_comm_failure_get_acked_internal(comm, &acknowledged);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    rc = comm->c_coll->coll_agree(&flag, 1, &ompi_mpi_int.dt, &ompi_mpi_op_band.op, &acknowledged,
                                  false, comm, comm->c_coll->coll_agree_module);
    OBJ_RELEASE(acknowledged);
    return MPI_ERR_PROC_FAILED == rc ? OMPI_SUCCESS : rc; /* that there are failures is known */
}
#else
static inline bool osc_rmalock_tolerates_failures(void) {
    return false;
}
static inline void osc_rmalock_each_failed(size_t* seen, void (*visit)(uint64_t process)) {
    (void)seen;
    (void)visit;
}
static inline bool osc_rmalock_has_failed(uint64_t process) {
    (void)process;
    return false;
}
static inline int osc_rmalock_failed(struct ompi_communicator_t* comm, size_t* seen) {
    (void)comm;
    (void)seen;
    return -1;
}
static inline int osc_rmalock_meet_survivors(struct ompi_communicator_t* comm) {
    (void)comm;
    return OMPI_SUCCESS;
}
#endif

/* Meetings that this process has come to, and others of them not yet. The thread that ends one releases what
 * the others did before, and the process acquires it. To begin one is relaxed: PMIx is told afterwards. */
typedef struct {
    int open;
} osc_rmalock_meetings_t;

static inline bool osc_rmalock_have_met(const osc_rmalock_meetings_t* meetings) {
    return 0 == __atomic_load_n(&meetings->open, __ATOMIC_ACQUIRE);
}
static inline void osc_rmalock_meeting_begun(osc_rmalock_meetings_t* meetings) {
    __atomic_fetch_add(&meetings->open, 1, __ATOMIC_RELAXED);
}
static inline void osc_rmalock_meeting_over(osc_rmalock_meetings_t* meetings) {
    __atomic_fetch_sub(&meetings->open, 1, __ATOMIC_RELEASE);
}

/* Comes to a meeting of these processes of the job (osc_rmalock_process; sorted), this one among
 * them; where there is no PMIx for it, to none. All members name the same ones. It is over when all
 * have come: see osc_rmalock_have_met.
 * osc_rmalock_meeting_progress: one round of what a process does that waits for that. */
#if OMPI_MAJOR_VERSION >= 5
static inline void osc_rmalock_all_are_there(pmix_status_t status, void* meetings) {
    (void)status;
    osc_rmalock_meeting_over((osc_rmalock_meetings_t*)meetings);
}
static inline void osc_rmalock_meet(osc_rmalock_meetings_t* meetings, const uint64_t* processes,
                                    size_t count) {
    pmix_proc_t* members = (pmix_proc_t*)malloc(count * sizeof *members);
    if (NULL == members) {
        return;
    }
    size_t there = 0;
    for (size_t i = 0; i < count; ++i) {
        if (!osc_rmalock_has_failed(processes[i])) {
            members[there] = opal_process_info.myprocid;
            members[there++].rank = (pmix_rank_t)(uint32_t)processes[i];
        }
    }
    osc_rmalock_meeting_begun(meetings);
    const pmix_status_t begun =
        PMIx_Fence_nb(members, there, NULL, 0, osc_rmalock_all_are_there, meetings);
    if (PMIX_SUCCESS != begun) {
        osc_rmalock_meeting_over(meetings);
    }
    free(members); /* PMIx has packed them */
}
/* PMIx has a thread of its own. Not opal_progress: at this time, late in MPI_Finalize, some of what
 * it calls has been closed (5.0.7 crashes). */
static inline void osc_rmalock_meeting_progress(int (*progress)(void)) {
    (void)progress();
    sched_yield();
}
#else
static inline void osc_rmalock_all_are_there(int status, void* meetings) {
    (void)status;
    osc_rmalock_meeting_over((osc_rmalock_meetings_t*)meetings);
}
static inline void osc_rmalock_meet(osc_rmalock_meetings_t* meetings, const uint64_t* processes,
                                    size_t count) {
    opal_list_t members;
    if (NULL == opal_pmix.fence_nb) {
        return;
    }
    OBJ_CONSTRUCT(&members, opal_list_t);
    for (size_t i = 0; i < count; ++i) {
        opal_namelist_t* member = OBJ_NEW(opal_namelist_t);
        member->name.jobid = (opal_jobid_t)(processes[i] >> 32);
        member->name.vpid = (opal_vpid_t)processes[i];
        opal_list_append(&members, &member->super);
    }
    osc_rmalock_meeting_begun(meetings);
    if (OPAL_SUCCESS != opal_pmix.fence_nb(&members, 0, osc_rmalock_all_are_there, meetings)) {
        osc_rmalock_meeting_over(meetings);
    }
    OPAL_LIST_DESTRUCT(&members);
}
/* Open MPI's progress runs its PMIx, and what the component has registered with it. */
static inline void osc_rmalock_meeting_progress(int (*progress)(void)) {
    (void)progress;
    opal_progress();
}
#endif

/* Has the launcher's PMIx server of this node remove a file when this process (4.1) or the job
 * (5.0) is gone, and returns when the server knows. Without a server (singletons), or with one that
 * does not offer it, nothing happens. 4.1 does not wait for the answer: a question behind it, for
 * what nobody publishes, comes back when the server has dealt with both. */
static inline void osc_rmalock_remove_at_end(const char* path) {
#if OMPI_MAJOR_VERSION >= 5
    pmix_info_t directive, *results = NULL;
    size_t count = 0;
    PMIX_INFO_CONSTRUCT(&directive);
    PMIX_INFO_LOAD(&directive, PMIX_REGISTER_CLEANUP, path, PMIX_STRING);
    (void)PMIx_Job_control(NULL, 0, &directive, 1, &results, &count);
    PMIX_INFO_FREE(results, count);
    PMIX_INFO_DESTRUCT(&directive);
#else
    if (NULL != opal_pmix.register_cleanup) {
        uint64_t unused;
        (void)opal_pmix.register_cleanup((char*)path, false, false, false);
        (void)osc_rmalock_published("rmalock.unpublished", osc_rmalock_process(), false, &unused);
    }
#endif
}

/* Whether Open MPI looks after GPUs, and whether the CPU cannot touch what is at `address`, because
 * it is memory of one. What is managed, and moves between the two, it can. */
#if OMPI_MAJOR_VERSION >= 5
static inline bool osc_rmalock_has_gpus(void) {
    return 0 !=
           strcmp("null", opal_accelerator_base_selected_component.base_version.mca_component_name);
}
static inline bool osc_rmalock_is_gpu_memory(const void* address) {
    int device;
    uint64_t flags = 0;
    return opal_accelerator.check_addr(address, &device, &flags) > 0 &&
           0 == (flags & MCA_ACCELERATOR_FLAGS_UNIFIED_MEMORY);
}
#else
static inline bool osc_rmalock_has_gpus(void) {
    return opal_cuda_support;
}
/* A library that was built with CUDA marks a convertor when it prepares it. */
static inline bool osc_rmalock_is_gpu_memory(const void* address) {
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &ompi_mpi_byte.dt.super, 1,
                                             address, 0, &convertor);
    const uint32_t flags = convertor.flags;
    OBJ_DESTRUCT(&convertor);
    return CONVERTOR_CUDA == (flags & (CONVERTOR_CUDA | CONVERTOR_CUDA_UNIFIED));
}
#endif

/* The name of a structure that has another size in this Open MPI than in the headers rmalock was
 * compiled with (another Open MPI, or a wrong stand-in header in compat/); NULL if all agree. */
static inline const char* osc_rmalock_layout_differs(void) {
#define OSC_RMALOCK_CLASS(type)                                                                    \
    { OBJ_CLASS(type), sizeof(type) }
    const struct {
        const opal_class_t* class;
        size_t size;
    } used[] = {
        OSC_RMALOCK_CLASS(opal_mutex_t),    OSC_RMALOCK_CLASS(opal_convertor_t),
        OSC_RMALOCK_CLASS(opal_info_t),     OSC_RMALOCK_CLASS(ompi_communicator_t),
        OSC_RMALOCK_CLASS(ompi_datatype_t), OSC_RMALOCK_CLASS(ompi_group_t),
        OSC_RMALOCK_CLASS(ompi_op_t),       OSC_RMALOCK_CLASS(ompi_win_t),
    };
#undef OSC_RMALOCK_CLASS
    for (size_t i = 0; i < sizeof used / sizeof used[0]; ++i) {
        if (used[i].class->cls_sizeof != used[i].size) {
            return used[i].class->cls_name;
        }
    }
    return NULL;
}

#endif /* OSC_RMALOCK_COMPAT_H */
