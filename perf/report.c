/* One JSON object per line on rank 0's standard output; an "event" member says which kind:
 * run (once), result, cannot, wrong, end (of one case for one flavor). Strings that come from
 * outside are escaped. Every line is flushed, so a later crash or hang loses nothing. */
#include "bench.h"

#include <stdio.h>
#include <string.h>

static void json_string(const char* text) {
    putchar('"');
    for (const unsigned char* c = (const unsigned char*)text; *c; c++) {
        if ('"' == *c || '\\' == *c)
            printf("\\%c", *c);
        else if (*c < 0x20)
            printf("\\u%04x", *c);
        else
            putchar(*c);
    }
    putchar('"');
}

static void line_end(void) {
    puts("}");
    fflush(stdout);
}

/* "Open MPI v4.1.4, package: ..., ident: ..." up to the first comma. */
static const char* mpi_version(void) {
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if ('\0' == version[0]) {
        MPI_Get_library_version(version, &length);
        version[strcspn(version, ",\n")] = '\0';
        for (char* tab = version; NULL != (tab = strchr(tab, '\t'));)
            *tab = ' '; /* MPICH */
    }
    return version;
}

/* The standard has no call that names the component behind a window. Open MPI exposes its "osc"
 * parameter through the tools interface: if that admits a single component and the window was
 * created, it is the one. Anything else is reported as what it is, not guessed at. */
static const char* osc_component(void) {
    static char value[4096];
    int provided, index, count;
    MPI_T_cvar_handle handle;
    if ('\0' != value[0])
        return value;
    snprintf(value, sizeof value, "unknown");
    if (MPI_SUCCESS != MPI_T_init_thread(MPI_THREAD_SINGLE, &provided))
        return value;
    if (MPI_SUCCESS == MPI_T_cvar_get_index("osc", &index) &&
        MPI_SUCCESS == MPI_T_cvar_handle_alloc(index, NULL, &handle, &count)) {
        if (count <= (int)sizeof value)
            MPI_T_cvar_read(handle, value);
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    value[sizeof value - 1] = '\0';
    if ('\0' == value[0] || '^' == value[0] || strchr(value, ','))
        snprintf(value, sizeof value, "unknown");
    return value;
}

static void case_members(const struct bench* bench, const char* event) {
    printf("{\"event\":\"%s\",\"case\":\"%s\",\"flavor\":\"%s\",\"ranks\":%d", event,
           bench->row->name, bench->flavor, bench->ranks);
}

void report_run(const struct bench* bench) {
    if (ORIGIN != bench->rank)
        return;
    printf("{\"event\":\"run\",\"ranks\":%d,\"mpi\":", bench->ranks);
    json_string(mpi_version());
    printf(",\"component\":");
    json_string(osc_component());
    line_end();
}

void report_result(const struct bench* bench, const char* params, const char* metric,
                   const char* unit, struct samples* samples, const char* extra) {
    if (ORIGIN == bench->rank) {
        const int measured = samples->count;
        const struct summary s = samples_summary(samples);
        case_members(bench, "result");
        printf(",\"params\":{%s},\"metric\":\"%s\",\"unit\":\"%s\"", params, metric, unit);
        printf(",\"median\":%.6g,\"p10\":%.6g,\"p90\":%.6g", s.median, s.p10, s.p90);
        printf(",\"samples\":%d,\"discarded\":%d,\"iterations\":%lld", s.kept, measured - s.kept,
               (long long)samples->batch * measured);
        printf(",\"mpi\":");
        json_string(mpi_version());
        printf(",\"component\":");
        json_string(osc_component());
        if ('\0' != extra[0])
            printf(",%s", extra);
        line_end();
    }
    samples_free(samples);
}

void report_cannot(const struct bench* bench, const char* reason) {
    if (ORIGIN != bench->rank)
        return;
    case_members(bench, "cannot");
    printf(",\"reason\":");
    json_string(reason);
    line_end();
}

void report_end(const struct bench* bench, double seconds) {
    if (ORIGIN != bench->rank)
        return;
    case_members(bench, "end");
    printf(",\"seconds\":%.3f", seconds);
    line_end();
}

bool verified(struct bench* bench, bool right, const char* what) {
    const int mine = right && !bench->mismatch ? bench->ranks : bench->rank;
    int first_wrong;
    MPI_Allreduce(&mine, &first_wrong, 1, MPI_INT, MPI_MIN, bench->comm);
    if (first_wrong == bench->ranks)
        return true;
    bench->any_wrong = true;
    if (ORIGIN == bench->rank) {
        case_members(bench, "wrong");
        printf(",\"reason\":\"rank %d: %s\"", first_wrong, what);
        line_end();
        fprintf(stderr, "rma_bench: %s (%s): WRONG VALUES at rank %d: %s\n", bench->row->name,
                bench->flavor, first_wrong, what);
    }
    return false;
}
