// Where this process runs: in which memory and behind which cache, says hwloc, which only this file
// includes; on which switch, says the environment.
#include <hwloc.h>
#include <sched.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string_view>

#include "topology/machine.hh"

namespace rmalock::topology {

namespace {

struct Bitmap {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    Bitmap() = default;
    Bitmap(const Bitmap&) = delete;
    Bitmap& operator=(const Bitmap&) = delete;
    ~Bitmap() { hwloc_bitmap_free(set); }
};

/// The one element of `kind` that the process is bound to; -1: not to one.
std::int32_t only_one(hwloc_topology_t topology, hwloc_obj_type_t kind,
                      hwloc_const_cpuset_t bound) {
    std::int32_t found = -1;
    for (hwloc_obj_t object = nullptr;
         (object = hwloc_get_next_obj_by_type(topology, kind, object)) != nullptr;) {
        if (!hwloc_bitmap_intersects(object->cpuset, bound))
            continue;
        if (found >= 0)
            return -1;
        found = static_cast<std::int32_t>(object->logical_index);
    }
    return found;
}

std::string_view in_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

ProcessPlace found() {
    ProcessPlace place;
    place.rack = rack_in(in_environment("SLURM_TOPOLOGY_ADDR"),
                         in_environment("SLURM_TOPOLOGY_ADDR_PATTERN"));
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0)
        return place;
    Bitmap bound;
    if (hwloc_topology_load(topology) == 0 &&
        hwloc_get_cpubind(topology, bound.set, HWLOC_CPUBIND_PROCESS) == 0) {
        place.numa = only_one(topology, HWLOC_OBJ_NUMANODE, bound.set);
        place.l3 = only_one(topology, HWLOC_OBJ_L3CACHE, bound.set);
    }
    hwloc_topology_destroy(topology);
    return place;
}

} // namespace

void look_around(ProcessPlace& place) {
    static const ProcessPlace here =
        found(); // the machine does not change, and asking takes milliseconds
    place.numa = here.numa;
    place.l3 = here.l3;
    place.rack = here.rack;
}

/// Not of hwloc: that has to load the machine first, for milliseconds.
Cpus own_cpus() {
    std::array<cpu_set_t, 8> set{}; // as many as Linux is built for
    if (sched_getaffinity(0, sizeof set, set.data()) != 0)
        return {};
    const std::string_view bytes(reinterpret_cast<const char*>(set.data()), sizeof set);
    return {std::hash<std::string_view>()(bytes), CPU_COUNT_S(sizeof set, set.data())};
}

} // namespace rmalock::topology
