// What can be wrong with the phase-fair lock over nodes; each has to be caught.
#pragma once

#include "broken_fabric.hh"

namespace rmalock::check::pfl_fault {
} // namespace rmalock::check::pfl_fault
