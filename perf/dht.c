/* A local volume is an array of words: the number of heap entries in use; DHT_SLOTS elements of
 * key, first and last reference; heap entries of key and next reference. A reference is the heap
 * entry's number plus one; 0 is none. */
#include "dht.h"

#include <string.h>

enum { KEY, FIRST, LAST, SLOT_WORDS };
enum { NEXT = 1, ENTRY_WORDS = 2 };
enum { USED = 0, TABLE = 1, HEAP = TABLE + DHT_SLOTS * SLOT_WORDS };

static int64_t slot_of(int64_t key) {
    const uint64_t mixed = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);
    return TABLE + (int64_t)(mixed >> 32) % DHT_SLOTS * SLOT_WORDS;
}

static int64_t entry_at(int64_t reference) {
    return HEAP + (reference - 1) * ENTRY_WORDS;
}

size_t dht_bytes_for(int64_t capacity) {
    return (size_t)(HEAP + capacity * ENTRY_WORDS) * sizeof(int64_t);
}

/* Whether there is such an entry; otherwise the volume is damaged, and nothing is touched. */
static bool leads_somewhere(struct dht* dht, int64_t reference) {
    dht->broken |= reference < 1 || reference > dht->capacity;
    return !dht->broken;
}

/* --- words at the owner ----------------------------------------------------------------------- */

static MPI_Aint displacement(int64_t word) {
    return (MPI_Aint)word * (MPI_Aint)sizeof(int64_t);
}

static void flush(struct dht* dht) {
    MPI_Win_flush(dht->owner, dht->window);
}

static int64_t fetch_and(struct dht* dht, MPI_Op op, int64_t word, int64_t operand) {
    int64_t before = -1;
    MPI_Fetch_and_op(&operand, &before, MPI_INT64_T, dht->owner, displacement(word), op,
                     dht->window);
    flush(dht);
    return before;
}

static int64_t swap_if(struct dht* dht, int64_t word, int64_t expected, int64_t desired) {
    int64_t before = -1;
    MPI_Compare_and_swap(&desired, &expected, &before, MPI_INT64_T, dht->owner, displacement(word),
                         dht->window);
    flush(dht);
    return before;
}

static void get(struct dht* dht, int64_t word, int64_t* values, int count) {
    memset(values, -1, (size_t)count * sizeof *values);
    MPI_Get(values, count, MPI_INT64_T, dht->owner, displacement(word), count, MPI_INT64_T,
            dht->window);
    flush(dht);
}

/* Values stay until the next flush or unlock. */
static void put(struct dht* dht, int64_t word, const int64_t* values, int count) {
    MPI_Put(values, count, MPI_INT64_T, dht->owner, displacement(word), count, MPI_INT64_T,
            dht->window);
}

/* --- with atomics only ------------------------------------------------------------------------ */

static int64_t load(struct dht* dht, int64_t word) {
    return fetch_and(dht, MPI_NO_OP, word, 0);
}

/* The entry is written before anything refers to it, and never again but for its reference. The
 * last reference says whose reference is to be set; the rank that swaps it in sets the previous. */
static void chain_atomically(struct dht* dht, int64_t slot, int64_t key) {
    const int64_t mine = fetch_and(dht, MPI_SUM, USED, 1) + 1;
    const int64_t entry[ENTRY_WORDS] = {key, 0};
    int64_t last = 0, seen;
    if (!leads_somewhere(dht, mine))
        return;
    put(dht, entry_at(mine), entry, ENTRY_WORDS);
    flush(dht);
    /* A swap fails because another rank has appended an entry, so it fails at most that often. */
    for (int64_t tries = 0; (seen = swap_if(dht, slot + LAST, last, mine)) != last; tries++) {
        dht->broken |= tries > dht->capacity;
        if (!leads_somewhere(dht, seen))
            return;
        last = seen;
    }
    fetch_and(dht, MPI_REPLACE, 0 == last ? slot + FIRST : entry_at(last) + NEXT, mine);
}

static void insert_atomically(struct dht* dht, int64_t key) {
    const int64_t slot = slot_of(key);
    if (0 != swap_if(dht, slot + KEY, 0, key))
        chain_atomically(dht, slot, key);
}

static bool lookup_atomically(struct dht* dht, int64_t key) {
    const int64_t slot = slot_of(key);
    if (load(dht, slot + KEY) == key)
        return true;
    int64_t reference = load(dht, slot + FIRST);
    for (int64_t steps = 0; 0 != reference; steps++) {
        dht->broken |= steps > dht->capacity;
        if (!leads_somewhere(dht, reference))
            return false;
        if (load(dht, entry_at(reference) + KEY) == key)
            return true;
        reference = load(dht, entry_at(reference) + NEXT);
    }
    return false;
}

