/* RMA-RW, ompi_osc_rmalock/locks/algorithms/rma_rw.hh and queue_tree.hh, on a tree of two levels.
 *
 * ELEMENTS elements with WRITERS writers and READERS readers, ROUNDS acquires each; one counter for each
 * element. Every step touches one shared word. A process that cannot go on in the end is an invalid end state.
 *
 * A round of a writer that waits for readers ends at any moment at which a reader waits for it. With -DLATE=N it
 * ends only when no process can go on otherwise, and N times at most until the next lock call returns: rounds
 * that help nobody are then a deadlock.
 * -DMEET: a reader stays inside until all readers have come as often as it has, as in a barrier.
 * -DRECEIVES: the last reader stays inside in its last round until all others have done theirs.
 *
 * -DNO_ROUNDS: a writer that waits for readers never lets others join them.
 * -DNO_DRAIN: the writer closes the counters and does not wait for the readers inside.
 * -DJOINS_CLOSED: a reader joins at a counter that the writer has closed by then.
 * -DONE_BY_ONE: the writer closes each counter when that one has drained, before the others have.
 * -DKEEPS_ARRIVAL: a reader that joins those inside leaves its arrival in the counter.
 * -DCALLERS_QNODE: at the root a writer queues its own qnode, as the paper prints it, not its element's. */
#ifndef ELEMENTS
#define ELEMENTS 2
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef READERS
#define READERS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef T_L
#define T_L 2
#endif
#ifndef T_W
#define T_W 2
#endif
#define NOBODY 0
#define ALL_WRITERS (ELEMENTS * WRITERS)
#define ALL_READERS (ELEMENTS * READERS)

mtype = { none, pass, parent, mode_change };

/* the queues of the elements: qnodes 1 ... ALL_WRITERS, one for each writer */
byte tail2[ELEMENTS];
byte next2[ALL_WRITERS + 1];
mtype status2[ALL_WRITERS + 1] = none;
byte chain2[ALL_WRITERS + 1], total2[ALL_WRITERS + 1];
/* the queue of the root: qnodes 1 ... ELEMENTS, one for each element */
#ifdef CALLERS_QNODE
#define MY_ROOT_QNODE me
#define ROOT_QNODES (ALL_WRITERS + 1)
#else
#define MY_ROOT_QNODE (e + 1)
#define ROOT_QNODES (ELEMENTS + 1)
#endif
byte tail1 = NOBODY;
byte next1[ROOT_QNODES];
mtype status1[ROOT_QNODES] = none;
byte total1[ROOT_QNODES];
/* the counters */
byte arrive[ELEMENTS];
short depart[ELEMENTS];
bit write[ELEMENTS], generation[ELEMENTS], round_bit[ELEMENTS]; /* beside arrive; ROUND is called round_bit here */
bit parity[ELEMENTS];                      /* beside depart: closed if it is not generation */

byte readers_inside = 0, writers_inside = 0, readers_waiting = 0; /* ghosts */
#if defined(MEET) || defined(RECEIVES)
byte came = 0;
#endif
#ifdef MEET
#define STAYS came++; came >= round * ALL_READERS
#define SENDS skip
#elif defined(RECEIVES)
#define STAYS me != ALL_READERS || round != ROUNDS || came == ALL_READERS - 1
#define SENDS if :: round == ROUNDS -> came++ :: else fi
#else
#define STAYS skip
#define SENDS skip
#endif
#ifdef LATE
byte idle_rounds = 0;
#define ROUND_MAY_END timeout && readers_waiting != 0 && idle_rounds < LATE
#define ENDS idle_rounds++
#define RETURNS idle_rounds = 0
#else
#define ROUND_MAY_END readers_waiting != 0
#define ENDS skip
#define RETURNS skip
#endif

/* until the phase is over, or the reader has joined those inside in a round of the writer */
inline wait_as_reader() {
    over = false;
    do
    :: over -> break
    :: else ->
        atomic {
            (generation[e] != mine || round_bit[e] != last) -> over = (generation[e] != mine); last = round_bit[e]
        };
        open = false;
        if
        :: !over -> open = (parity[e] == mine)
        :: else
        fi;
        if
        :: open ->
            atomic { over = (parity[e] == mine); depart[e]-- };
#ifdef JOINS_CLOSED
            over = true;
#endif
            if
#ifdef KEEPS_ARRIVAL
            :: over
#else
            :: over -> arrive[e]--
#endif
            :: else -> depart[e]++
            fi
        :: else
        fi
    od
}

proctype reader(byte me; byte e) {
    byte round;
    bit closed, mine, last;
    bool over, open;
    for (round : 1 .. ROUNDS) {
        atomic {
            arrive[e]++; closed = write[e]; mine = generation[e]; last = round_bit[e];
            readers_waiting = readers_waiting + closed
        };
        if
        :: closed -> wait_as_reader()
        :: else
        fi;
        atomic {
            readers_waiting = readers_waiting - closed; readers_inside++; assert(writers_inside == 0); RETURNS
        };
        STAYS;
        readers_inside--;
        depart[e]++;
        SENDS;
        atomic { closed = 0; mine = 0; last = 0; over = false; open = false }
    }
}

/* what is read as empty must not be cleared: the successor may write it right now */
inline clear(word) {
    if
    :: other != NOBODY -> word = NOBODY
    :: else
    fi
}

inline next_round() {
    ENDS;
    r = 0;
    do
    :: r < ELEMENTS -> round_bit[r] = 1 - round_bit[r]; r++
    :: else -> break
    od;
    r = 0
}

