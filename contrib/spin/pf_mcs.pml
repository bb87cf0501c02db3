/* The phase-fair lock, ompi_osc_rmalock/locks/algorithms/pf_mcs.hh, its drain, drain.hh, and with PASSES the baton that running
 * exclusives may take past the first of their queue, baton.hh.
 *
 * WRITERS writers and READERS readers, ROUNDS acquires each. Every step touches one shared word; what others
 * cannot see happens with the step before it. A process that cannot go on in the end is an invalid end state.
 *
 * A round of a writer that drains ends at any moment at which it finds a reader to wake. With -DLATE=N it ends
 * only when no process can go on otherwise, and N times at most until the next lock call returns: rounds that
 * help nobody are then a deadlock.
 * -DMEET: a reader stays inside until all readers have come as often as it has, as in a barrier.
 * -DRECEIVES: the last reader stays inside until each other one has had the lock.
 *
 * -DNO_ROUNDS: a writer that drains never wakes the readers that wait.
 * -DNO_DRAIN: a writer does not wait for the readers of the phase before it.
 * -DTRUSTS_THE_HINT: it goes in when it is told that they have left, though others may have joined them since.
 * -DNO_VERIFY: a reader takes every wake for the end of its phase.
 * -DNO_SELF_SERVE: a reader that joins the list late does not notice that its phase is over.
 * -DJOINS_ANYWAY: a reader that adds itself to a drain does not look whether that still goes on.
 * -DCOUNTED_TWICE: a reader that has joined does not look whether its phase is over, and it was counted by that.
 * -DTAKES_ANYWAY: an exclusive that has seen the baton free takes it, whether it still is or not.
 * -DNO_LIMIT: the first of the queue may be passed any number of times.
 * -DGIVES_TO_NOBODY: the baton is given whether anybody comes for it or not. */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef T_W
#define T_W 2
#endif
#ifndef PASSES
#define PASSES 0
#endif
#define ALL (WRITERS + READERS)
#define NOBODY 0
/* a wake that is of no drainer */
#define LOOK 255

/* the home record: S = [phase | exclusives | readers], RO = [drainer | count], JOIN, TAIL, HW or BATON */
bit phase = 0;
byte exclusives = 0, readers = 0;
byte drainer = NOBODY;
short count = 0;
byte list = NOBODY;
byte tail = NOBODY;
/* a message: 0 none, 1 ... DIRECT(chain), 64 + r PHASE(r) */
#define DIRECT(n) (n)
#define PHASE(r) (64 + (r))
#define IS_PHASE(m) ((m) >= 64)
#if PASSES > 0
/* 0, or FREE + 128 * passed + message */
#define FREE 8192
short baton = 0;
#define MESSAGE(b) ((b) & 127)
#define PASSED(b) (((b) & 8191) >> 7)
byte passes = 0; /* ghost: of the first that waits */
#else
/* 0, the name of a qnode, or a PHASE */
byte meeting = 0;
#endif
/* the qnodes */
byte next[ALL + 1], status[ALL + 1];
bool drained[ALL + 1];
byte wake[ALL + 1];

byte readers_inside = 0, writers_inside = 0; /* ghosts */
#if defined(MEET) || defined(RECEIVES)
byte came = 0;
#endif
#ifdef MEET
#define STAYS came++; came >= round * READERS
#define SENDS skip
#elif defined(RECEIVES)
#define STAYS me != ALL || round != 1 || came == READERS - 1
#define SENDS if :: me != ALL && round == 1 -> came++ :: else fi
#else
#define STAYS skip
#define SENDS skip
#endif
#ifdef LATE
byte idle_rounds = 0;
#define ROUND_MAY_END timeout && list != NOBODY && idle_rounds < LATE
#define RETURNS idle_rounds = 0
#else
#define ROUND_MAY_END list != NOBODY
#define RETURNS skip
#endif

