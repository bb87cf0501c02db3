// Readers of a node that come to a lock together: the first goes to its home for all.
//
// Our own; readers that combine, as the writers of a cohort do (cohort.hh). A node whose readers come at a time
// sends home what one reader would send, and is woken by one message.
//
// Words of a record of the node, used by the node's processes only (cohort): HERE and GROUP. Of
// each qnode CALL (mailbox).
//
//    HERE   [ key:17 | readers:7 | waiter:40 ]   those that come together, and the last of them; key: the
//                                                target that the record serves now (node_records.hh)
//    GROUP  [ key:17 | joins:1 | inside:32 ]     those of groups that are inside; whether the last of them may
//                                                make the node a member (members.hh)
//
//    come   until CAS(HERE, h -> [key | h.readers + 1 | me]) == h:
//               h.key is another, or h.readers has no room: alone, on its own
//           h == 0:  it leads: it registers at home and waits there
//           else     c = await CALL != 0;  CALL = 0;  if h.readers > 1: PUT(h.waiter.CALL, c)
//                    in, if c == IN; else alone
//    admit  by the leader, once it is in:  h = SWAP(HERE, 0)
//           h.readers > 1:  until CAS(GROUP, g -> [key | g.inside ? g.joins : may it | g.inside + h.readers]) == g:
//                               g.inside and g.key is another: PUT(h.waiter.CALL, ALONE);  it is alone itself
//                           PUT(h.waiter.CALL, IN)
//                           g.inside:  it takes its own registration back at home
//    leave  until CAS(GROUP, g -> g.inside == 1 ? 0 : g - 1) == g;  where all leave at a time: FADD(GROUP, -1)
//           g.inside == 1:  it takes the registration back at home, for all
//
// Why it excludes: while one of a group is inside, the registration of one leader stands at home. A writer waits
// for it as for one reader that stays until the last one leaves. Of two groups that are inside at a time one
// registration is enough, for no writer goes in before it is taken back.
//
// Why nobody is lost: one that finds HERE not 0 has come before the leader's swap, which finds it. So it is
// called, once, and goes on only then: no call is late. A leader is a reader like any other, so it is admitted
// however long the others of its group are inside, or have yet to come. A reader that has registered waits
// behind nobody of its node: a writer may be waiting for it.
//
// Overtaking: readers that come until their leader knows that it is in go past a writer that waits for that one.
// The next one leads, and registers behind that writer.
//
// Cost: to lead 1 get and 2 atomics, to follow the same and 1 put, to leave a group 1 atomic, all of CPUs. Memory: 2 words
// of a record.
#pragma once

#include <optional>

#include "fabric/on_node.hh"
#include "locks/parts/node_records.hh"
#include "locks/parts/qnodes.hh"

namespace rmalock::locks {

/// Its words. Beside each field: what it promises, and the race that it settles.
struct ReaderGroupWords {
    /// CALL of a qnode; 0-4 are in members.hh and what it names. Only its owner clears it, before
    /// the qnode is free again. It is written once in between, as each follower is called once.
    static constexpr Slot kCall = 5;
    /// What a call says. A follower is in behind the registration of a leader, or has to register
    /// itself. Either way it goes on only then, so no call is late.
    static constexpr Value kIn = 1, kAlone = 2;

    // HERE. It changes by compare-and-swaps and by the leader's swap, so each reader is either in
    // what the leader finds, or leads the next group.
    /// The last that came. The leader calls it, and each one calls the one that it found here: a
    /// chain that ends at the leader, which has no name here.
    static constexpr Value waiter(Value here) { return here & kNameMask; }
    /// So many have come, the leader included. It promises the leader that a chain of one less
    /// waits for its call.
    static constexpr unsigned kCountBits = 7;
    static constexpr Value kMostReaders = (Value{1} << kCountBits) - 1;
    static constexpr Value readers(Value here) { return here >> kNameBits & kMostReaders; }
    /// The target that they are for (node_records.hh), so that no reader follows a leader to
    /// another one. The swap that takes the readers away takes it with them.
    static constexpr unsigned kKeyShift = kNameBits + kCountBits;
    static constexpr Value key(Value here) { return here >> kKeyShift; }

    static constexpr Value here(Value key, Value readers, Value waiter) {
        return key << kKeyShift | readers << kNameBits | waiter;
    }

