/* The phase-fair lock, ompi_osc_rmalock/locks/pfx.hh, and with T_L the baton that running exclusives may
 * take past the first of their queue, baton.hh.
 *
 * WRITERS writers, READERS readers and HOLDERS readers that hold a lock elsewhere and so must not wait
 * behind writers, ROUNDS acquires each. Every step touches one shared word; what others cannot see happens
 * with the step before it. A process that cannot go on in the end is an invalid end state.
 *
 * -DNO_DRAIN: a writer does not wait for the readers of the phase before it.
 * -DNO_VERIFY: a reader takes every wake for the end of its phase.
 * -DNO_SELF_SERVE: a reader that joins the list late does not notice that its phase is over.
 * -DTAKES_ANYWAY: who has seen the baton free takes it, whether it still is or not.
 * -DNO_LIMIT: the first of the queue may be passed any number of times.
 * -DGIVES_TO_NOBODY: the baton is given whether anybody comes for it or not. */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef HOLDERS
#define HOLDERS 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef T_W
#define T_W 2
#endif
#ifndef T_L
#define T_L 0
#endif
#define ALL (WRITERS + READERS + HOLDERS)
#define NOBODY 0

/* the home record: S = [phase | exclusives | readers], RO = [drainer | count], TAIL, HW or BATON, RH */
bit phase = 0;
byte exclusives = 0, readers = 0;
byte drainer = NOBODY;
short count = 0;
byte tail = NOBODY;
byte list[2];
/* a message: 0 none, 1 ... DIRECT(chain), 64 + r PHASE(r) */
#define DIRECT(n) (n)
#define PHASE(r) (64 + (r))
#define IS_PHASE(m) ((m) >= 64)
#if T_L > 0
/* 0, or FREE + 128 * passed + message */
#define FREE 8192
short baton = 0;
#define MESSAGE(b) ((b) & 127)
#define PASSED(b) (((b) & 8191) >> 7)
byte passes = 0; /* ghost: of the first that waits */
#else
/* 0, the name of a node, or a PHASE */
byte meeting = 0;
#endif
/* the nodes */
byte next[ALL + 1], status[ALL + 1];
bool drained[ALL + 1], wake[ALL + 1];

byte readers_inside = 0, writers_inside = 0; /* ghosts */

inline leave_drain() {
    atomic { before = count; other = drainer; count-- };
    if
    :: before == 1 && other != NOBODY -> drained[other] = true
    :: else
    fi
}

inline wake_all(f) {
    atomic { other = list[f]; list[f] = NOBODY };
    if
    :: other != NOBODY -> wake[other] = true
    :: else
    fi
}

inline wait_in_list() {
    over = false;
    do
    :: over -> break
    :: else ->
        atomic { prev = list[mine]; list[mine] = me };
#ifndef NO_SELF_SERVE
        over = (phase != mine);
#endif
        if
        :: over -> wake_all(mine)
        :: else
        fi;
        atomic { wake[me] -> wake[me] = false };
        if
        :: prev != NOBODY -> wake[prev] = true
        :: else
        fi;
#ifdef NO_VERIFY
        over = true
#else
        if
        :: !over -> over = (phase != mine)
        :: else
        fi
#endif
    od
}

/* who holds a lock elsewhere joins the readers that are being drained, as soon as some are */
inline join_drain() {
    over = false;
    do
    :: over -> break
    :: !over && phase != mine -> over = true
    :: !over && drainer != NOBODY ->
        atomic { before = count; other = drainer; count++ };
        if
        :: other == NOBODY -> leave_drain()
        :: else ->
            over = true;
            if
            :: phase != mine -> leave_drain()
            :: else
            fi
        fi
    od
}

proctype reader(byte me; bool holds) {
    byte round, other, prev, writers;
    short before;
    bit mine;
    bool over;
    for (round : 1 .. ROUNDS) {
        atomic { mine = phase; writers = exclusives; readers++ };
        if
        :: writers != 0 && holds -> join_drain()
        :: writers != 0 && !holds -> wait_in_list()
        :: else
        fi;
        atomic { readers_inside++; assert(writers_inside == 0) };
        atomic { readers_inside--; readers--; writers = exclusives };
        if
        :: writers != 0 -> leave_drain()
        :: else
        fi;
        atomic { other = 0; prev = 0; writers = 0; before = 0; mine = 0; over = false }
    }
}

inline drain(r) {
#ifdef NO_DRAIN
    skip
#else
    if
    :: r != 0 ->
        drained[me] = false;
        atomic { drainer = me; count = count + r; before = count };
        do
        :: true ->
            if
            :: before != 0 -> drained[me]
            :: else
            fi;
            atomic { drainer = NOBODY; before = count };
            if
            :: before == 0 -> break
            :: else -> drained[me] = false; atomic { drainer = me; before = count }
            fi
        od
    :: else
    fi
#endif
}

/* joins the queue; `other` is who was last */
inline join_queue() {
    atomic { other = tail; tail = me };
    if
    :: other != NOBODY -> next[other] = me; atomic { status[me] != 0 -> message = status[me]; status[me] = 0 }
    :: else
    fi
}

/* `succ` is who comes next, if anybody */
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

#if T_L > 0
inline take() {
    seen = baton;
    in_turn = false;
#ifdef NO_LIMIT
    if
    :: seen != 0 ->
#else
    if
    :: seen != 0 && PASSED(seen) < T_L ->
#endif
        atomic {
#ifdef TAKES_ANYWAY
            baton = 0; in_turn = true
#else
            if
            :: baton == seen ->
                baton = 0;
                in_turn = true;
                passed = PASSED(seen) + 1;
                if
                :: tail != NOBODY -> passes++; assert(passes <= T_L)
                :: else
                fi
            :: else
            fi
#endif
        }
    :: else
    fi;
    if
    :: !in_turn ->
        join_queue();
        do
        :: in_turn -> break
        :: !in_turn ->
            atomic { baton != 0 -> seen = baton };
            atomic {
                if
                :: baton == seen -> baton = 0; in_turn = true; passes = 0
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
    :: in_turn && chain < T_W && other > chain ->
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
    in_turn = true;
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
    :: in_turn -> leave_queue()
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
        mine = phase;
        phase = 1 - phase
    };
    if
    :: r != 0 -> wake_all(mine)
    :: else
    fi
}

proctype writer(byte me) {
    byte round, other, succ, chain, r, left, message;
#if T_L > 0
    byte passed;
    short seen;
#endif
    short before;
    bit mine;
    bool in_turn;
    for (round : 1 .. ROUNDS) {
        atomic { left = exclusives; r = readers; exclusives++; chain = 1; in_turn = false };
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
        atomic { writers_inside++; assert(writers_inside == 1 && readers_inside == 0) };
        writers_inside--;
        hand_over();
        atomic {
            other = 0; succ = 0; chain = 0; r = 0; left = 0; message = 0; before = 0; mine = 0; in_turn = false;
#if T_L > 0
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
        :: i >= WRITERS && i < ALL -> i++; run reader(i, i > WRITERS + READERS)
        :: else -> break
        od
    }
}
