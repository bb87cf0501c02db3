// rmalock_api.h over class Window. No exception leaves a function of this file.
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "together.hh"
#include "window/create/segment.hh"
#include "window/data/access.hh"
#include "window/sync/fast_path.hh"
#include "window/window.hh"

using rmalock::network::as_completion;
using rmalock::window::Direction;
using rmalock::window::Flush;
using rmalock::window::Status;
using rmalock::window::Window;

namespace {

/// What the C side holds is a Window under another name.
Window& as_window(rmalock_window_t* window) {
    return *reinterpret_cast<Window*>(window);
}
const Window& as_window(const rmalock_window_t* window) {
    return *reinterpret_cast<const Window*>(window);
}

/// Runs `body`; what it throws becomes a status.
template <class Body>
Status guarded(Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return RMALOCK_ERR_NO_MEM;
    } catch (const rmalock::window::ProcessFailed&) {
        return RMALOCK_ERR_PROC_FAILED;
    } catch (const rmalock::ucx::PeerLost& lost) {
        rmalock::report(1, "%s", lost.what());
        return RMALOCK_ERR_PROC_FAILED;
    } catch (const std::exception& error) {
        rmalock::report(0, "%s", error.what());
        return RMALOCK_ERR_INTERN;
    }
}

/// Windows that MPI_Finalize found, until they are dropped. It runs in one thread. A pointer: exit() ends none.
std::vector<std::unique_ptr<Window>>* left_windows = nullptr;

/// As guarded(), of a way that may not be taken. A process that fails while it waits is the other way's to tell.
template <class Body>
[[gnu::always_inline]] inline bool short_way(Body body) noexcept {
    try {
        return body();
    } catch (const rmalock::window::ProcessFailed&) {
        return false;
    }
}

} // namespace

