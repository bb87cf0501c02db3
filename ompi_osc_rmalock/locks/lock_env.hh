// What every lock is made of, and what it says of itself: the contract between a lock's header and
// all that lists locks (all.def).
//
// A lock is `template <Fabric F> class X` with
//
//    static constexpr LockTraits kTraits                     its row
//    static Footprint footprint(const MachineView&)              words at each rank
//    static LockLimits limits(const Thresholds&, const MachineView&)
//                                                            its thresholds, where none were asked
//    explicit X(const LockEnv<F>&)
//
// and the calls of ReaderWriterLock (lock.hh). What it offers beside these it says in
// kTraits.offers: so a member that is misspelt does not compile, instead of being passed over.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "fabric/layout.hh"
#include "locks/lock.hh"
#include "locks/parts/qnodes.hh"
#include "topology/tree.hh"

namespace rmalock::locks {

inline constexpr unsigned kMaxLevels = 4;

/// What a lock uses of the machine, and whether queue nodes.
struct LockNeeds {
    bool queue_nodes = false; ///< one per lock that a process holds or awaits
    bool tree = false;        ///< climbs the machine's tree
    bool nodes = false;       ///< keeps records for each of the machine's nodes
};

/// What a lock offers beside the calls of ReaderWriterLock. Each field is a concept, which the lock
/// has to fit if it is set, and must not fit if it is not (window_lock/gated_lock.hh).
struct LockOffers {
    bool two_steps = false; ///< InTwoSteps (lock.hh)
    bool server = false;    ///< HasServer (lock.hh)
    bool node_row = false;  ///< PrefersItsNode (lock.hh)
    bool sections = false;  ///< TakesSections (parts/section.hh)
};

/// A lock's row.
struct LockTraits {
    const char* name;          ///< as in the parameter `lock`
    bool shared = true;        ///< shared holders of one target are inside together; else a shared
                               ///< acquire is an exclusive one
    bool delivers = false;     ///< its releases see to it that the holder's data are at the target
                               ///< before others get in (fabric/concept.hh)
    bool patient = true;       ///< obeys the rule of patience (parts/patience.hh)
    bool own_lock_all = false; ///< HasLockAll (lock.hh): brings its own, and stands behind no gate
    LockNeeds needs{};
    LockOffers offers{};
};

/// The machine as locks see it. What it refers to outlives the lock.
struct MachineView {
    const topology::Tree& tree;
    const topology::Level& nodes;
    const topology::Level& counters; ///< one element per physical counter of readers
    bool one_node = true;            ///< whatever tree was asked for
    Slot record_lines = 0; ///< room for records at each rank, in lines; 0: fabric::record_lines

    Rank ranks() const { return nodes.ranks(); }
    Slot room() const { return record_lines != 0 ? record_lines : fabric::record_lines(ranks()); }
};

/// Words that a lock has at each rank, the same at every rank.
struct Footprint {
    Slot home = 0;    ///< of the home record, at most a line
    Slot records = 0; ///< behind it: of elements, nodes and counters; whole lines
};

/// Exclusive holders of a cohort of ALock, or pf_alock, that may follow each other; ALock's defaults (section 6).
struct Budgets {
    Value remote = 20, local = 5;
};

/// What was asked for of a lock's thresholds; see params.def.
struct Thresholds {
    std::vector<Value> t_l; ///< of levels 2, 3, …, the last one for all further levels; empty: auto
    Value t_dc = 0, t_r = 0, reader_batch = 0, t_w = 0; ///< 0: as params.def says
    std::optional<Value> passes;                        ///< none: auto
    fabric::Duration patience{};                        ///< first round of a wait (patience.hh)
    Budgets budgets{};

    /// T_L of level i of 2 … N; `otherwise` if it is to be chosen.
    Value of_level(unsigned i, Value otherwise) const {
        if (t_l.empty())
            return otherwise;
        return i - 2 < t_l.size() ? t_l[i - 2] : t_l.back();
    }
    /// T_L of a lock without levels; `otherwise` as above.
    Value innermost(Value otherwise) const { return t_l.empty() ? otherwise : t_l.back(); }
    /// T_W, or the number of ranks, `least` at least.
    Value chain(Rank ranks, Value least = 1) const {
        return t_w != 0 ? t_w : std::max(static_cast<Value>(ranks), least);
    }
};

/// When nodes become members of a target's readers, and cease to be (parts/members.hh).
struct MemberLimits {
    Value k_in = 4;     ///< readers of a node at home in one phase after which it joins; 0: never
    Value k_in_nic = 0; ///< the same where adapters do the atomics; 0: as k_in
    Value idle = 4;     ///< closings in a row without a reader after which it leaves, < 2^8
};

/// The thresholds of a lock. Each lock's header says which it uses, and what for.
struct LockLimits {
    Value t_w = 64;         ///< T_W: exclusives that may follow each other before waiting readers
    Value t_l = 0;          ///< T_L of a lock without levels: of them within a node
    Value passes = 0;       ///< of running ones past the first of the queue, in a row
    Value t_r = 0;          ///< T_R: readers at a counter before a writer that waits; 0: no cap
    Value reader_batch = 0; ///< readers let in before a writer closes the counters again
    Duration hold{};        ///< how long a writer waits for a batch, and a reader at T_R, at most
    /// How long a waiting writer holds readers back at first (parts/patience.hh); 0: for ever.
    Duration patience{};
    MemberLimits members{};
    Budgets budgets{};
    /// T_L,i at index i of 2 … N: acquisitions in a row within an element of level i.
    std::array<Value, kMaxLevels + 1> t_l_of{};
};

/// What the lock of one window is made of, at one process. The lock keeps the references.
template <fabric::Fabric F>
struct LockEnv {
    F& fabric;
    Slot home;          ///< first slot of the home record of every rank
    Slot records;       ///< of the other records of every rank
    QueueNodes& qnodes; ///< the process's queue nodes
    MachineView machine;
    LockLimits limits;
};

/// For a batch of readers, or a writer, which may never come.
inline constexpr Duration kHoldForReaders{50};

} // namespace rmalock::locks