inline leave_drain() {
    atomic { before = count; other = drainer; count-- };
    if
    :: before == 1 && other != NOBODY -> drained[other] = true
    :: else
    fi
}

inline wake_all(w) {
    atomic { other = list; list = NOBODY };
    if
    :: other != NOBODY -> wake[other] = w
    :: else
    fi
}

/* `over` becomes true if the reader is inside, or was admitted; `woken` is the drainer that woke it */
inline join_drain() {
    other = drainer;
    if
    :: other == woken ->
        atomic { before = count; other = drainer; count++ };
#ifdef JOINS_ANYWAY
        over = true;
#else
        over = (other == woken);
#endif
        if
#ifdef COUNTED_TWICE
        :: !over -> leave_drain()
#else
        :: !over || phase != mine -> leave_drain()
#endif
        :: else
        fi
    :: else
    fi
}

inline wait_in_list() {
    over = false;
    do
    :: over -> break
    :: else ->
        atomic { prev = list; list = me };
#ifndef NO_SELF_SERVE
        over = (phase != mine);
#endif
        if
        :: over -> wake_all(LOOK)
        :: else
        fi;
        atomic { wake[me] != 0 -> woken = wake[me] };
        wake[me] = 0;
        if
        :: prev != NOBODY -> wake[prev] = woken
        :: else
        fi;
#ifdef NO_VERIFY
        over = true
#else
        if
        :: !over -> over = (phase != mine)
        :: else
        fi;
        if
        :: !over && woken != LOOK -> join_drain()
        :: else
        fi
#endif
    od
}

proctype reader(byte me) {
    byte round, other, prev, writers, woken;
    short before;
    bit mine;
    bool over;
    for (round : 1 .. ROUNDS) {
        atomic { mine = phase; writers = exclusives; readers++ };
        if
        :: writers != 0 -> wait_in_list()
        :: else
        fi;
        atomic { readers_inside++; assert(writers_inside == 0); RETURNS };
        STAYS;
        atomic { readers_inside--; readers--; writers = exclusives };
        if
        :: writers != 0 -> leave_drain()
        :: else
        fi;
        SENDS;
        atomic { other = 0; prev = 0; writers = 0; woken = 0; before = 0; mine = 0; over = false }
    }
}

/* ends a round of a drainer: see LATE */
inline end_round() {
#ifdef LATE
    idle_rounds++;
#endif
    wake_all(me)
}

/* adds the `r` readers to the drain and itself as the drainer; waits if they are inside */
inline await_hint(r) {
    drained[me] = false;
    atomic { assert(drainer == NOBODY); drainer = me; count = count + r; before = count };
    if
    :: before != 0 ->
        do
        :: drained[me] -> break
#ifndef NO_ROUNDS
        :: ROUND_MAY_END -> end_round()
#endif
        od
    :: else
    fi
}

inline drain(r) {
#ifdef NO_DRAIN
    skip
#else
    if
    :: r != 0 ->
        await_hint(r);
        do
        :: true ->
            atomic { drainer = NOBODY; before = count };
#ifdef TRUSTS_THE_HINT
            break
#else
            if
            :: before == 0 -> break
            :: else -> await_hint(0)
            fi
#endif
        od
    :: else
    fi
#endif
}

/* joins the queue; `other` is the one that was last */
inline join_queue() {
    atomic { other = tail; tail = me };
    if
    :: other != NOBODY -> next[other] = me; atomic { status[me] != 0 -> message = status[me]; status[me] = 0 }
    :: else
    fi
}

/* `succ` is the one that comes next, if any */
inline leave_queue() {
    atomic { succ = next[me]; next[me] = NOBODY };
    if
    :: succ == NOBODY ->
        atomic {
            if
            :: tail == me -> tail = NOBODY; other = 1
            :: else -> other = 0
            fi
        };
        if
        :: other == 0 -> atomic { next[me] != NOBODY -> succ = next[me]; next[me] = NOBODY }
        :: else
        fi
    :: else
    fi
}

