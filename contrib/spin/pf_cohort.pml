/* The phase-fair lock over nodes, ompi_osc_rmalock/locks/algorithms/pf_cohort.hh and members.hh: readers' nodes that become
 * members and leave. Cohorts of writers are left out, each writer is its own; their queues are those of
 * rma_rw.pml. A node joins with the first reader and leaves when a writer finds that none has come.
 *
 * WRITERS writers, READERS readers on a node of their own each, of which the target's is none, and HOMES
 * readers on the target's node; ROUNDS acquires each. Every step touches one shared word; what others cannot
 * see happens with the step before it. A process that cannot go on in the end is an invalid end state.
 *
 * A reader's patience at a closed member may end at any moment, and a round of a writer that drains when it
 * finds a reader to wake. With -DLATE=N they end only when no process can go on otherwise, and N times at most
 * until the next lock call returns: rounds that help nobody are then a deadlock.
 * -DMEET: a reader stays inside until all readers have come as often as it has, as in a barrier.
 * -DRECEIVES: the last reader stays inside in its last round until all others have done theirs.
 *
 * -DNO_ROUNDS: a writer that drains never wakes the readers that wait.
 * -DNO_PATIENCE: a reader at a closed member waits until it opens.
 * -DSHUTS_HOME: a writer that waits for readers inside members lets no reader join at home (P3).
 * -DTAKES_BACK_ANYWAY: a reader takes its arrival back, whether its member has opened meanwhile or not.
 * -DGUEST_JOINS: a reader that is inside because it has joined a drain lets its node join.
 * -DNO_DRAIN: a writer does not wait for the readers inside members.
 * -DNO_SECOND_LOOK: it believes what it knew of members before the readers at home had left.
 * -DLOOKS_ON_A_HINT: it looks for members as soon as somebody says that they have left.
 * -DJOINS_OUTSIDE: a reader lets its node join after it has left.
 * -DLEAVES_ANYWAY: a node leaves though a reader waits at its counter.
 * -DLEAVES_NONE: the owner that changes the phase leaves no registration to its successor.
 *
 * A writer queues before it registers, or registers first, as it likes; the lock decides by what it has met. */
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef HOMES
#define HOMES 0
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef T_W
#define T_W 2
#endif
#define ALL_READERS (READERS + HOMES)
#define ALL (WRITERS + ALL_READERS)
#define NOBODY 0
/* a wake that is of no drainer */
#define LOOK 255

/* the home record: S = [phase | members | exclusives | readers], RO = [inside | drainer], JOIN, TAIL, HW,
 * MAP */
bit phase = 0;
byte members = 0, exclusives = 0, readers = 0;
byte drainer = NOBODY;
short count = 0;
byte list = NOBODY;
byte tail = NOBODY;
byte meeting = 0; /* 0, the name of a qnode, or a PHASE */
bool mapped[READERS + 1];
/* a message: 0 none, DIRECT(chain, registrations, whether there are members), PHASE(r, registrations, whether,
 * phase) */
#define DIRECT(n, c, m) ((n) + 4 * (c) + 32 * (m))
#define PHASE(r, c, m, p) (128 + (r) + 8 * (c) + 16 * (m) + 32 * (p))
#define IS_PHASE(x) ((x) >= 128)
/* the counters of reader n's node: A = [generation | closed | member | arrivals], D = [inside | drainer] */
bit generation[READERS + 1];
bool closed[READERS + 1], member[READERS + 1];
byte arrivals[READERS + 1];
short inside[READERS + 1];
byte waiting[READERS + 1];
/* the processes' own qnodes */
byte next[ALL + 1], status[ALL + 1], gone[ALL + 1];
bool drained[ALL + 1];
byte wake[ALL + 1];

byte readers_inside = 0, writers_inside = 0; /* ghosts */
#if defined(MEET) || defined(RECEIVES)
byte came = 0;
#endif
#ifdef MEET
#define STAYS came++; came >= round * ALL_READERS
#define SENDS skip
#elif defined(RECEIVES)
#define STAYS me != ALL || round != ROUNDS || came == ALL_READERS - 1
#define SENDS if :: round == ROUNDS -> came++ :: else fi
#else
#define STAYS skip
#define SENDS skip
#endif
#ifdef LATE
byte idle_rounds = 0;
#define ROUND_MAY_END timeout && list != NOBODY && idle_rounds < LATE
#define MAY_GIVE_UP timeout && idle_rounds < LATE
#define ENDS idle_rounds++
#define RETURNS idle_rounds = 0
#else
#define ROUND_MAY_END list != NOBODY
#define MAY_GIVE_UP true
#define ENDS skip
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
        over = (other == woken);
        guest = over;
        if
        :: !over || phase != mine -> leave_drain()
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
        over = (phase != mine);
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
        if
        :: !over -> over = (phase != mine)
        :: else
        fi;
        if
        :: !over && woken != LOOK -> join_drain()
        :: else
        fi
    od
}