extern "C" {

void rmalock_init(const rmalock_host_t* host) {
    rmalock::set_host(*host);
}

bool rmalock_has_shared_memory(const rmalock_params_t* params, char* why, size_t why_size) {
    // What happens to the folder later is an error then. A flag without data: relaxed would do, and a
    // creation takes far longer.
    static std::atomic<bool> has{false};
    if (has)
        return true;
    int error = ENOMEM;
    (void)guarded([&] {
        error = rmalock::window::SegmentFile(params->shm_dir).name().error;
        return RMALOCK_OK;
    });
    if (error != 0)
        std::snprintf(why, why_size, "no file can be made in '%s' (parameter shm_dir): %s",
                      params->shm_dir, std::strerror(error));
    has = error == 0;
    return has;
}

Status rmalock_window_create(const rmalock_spec_t* spec, rmalock_window_t** window, void** base) {
    return guarded([&] {
        std::unique_ptr<Window> created;
        const Status status =
            rmalock::together(spec->comm, [&] { return Window::create(*spec, created); });
        if (status != RMALOCK_OK)
            return status;
        *base = created->base();
        *window = reinterpret_cast<rmalock_window_t*>(created.release());
        return RMALOCK_OK;
    });
}

Status rmalock_window_free(rmalock_window_t* window) {
    return guarded([&] {
        const Status status = as_window(window).free();
        if (status == RMALOCK_OK)
            delete &as_window(window);
        return status;
    });
}

void rmalock_window_leave(rmalock_window_t* window) {
    (void)guarded([&] {
        if (left_windows == nullptr)
            left_windows = new std::vector<std::unique_ptr<Window>>;
        left_windows->emplace_back(&as_window(window))->leave();
        return RMALOCK_OK;
    });
}

void rmalock_windows_drop(void) {
    delete std::exchange(left_windows, nullptr);
}

Status rmalock_window_survives(rmalock_window_t* window, bool look) {
    return guarded([&] { return as_window(window).survives(look); });
}

void rmalock_window_await_failure(rmalock_window_t* window) {
    (void)guarded([&] {
        as_window(window).await_failure();
        return RMALOCK_OK;
    });
}

void rmalock_window_abandon(rmalock_window_t* window) {
    (void)guarded([&] {
        as_window(window).abandon();
        delete &as_window(window);
        return RMALOCK_OK;
    });
}

Status rmalock_window_shared_query(rmalock_window_t* window, int rank, size_t* size,
                                   ptrdiff_t* disp_unit, void** base) {
    return guarded([&] { return as_window(window).shared_query(rank, *size, *disp_unit, *base); });
}

Status rmalock_window_attach(rmalock_window_t* window, void* base, size_t size) {
    return guarded([&] { return as_window(window).attach(base, size); });
}

Status rmalock_window_detach(rmalock_window_t* window, const void* base) {
    return guarded([&] { return as_window(window).detach(base); });
}

Status rmalock_refuse(const rmalock_window_t* window, Status status, const char* call, int target,
                      const char* what) {
    return guarded([&] { return as_window(window).refuse(status, call, target, what); });
}

const char* rmalock_window_lock_name(const rmalock_window_t* window, const char** reason) {
    *reason = as_window(window).choice().reason;
    return as_window(window).choice().name;
}

bool rmalock_window_single_intrinsic(const rmalock_window_t* window) {
    return as_window(window).intrinsic().eight;
}

void rmalock_window_counters(const rmalock_window_t* window, rmalock_counters_t* counters) {
    *counters = as_window(window).counters();
}

Status rmalock_lock(rmalock_window_t* window, bool exclusive, int target, bool nocheck) {
    return guarded([&] { return as_window(window).lock(exclusive, target, nocheck); });
}

Status rmalock_unlock(rmalock_window_t* window, int target) {
    return guarded([&] { return as_window(window).unlock(target); });
}

Status rmalock_lock_all(rmalock_window_t* window, bool nocheck) {
    return guarded([&] { return as_window(window).lock_all(nocheck); });
}

Status rmalock_unlock_all(rmalock_window_t* window) {
    return guarded([&] { return as_window(window).unlock_all(); });
}

Status rmalock_flush(rmalock_window_t* window, int target) {
    return guarded([&] { return as_window(window).flush(Flush::target, target); });
}

Status rmalock_flush_local(rmalock_window_t* window, int target) {
    return guarded([&] { return as_window(window).flush(Flush::local, target); });
}

Status rmalock_flush_all(rmalock_window_t* window) {
    return guarded([&] { return as_window(window).flush(Flush::all, -1); });
}

Status rmalock_flush_local_all(rmalock_window_t* window) {
    return guarded([&] { return as_window(window).flush(Flush::local_all, -1); });
}

Status rmalock_sync(rmalock_window_t* window) {
    return guarded([&] { return as_window(window).sync(); });
}

Status rmalock_fence(rmalock_window_t* window, bool nosucceed) {
    return guarded([&] { return as_window(window).fence(nosucceed); });
}

Status rmalock_start(rmalock_window_t* window, const int* group, int count, bool nocheck) {
    return guarded([&] { return as_window(window).start(group, count, nocheck); });
}

Status rmalock_complete(rmalock_window_t* window) {
    return guarded([&] { return as_window(window).complete(); });
}

Status rmalock_post(rmalock_window_t* window, const int* group, int count, bool nocheck) {
    return guarded([&] { return as_window(window).post(group, count, nocheck); });
}

Status rmalock_wait(rmalock_window_t* window) {
    return guarded([&] { return as_window(window).wait(); });
}

Status rmalock_test(rmalock_window_t* window, bool* done) {
    return guarded([&] { return as_window(window).test(*done); });
}

bool rmalock_completion_done(const rmalock_completion_t* completion) {
    return as_completion(const_cast<rmalock_completion_t*>(completion))->done();
}

bool rmalock_completion_lost(const rmalock_completion_t* completion) {
    return as_completion(const_cast<rmalock_completion_t*>(completion))->lost();
}

Status rmalock_completion_wait(rmalock_window_t* window, const rmalock_completion_t* completion) {
    return guarded([&] {
        as_window(window).wait_for(*as_completion(const_cast<rmalock_completion_t*>(completion)));
        return RMALOCK_OK;
    });
}

bool rmalock_target_is_far(const rmalock_window_t* window, int target) {
    return as_window(window).is_far(target);
}

void* rmalock_direct_address(rmalock_window_t* window, bool is_put, int target,
                             ptrdiff_t displacement, ptrdiff_t offset, size_t bytes) {
    return as_window(window).direct_address(is_put ? Direction::put : Direction::get, target,
                                            displacement, offset, bytes);
}

Status rmalock_put_contiguous(rmalock_window_t* window, const char* call, int target,
                              ptrdiff_t displacement, ptrdiff_t offset, const void* origin,
                              size_t bytes, rmalock_completion_t* completion) {
    return guarded([&] {
        return as_window(window).transfer_contiguous(Direction::put, call, target, displacement,
                                                     offset, const_cast<void*>(origin), bytes,
                                                     as_completion(completion));
    });
}

Status rmalock_get_contiguous(rmalock_window_t* window, const char* call, int target,
                              ptrdiff_t displacement, ptrdiff_t offset, void* origin, size_t bytes,
                              rmalock_completion_t* completion) {
    return guarded([&] {
        return as_window(window).transfer_contiguous(Direction::get, call, target, displacement,
                                                     offset, origin, bytes,
                                                     as_completion(completion));
    });
}

Status rmalock_find_memory(rmalock_window_t* window, const char* call, int target,
                           ptrdiff_t displacement, ptrdiff_t low, ptrdiff_t high, bool is_put,
                           void** memory) {
    return guarded([&] {
        return as_window(window).find_memory(is_put ? Direction::put : Direction::get, call, target,
                                             displacement, low, high, *memory);
    });
}

Status rmalock_put(rmalock_window_t* window, const char* call, int target, ptrdiff_t displacement,
                   const rmalock_layout_t* origin_side, const rmalock_layout_t* target_side,
                   rmalock_completion_t* completion) {
    return guarded([&] {
        return as_window(window).transfer(Direction::put, call, target, displacement, *origin_side,
                                          *target_side, as_completion(completion));
    });
}

Status rmalock_get(rmalock_window_t* window, const char* call, int target, ptrdiff_t displacement,
                   const rmalock_layout_t* origin_side, const rmalock_layout_t* target_side,
                   rmalock_completion_t* completion) {
    return guarded([&] {
        return as_window(window).transfer(Direction::get, call, target, displacement, *origin_side,
                                          *target_side, as_completion(completion));
    });
}

Status rmalock_complete_held(rmalock_window_t* window, int target) {
    return guarded([&] { return as_window(window).complete_held(target); });
}

void rmalock_send_held(void) {
    rmalock::window::HeldBack::send_of_all_windows();
}

Status rmalock_accumulate(rmalock_window_t* window, const char* call, int target,
                          ptrdiff_t displacement, const rmalock_combination_t* what) {
    return guarded([&] { return as_window(window).accumulate(call, target, displacement, *what); });
}

bool rmalock_combine_element(rmalock_window_t* window, int target, ptrdiff_t displacement,
                             size_t size, rmalock_kernel_t kernel, const void* operand,
                             void* result) {
    return short_way([&] {
        return as_window(window).combine_element(
            target, displacement, size,
            [&](std::byte* element) { kernel(element, operand, result, 1); });
    });
}

bool rmalock_combine_array(rmalock_window_t* window, int target, ptrdiff_t displacement,
                           const rmalock_array_t* array) {
    return short_way([&] { return as_window(window).combine_array(target, displacement, *array); });
}

const rmalock_kernels_t* rmalock_kernels_of(rmalock_element_t element, rmalock_op_t op) {
    return rmalock::window::kernels_for(element, op);
}

Status rmalock_compare_and_swap(rmalock_window_t* window, int target, ptrdiff_t displacement,
                                size_t size, const void* compare, const void* desired,
                                void* result) {
    return guarded([&] {
        return as_window(window).compare_and_swap(target, displacement, size, compare, desired,
                                                  result);
    });
}

} // extern "C"
