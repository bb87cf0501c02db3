// Basic types and the operations of accumulates: names, random values, and what an operation does.
#pragma once

#define OMPI_SKIP_MPICXX 1 // the C interface is all we want
#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "random.hh"

namespace oracle {

using Offset = std::ptrdiff_t;

// clang-format off
enum class Op { sum,  prod, max,  min,    land,   lor,     lxor,
                band, bor,  bxor, minloc, maxloc, replace, no_op };
// clang-format on
constexpr const char* kOpNames[] = {"SUM",  "PROD", "MAX",  "MIN",    "LAND",   "LOR",     "LXOR",
                                    "BAND", "BOR",  "BXOR", "MINLOC", "MAXLOC", "REPLACE", "NO_OP"};

MPI_Op mpi_op(Op op);

/// Each zone of a window holds values of one kind, so that sums of floating-point numbers stay
/// exact and independent of their order: they are small whole numbers.
enum class Zone { raw, f32, f64 };

struct Basic {
    const char* name;
    MPI_Datatype type;
    Offset bytes;
    Zone zone;
    bool integer;                                      // compare_and_swap takes it
    std::vector<Op> ops;                               // what accumulates may do
    std::function<void(Op, const char*, char*)> apply; // inout = inout op in
};

std::vector<Basic> make_basics();

/// A random value that belongs in the zone; `positive` keeps products from growing and from -0.
void random_value(Random& r, const Basic& b, bool positive, char* to);

} // namespace oracle
