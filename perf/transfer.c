/* Passive epochs that move data, and the proof that it arrived. */
#include "bench.h"

#include <string.h>

static unsigned char pattern(unsigned seed, size_t i) {
    return (unsigned char)(seed * 131u + (unsigned)i * 7u + (unsigned)(i >> 8) + 1u);
}

static void fill(unsigned char* bytes, size_t count, unsigned seed) {
    for (size_t i = 0; i < count; i++)
        bytes[i] = pattern(seed, i);
}

static bool holds(const unsigned char* bytes, size_t count, unsigned seed) {
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != pattern(seed, i))
            return false;
    return true;
}

static size_t epoch_bytes(const struct bench* bench) {
    return bench->transfer.size * (size_t)bench->transfer.operations;
}

void transfer_begin(struct bench* bench) {
    const struct transfer t = bench->transfer;
    const int count = (int)t.size;
    if (!t.flushed)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, TARGET, 0, bench->window);
    for (int i = 0; i < t.operations; i++) {
        const size_t at = (size_t)i * t.size;
        unsigned char* local = bench->local + at;
        if (t.put)
            MPI_Put(local, count, MPI_BYTE, TARGET, (MPI_Aint)at, count, MPI_BYTE, bench->window);
        else
            MPI_Get(local, count, MPI_BYTE, TARGET, (MPI_Aint)at, count, MPI_BYTE, bench->window);
    }
}

void transfer_end(struct bench* bench) {
    if (bench->transfer.flushed)
        MPI_Win_flush(TARGET, bench->window);
    else
        MPI_Win_unlock(TARGET, bench->window);
}

void transfer_epoch(struct bench* bench) {
    transfer_begin(bench);
    transfer_end(bench);
}

/* The sending side holds the pattern; the receiving side is cleared, with what lies behind the
 * transfer, so that a transfer that moves too much is seen as well. */
void transfer_prepare(struct bench* bench, unsigned seed) {
    const bool sends = bench->transfer.put ? TARGET != bench->rank : TARGET == bench->rank;
    MPI_Barrier(bench->comm);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, bench->rank, 0, bench->window);
    if (TARGET == bench->rank) {
        memset(bench->memory, 0, bench->bytes);
        if (sends)
            fill(bench->memory, epoch_bytes(bench), seed);
    }
    MPI_Win_unlock(bench->rank, bench->window);
    if (TARGET != bench->rank) {
        memset(bench->local, 0, bench->bytes);
        if (sends)
            fill(bench->local, epoch_bytes(bench), seed);
    }
    MPI_Barrier(bench->comm);
}

static bool rest_is_clear(const unsigned char* bytes, size_t from, size_t total) {
    for (size_t i = from; i < total; i++)
        if (0 != bytes[i])
            return false;
    return true;
}

bool transfer_fetched(const struct bench* bench, unsigned seed) {
    const size_t moved = epoch_bytes(bench);
    return holds(bench->local, moved, seed) && rest_is_clear(bench->local, moved, bench->bytes);
}

bool transfer_verify(struct bench* bench, unsigned seed) {
    const size_t moved = epoch_bytes(bench);
    bool right = true;
    transfer_prepare(bench, seed);
    if (ORIGIN == bench->rank) {
        transfer_epoch(bench);
        if (!bench->transfer.put)
            right = transfer_fetched(bench, seed);
    }
    MPI_Barrier(bench->comm);
    if (TARGET == bench->rank && bench->transfer.put) {
        MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, bench->window);
        right =
            holds(bench->memory, moved, seed) && rest_is_clear(bench->memory, moved, bench->bytes);
        MPI_Win_unlock(TARGET, bench->window);
    }
    return right;
}

int transfer_sizes(const struct bench* bench, const size_t* defaults, int count, size_t* sizes) {
    if (bench->settings->size > 0) {
        sizes[0] = (size_t)bench->settings->size;
        return 1;
    }
    for (int i = 0; i < count; i++)
        sizes[i] = defaults[i];
    return count;
}
