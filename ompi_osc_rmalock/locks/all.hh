// The headers of all locks, and a call for each row of all.def.
#pragma once

#include <string_view>

#include "locks/algorithms/alock.hh"
#include "locks/algorithms/d_mcs.hh"
#include "locks/algorithms/direct_passive.hh"
#include "locks/algorithms/dqnl.hh"
#include "locks/algorithms/fompi_rw.hh"
#include "locks/algorithms/fompi_spin.hh"
#include "locks/algorithms/n_cosed.hh"
#include "locks/algorithms/pf_alock.hh"
#include "locks/algorithms/pf_cohort.hh"
#include "locks/algorithms/pf_mcs.hh"
#include "locks/algorithms/rma_mcs.hh"
#include "locks/algorithms/rma_rw.hh"
#include "locks/algorithms/srsl.hh"

namespace rmalock::locks {

/// A lock's template as an argument.
template <template <class> class L>
struct LockClass {
    template <class F>
    using On = L<F>;
};

/// use(LockClass<L>) for each lock, in the order of all.def.
template <class Use>
constexpr void for_each_lock(Use&& use) {
#define RMALOCK_LOCK(name, Class) use(LockClass<Class>{});
#include "locks/all.def"
#undef RMALOCK_LOCK
}

} // namespace rmalock::locks
