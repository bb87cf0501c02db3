#include "windows.hh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace oracle {

void must(int code, const char* what) {
    if (code == MPI_SUCCESS)
        return;
    std::fprintf(stderr, "oracle: %s failed\n", what);
    std::fflush(nullptr);
    _exit(3);
}

namespace {

void make_memory(Window& w, MPI_Aint bytes, int unit) {
    if (w.flavor == 0 || w.flavor == 3)
        w.base = static_cast<char*>(
            std::aligned_alloc(64, static_cast<size_t>(bytes + 63) / 64 * 64 + 64));
    if (w.flavor == 0)
        MUST(MPI_Win_create(w.base, bytes, unit, MPI_INFO_NULL, w.comm, &w.win));
    else if (w.flavor == 1)
        MUST(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win));
    else if (w.flavor == 2)
        MUST(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win));
    else {
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, w.comm, &w.win));
        if (bytes > 0)
            MUST(MPI_Win_attach(w.win, w.base, bytes));
    }
}

} // namespace

Window open_window(Random& r, int flavor, int number) {
    Window w;
    w.flavor = flavor;
    w.number = number;
    const bool backwards = r.one_in(3);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, backwards ? -w.rank : w.rank, &w.comm);
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.ranks);
    for (int t = 0; t < w.ranks; ++t) {
        w.zone_bytes.push_back(r.one_in(8) ? 0 : kZoneBytes >> r.below(3));
        w.unit.push_back(flavor == 3 ? 1 : 1 << r.below(4));
        w.model.emplace_back(static_cast<size_t>(w.bytes(t)));
    }
    make_memory(w, w.bytes(w.rank), w.unit[static_cast<size_t>(w.rank)]);
    MPI_Aint mine = 0;
    if (w.bytes(w.rank) > 0)
        MPI_Get_address(w.base, &mine);
    w.address.resize(static_cast<size_t>(w.ranks));
    MPI_Allgather(&mine, 1, MPI_AINT, w.address.data(), 1, MPI_AINT, w.comm);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win));
    if (w.bytes(w.rank) > 0)
        std::memset(w.base, 0, static_cast<size_t>(w.bytes(w.rank)));
    MUST(MPI_Win_unlock(w.rank, w.win));
    MPI_Barrier(w.comm);
    return w;
}

void close_window(Window& w) {
    if (w.flavor == 3 && w.bytes(w.rank) > 0)
        MUST(MPI_Win_detach(w.win, w.base));
    MUST(MPI_Win_free(&w.win));
    if (w.flavor == 0 || w.flavor == 3)
        std::free(w.base);
    MPI_Comm_free(&w.comm);
}

} // namespace oracle
