// The loops for processors with AVX2, of whatever x86-64 the rest is compiled for.
#include "window/data/loops_avx2.hh"

#if RMALOCK_HAS_AVX2_LOOPS

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>
#include <tuple>
#include <utility>

#include "window/data/element_ops.hh"

#pragma GCC push_options
#pragma GCC optimize("O3")
#pragma GCC target("avx2")
#include "window/data/loops.hh"
#pragma GCC pop_options

namespace rmalock::window {

const LoopTable* loops_avx2() {
    return __builtin_cpu_supports("avx2") ? &kLoops : nullptr;
}

} // namespace rmalock::window

#endif
