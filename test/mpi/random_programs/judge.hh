// Compares one phase with the model.
#pragma once

#include "program.hh"

namespace oracle {

/// Compares what this rank fetched and what it has in memory; true if all is as it should be.
bool agrees(const Phase& p, long number, const Options& options);

} // namespace oracle
