/*
 * Which processes have this component, and this build of it. Processes that do not would be in
 * other collective calls while this one agrees about a window, or would misread what it sends: the
 * job would hang. So each says what it has when the component is opened, before MPI_Init exchanges
 * what all have said, and no window is tried with a process that has something else.
 *
 * Of other jobs (MPI_Comm_spawn, MPI_Comm_connect) nothing is known; they are taken for alike.
 */
#include "osc_rmalock.h"

#include <pthread.h>
#include <stdlib.h>

#include "ompi_osc_rmalock/build_id.h"

static const char key[] = "osc.rmalock.build";

void osc_rmalock_peers_publish(void) {
    osc_rmalock_publish(key, RMALOCK_BUILD_ID);
}

typedef enum { UNKNOWN, ALIKE, ANOTHER_BUILD, NOT_THERE } peer_t;

/* What processes have, by rank in MPI_COMM_WORLD. Several threads may create windows. */
static struct {
    pthread_mutex_t mutex;
    peer_t* peers;
    size_t room;
} known = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Held while PMIx is asked. Of PMIx_Get calls that several threads make side by side for one process of
 * another host, some never return and others find nothing (PMIx 5.0.7). */
static pthread_mutex_t one_asks = PTHREAD_MUTEX_INITIALIZER;

void osc_rmalock_tell_of_file(const char* path) {
    pthread_mutex_lock(&one_asks);
    osc_rmalock_remove_at_end(path);
    pthread_mutex_unlock(&one_asks);
}

static peer_t what_is_known(size_t process) {
    pthread_mutex_lock(&known.mutex);
    const peer_t has = process < known.room ? known.peers[process] : UNKNOWN;
    pthread_mutex_unlock(&known.mutex);
    return has;
}

static void remember(size_t process, peer_t has) {
    pthread_mutex_lock(&known.mutex);
    if (process >= known.room) {
        const size_t room = 2 * (process + 1);
        peer_t* const peers = (peer_t*)realloc(known.peers, room * sizeof *peers);
        if (NULL != peers) {
            for (size_t i = known.room; i < room; ++i) {
                peers[i] = UNKNOWN;
            }
            known.peers = peers;
            known.room = room;
        }
    }
    if (process < known.room) {
        known.peers[process] = has;
    }
    pthread_mutex_unlock(&known.mutex);
}

void osc_rmalock_peers_forget(void) {
    pthread_mutex_lock(&known.mutex);
    free(known.peers);
    known.peers = NULL;
    known.room = 0;
    pthread_mutex_unlock(&known.mutex);
}

/* Asks, unless another thread has asked meanwhile. UNKNOWN: only its host knows. */
static peer_t ask(uint64_t process, bool its_host) {
    uint64_t build;
    const size_t rank = (uint32_t)process;
    pthread_mutex_lock(&one_asks);
    peer_t has = what_is_known(rank);
    if (UNKNOWN == has) {
        if (osc_rmalock_published(key, process, its_host, &build)) {
            has = RMALOCK_BUILD_ID == build ? ALIKE : ANOTHER_BUILD;
        } else if (its_host) {
            has = NOT_THERE;
        }
        remember(rank, has);
    }
    pthread_mutex_unlock(&one_asks);
    return has;
}

static peer_t look_at(uint64_t process, bool ask_its_host) {
    if (process >> 32 != osc_rmalock_process() >> 32) {
        return ALIKE;
    }
    const peer_t has = what_is_known((uint32_t)process);
    return UNKNOWN == has ? ask(process, ask_its_host) : has;
}

/* The first process of those that are known to be alike says why. A host without rmalock lets the one that asks wait for
 * seconds (Open MPI 5.0), so when one process lacks it no further one is asked for. */
int osc_rmalock_peers_lacking(struct ompi_communicator_t* comm, char* why, size_t why_size) {
    int first_alike = -1, lacking = -1;
    peer_t has = ALIKE;
    if (!osc_rmalock_all_is_published()) {
        return -1;
    }
    for (int r = 0; r < ompi_comm_size(comm) && (lacking < 0 || first_alike < 0); ++r) {
        const peer_t peer = look_at(osc_rmalock_process_of(comm->c_local_group, r), lacking < 0);
        if (ALIKE == peer && first_alike < 0) {
            first_alike = r;
        } else if (ALIKE != peer && lacking < 0) {
            lacking = r;
            has = peer;
        }
    }
    if (lacking >= 0 && ompi_comm_rank(comm) == first_alike) {
        snprintf(why, why_size, "rank %d %s", lacking,
                 NOT_THERE == has ? "has no rmalock" : "has another build of rmalock");
    }
    return lacking;
}
