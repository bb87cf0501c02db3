// Memory of a GPU: every call refuses it, and the window works as if nothing had happened.
//
// No GPU is needed. This program puts one in where Open MPI has its own knowledge of them: it says
// that there are some, and answers for its own addresses as Open MPI would (4.1: as a library built
// with CUDA, which marks a convertor when it is prepared; 5.0: as an accelerator component).
// "Device memory" is mapped without access, so that a process that touches it crashes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/mman.h>

#include "mpi_test.h"

#if OMPI_MAJOR_VERSION >= 5
#include "opal/mca/accelerator/base/base.h"
#else
#include "opal/datatype/opal_convertor.h"
#endif

enum { BYTES = 1 << 16, WORDS = 16 };

// --- The GPU -------------------------------------------------------------------------------------

static char* device;                    // the CPU must not touch it
static _Alignas(64) int managed[WORDS]; // the driver moves it to where it is touched

static bool is_within(const void* address, const void* first, size_t bytes) {
    return (uintptr_t)address - (uintptr_t)first < bytes;
}

static bool on_device(const void* address) {
    return device != NULL && is_within(address, device, BYTES);
}

#if OMPI_MAJOR_VERSION >= 5
static int check_addr(const void* address, int* number, uint64_t* flags) {
    *number = 0;
    *flags = is_within(address, managed, sizeof managed) ? MCA_ACCELERATOR_FLAGS_UNIFIED_MEMORY : 0;
    return *flags != 0 || on_device(address);
}

static bool name_component(const char* name) {
    opal_accelerator_base_component_t* component =
        dlsym(RTLD_DEFAULT, "opal_accelerator_base_selected_component");
    if (component != NULL)
        strcpy(component->base_version.mca_component_name, name);
    return component != NULL;
}

/// MPI_Finalize, where others would end what they have begun only with a real one, calls it first.
static int plug_out(MPI_Comm comm, int key, void* value, void* state) {
    (void)comm, (void)key, (void)value, (void)state;
    return name_component("null") ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static bool plug_in(void) {
    opal_accelerator_base_module_t* module = dlsym(RTLD_DEFAULT, "opal_accelerator");
    int key;
    if (module == NULL || !name_component("test"))
        return false;
    module->check_addr = check_addr;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, plug_out, &key, NULL);
    return MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS;
}
#else
/// Goes before Open MPI's function of this name, for all of its libraries.
int32_t opal_convertor_prepare_for_send(opal_convertor_t* convertor,
                                        const struct opal_datatype_t* type, size_t count,
                                        const void* buffer) {
    static int32_t (*next)(opal_convertor_t*, const struct opal_datatype_t*, size_t, const void*);
    if (next == NULL)
        *(void**)&next = dlsym(RTLD_NEXT, "opal_convertor_prepare_for_send");
    if (is_within(buffer, managed, sizeof managed))
        convertor->flags |= CONVERTOR_CUDA | CONVERTOR_CUDA_UNIFIED;
    else if (on_device(buffer))
        convertor->flags |= CONVERTOR_CUDA;
    return next(convertor, type, count, buffer);
}

static bool plug_in(void) {
    bool* support = dlsym(RTLD_DEFAULT, "opal_cuda_support");
    if (support != NULL)
        *support = true;
    return support != NULL;
}
#endif

/// Every case begins with it.
static void need_gpu(void) {
    if (device != NULL)
        return;
    void* memory = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    CHECK(plug_in());
    device = memory;
}

static bool open_words(struct window* w) {
    need_gpu();
    return window_open(w, WORDS * sizeof(int), sizeof(int));
}

// --- RMA calls -----------------------------------------------------------------------------------

/// The buffers of a call; each is of one int.
struct buffers {
    int *origin, *compare, *result;
};

static int finish(int code, MPI_Request* request) {
    return code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
}

// Each writes *origin to a word of the target, or *result becomes what was there, or both.

static int put(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    return MPI_Put(b.origin, 1, MPI_INT, t, d, 1, MPI_INT, win);
}
static int get(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    return MPI_Get(b.result, 1, MPI_INT, t, d, 1, MPI_INT, win);
}
static int accumulate(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    return MPI_Accumulate(b.origin, 1, MPI_INT, t, d, 1, MPI_INT, MPI_REPLACE, win);
}
static int get_accumulate(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    return MPI_Get_accumulate(b.origin, 1, MPI_INT, b.result, 1, MPI_INT, t, d, 1, MPI_INT,
                              MPI_REPLACE, win);
}
static int fetch_and_op(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    return MPI_Fetch_and_op(b.origin, b.result, MPI_INT, t, d, MPI_REPLACE, win);
}
static int compare_and_swap(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    return MPI_Compare_and_swap(b.origin, b.compare, b.result, MPI_INT, t, d, win);
}
static int rput(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    MPI_Request r;
    return finish(MPI_Rput(b.origin, 1, MPI_INT, t, d, 1, MPI_INT, win, &r), &r);
}
static int rget(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    MPI_Request r;
    return finish(MPI_Rget(b.result, 1, MPI_INT, t, d, 1, MPI_INT, win, &r), &r);
}
static int raccumulate(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    MPI_Request r;
    return finish(MPI_Raccumulate(b.origin, 1, MPI_INT, t, d, 1, MPI_INT, MPI_REPLACE, win, &r),
                  &r);
}
static int rget_accumulate(MPI_Win win, int t, MPI_Aint d, struct buffers b) {
    MPI_Request r;
    return finish(MPI_Rget_accumulate(b.origin, 1, MPI_INT, b.result, 1, MPI_INT, t, d, 1, MPI_INT,
                                      MPI_REPLACE, win, &r),
                  &r);
}