/* from `c` on */
inline await_departures() {
    do
    :: c == ELEMENTS -> break
    :: c < ELEMENTS && depart[c] == arrived[c] -> c++
#ifndef NO_ROUNDS
    :: c < ELEMENTS && ROUND_MAY_END -> next_round()
#endif
    od
}

/* all at the moment at which nobody is left; else those that were closed are opened again */
inline close_counters() {
    c = 0;
    do
    :: c < ELEMENTS -> atomic { arrived[c] = arrive[c]; write[c] = 1 }; c++
    :: else -> break
    od;
    c = 0;
    do
    :: c == ELEMENTS -> break
    :: c < ELEMENTS ->
        atomic {
#ifdef NO_DRAIN
            other = 1;
#else
            other = (depart[c] == arrived[c]);
#endif
            parity[c] = parity[c] ^ other
        };
        c++;
        if
        :: other == 0 ->
            c--;
#ifdef ONE_BY_ONE
            await_departures();
            c = 0;
            do
            :: c < ELEMENTS && parity[c] != generation[c] -> c++
            :: else -> break
            od
#else
            do
            :: c > 0 -> c--; parity[c] = 1 - parity[c]
            :: else -> break
            od;
            await_departures();
            c = 0
#endif
        :: else
        fi
    od
}

inline open_counters() {
    c = 0;
    do
    :: c < ELEMENTS -> atomic { write[c] = 0; generation[c] = 1 - generation[c] }; c++
    :: else -> break
    od
}

inline acquire() {
    total = 1;
    from_readers = true;
    asks_parent = true;
    atomic { other = tail2[e]; tail2[e] = me };
    if
    :: other != NOBODY ->
        next2[other] = me;
        status2[me] != none;
        asks_parent = (status2[me] == parent)
    :: else
    fi;
    if
    :: !asks_parent -> from_readers = false; total = total2[me]
    :: else ->
        atomic { other = tail1; tail1 = MY_ROOT_QNODE };
        if
        :: other != NOBODY ->
            next1[other] = MY_ROOT_QNODE;
            status1[MY_ROOT_QNODE] != none;
            if
            :: status1[MY_ROOT_QNODE] == pass -> from_readers = false; total = total1[MY_ROOT_QNODE]
            :: else
            fi
        :: else
        fi
    fi;
    if
    :: from_readers -> close_counters()
    :: else
    fi
}

inline release_root() {
    succ1 = next1[MY_ROOT_QNODE];
    other = succ1;
    clear(next1[MY_ROOT_QNODE]);
    status1[MY_ROOT_QNODE] = none;
    to_readers = (succ1 == NOBODY || total >= T_W);
    if
    :: to_readers -> open_counters()
    :: else
    fi;
    if
    :: succ1 == NOBODY ->
        atomic {
            if
            :: tail1 == MY_ROOT_QNODE -> tail1 = NOBODY; other = 1
            :: else -> other = 0
            fi
        };
        if
        :: other == 0 ->
            next1[MY_ROOT_QNODE] != NOBODY;
            succ1 = next1[MY_ROOT_QNODE];
            next1[MY_ROOT_QNODE] = NOBODY
        :: else
        fi
    :: else
    fi;
    if
    :: succ1 != NOBODY && to_readers -> status1[succ1] = mode_change
    :: succ1 != NOBODY && !to_readers ->
        atomic { total1[succ1] = total + 1; status1[succ1] = pass }
    :: else
    fi
}

inline release() {
    succ2 = next2[me];
    other = succ2;
    clear(next2[me]);
    in_a_row = (status2[me] == pass -> chain2[me] : 1);
    status2[me] = none;
    if
    :: succ2 != NOBODY && in_a_row < T_L && total < T_W ->
        atomic { chain2[succ2] = in_a_row + 1; total2[succ2] = total + 1; status2[succ2] = pass }
    :: else ->
        release_root();
        if
        :: succ2 == NOBODY ->
            atomic {
                if
                :: tail2[e] == me -> tail2[e] = NOBODY; other = 1
                :: else -> other = 0
                fi
            };
            if
            :: other == 0 -> next2[me] != NOBODY; succ2 = next2[me]; next2[me] = NOBODY
            :: else
            fi
        :: else
        fi;
        if
        :: succ2 != NOBODY -> status2[succ2] = parent
        :: else
        fi
    fi
}

proctype writer(byte me; byte e) {
    byte round, other, c, r, total, in_a_row, succ1, succ2;
    byte arrived[ELEMENTS];
    bool asks_parent, from_readers, to_readers;
    for (round : 1 .. ROUNDS) {
        acquire();
        atomic { writers_inside++; assert(writers_inside == 1 && readers_inside == 0); RETURNS };
        writers_inside--;
        release();
        atomic {
            other = 0; c = 0; total = 0; in_a_row = 0; succ1 = 0; succ2 = 0; asks_parent = false;
            from_readers = false; to_readers = false; arrived[0] = 0; arrived[ELEMENTS - 1] = 0
        }
    }
}

init {
    byte e, i;
    atomic {
        do
        :: e < ELEMENTS ->
            i = 0;
            do
            :: i < WRITERS -> i++; run writer(e * WRITERS + i, e)
            :: else -> break
            od;
            i = 0;
            do
            :: i < READERS -> i++; run reader(e * READERS + i, e)
            :: else -> break
            od;
            e++
        :: else -> break
        od
    }
}
