/* The gate between lock_all and exclusive locks, ompi_osc_rmalock/locks/window_lock/all_gate.hh, around a lock for each
 * target that is taken and released in a step. How waiters are told that G has changed, node_event_count.hh, and the holder records
 * are left out: a waiter sees G itself, and a lock_all visits every target.
 *
 * NODES nodes, at least two; ALLS processes that take lock_all and WRITERS that take a target of TARGETS
 * exclusively, dealt out to the nodes in turn, ROUNDS times each. K_A lock_alls in a row, or K_X exclusives,
 * make the gate theirs. Every step touches one shared word; what others cannot see happens with the step before
 * it. A process that cannot go on in the end is an invalid end state.
 *
 * An exclusive that waits is counted in n_W until it is in; its patience may end at any moment, and it then goes
 * past lock_alls that only wait or look. While exclusives wait lock_alls step back until all of those are in, or
 * until their own patience ends, at any moment; then they stay.
 * -DLATE: patience ends only when no process can go on otherwise. With one writer it is asserted that while that
 * waits 2 * ALLS lock_alls get in at most by G (those by L it ends itself).
 *
 * Programs that need patience:
 * -DRECEIVES: the first writer stays inside until each other one has had its target.
 * -DHOLD_AND_WAIT: two processes more, of which one waits for a target that the other holds (R4).
 * -DOTHER_WINDOW: two more, a lock_all that holds a lock of another window, and a lock_all that waits for that
 * one inside the room.
 *
 * -DNEVER=M: asserts that nobody changes the mode to M; for each of the six somebody does.
 * -DNO_ROUNDS: patience never ends.
 * -DNO_LOOK: an exclusive that has its target does not look whether a lock_all has come (R1).
 * -DNO_SECOND_LOOK: the same of one that has given its target back once, and has it again.
 * -DKEEPS_TARGET: it does not give the target back, but waits for the gate with it.
 * -DPAST_ALL: an exclusive whose patience has ended goes past the lock_alls inside, too.
 * -DNO_VISIT: a lock_all does not wait for the owners of targets (R1).
 * -DONE_MARK: it tells its own node only that exclusives have to go through the gate.
 * -DNO_COUNT: it does not wait for exclusives that went through the gate (R2).
 * -DOPENS_LATE: a lock_all opens the counters after it has left, when an exclusive may be inside (R6).
 * -DONE_CLOSED: an exclusive closes the counter of its own node and forgets the others.
 * -DNO_WAIT_FOR_COUNTED: it closes them and does not wait for the lock_alls inside.
 * -DUNMARKS_LATE: an exclusive takes the marks away after it has left, when a lock_all may be inside (R5).
 * -DNO_STEP_BACK: lock_alls do not step back. */
#ifndef NODES
#define NODES 2
#endif
#ifndef ALLS
#define ALLS 2
#endif
#ifndef WRITERS
#define WRITERS 1
#endif
#ifndef TARGETS
#define TARGETS 1
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef K_A
#define K_A 1
#endif
#ifndef K_X
#define K_X 2
#endif
#ifdef HOLD_AND_WAIT
#define ALL_TARGETS 3
#else
#define ALL_TARGETS TARGETS
#endif
#ifdef NO_ROUNDS
#define PATIENCE_ENDS false
#elif defined(LATE)
#define PATIENCE_ENDS timeout
#else
#define PATIENCE_ENDS true
#endif
#ifdef NO_LOOK
#define FIRST_LOOK false
#else
#define FIRST_LOOK true
#endif
#ifdef NO_SECOND_LOOK
#define SECOND_LOOK false
#else
#define SECOND_LOOK true
#endif

