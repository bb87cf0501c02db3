// The windows that the programs work on, each with the model of everybody's memory.
#pragma once

#include <cstddef>
#include <vector>

#include "random.hh"
#include "types.hh"

namespace oracle {

constexpr Offset kZoneBytes = 4096; // of each of the three zones, at most
constexpr int kZones = 3;
constexpr const char* kFlavorNames[] = {"create", "allocate", "shared", "dynamic"};

struct Window {
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int flavor = 0, number = 0, rank = 0, ranks = 0;
    char* base = nullptr;
    std::vector<Offset> zone_bytes; // per rank: each zone's size
    std::vector<int> unit;
    std::vector<MPI_Aint> address; // DYNAMIC
    std::vector<std::vector<char>> model;

    Offset bytes(int target) const { return kZones * zone_bytes[static_cast<size_t>(target)]; }

    MPI_Aint displacement(int target, Offset byte) const {
        const size_t t = static_cast<size_t>(target);
        return flavor == 3 ? MPI_Aint_add(address[t], byte) : byte / unit[t];
    }
};

/// Ends the program unless the call succeeded.
void must(int code, const char* what);
#define MUST(call) ::oracle::must((call), #call)

/// Drawn alike by all ranks: sizes and units differ from rank to rank, some have no memory at all,
/// and some windows number the ranks backwards.
Window open_window(Random& r, int flavor, int number);

void close_window(Window& w);

} // namespace oracle
