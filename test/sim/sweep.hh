// A sweep: cells of parameters, a line of CSV for each, and those that the file has are not run
// again.
#pragma once

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "sim/benchmark.hh"

namespace rmalock::sim {

/// One cell, as its parameters say.
struct Cell {
    std::string lock, benchmark, model = "cray", domain = "model", topology = "auto", t_l = "auto",
                                 passes = "auto";
    Rank ranks = 16, ranks_per_node = 16, nodes_per_rack = 0;
    unsigned locks = 0;
    double local = 0.9, writers = 0.002;
    std::int64_t t_dc = 0, t_r = 0, reader_batch = 0, t_w = 0, patience = 1000, budget_remote = 20,
                 budget_local = 5;
    std::uint64_t seed = 1, budget = 1'000'000;
    unsigned operations = 0;
};

/// What the cell stands for. Throws Refused, or what read_costs throws.
Run run_of(const Cell& cell, const std::filesystem::path& models);

/// The columns that say which cell it is, as a line of CSV.
std::string key_of(const Cell& cell);

enum class Outcome { ok, refused, failed };

/// A CSV file of results.
class Results {
  public:
    static const std::string& header();

    /// Throws std::runtime_error if there is a file and it is of another kind.
    explicit Results(const std::filesystem::path& file);

    bool has(const Cell& cell) const { return keys_.contains(key_of(cell)); }
    /// Runs the cell and appends its line. `said` is for people.
    Outcome add(const Cell& cell, const std::filesystem::path& models, std::string& said);

  private:
    void read(const std::filesystem::path& file);

    std::set<std::string> keys_;
    std::ofstream out_;
};

} // namespace rmalock::sim
