// Generates one phase.
#pragma once

#include <vector>

#include "program.hh"

namespace oracle {

/// What is drawn is the same on all ranks; MPI types are built only by the rank that uses them.
Phase generate(Random& r, const std::vector<Basic>& basics, const Options& options,
               std::vector<Window>& windows);

} // namespace oracle