/* G: [ row of lock_alls | row of exclusives:5 | turn:2 | n_W:3 | n_A:3 | n_X:3 | mode:3 ] */
#define UNGATED 0
#define REVOKING 1
#define GATED 2
#define FOR_ALLS 3
#define CLOSING 4
#define OPENING 5
#define X1 8
#define A1 64
#define W1 512
#define TURN1 4096
#define STREAK1 16384
#define ROW1 524288
#define MODE(v) ((v) & 7)
#define N_X(v) (((v) >> 3) & 7)
#define N_A(v) (((v) >> 6) & 7)
#define N_W(v) (((v) >> 9) & 7)
#define TURN(v) (((v) >> 12) & 3)
#define COUNTS(v) ((v) & 16376)
#define STREAK(v) (((v) >> 14) & 31)
#define ROW(v) ((v) >> 19)
#define ADMITS_ALLS(v) (MODE(v) >= GATED && N_X(v) == 0)
/* `past`: also past lock_alls that only wait, or look for exclusives */
#ifdef PAST_ALL
#define ADMITS_EXCLUSIVE(v, past) (MODE(v) == GATED && (N_A(v) == 0 || (past)))
#else
#define ADMITS_EXCLUSIVE(v, past) \
    ((MODE(v) == GATED && (N_A(v) == 0 || ((past) && N_X(v) != 0))) || (MODE(v) == REVOKING && (past)))
#endif
#define WITH_EXCLUSIVE(v) (((v) & 16383) + X1 + STREAK1 * ((ROW(v) != 0 -> 0 : STREAK(v)) + 1))
/* one less waits; with the last one the turn ends */
#define WITHOUT_WAITING(v) \
    ((v) - W1 + (N_W(v) != 1 -> 0 : (TURN(v) == 3 -> -3 * TURN1 : TURN1)))
#define OPEN 128 /* of L */

int g = 0;
bool marked[NODES]; /* M */
byte counter[NODES]; /* L */
bool owned[ALL_TARGETS];
byte sharers[ALL_TARGETS];

byte alls_inside = 0, exclusives_inside = 0; /* ghosts */
#ifdef RECEIVES
byte received = 0;
#define STAYS(first) !(first) || received == WRITERS - 1
#define SENDS(first) if :: !(first) && round == 1 -> received++ :: else fi
#else
#define STAYS(first) skip
#define SENDS(first) skip
#endif
#if defined(LATE) && WRITERS == 1 && !defined(HOLD_AND_WAIT) && !defined(OTHER_WINDOW)
bool one_waits = false;
byte passed = 0;
#define WAITS(now) one_waits = now; passed = 0
#define PASSES(by_node) if :: one_waits && !by_node -> passed++; assert(passed <= 2 * ALLS) :: else fi
#else
#define WAITS(now) skip
#define PASSES(by_node) skip
#endif

inline reach(to) {
#ifdef NEVER
    assert((to) != NEVER)
#else
    skip
#endif
}

/* from what G was seen to be; rows begin anew */
inline change(to) {
    atomic {
        changed = (g == seen);
        if
        :: changed -> g = COUNTS(seen) + to; reach(to)
        :: else
        fi
    }
}

inline finish(from, to) { atomic { g = g + to - from; reach(to) } }

inline revoke() {
    n = 0;
    do
    :: n == NODES -> break
    :: else ->
#ifdef ONE_MARK
        if
        :: n == node -> marked[n] = true
        :: else
        fi;
#else
        marked[n] = true;
#endif
        n++
    od;
#ifndef NO_VISIT
    n = 0;
    do
    :: n == ALL_TARGETS -> break
    :: else ->
        atomic { !owned[n] -> sharers[n]++ };
        atomic { sharers[n]--; n++ }
    od;
#endif
    n = 0;
    finish(REVOKING, GATED)
}

inline open_for_alls() {
    seen = g;
    changed = false;
    if
    :: MODE(seen) == GATED -> change(OPENING)
    :: else
    fi;
    if
    :: changed ->
        n = 0;
        do
        :: n == NODES -> break
        :: else -> atomic { counter[n] = counter[n] + OPEN; n++ }
        od;
        n = 0;
        finish(OPENING, FOR_ALLS)
    :: else
    fi
}

inline enter_by_node() {
    by_node = false;
    seen = counter[node];
    do
    :: !by_node && seen >= OPEN ->
        atomic {
            by_node = (counter[node] == seen);
            if
            :: by_node -> counter[node]++
            :: else -> seen = counter[node]
            fi
        }
    :: else -> break
    od
}