static const struct call {
    const char* name;
    int (*make)(MPI_Win win, int target, MPI_Aint displacement, struct buffers b);
    bool origin, compare, result; // which of them it has
} calls[] = {
    {"MPI_Put", put, true, false, false},
    {"MPI_Get", get, false, false, true},
    {"MPI_Accumulate", accumulate, true, false, false},
    {"MPI_Get_accumulate", get_accumulate, true, false, true},
    {"MPI_Fetch_and_op", fetch_and_op, true, false, true},
    {"MPI_Compare_and_swap", compare_and_swap, true, true, true},
    {"MPI_Rput", rput, true, false, false},
    {"MPI_Rget", rget, false, false, true},
    {"MPI_Raccumulate", raccumulate, true, false, false},
    {"MPI_Rget_accumulate", rget_accumulate, true, false, true},
};
enum { CALLS = sizeof calls / sizeof *calls };

static void refuses(const struct call* call, const struct window* w, int target, const char* what,
                    struct buffers b) {
    const int class = error_class(call->make(w->win, target, at(w, target, T.rank), b));
    CHECK_THAT(class == MPI_ERR_BUFFER, "%s with its %s on a GPU: expected MPI_ERR_BUFFER, got %s",
               call->name, what, class_name(class));
}

/// Each argument in turn is refused; then the call works, and finds what was there before.
static void one_call(const struct call* call, const struct window* w, int target) {
    int before = 7, origin = 9, compare = 7, result = -1, after = -1;
    int* const theirs = (int*)device + 1;
    const MPI_Aint word = at(w, target, T.rank);
    const struct buffers good = {&origin, &compare, &result};
    OK(MPI_Put(&before, 1, MPI_INT, target, word, 1, MPI_INT, w->win));
    OK(MPI_Win_flush(target, w->win));
    if (call->origin)
        refuses(call, w, target, "origin", (struct buffers){theirs, &compare, &result});
    if (call->compare)
        refuses(call, w, target, "compare", (struct buffers){&origin, theirs, &result});
    if (call->result)
        refuses(call, w, target, "result", (struct buffers){&origin, &compare, theirs});
    OK(call->make(w->win, target, word, good));
    OK(MPI_Win_flush(target, w->win));
    OK(MPI_Get(&after, 1, MPI_INT, target, word, 1, MPI_INT, w->win));
    OK(MPI_Win_flush(target, w->win));
    CHECK_THAT(!call->result || result == before, "%s: result %d", call->name, result);
    CHECK_THAT(after == (call->origin ? origin : before), "%s: %d there", call->name, after);
}

static void calls_refuse_it(void) {
    struct window w;
    if (!open_words(&w))
        return;
    OK(MPI_Win_lock_all(0, w.win));
    for (int t = 0; t < T.ranks; ++t)
        for (int c = 0; c < CALLS; ++c)
            one_call(&calls[c], &w, t);
    OK(MPI_Win_unlock_all(w.win));
    window_close(&w);
}

static int put_of(const struct window* w, const void* origin, int count, MPI_Datatype type,
                  int ints) {
    return MPI_Put(origin, count, type, T.rank, at(w, T.rank, 0), ints, MPI_INT, w->win);
}

/// The memory may begin behind the address: by a type's lower bound, or wherever absolute ones say.
static void layouts_refuse_it(void) {
    struct window w;
    if (!open_words(&w))
        return;
    MPI_Datatype gaps, absolute, shifted;
    MPI_Aint address;
    const int one = 1;
    const MPI_Aint forward = BYTES / 2;
    MPI_Get_address(device, &address);
    MPI_Type_vector(2, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
    MPI_Type_create_hindexed(1, &one, &forward, MPI_INT, &shifted);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&absolute);
    MPI_Type_commit(&shifted);
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, T.rank, 0, w.win));
    FAILS(MPI_ERR_BUFFER, put_of(&w, device, 1, gaps, 2));
    FAILS(MPI_ERR_BUFFER, put_of(&w, MPI_BOTTOM, 1, absolute, 1));
    FAILS(MPI_ERR_BUFFER, put_of(&w, device - forward / 2, 1, shifted, 1));
    FAILS(MPI_ERR_BUFFER, MPI_Get(device, 1, gaps, T.rank, at(&w, T.rank, 0), 2, MPI_INT, w.win));
    FAILS(MPI_ERR_BUFFER,
          MPI_Accumulate(device, 1, gaps, T.rank, at(&w, T.rank, 0), 2, MPI_INT, MPI_SUM, w.win));
    OK(MPI_Win_unlock(T.rank, w.win));
    MPI_Type_free(&gaps);
    MPI_Type_free(&absolute);
    MPI_Type_free(&shifted);
    window_close(&w);
}

