// The gate: lock_all on one side, exclusive locks on the other, of one window.
//
// Our own; two-room group mutual exclusion (Y.-J. Joung, PODC 1998, states the problem).
// MPI_Win_lock_all gives shared access to every target; instead of locking P targets it enters room
// 1, and whoever wants an exclusive lock on any target of the window enters room 0 first. Shared
// locks of single targets do not come here.
//
// Words, at one rank of the window (all atomic use), one line:
//
//    G     [ EP:2 | N1:31 | N0:31 ]  epoch, whose lowest bit is the open room; members of each
//                                    room, inside or waiting
//    RO    members of the open room that have yet to leave before the epoch ends; may be negative
//    L[4]  those who wait for epoch 0 … 3 to begin (push_list.hh)
//
//    enter(j)  v = FADD(G, 1 to Nj);  e = v.EP, mine = v.Nj, other = v.N(1-j)
//              if e is j's:  other == 0 ? in : wait for epoch e + 2
//              else:         if mine == 0: close(other);  wait for epoch e + 1
//    close(n)  o = FADD(RO, n);  if o + n == 0: turn
//    leave(j)  v = FADD(G, -1 to Nj);  if v.N(1-j): o = FADD(RO, -1);  if o == 1: turn
//    turn      v = FADD(G, 1 to EP);  e = v.EP + 1
//              if the room that was open has members waiting: close(the members of the other)
//              wake_all(L[e])
//    wait(t)   unless GET(G).EP == t: wait on L[t] for that
//
// Why it excludes: the epoch turns only when RO comes to 0, and RO gets the number of members of
// the open room at the moment the door was closed: when the first of the other room came, or when
// the epoch began with that room waiting. All of them are inside, each takes 1 away when it leaves,
// and nobody who comes later goes in before the room has been closed and opened again.
//
// What it does not do: let a process that holds locks past a closed door. A process that holds a
// shared lock when it asks for its first exclusive one can wait here for a lock_all that waits for
// an exclusive holder that waits for that shared lock.
//
// Overtaking: who waits is in the epoch after the running one, or in the one after that.
//
// Cost off node, the other room idle: enter 1 atomic = 1 round trip, leave the same. While rooms
// alternate: 1 atomic more to leave, 2 and the wake-ups for the one that turns the epoch.
// Memory: one line per window; one node (a line) per process that waits.
#pragma once

#include "locks/push_list.hh"

namespace rmalock::locks {

/// Who excludes whom at the gate.
enum class Room : unsigned { exclusives = 0, lock_all = 1 };

template <fabric::Fabric F>
class Gate {
  public:
    static constexpr Slot kHomeSlots = fabric::kWordsPerLine;
    static constexpr Slot kPoolNodeSlots = Pool::kNodeSlots;

    /// `home` is the first of kHomeSlots words, zeroed before anybody enters.
    Gate(F& fabric, Word home, Pool& pool)
        : fabric_(fabric), waiters_(fabric), home_(home), pool_(pool) {}

    void enter(Room room) {
        const unsigned j = index(room);
        const Value v = fabric_.fetch_add(g(), member(j));
        const Value e = epoch(v);
        if ((e & 1) == j) {
            if (members(v, 1 - j) != 0)
                wait_for(e + 2);
            return;
        }
        if (members(v, j) == 0)
            close(members(v, 1 - j));
        wait_for(e + 1);
    }

    void leave(Room room) {
        const unsigned j = index(room);
        const Value v = fabric_.fetch_add(g(), Value{0} - member(j));
        if (members(v, 1 - j) != 0 && fabric_.fetch_add(ro(), Value{0} - 1) == 1)
            turn();
    }

  private:
    static constexpr Slot kG = 0, kRo = 1, kLists = 2;
    static constexpr unsigned kMemberBits = 31;
    static constexpr Value kEpoch = Value{1} << (2 * kMemberBits);

    static constexpr unsigned index(Room room) { return static_cast<unsigned>(room); }
    static constexpr Value member(unsigned j) { return Value{1} << (j * kMemberBits); }
    static constexpr Value members(Value v, Value j) {
        return v >> (j * kMemberBits) & ((Value{1} << kMemberBits) - 1);
    }
    static constexpr Value epoch(Value v) { return v / kEpoch; }

    Word g() const { return field(home_, kG); }
    Word ro() const { return field(home_, kRo); }
    Word list(Value e) const { return field(home_, kLists + static_cast<Slot>(e % 4)); }

    bool has_begun(Value e) { return epoch(fabric_.get(g())) == e % 4; }

    void wait_for(Value e) {
        // Once begun, the epoch cannot end before this process leaves: it is one of its members.
        if (has_begun(e))
            return;
        const Word node = pool_.take();
        waiters_.wait(list(e), node, [&] { return has_begun(e); });
        pool_.give(node);
    }

    /// Closes the door on the `n` members of the open room. Turns the epoch if all have left.
    void close(Value n) {
        if (fabric_.fetch_add(ro(), n) + n == 0)
            turn();
    }

    void turn() {
        for (bool again = true; again;) {
            const Value v = fabric_.fetch_add(g(), kEpoch) + kEpoch;
            const Value open = members(v, epoch(v) & 1), waiting = members(v, 1 - (epoch(v) & 1));
            // Who waits already would not close the door: only the first of a room does.
            again = waiting != 0 && fabric_.fetch_add(ro(), open) + open == 0;
            waiters_.wake_all(list(epoch(v)));
        }
    }

    F& fabric_;
    PushList<F> waiters_;
    Word home_;
    Pool& pool_;
};

} // namespace rmalock::locks
