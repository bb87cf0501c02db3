/* What the cases on single words of the target's memory share; cases_sync.c has it. */
#ifndef RMALOCK_PERF_WORDS_H
#define RMALOCK_PERF_WORDS_H

#include "bench.h"

typedef void (*open_fn)(struct bench*);

void open_excl(struct bench* bench);
void open_shared(struct bench* bench);
void close_one(struct bench* bench);

/* Collective: whether locks of the two kinds exclude each other and lose no update. Opens and
 * closes the second kind; the first is MPI_LOCK_EXCLUSIVE. */
bool locks_exclude(struct bench* bench, open_fn open, open_fn close);

/* Samples an operation at the origin, inside one shared lock of the target. */
struct samples sample_inside_lock(struct bench* bench, repeat_fn repeat);
/* The same as a case: bench->done operations must have left that value in the target's word. */
void word_case(struct bench* bench, repeat_fn repeat);
/* A case of an operation that returns the target's word, which must be bench->done. */
void fetch_case(struct bench* bench, repeat_fn repeat);
/* Collective: the target's word becomes `value`, and bench->done everywhere. */
void target_holds(struct bench* bench, int64_t value);
/* Collective: whether the target's word is the number of operations that the origin has done. */
bool target_counted(struct bench* bench);

#endif
