// The benchmarks of the RMA-RW paper: every process takes and gives the lock of rank 0, again and
// again. LOCKS is the ALock paper's (SPAA 2024, section 6). Of our own: MANY, in which nearly no
// lock is contended. CASCADE is the N-CoSED paper's (cascade.hh).
//
// P. Schmid, M. Besta, T. Hoefler: "High-Performance Distributed RMA Locks", HPDC 2016, section 5.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/window.hh"

namespace rmalock::sim {

struct Benchmark {
    const char* name;
    bool access = false;  ///< 8 bytes of rank 0 inside
    bool work = false;    ///< adds to a counter of rank 0 inside, and computes for 1 to 4 us
    bool outside = false; ///< computes for 1 to 4 us after the release
    bool many = false;    ///< locks of random ranks; else rank 0's
    bool spread = false;  ///< locks of a table; else rank 0's
    bool table = false;   ///< inserts into and looks up in a volume of rank 0
    bool cascade = false; ///< all wait for one holder (cascade.hh); else each comes when it likes
    bool locked = true;   ///< whether locks keep the processes apart
    const char* meaning;
};

inline constexpr Benchmark kBenchmarks[] = {
    {.name = "LB", .meaning = "latency of acquire and release, nothing inside"},
    {.name = "ECSB", .meaning = "throughput, nothing inside"},
    {.name = "SOB", .access = true, .meaning = "a remote access inside"},
    {.name = "WCSB", .work = true, .meaning = "a shared counter and 1 to 4 us of computing inside"},
    {.name = "WARB",
     .outside = true,
     .meaning = "1 to 4 us of computing between release and acquire"},
    {.name = "MANY", .many = true, .meaning = "as ECSB, but the lock of a random rank each time"},
    {.name = "LOCKS",
     .spread = true,
     .meaning = "a table of locks on all nodes: ALock's benchmark (section 6)"},
    {.name = "DHT",
     .table = true,
     .meaning = "hashtable of rank 0: F_W inserts, the others look up"},
    {.name = "DHTA",
     .table = true,
     .locked = false,
     .meaning = "the same by atomics only, without the lock"},
    {.name = "CASCADE",
     .cascade = true,
     .meaning =
         "from a holder's release until all of P - 2 waiters are in; F_W of these exclusive"},
};

/// Throws Refused.
const Benchmark& benchmark(const std::string& name);

struct Run {
    WindowRequest window;
    Costs costs;
    Benchmark benchmark = kBenchmarks[0];
    unsigned locks = 0;     ///< of the table, as many on each node; 0: one for each process
    double local = 0.9;     ///< the part of a process's operations that take locks of its own node
    double writers = 0.002; ///< F_W: the part of acquires that is exclusive
    std::uint64_t seed = 1;
    std::uint64_t budget = 1'000'000; ///< verbs of all processes
    unsigned operations = 0;          ///< of each process; 0: as many as the budget permits
};

/// Of the operations after each process's first tenth, but for `verbs` and `fewest`.
struct Result {
    unsigned operations = 0; ///< of each process
    double per_second = 0;   ///< all processes, from the first tenth to the last release
    double latency = 0;      ///< us to acquire and release, mean
    double acquire = 0;      ///< of it, us until the lock is acquired
    double reader_latency = 0, writer_latency = 0; ///< 0: there were none
    double median = 0, p90 = 0, p99 = 0;           ///< us, of the latencies
    std::array<double, 19> twentieths{};           ///< the same: 5, 10, … 95 %
    double longest = 0;                            ///< us, one operation
    unsigned fewest = 0; ///< operations of the process that had the fewest, when the first
                         ///< one had all of its
    double seconds = 0;  ///< virtual time of the run
    Counts counts;
};

/// Runs it twice: a few operations first, where their number is to be found out. Throws Failure or
/// Refused.
Result run(const Run& run);

} // namespace rmalock::sim
