// A fence that one process makes for all of its node: Linux's membarrier.
//
// Two processes that each store a word of their own, and then load the other's, need a fence
// between store and load, both of them. Where one of them does that all the time and the other one
// hardly ever, the latter pays for both: the system interrupts every core that runs a registered
// process, and that is the fence there. A process that does not run has made one when it was
// switched off. MEMBARRIER_CMD_GLOBAL_EXPEDITED, Linux 4.16; 1 to 2 us where two cores run.
#pragma once

namespace rmalock::fabric {

/// From now on this process is among those that others fence. False: the system, or a sandbox,
/// refuses it, so that all have to fence for themselves. Cheap when repeated.
bool join_node_fences();

/// On return all processes that have joined have passed a fence. The caller has joined.
void fence_processes_of_node();

} // namespace rmalock::fabric
