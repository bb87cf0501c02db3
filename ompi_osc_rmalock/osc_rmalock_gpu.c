/*
 * Memory of GPUs. All copies are the CPU's, which cannot touch it: calls that are given such memory
 * fail, instead of the program with them.
 *
 * Asking what an address is takes a call into the GPU's driver, so it is done only where Open MPI
 * has found GPUs, or may find some.
 */
#include "osc_rmalock.h"

atomic_bool osc_rmalock_gpus_found = false;

void osc_rmalock_gpus_find(void) {
    if (osc_rmalock_has_gpus()) {
        atomic_store_explicit(&osc_rmalock_gpus_found, true, memory_order_relaxed);
    }
}

bool osc_rmalock_on_gpu(const void* address, size_t bytes) {
    return osc_rmalock_gpus() && 0 != bytes && osc_rmalock_is_gpu_memory(address);
}

int osc_rmalock_gpu_refuse(const osc_rmalock_caller_t* caller, const char* name,
                           const void* address, osc_rmalock_count_t count,
                           const struct ompi_datatype_t* datatype) {
    char what[128];
    /* The first byte stands for all: Open MPI looks at no other either. */
    const char* first = (const char*)address + datatype->super.true_lb;
    if (!osc_rmalock_on_gpu(first, datatype->super.size * (size_t)count)) {
        return OMPI_SUCCESS;
    }
    snprintf(what, sizeof what, "%s is memory of a GPU (%p), which rmalock does not serve", name,
             (const void*)first);
    return osc_rmalock_error(rmalock_refuse(osc_rmalock_window(caller->win), RMALOCK_ERR_BUFFER,
                                            caller->call, caller->target, what));
}
