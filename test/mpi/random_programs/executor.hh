// Executes one phase.
#pragma once

#include "program.hh"

namespace oracle {

/// This rank's part: synchronization and operations; each operation is printed first if `tell`.
void execute(Phase& p, bool tell);

} // namespace oracle