/* --- with locks ------------------------------------------------------------------------------- */

static void insert_locked(struct dht* dht, int64_t key) {
    const int64_t slot = slot_of(key), entry[ENTRY_WORDS] = {key, 0};
    int64_t element[SLOT_WORDS], used;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, dht->owner, 0, dht->window);
    get(dht, slot, element, SLOT_WORDS);
    if (0 == element[KEY]) {
        put(dht, slot + KEY, &key, 1);
    } else {
        get(dht, USED, &used, 1);
        used++;
        if (leads_somewhere(dht, used) &&
            (0 == element[LAST] || leads_somewhere(dht, element[LAST]))) {
            put(dht, USED, &used, 1);
            put(dht, entry_at(used), entry, ENTRY_WORDS);
            put(dht, 0 == element[LAST] ? slot + FIRST : entry_at(element[LAST]) + NEXT, &used, 1);
            put(dht, slot + LAST, &used, 1);
        }
    }
    MPI_Win_unlock(dht->owner, dht->window);
}

static bool lookup_locked(struct dht* dht, int64_t key) {
    int64_t element[SLOT_WORDS], entry[ENTRY_WORDS];
    MPI_Win_lock(MPI_LOCK_SHARED, dht->owner, 0, dht->window);
    get(dht, slot_of(key), element, SLOT_WORDS);
    bool found = element[KEY] == key;
    int64_t reference = element[FIRST];
    for (int64_t steps = 0; !found && 0 != reference; steps++) {
        dht->broken |= steps > dht->capacity;
        if (!leads_somewhere(dht, reference))
            break;
        get(dht, entry_at(reference), entry, ENTRY_WORDS);
        found = entry[KEY] == key;
        reference = entry[NEXT];
    }
    MPI_Win_unlock(dht->owner, dht->window);
    return found;
}

void dht_insert(struct dht* dht, enum dht_access access, int64_t key) {
    if (DHT_ATOMICS == access)
        insert_atomically(dht, key);
    else
        insert_locked(dht, key);
}

bool dht_lookup(struct dht* dht, enum dht_access access, int64_t key) {
    return DHT_ATOMICS == access ? lookup_atomically(dht, key) : lookup_locked(dht, key);
}

/* --- the owner's own memory ------------------------------------------------------------------- */

void dht_clear(const struct dht* dht, void* memory) {
    memset(memory, 0, dht_bytes_for(dht->capacity));
}

void dht_insert_own(struct dht* dht, void* memory, int64_t key) {
    int64_t* words = memory;
    int64_t* element = words + slot_of(key);
    if (0 == element[KEY]) {
        element[KEY] = key;
        return;
    }
    const int64_t mine = words[USED] + 1;
    if (!leads_somewhere(dht, mine))
        return;
    words[USED] = mine;
    words[entry_at(mine) + KEY] = key;
    words[0 == element[LAST] ? slot_of(key) + FIRST : entry_at(element[LAST]) + NEXT] = mine;
    element[LAST] = mine;
}

/* Appends the chain's keys; false if it is damaged. */
static bool chain_keys(const struct dht* dht, const int64_t* words, int64_t slot, int64_t* keys,
                       int64_t* count) {
    int64_t last = 0;
    for (int64_t next = words[slot + FIRST]; 0 != next; next = words[entry_at(next) + NEXT]) {
        if (next < 1 || next > words[USED] || *count >= dht->capacity + DHT_SLOTS)
            return false;
        const int64_t key = words[entry_at(next) + KEY];
        if (slot_of(key) != slot)
            return false;
        keys[(*count)++] = key;
        last = next;
    }
    return last == words[slot + LAST];
}

int64_t dht_keys(const struct dht* dht, const void* memory, int64_t* keys) {
    const int64_t* words = memory;
    int64_t count = 0, elements = 0;
    if (words[USED] < 0 || words[USED] > dht->capacity)
        return -1;
    for (int64_t i = 0; i < DHT_SLOTS; i++) {
        const int64_t slot = TABLE + i * SLOT_WORDS;
        if (0 != words[slot + KEY]) {
            if (slot_of(words[slot + KEY]) != slot)
                return -1;
            keys[count++] = words[slot + KEY];
            elements++;
        }
        if (!chain_keys(dht, words, slot, keys, &count))
            return -1;
    }
    return count - elements == words[USED] ? count : -1;
}