inline arrive() {
    atomic {
        g = g + A1 + ROW1;
        seen = g;
        in_a_row = (ROW(seen) >= K_A)
    }
}

inline enter_by_gate() {
    arrive();
#ifndef NO_STEP_BACK
    if
    :: N_W(seen) != 0 && MODE(seen) != UNGATED ->
        g = g - A1;
        if
        :: TURN(g) != TURN(seen) || N_W(g) == 0 || MODE(g) == UNGATED
        :: PATIENCE_ENDS
        fi;
        arrive()
    :: else
    fi;
#endif
    do
#ifdef NO_COUNT
    :: MODE(seen) >= GATED -> break
#else
    :: ADMITS_ALLS(seen) -> break
#endif
    :: else ->
        changed = false;
        if
        :: MODE(seen) == UNGATED -> change(REVOKING)
        :: else
        fi;
        if
        :: changed -> revoke()
        :: else
        fi;
        atomic { (ADMITS_ALLS(g) || MODE(g) == UNGATED) -> seen = g }
    od
}

inline enter_all() {
        enter_by_node();
        if
        :: !by_node ->
            enter_by_gate();
#ifndef OPENS_LATE
            if
            :: in_a_row -> open_for_alls()
            :: else
            fi
#endif
        :: else
        fi;
        atomic { alls_inside++; assert(exclusives_inside == 0); PASSES(by_node) }
}

inline leave_all() {
        atomic {
            alls_inside--;
            if
            :: by_node -> counter[node]--
            :: else -> g = g - A1
            fi
        };
#ifdef OPENS_LATE
        if
        :: !by_node && in_a_row -> open_for_alls()
        :: else
        fi;
#endif
        atomic { seen = 0; by_node = false; in_a_row = false; changed = false }
}

proctype lock_all(byte node) {
    byte round, n;
    int seen;
    bool by_node, in_a_row, changed;
    for (round : 1 .. ROUNDS) {
        enter_all();
        leave_all()
    }
}

#ifdef OTHER_WINDOW
bool other_owned = false;

proctype insider(byte node) {
    byte n;
    int seen;
    bool by_node, in_a_row, changed;
    enter_all();
    !other_owned;
    leave_all()
}

proctype outsider(byte node) {
    byte n;
    int seen;
    bool by_node, in_a_row, changed;
    other_owned = true;
    enter_all();
    leave_all();
    other_owned = false
}
#endif

inline close_for_alls() {
    n = 0;
    do
    :: n == NODES -> break
    :: else ->
#ifdef ONE_CLOSED
        if
        :: n == node -> counter[n] = counter[n] - OPEN
        :: else
        fi;
        n++
#else
        atomic { counter[n] = counter[n] - OPEN; n++ }
#endif
    od;
#ifndef NO_WAIT_FOR_COUNTED
    n = 0;
    do
    :: n == NODES -> break
#ifdef ONE_CLOSED
    :: n != NODES && n != node -> n++
#endif
    :: n != NODES && counter[n] == 0 -> n++
    od;
#endif
    n = 0;
    finish(CLOSING, GATED)
}

inline unmark() {
    changed = false;
    if
    :: MODE(seen) == GATED -> change(OPENING)
    :: else
    fi;
    if
    :: changed ->
        n = 0;
        do
        :: n == NODES -> break
        :: else -> atomic { marked[n] = false; n++ }
        od;
        n = 0;
        finish(OPENING, UNGATED)
    :: else
    fi
}

inline open_for_exclusives() {
#ifdef UNMARKS_LATE
    skip
#else
    if
    :: STREAK(seen) >= K_X && N_A(seen) == 0 -> unmark()
    :: else
    fi
#endif
}

