/*
 * Datatypes as the core sees them: contiguous ranges where possible, else the runs that Open MPI's
 * convertor finds.
 */
#include "osc_rmalock.h"

static void rewind_runs(void* state) {
    osc_rmalock_side_t* side = (osc_rmalock_side_t*)state;
    if (side->prepared) {
        OBJ_DESTRUCT(&side->convertor);
    }
    OBJ_CONSTRUCT(&side->convertor, opal_convertor_t);
    opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &side->datatype->super,
                                             side->count, (const void*)side->base, 0,
                                             &side->convertor);
    side->prepared = true;
    side->done = false;
}

static size_t next_runs(void* state, struct iovec* runs, size_t max) {
    osc_rmalock_side_t* side = (osc_rmalock_side_t*)state;
    uint32_t count = (uint32_t)max;
    size_t bytes = 0;
    if (side->done) {
        return 0;
    }
    side->done = 0 != opal_convertor_raw(&side->convertor, runs, &count, &bytes);
    return count;
}

/* The span of bytes that the elements touch, relative to the base. */
static void set_span(rmalock_layout_t* layout, size_t count,
                     const struct ompi_datatype_t* datatype) {
    layout->low = layout->high = 0;
    if (0 != layout->bytes) { /* an empty type's bounds mean nothing */
        osc_rmalock_span(datatype, count, &layout->low, &layout->high);
    }
}

void osc_rmalock_side_open(osc_rmalock_side_t* side, const void* base, size_t count,
                           const struct ompi_datatype_t* datatype) {
    rmalock_layout_t* layout = &side->layout;
    side->prepared = false;
    layout->bytes = datatype->super.size * count;
    set_span(layout, count, datatype);
    layout->contiguous =
        0 != ompi_datatype_is_contiguous_memory_layout(datatype, (osc_rmalock_count_t)count);
    if (layout->contiguous) {
        layout->base = (uintptr_t)base + (uintptr_t)layout->low;
        return;
    }
    side->base = (uintptr_t)base;
    side->count = count;
    side->datatype = datatype;
    layout->state = side;
    layout->next = next_runs;
    layout->rewind = rewind_runs;
}

void osc_rmalock_side_close(osc_rmalock_side_t* side) {
    if (side->prepared) {
        OBJ_DESTRUCT(&side->convertor);
    }
}