/// Not refused: what the call does not touch, and what the CPU may touch.
static void what_is_no_error(void) {
    struct window w;
    if (!open_words(&w))
        return;
    int result[WORDS];
    for (int i = 0; i < WORDS; ++i)
        managed[i] = T.rank + i;
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, T.rank, 0, w.win));
    OK(put_of(&w, device, 0, MPI_INT, 0));
    OK(put_of(&w, managed, WORDS, MPI_INT, WORDS));
    OK(MPI_Get_accumulate(device, WORDS, MPI_INT, result, WORDS, MPI_INT, T.rank, at(&w, T.rank, 0),
                          WORDS, MPI_INT, MPI_NO_OP, w.win));
    OK(MPI_Fetch_and_op(device, result, MPI_INT, T.rank, at(&w, T.rank, 0), MPI_NO_OP, w.win));
    OK(MPI_Win_unlock(T.rank, w.win));
    CHECK_MEM(managed, result, sizeof result);
    window_close(&w);
}

/// A refused call does not open the epoch of a fence, either.
static void refused_after_a_fence(void) {
    struct window w;
    if (!open_words(&w))
        return;
    OK(MPI_Win_fence(0, w.win));
    FAILS(MPI_ERR_BUFFER, put_of(&w, device, 1, MPI_INT, 1));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, T.rank, 0, w.win));
    OK(MPI_Win_unlock(T.rank, w.win));
    window_close(&w);
}

// --- Windows -------------------------------------------------------------------------------------

static bool is_rmalocks(MPI_Win win) {
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1];
    int found;
    MPI_Win_get_info(win, &info);
    MPI_Info_get(info, "rmalock_lock", MPI_MAX_INFO_VAL, value, &found);
    MPI_Info_free(&info);
    return found;
}

/// Whether any component but rmalock may serve windows.
static bool others_may_serve(void) {
    const char* allowed = getenv("OMPI_MCA_osc"); // from mpirun --mca osc
    return allowed == NULL || strcmp(allowed, "rmalock") != 0;
}

/// One process's memory decides for all; another component serves the window, if it may.
static void create_declines(int last) {
    static int ours[WORDS];
    MPI_Win win = MPI_WIN_NULL;
    need_gpu();
    if (OMPI_MAJOR_VERSION >= 5 && others_may_serve()) {
        skip("osc/rdma of 5.0 declines such memory without asking the other ranks");
        return;
    }
    int code = MPI_Win_create(T.rank <= last ? device : (char*)ours, sizeof ours, sizeof(int),
                              MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    int made = code == MPI_SUCCESS, sum;
    MPI_Allreduce(&made, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(others_may_serve() ? T.ranks : 0, sum);
    if (!made)
        return;
    CHECK(!is_rmalocks(win));
    OK(MPI_Win_free(&win));
}

static void create_declines_alone(void) {
    create_declines(0);
}
static void create_declines_together(void) {
    create_declines(T.ranks - 1);
}

/// A window without memory has none of a GPU.
static void create_takes_nothing(void) {
    MPI_Win win;
    need_gpu();
    if (!OK(MPI_Win_create(device, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win)))
        return;
    CHECK(is_rmalocks(win));
    OK(MPI_Win_free(&win));
}

static void attach_refuses(void) {
    struct window w;
    if (!open_words(&w))
        return;
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_attach(w.win, device, BYTES));
    FAILS(MPI_ERR_RMA_ATTACH, MPI_Win_detach(w.win, device));
    OK(MPI_Win_attach(w.win, managed, sizeof managed));
    OK(MPI_Win_detach(w.win, managed));
    window_close(&w);
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {.name = "calls_refuse_it", .run = calls_refuse_it, .each = IN_ANY},
        {.name = "layouts_refuse_it", .run = layouts_refuse_it, .each = IN_ANY},
        {.name = "what_is_no_error", .run = what_is_no_error, .each = IN_ANY},
        {.name = "refused_after_a_fence", .run = refused_after_a_fence, .each = IN_ANY},
        {.name = "create_declines_alone", .run = create_declines_alone, .needs = IN_CREATE},
        {.name = "create_declines_together", .run = create_declines_together, .needs = IN_CREATE},
        {.name = "create_takes_nothing", .run = create_takes_nothing, .needs = IN_CREATE},
        {.name = "attach_refuses", .run = attach_refuses, .each = IN_DYNAMIC},
    };
    return test_main(argc, argv, cases, sizeof cases / sizeof *cases, MPI_THREAD_SINGLE);
}
