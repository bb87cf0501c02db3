/*
 * Datatypes as the core sees them: contiguous ranges where possible, else the runs that Open MPI's
 * convertor finds.
 */
#include "osc_rmalock.h"

#include <stdlib.h>

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
    side->ahead = side->skipped;
    side->left = side->layout.bytes;
}

static size_t runs_of_all(osc_rmalock_side_t* side, struct iovec* runs, size_t max) {
    uint32_t count = (uint32_t)max;
    size_t bytes = 0;
    if (side->done) {
        return 0;
    }
    side->done = 0 != opal_convertor_raw(&side->convertor, runs, &count, &bytes);
    return count;
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* What the part has of these runs. */
static size_t keep_part(osc_rmalock_side_t* side, struct iovec* runs, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) {
        const size_t before = least(side->ahead, runs[i].iov_len);
        const size_t bytes = least(side->left, runs[i].iov_len - before);
        side->ahead -= before;
        side->left -= bytes;
        if (0 != bytes) {
            runs[kept++] = (struct iovec){(char*)runs[i].iov_base + before, bytes};
        }
    }
    return kept;
}

static size_t next_runs(void* state, struct iovec* runs, size_t max) {
    osc_rmalock_side_t* side = (osc_rmalock_side_t*)state;
    if (!side->is_part) {
        return runs_of_all(side, runs, max);
    }
    size_t count = 0;
    while (0 == count && !side->done && 0 != side->left) {
        count = keep_part(side, runs, runs_of_all(side, runs, max));
    }
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
    side->is_part = false;
    side->skipped = 0;
    layout->bytes = datatype->super.size * count;
    set_span(layout, count, datatype);
    /* One, or several: the number itself may be beyond the type of counts. */
    layout->contiguous =
        0 != ompi_datatype_is_contiguous_memory_layout(datatype, count > 1 ? 2 : (int)count);
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

void osc_rmalock_side_take_part(osc_rmalock_side_t* side, size_t skipped, size_t bytes) {
    side->layout.bytes = bytes;
    if (side->layout.contiguous) {
        side->layout.base += skipped;
        return;
    }
    side->is_part = true;
    side->skipped = skipped;
}

size_t osc_rmalock_side_first_run(osc_rmalock_side_t* side) {
    if (side->layout.contiguous) {
        return side->layout.bytes;
    }
    struct iovec run = {NULL, 0};
    rewind_runs(side);
    (void)next_runs(side, &run, 1);
    return run.iov_len;
}

void osc_rmalock_side_close(osc_rmalock_side_t* side) {
    if (side->prepared) {
        OBJ_DESTRUCT(&side->convertor);
    }
}

/* Of what MPI_Type_get_contents tells: whether a datatype has entries of part i. Only a structure has
 * several parts, and a number of each. */
static bool has_entries(int combiner, const int* integers, struct ompi_datatype_t* const* parts,
                        int i) {
    return 0 != parts[i]->super.size && (MPI_COMBINER_STRUCT != combiner || 0 != integers[1 + i]);
}

/* Open MPI's function looks at parts without entries as well, which do not count (MPI 4.0, 5.1). */
static struct ompi_datatype_t* element_type_of_parts(struct ompi_datatype_t* datatype) {
    int count[3], combiner;
    if (OMPI_SUCCESS != ompi_datatype_get_args(datatype, 0, &count[0], NULL, &count[1], NULL,
                                               &count[2], NULL, &combiner)) {
        return NULL;
    }
    const size_t room = (size_t)count[0] * sizeof(int) + (size_t)count[1] * sizeof(ptrdiff_t) +
                        (size_t)count[2] * sizeof(struct ompi_datatype_t*);
    struct ompi_datatype_t** const parts = (struct ompi_datatype_t**)malloc(room);
    if (NULL == parts) {
        return NULL;
    }
    ptrdiff_t* const addresses = (ptrdiff_t*)(parts + count[2]);
    int* const integers = (int*)(addresses + count[1]);
    (void)ompi_datatype_get_args(datatype, 1, &count[0], integers, &count[1], addresses, &count[2],
                                 parts, &combiner);
    struct ompi_datatype_t* found = NULL;
    bool one = true;
    for (int i = 0; one && i < count[2]; ++i) {
        if (has_entries(combiner, integers, parts, i)) {
            struct ompi_datatype_t* const type = osc_rmalock_element_type(parts[i]);
            one = NULL != type && (NULL == found || type == found);
            found = type;
        }
    }
    free(parts);
    return one ? found : NULL;
}

struct ompi_datatype_t* osc_rmalock_element_type(struct ompi_datatype_t* datatype) {
    struct ompi_datatype_t* const type =
        ompi_datatype_get_single_predefined_type_from_args(datatype);
    return NULL != type ? type : element_type_of_parts(datatype);
}
