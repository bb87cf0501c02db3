// The loops of the accumulate family for processors with AVX2.
#pragma once

#include "window/data/element_ops.hh"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define RMALOCK_HAS_AVX2_LOOPS 1
#else
#define RMALOCK_HAS_AVX2_LOOPS 0
#endif

namespace rmalock::window {

#if RMALOCK_HAS_AVX2_LOOPS
/// Null: this processor has none.
const LoopTable* loops_avx2();
#else
inline const LoopTable* loops_avx2() {
    return nullptr;
}
#endif

} // namespace rmalock::window