inline enter_as_reader() { atomic { readers_inside++; assert(writers_inside == 0); RETURNS } }

inline depart() {
    atomic { before = inside[node]; other = waiting[node]; inside[node]-- };
    if
    :: before == 1 && other != NOBODY -> waiting[node] = NOBODY; gone[other]++
    :: else
    fi
}

/* its node becomes a member, if it is none; `other` says whether it did */
inline join() {
    mine = phase;
    atomic {
        other = !member[node];
        if
        :: other -> member[node] = true; closed[node] = false; generation[node] = mine; arrivals[node] = 0
        :: else
        fi
    };
    if
    :: other -> mapped[node] = true
    :: else
    fi
}

inline leave_home(joined) {
    atomic { readers_inside--; readers--; members = members + joined; writers = exclusives };
    if
    :: writers != 0 -> leave_drain()
    :: else
    fi
}

/* `joins`: the reader lets its node join */
inline read_at_home() {
    atomic { mine = phase; writers = exclusives; readers++ };
    if
    :: writers != 0 -> wait_in_list()
    :: else
    fi;
    enter_as_reader();
    STAYS;
#ifndef GUEST_JOINS
    joins = joins && !guest;
#endif
    other = 0;
#ifdef JOINS_OUTSIDE
    leave_home(0);
    if
    :: joins -> join(); members = members + other
    :: else
    fi
#else
    if
    :: joins -> join()
    :: else
    fi;
    leave_home(other)
#endif
}

inline arrive() {
    atomic {
        by_member = member[node];
        over = closed[node];
        mine = generation[node];
        if
        :: by_member -> arrivals[node]++
        :: else
        fi
    }
}

/* at a closed member; `by_member` says whether the reader is in, else it has not arrived */
inline await_open() {
    if
    :: generation[node] != mine
#ifndef NO_PATIENCE
    :: MAY_GIVE_UP ->
        ENDS;
#ifdef TAKES_BACK_ANYWAY
        by_member = false;
        arrivals[node]--
#else
        atomic {
            by_member = (generation[node] != mine);
            if
            :: !by_member -> arrivals[node]--
            :: else
            fi
        }
#endif
#endif
    fi
}

proctype reader(byte me; byte node) {
    byte round, other, prev, writers, woken;
    short before;
    bit mine;
    bool over, by_member, joins, guest;
    for (round : 1 .. ROUNDS) {
        if
        :: node != 0 ->
            arrive();
            joins = !by_member;
            if
            :: by_member && over -> await_open()
            :: else
            fi
        :: else
        fi;
        if
        :: by_member ->
            enter_as_reader();
            STAYS;
            readers_inside--;
            depart()
        :: else -> read_at_home()
        fi;
        SENDS;
        atomic {
            other = 0; prev = 0; writers = 0; woken = 0; before = 0; mine = 0; over = false; by_member = false;
            joins = false; guest = false
        }
    }
}

