// What cannot fail: no lock algorithm could go on, or leave, half way.
#pragma once

#include <cstdlib>

#include "host.hh"
#include "ucx_glue/types.hh"

namespace rmalock::network {

/// Runs a verb (fabric/concept.hh), or a step that all processes take together.
template <class Verb>
auto or_end_the_job(Verb verb) {
    try {
        return verb();
    } catch (const ucx::Error& error) {
        report(0, "%s, in the middle of a lock or an epoch: the job ends", error.what());
        std::abort();
    }
}

} // namespace rmalock::network
