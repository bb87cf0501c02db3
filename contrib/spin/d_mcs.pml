/* D-MCS, ompi_osc_rmalock/locks/algorithms/d_mcs.hh and mcs_queue.hh: one queue, qnodes that are clean while they are free.
 *
 * PROCS processes take the lock ROUNDS times each. Every step touches one shared word. A process that
 * cannot go on in the end is an invalid end state.
 *
 * -DNO_WAIT_FOR_NEXT: a release that finds TAIL moved on does not wait for its successor to show itself.
 * -DNEVER_WAITS: a process that finds a predecessor goes in at once. */
#ifndef PROCS
#define PROCS 3
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define NOBODY 0

byte tail = NOBODY;
byte next[PROCS + 1];
bool granted[PROCS + 1];
byte inside = 0; /* ghost */

active [PROCS] proctype process() {
    byte me = _pid + 1, other, round;
    bool last;
    for (round : 1 .. ROUNDS) {
        atomic { other = tail; tail = me };
        if
        :: other != NOBODY ->
            next[other] = me;
#ifndef NEVER_WAITS
            granted[me];
            granted[me] = false
#endif
        :: else
        fi;

        atomic { inside++; assert(inside == 1) };
        inside--;

        other = next[me];
        last = false;
        if
        :: other == NOBODY ->
            atomic {
                if
                :: tail == me -> tail = NOBODY; last = true
                :: else
                fi
            };
#ifndef NO_WAIT_FOR_NEXT
            if
            :: !last -> next[me] != NOBODY; other = next[me]
            :: else
            fi
#endif
        :: else
        fi;
        next[me] = NOBODY;
        if
        :: other != NOBODY -> granted[other] = true
        :: else
        fi
    }
}
