/* The distributed hashtable of RMA-RW (section 5.3): 64-bit integers in local volumes, one for each
 * process, made of a table and an overflow heap for what collides, both of fixed size. This is one
 * volume as other processes access it. */
#ifndef RMALOCK_PERF_DHT_H
#define RMALOCK_PERF_DHT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dht_access {
    DHT_ATOMICS, /* one lock_all; compare_and_swap and fetch_and_op settle everything */
    DHT_LOCKS, /* lookups under a shared lock, inserts under an exclusive one, plain get and put */
};

enum { DHT_SLOTS = 1024 };

struct dht {
    MPI_Win window; /* displacements in bytes */
    int owner;
    int64_t capacity; /* of the heap */
    bool broken;      /* a reference led nowhere, or an atomic never succeeded */
};

size_t dht_bytes_for(int64_t capacity);
/* Keys are not 0, and no key is inserted twice. Inside lock_all for DHT_ATOMICS. */
void dht_insert(struct dht* dht, enum dht_access access, int64_t key);
bool dht_lookup(struct dht* dht, enum dht_access access, int64_t key);

/* On the owner's own memory, while nobody accesses it: empty it, insert, and read out all keys in
 * whatever order. dht_keys returns how many, or -1 if the structure is damaged: a key in the wrong
 * place, a chain that does not end, a heap entry outside all chains. */
void dht_clear(const struct dht* dht, void* memory);
void dht_insert_own(struct dht* dht, void* memory, int64_t key);
int64_t dht_keys(const struct dht* dht, const void* memory, int64_t* keys);

#endif