/* until the room is open, or the gate is not for lock_alls any more */
inline await_room() {
    over = false;
    do
    :: over -> break
    :: !over && MODE(g) == FOR_ALLS ->
        seen = g;
        changed = false;
        if
        :: MODE(seen) == FOR_ALLS -> change(CLOSING)
        :: else
        fi;
        if
        :: changed -> close_for_alls()
        :: else
        fi
    :: !over && (MODE(g) == UNGATED || ADMITS_EXCLUSIVE(g, past)) -> over = true
    :: !over && !past && PATIENCE_ENDS -> past = true
    od
}

/* the target is in hand: nothing here may wait; `waits`: it is counted in n_W */
inline try_enter(waits) {
    seen = g;
    do
    :: !counted && ADMITS_EXCLUSIVE(seen, past) ->
        atomic {
            counted = (g == seen);
            if
            :: counted && waits -> seen = WITHOUT_WAITING(WITH_EXCLUSIVE(g)); g = seen; WAITS(false)
            :: counted && !waits -> seen = WITH_EXCLUSIVE(g); g = seen
            :: else -> seen = g
            fi
        }
    :: else -> break
    od;
    if
    :: counted -> open_for_exclusives()
    :: else
    fi
}

inline take(target) { atomic { (!owned[target] && sharers[target] == 0) -> owned[target] = true } }

#ifdef KEEPS_TARGET
#define GIVE_BACK(target) skip
#define TAKE_AGAIN(target) skip
#else
#define GIVE_BACK(target) owned[target] = false
#define TAKE_AGAIN(target) take(target)
#endif

/* counted in n_W until it is in */
inline wait_and_acquire(target) {
    atomic { g = g + W1; WAITS(true) };
    do
    :: inside -> break
    :: else ->
        await_room();
        TAKE_AGAIN(target);
        inside = !(SECOND_LOOK && marked[node]);
        if
        :: inside -> atomic { g = g - W1; WAITS(false) }
        :: else ->
            try_enter(true);
            inside = counted;
            if
            :: inside
            :: else -> GIVE_BACK(target)
            fi
        fi
    od
}

inline acquire(target) {
    atomic { counted = false; past = false };
    take(target);
    inside = !(FIRST_LOOK && marked[node]);
    if
    :: inside
    :: else ->
        try_enter(false);
        inside = counted;
        if
        :: inside
        :: else -> GIVE_BACK(target); wait_and_acquire(target)
        fi
    fi;
    atomic { exclusives_inside++; assert(alls_inside == 0) }
}

inline release(target, in_room) {
    atomic { exclusives_inside--; owned[target] = false };
    if
    :: in_room -> g = g - X1
    :: else
    fi
}

proctype writer(byte me; byte node; byte target) {
    byte round, n;
    int seen;
    bool inside, counted, changed, over, past;
    for (round : 1 .. ROUNDS) {
        acquire(target);
        STAYS(me == 0);
        release(target, counted);
        SENDS(me == 0);
#ifdef UNMARKS_LATE
        if
        :: counted && STREAK(seen) >= K_X && N_A(seen) == 0 -> seen = g; unmark()
        :: else
        fi;
#endif
        atomic { seen = 0; inside = false; counted = false; changed = false; over = false; past = false }
    }
}

#ifdef HOLD_AND_WAIT
proctype waits(byte node) {
    byte n;
    int seen;
    bool inside, counted, changed, over, past, first;
    acquire(0);
    first = counted;
    acquire(1);
    release(1, counted);
    release(0, first)
}

proctype holds(byte node) {
    byte n;
    int seen;
    bool inside, counted, changed, over, past;
    atomic { !owned[1] -> sharers[1]++ };
    acquire(2);
    release(2, counted);
    sharers[1]--
}
#endif

init {
    byte i = 0;
    atomic {
        do
        :: i < ALLS -> run lock_all(i % NODES); i++
        :: i >= ALLS && i < ALLS + WRITERS -> run writer(i - ALLS, (i - ALLS) % NODES, (i - ALLS) % TARGETS); i++
        :: else -> break
        od;
#ifdef HOLD_AND_WAIT
        run waits(0);
        run holds(NODES - 1)
#endif
#ifdef OTHER_WINDOW
        run insider(0);
        run outsider(NODES - 1)
#endif
    }
}