/* ends a round of a drainer: see LATE */
inline end_round() {
    ENDS;
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

inline close_drain() {
    do
    :: true ->
        atomic { drainer = NOBODY; before = count };
        if
        :: before == 0 -> break
        :: else -> await_hint(0)
        fi
    od
}

inline close_members() {
    left = 0;
    to_come = 0;
    remain = false;
    n = 1;
    do
    :: n > READERS -> break
    :: else ->
        if
        :: mapped[n] ->
            atomic { r = arrivals[n]; arrivals[n] = 0; closed[n] = true; generation[n] = mine };
            other = 0;
            if
            :: r == 0 ->
                atomic {
#ifdef LEAVES_ANYWAY
                    member[n] = false; closed[n] = false; generation[n] = 0; arrivals[n] = 0; other = 1
#else
                    if
                    :: arrivals[n] == 0 -> member[n] = false; closed[n] = false; generation[n] = 0; other = 1
                    :: else
                    fi
#endif
                }
            :: else ->
                atomic { inside[n] = inside[n] + r; before = inside[n] };
                if
                :: before != 0 ->
                    atomic { waiting[n] = me; before = inside[n] };
                    if
                    :: before != 0 -> to_come++
                    :: else -> waiting[n] = NOBODY
                    fi
                :: else
                fi
            fi;
            if
            :: other == 1 -> mapped[n] = false; left++
            :: else -> remain = true
            fi
        :: else
        fi;
        n++
    od;
    if
    :: left != 0 -> members = members - left
    :: else
    fi
}

/* r readers at home, `others` whether there are members, `mine` the phase */
inline take_from_readers() {
    if
    :: r != 0 ->
        await_hint(r);
#ifdef LOOKS_ON_A_HINT
        others = (members != 0);
        close_drain()
#else
        close_drain();
#ifndef NO_SECOND_LOOK
        others = (members != 0)
#endif
#endif
    :: else
    fi;
    if
    :: others ->
        close_members();
        others = remain;
#ifndef NO_DRAIN
        if
        :: to_come != 0 ->
#ifndef SHUTS_HOME
            atomic { assert(drainer == NOBODY); drainer = me };
#endif
            do
            :: atomic { gone[me] == to_come -> gone[me] = 0 }; break
#ifndef NO_ROUNDS
            :: ROUND_MAY_END -> end_round()
#endif
            od;
            close_drain()
        :: else
        fi
#endif
    :: else
    fi
}

inline register() {
    atomic {
        left = exclusives; r = readers; others = (members != 0); mine = phase; exclusives++; cohorts = 1
    }
}

inline join_queue() {
    queued = true;
    atomic { other = tail; tail = me };
    if
    :: other != NOBODY -> next[other] = me; atomic { status[me] != 0 -> message = status[me]; status[me] = 0 }
    :: else
    fi
}

inline meet_owner() {
    atomic { other = meeting; meeting = me };
    if
    :: IS_PHASE(other) -> message = other
    :: else -> atomic { status[me] != 0 -> message = status[me]; status[me] = 0 }
    fi;
    meeting = 0
}

inline take_message() {
    if
    :: message == 0
    :: message != 0 && IS_PHASE(message) ->
        r = message & 7; cohorts = cohorts + ((message >> 3) & 1); others = (message >> 4) & 1;
        mine = (message >> 5) & 1
    :: message != 0 && !IS_PHASE(message) ->
        r = 0; chain = (message & 3) + 1; cohorts = cohorts + ((message >> 2) & 7);
        others = (message >> 5) & 1
    fi
}

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

inline open_members() {
    n = 1;
    do
    :: n > READERS -> break
    :: else ->
        if
        :: mapped[n] -> atomic { closed[n] = false; generation[n] = 1 - generation[n] }
        :: else
        fi;
        n++
    od
}

inline change_phase() {
    if
    :: others -> open_members()
    :: else
    fi;
    atomic {
#ifdef LEAVES_NONE
        exclusives = exclusives - cohorts;
#else
        exclusives = exclusives - cohorts + (succ != NOBODY);
#endif
        left = exclusives;
        r = readers;
        phase = 1 - phase;
        message = PHASE(r, (succ != NOBODY), (members != 0), phase)
    };
    if
    :: r != 0 -> wake_all(LOOK)
    :: else
    fi;
    if
    :: left != 0 && succ == NOBODY -> atomic { succ = meeting; meeting = message }
    :: else
    fi;
    if
    :: succ != NOBODY -> status[succ] = message
    :: else
    fi
}

proctype writer(byte me) {
    byte round, other, succ, chain, cohorts, r, left, message, to_come, n;
    short before;
    bit mine;
    bool queued, others, remain;
    for (round : 1 .. ROUNDS) {
        atomic { chain = 1; queued = false; message = 0 };
        if
        :: true -> join_queue()
        :: true
        fi;
        if
        :: message == 0 ->
            register();
            if
            :: left != 0 && !queued -> join_queue()
            :: else
            fi;
            if
            :: left != 0 && message == 0 -> meet_owner()
            :: else
            fi
        :: else
        fi;
        take_message();
        if
        :: chain == 1 -> take_from_readers()
        :: else
        fi;
        atomic { writers_inside++; assert(writers_inside == 1 && readers_inside == 0); RETURNS };
        writers_inside--;
        succ = NOBODY;
        if
        :: queued -> leave_queue()
        :: else
        fi;
        if
        :: succ != NOBODY && chain < T_W -> status[succ] = DIRECT(chain, cohorts, others)
        :: else -> change_phase()
        fi;
        atomic {
            other = 0; succ = 0; chain = 0; cohorts = 0; r = 0; left = 0; message = 0; to_come = 0; n = 0; before = 0; mine = 0;
            queued = false; others = false; remain = false
        }
    }
}

init {
    byte i = 0;
    atomic {
        do
        :: i < WRITERS -> i++; run writer(i)
        :: i >= WRITERS && i < WRITERS + READERS -> i++; run reader(i, i - WRITERS)
        :: i >= WRITERS + READERS && i < ALL -> i++; run reader(i, 0)
        :: else -> break
        od
    }
}
