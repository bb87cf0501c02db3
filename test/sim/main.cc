// rmalock_sim: runs the shipped locks at scale, on a simulated machine.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "sim/sweep.hh"

namespace rmalock::sim {
namespace {

/// Values to sweep over; a cell is one of each.
struct Options {
    std::vector<std::string> lock = lock_names(), benchmark = {"ECSB"}, t_l = {"auto"},
                             passes = {"auto"};
    std::vector<Rank> ranks = {16}, ranks_per_node = {16}, nodes_per_rack = {0};
    std::vector<unsigned> locks = {0};
    std::vector<double> local = {90}, writers = {0.2};
    std::vector<std::int64_t> t_dc = {0}, t_r = {0}, reader_batch = {0}, t_w = {0},
                              budget_remote = {20};
    std::vector<std::uint64_t> seed = {1, 2, 3};
    Cell common;
    std::string models = RMALOCK_SIM_MODELS;
    std::string output = "sim.csv";
};

template <class T>
void vary(std::vector<Cell>& cells, T Cell::*member, const std::vector<T>& values) {
    std::vector<Cell> varied;
    for (const Cell& cell : cells)
        for (const T& value : values) {
            varied.push_back(cell);
            varied.back().*member = value;
        }
    cells = std::move(varied);
}

std::vector<Cell> cells_of(const Options& options) {
    std::vector<Cell> cells{options.common};
    vary(cells, &Cell::benchmark, options.benchmark);
    vary(cells, &Cell::ranks_per_node, options.ranks_per_node);
    vary(cells, &Cell::nodes_per_rack, options.nodes_per_rack);
    vary(cells, &Cell::locks, options.locks);
    vary(cells, &Cell::local, options.local);
    vary(cells, &Cell::budget_remote, options.budget_remote);
    vary(cells, &Cell::writers, options.writers);
    vary(cells, &Cell::t_dc, options.t_dc);
    vary(cells, &Cell::t_l, options.t_l);
    vary(cells, &Cell::passes, options.passes);
    vary(cells, &Cell::t_r, options.t_r);
    vary(cells, &Cell::reader_batch, options.reader_batch);
    vary(cells, &Cell::t_w, options.t_w);
    vary(cells, &Cell::ranks, options.ranks);
    vary(cells, &Cell::lock, options.lock);
    vary(cells, &Cell::seed, options.seed);
    for (Cell& cell : cells)
        cell.writers /= 100, cell.local /= 100;
    return cells;
}

/// A line that overwrites itself on a terminal; elsewhere one line for each cell.
void progress(std::size_t done, std::size_t all, const Cell& cell, const std::string& said) {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    fmt::print(stderr, "{}[{}/{}] {} {} P={} F_W={} % seed {}: {}{}", terminal ? "\r\033[K" : "",
               done, all, cell.benchmark, cell.lock, cell.ranks, cell.writers * 100, cell.seed,
               said, terminal ? "" : "\n");
    std::fflush(stderr);
}

int sweep(const Options& options) {
    const std::vector<Cell> cells = cells_of(options);
    Results results(options.output);
    std::size_t done = 0, ran = 0, refused = 0, failed = 0;
    for (const Cell& cell : cells) {
        ++done;
        if (results.has(cell))
            continue;
        progress(done, cells.size(), cell, "…");
        std::string said;
        const Outcome outcome = results.add(cell, options.models, said);
        ++ran, refused += outcome == Outcome::refused, failed += outcome == Outcome::failed;
        progress(done, cells.size(), cell, said);
    }
    fmt::print(stderr, "{}{} cells run, {} of them refused, {} failed; {} were in {} before\n",
               isatty(STDERR_FILENO) != 0 ? "\n" : "", ran, refused, failed, cells.size() - ran,
               options.output);
    return failed == 0 ? 0 : 1;
}

void add_options(CLI::App& app, Options& options) {
    std::string benchmarks;
    for (const Benchmark& each : kBenchmarks)
        benchmarks += fmt::format("\n{:>6}: {}", each.name, each.meaning);
    const std::string group = "Swept over (several values each)";
    const auto swept = [&](const char* name, auto& values, const std::string& help) {
        return app.add_option(name, values, help)->group(group)->capture_default_str();
    };
    std::vector<std::string> names = lock_names();
    names.emplace_back("auto");
    for (const std::string& name : lock_names())
        names.push_back(name + std::string(kUngated));
    swept("-l,--lock", options.lock,
          "Locks of all.def, or auto; with /ungated: without lock_all's gate")
        ->check(CLI::IsMember(names));
    swept("-p,--ranks", options.ranks, "P: processes, 1 to 65536");
    swept("-n,--ranks-per-node", options.ranks_per_node, "Processes of a node; a divisor of P");
    swept("--nodes-per-rack", options.nodes_per_rack,
          "Nodes of a rack, a divisor of all; 0: one rack");
    swept("-b,--benchmark", options.benchmark, "What the processes do:" + benchmarks);
    swept("-w,--writers", options.writers, "F_W: exclusive acquires, in %");
    swept("--locks", options.locks,
          "LOCKS: locks of the table, a multiple of the nodes; 0: one at each process");
    swept("--local", options.local, "LOCKS: operations that take locks of the own node, in %");
    swept("--budget-remote", options.budget_remote, "alock, pf_alock: as the parameter");
    swept("--t-dc", options.t_dc, "T_DC: processes that share a counter; 0: those of a node");
    swept("--t-l", options.t_l, "T_L: auto, or numbers of levels 2, 3, … with commas between");
    swept("--passes", options.passes, "pf_mcs, pf_cohort: as the parameter");
    swept("--t-r", options.t_r, "rma_rw: T_R, as the parameter; 0: no cap");
    swept("--reader-batch", options.reader_batch, "rma_rw, pf_cohort: as the parameter; 0: off");
    swept("--t-w", options.t_w, "T_W; 0: P");
    swept("--seed", options.seed, "Seeds; each makes a cell of its own");
    app.add_option("-m,--model", options.common.model, "Cost model, of the file of models")
        ->capture_default_str();
    app.add_option("--domain", options.common.domain,
                   "What does atomics: cpu, nic, or model for what the cost model says")
        ->capture_default_str();
    app.add_option("--topology", options.common.topology, "The locks' tree, as the parameter")
        ->capture_default_str();
    app.add_option("--budget-local", options.common.budget_local,
                   "alock, pf_alock: as the parameter")
        ->capture_default_str();
    app.add_option("--patience", options.common.patience, "As the parameter, in us; 0: for ever")
        ->capture_default_str();
    app.add_option("--budget", options.common.budget,
                   "Verbs of a cell, of all processes, by which operations are scaled")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--operations", options.common.operations,
                   "Operations of each process instead; 0: by the budget")
        ->capture_default_str();
    app.add_option("--models", options.models, "File of cost models");
    app.add_option("-o,--output", options.output, "CSV; its cells are not run again")
        ->capture_default_str();
}

} // namespace
} // namespace rmalock::sim

int main(int argc, char** argv) {
    using namespace rmalock::sim;
    CLI::App app("Runs rmalock's shipped locks on a simulated machine. Example:\n"
                 "  rmalock_sim --lock rma_mcs d_mcs --ranks 64 256 1024 --benchmark LB -o lb.csv");
    Options options;
    add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    try {
        return sweep(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "rmalock_sim: {}\n", error.what());
        return 2;
    }
}