#if PASSES > 0
inline take() {
    seen = baton;
    after_others = false;
#ifdef NO_LIMIT
    if
    :: seen != 0 ->
#else
    if
    :: seen != 0 && PASSED(seen) < PASSES ->
#endif
        atomic {
#ifdef TAKES_ANYWAY
            baton = 0; after_others = true
#else
            if
            :: baton == seen ->
                baton = 0;
                after_others = true;
                passed = PASSED(seen) + 1;
                if
                :: tail != NOBODY -> passes++; assert(passes <= PASSES)
                :: else
                fi
            :: else
            fi
#endif
        }
    :: else
    fi;
    if
    :: !after_others ->
        join_queue();
        do
        :: after_others -> break
        :: !after_others ->
            atomic { baton != 0 -> seen = baton };
            atomic {
                if
                :: baton == seen -> baton = 0; after_others = true; passes = 0
                :: else
                fi
            }
        od;
        passed = 0;
        leave_queue();
        if
        :: succ != NOBODY -> status[succ] = 1
        :: else
        fi
    :: else
    fi;
    message = MESSAGE(seen)
}

inline hand_over() {
    succ = 0;
    other = exclusives;
#ifdef GIVES_TO_NOBODY
    other++;
#endif
    if
    :: after_others && chain < T_W && other > chain ->
        baton = FREE + 128 * passed + DIRECT(chain)
    :: else ->
        end_phase();
        if
        :: left != 0 -> baton = FREE + 128 * passed + PHASE(r)
        :: else
        fi
    fi
}
#else
inline take() {
    after_others = true;
    message = 0;
    join_queue();
    if
    :: message == 0 ->
        atomic { other = meeting; meeting = me };
        if
        :: IS_PHASE(other) -> message = other
        :: else -> atomic { status[me] != 0 -> message = status[me]; status[me] = 0 }
        fi;
        meeting = 0
    :: else
    fi
}

inline hand_over() {
    succ = NOBODY;
    if
    :: after_others -> leave_queue()
    :: else
    fi;
    if
    :: succ != NOBODY && chain < T_W -> status[succ] = DIRECT(chain)
    :: else ->
        end_phase();
        if
        :: left != 0 && succ == NOBODY -> atomic { succ = meeting; meeting = PHASE(r) }
        :: else
        fi;
        if
        :: left != 0 && succ != NOBODY -> status[succ] = PHASE(r)
        :: else
        fi
    fi
}
#endif

inline end_phase() {
    atomic {
        exclusives = exclusives - chain;
        left = exclusives;
        r = readers;
        phase = 1 - phase
    };
    if
    :: r != 0 -> wake_all(LOOK)
    :: else
    fi
}

proctype writer(byte me) {
    byte round, other, succ, chain, r, left, message;
#if PASSES > 0
    byte passed;
    short seen;
#endif
    short before;
    bool after_others;
    for (round : 1 .. ROUNDS) {
        atomic { left = exclusives; r = readers; exclusives++; chain = 1; after_others = false };
        if
        :: left != 0 ->
            take();
            if
            :: IS_PHASE(message) -> r = message - 64
            :: else -> r = 0; chain = message + 1
            fi
        :: else
        fi;
        drain(r);
        atomic { writers_inside++; assert(writers_inside == 1 && readers_inside == 0); RETURNS };
        writers_inside--;
        hand_over();
        atomic {
            other = 0; succ = 0; chain = 0; r = 0; left = 0; message = 0; before = 0; after_others = false;
#if PASSES > 0
            passed = 0; seen = 0
#endif
        }
    }
}

init {
    byte i = 0;
    atomic {
        do
        :: i < WRITERS -> i++; run writer(i)
        :: i >= WRITERS && i < ALL -> i++; run reader(i)
        :: else -> break
        od
    }
}
