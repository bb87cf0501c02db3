/*
 * MPI_T performance variables, bound to windows: what the core counts (counters.def), and what
 * share of the acquisitions had to wait.
 */
#include "osc_rmalock.h"

#include "opal/mca/base/mca_base_pvar.h"

typedef struct {
    const char* name;
    const char* help;
    size_t offset; /* of the first value in rmalock_counters_t */
    int values;
} counter_t;

static const counter_t counters[] = {
#define RMALOCK_COUNTER(name, values, help)                                                        \
    {#name, help, offsetof(rmalock_counters_t, name), values},
#include "counters.def"
#undef RMALOCK_COUNTER
};

/* What is counted for the window that a handle is bound to; zeros if another component serves it: a
 * tool may bind every variable to every window. (An error would be more to the point, but Open MPI
 * does not survive one at this place.) */
static rmalock_counters_t counters_of(void* object) {
    struct ompi_win_t* win = osc_rmalock_pvar_window(object);
    rmalock_counters_t read;
    memset(&read, 0, sizeof read);
    if (NULL != win && NULL != win->w_osc_module &&
        osc_rmalock_module_template.osc_win_shared_query ==
            win->w_osc_module->osc_win_shared_query) { /* osc_free may be another one */
        rmalock_window_counters(osc_rmalock_window(win), &read);
    }
    return read;
}

static int read_counter(const struct mca_base_pvar_t* pvar, void* value, void* object) {
    const counter_t* counter = (const counter_t*)pvar->ctx;
    const rmalock_counters_t read = counters_of(object);
    const uint64_t* from = (const uint64_t*)((const char*)&read + counter->offset);
    unsigned long long* into = (unsigned long long*)value;
    for (int i = 0; i < counter->values; ++i) {
        into[i] = from[i];
    }
    return OMPI_SUCCESS;
}

static int count_values(struct mca_base_pvar_t* pvar, mca_base_pvar_event_t event, void* object,
                        int* count) {
    (void)object;
    if (MCA_BASE_PVAR_HANDLE_BIND == event) {
        *count = ((const counter_t*)pvar->ctx)->values;
    }
    return OMPI_SUCCESS;
}

static int read_contended_share(const struct mca_base_pvar_t* pvar, void* value, void* object) {
    const rmalock_counters_t read = counters_of(object);
    const uint64_t locks = *read.exclusive_locks + *read.shared_locks + *read.lock_alls;
    const uint64_t waits = *read.exclusive_waits + *read.shared_waits + *read.lock_all_waits;
    (void)pvar;
    *(double*)value = 0 == locks ? 0.0 : (double)waits / (double)locks;
    return OMPI_SUCCESS;
}

void osc_rmalock_pvars_register(void) {
    const mca_base_component_t* component = &mca_osc_rmalock_component.super.osc_version;
    const mca_base_pvar_flag_t flags = MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS;
    for (size_t i = 0; i < sizeof counters / sizeof *counters; ++i) {
        (void)mca_base_component_pvar_register(component, counters[i].name, counters[i].help,
                                               OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_COUNTER,
                                               MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
                                               MCA_BASE_VAR_BIND_MPI_WIN, flags, read_counter, NULL,
                                               count_values, (void*)&counters[i]);
    }
    (void)mca_base_component_pvar_register(
        component, "contended_share", "Share of the acquisitions that had to wait, 0 to 1",
        OPAL_INFO_LVL_4, MCA_BASE_PVAR_CLASS_PERCENTAGE, MCA_BASE_VAR_TYPE_DOUBLE, NULL,
        MCA_BASE_VAR_BIND_MPI_WIN, flags, read_contended_share, NULL, NULL, NULL);
}
