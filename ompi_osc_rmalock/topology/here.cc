// The only file that includes hwloc: in which memory and behind which cache this process runs.
#include <hwloc.h>

#include <memory>

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

Place found() {
    Place place;
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

void look_around(Place& place) {
    static const Place here = found(); // the machine does not change, and asking takes milliseconds
    place.numa = here.numa;
    place.l3 = here.l3;
}

} // namespace rmalock::topology