    // GROUP. Nobody is inside when the last one has left: another target may have it then.
    /// Readers of groups that are inside. While it is not 0 one registration of a leader stands at
    /// home. The one that finds 1 takes it back: of two that leave at once one does.
    static constexpr Value kInside1 = 1;
    static constexpr Value inside(Value group) { return group & (kJoins - 1); }
    /// The last to leave may make the node a member: the leader of the first group saw by its own
    /// admission that it may (P7 of pf_cohort.hh).
    static constexpr Value kJoins = Value{1} << 32;
    /// The target, so that a group of another one does not count as its own.
    static constexpr unsigned kGroupKeyShift = 33;
    static constexpr Value group_key(Value group) { return group >> kGroupKeyShift; }
};
static_assert(fabric::kMostRanks < Rank{1} << (64 - ReaderGroupWords::kKeyShift));
static_assert(fabric::kMostRanks < ReaderGroupWords::kJoins &&
              fabric::kMostRanks < Value{1} << (64 - ReaderGroupWords::kGroupKeyShift));

/// `crowded`: where all of a node come and leave at a time. They stand back between attempts, and
/// leave by an addition.
template <fabric::Fabric F, bool crowded = false>
class ReaderGroup : private ReaderGroupWords {
  public:
    /// Of a target, on the caller's node.
    struct Words {
        Word here, group;
        Value key; ///< as NodeRecords has it
    };
    enum class Role { alone, leader, follower };

    explicit ReaderGroup(F& fabric) : fabric_(fabric) {}

    /// A follower returns when it is in.
    Role come(const Words& words, QueueNodes& qnodes) {
        if (fabric_.get(words.here) == 0 &&
            fabric_.compare_swap(words.here, 0, here(words.key, 1, 0)) == 0)
            return Role::leader;
        const Word own = qnodes.take(fabric_);
        const std::optional<Value> before = change(words.here, [&](Value seen) {
            const bool has_room = key(seen) == words.key && readers(seen) != kMostReaders;
            return seen == 0  ? std::optional(here(words.key, 1, 0))
                   : has_room ? std::optional(here(words.key, readers(seen) + 1, name_of(own)))
                              : std::nullopt;
        });
        const Role role = !before        ? Role::alone
                          : *before == 0 ? Role::leader
                                         : await_call(own, *before);
        qnodes.give(own);
        return role;
    }

    /// What a leader goes in with, and leaves as.
    enum class With {
        nobody,
        followers, ///< by its registration
        another,   ///< group as well, by that one's: it takes its own back
    };
    struct Admitted {
        With with;
        bool joins; ///< it is alone, and may make the node a member
    };
    /// By a leader that is in. `may_join(readers)`: whether one of so many may make the node a member.
    template <class Joins>
    Admitted admit(const Words& words, Joins&& may_join) {
        const Value come = fabric_.swap(words.here, 0);
        const bool joins = may_join(readers(come));
        if (readers(come) == 1)
            return {With::nobody, joins};
        const Value empty = words.key << kGroupKeyShift | joins * kJoins;
        const std::optional<Value> before = change(words.group, [&](Value group) {
            return inside(group) == 0              ? std::optional(empty + readers(come) * kInside1)
                   : group_key(group) == words.key ? std::optional(group + readers(come) * kInside1)
                                                   : std::nullopt;
        });
        call(waiter(come), before ? kIn : kAlone);
        return {!before                ? With::nobody
                : inside(*before) == 0 ? With::followers
                                       : With::another,
                joins};
    }

    struct Left {
        bool last;  ///< the caller takes the registration back
        bool joins; ///< and may make the node a member
    };
    Left leave(const Words& words) {
        const Value before = one_less(words.group);
        return {inside(before) == 1, (before & kJoins) != 0};
    }

  private:
    Value one_less(Word word) {
        // A key beside nobody is in the way of no other target.
        if constexpr (crowded)
            return fabric_.fetch_add(word, Value{0} - kInside1);
        return *change(word, [](Value group) {
            return std::optional(inside(group) == 1 ? 0 : group - kInside1);
        });
    }
    /// Returns what the word was, or nothing if `next` does.
    template <class Next>
    std::optional<Value> change(Word word, Next&& next) {
        const auto mark = fabric_.mark();
        Value seen = fabric_.get(word);
        for (unsigned attempt = 0;; ++attempt) {
            const std::optional<Value> wanted = next(seen);
            if (!wanted)
                return std::nullopt;
            const Value found = fabric_.compare_swap(word, seen, *wanted);
            if (found == seen)
                return seen;
            seen = found;
            if constexpr (crowded) {
                fabric_.backoff(attempt);
                fabric_.rewind(mark);
                seen = fabric_.get(word);
            } else {
                fabric_.rewind(mark, seen);
            }
        }
    }

    Role await_call(Word own, Value before) {
        const Value said = fabric_.await(field(own, kCall), fabric::differs(0));
        fabric_.put(field(own, kCall), 0);
        if (readers(before) > 1)
            call(waiter(before), said);
        return said == kIn ? Role::follower : Role::alone;
    }

    void call(Value waiter, Value what) { fabric_.put(field(qnode_of(waiter), kCall), what); }

    fabric::OnNode<F> fabric_;
};

} // namespace rmalock::locks
