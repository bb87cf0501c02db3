// Cells and their results; see sweep.hh.
#include "sim/sweep.hh"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "locks/window_lock/lock_config.hh"

namespace rmalock::sim {
namespace {

constexpr int kKeyColumns = 23;

std::optional<Value> passes(const Cell& cell) {
    std::string why;
    const std::optional<Value> read = locks::parse_passes(cell.passes, why);
    if (!why.empty())
        throw Refused(fmt::format("passes '{}': {}", cell.passes, why));
    return read;
}

locks::Thresholds thresholds(const Cell& cell) {
    std::string why;
    locks::Thresholds asked{
        .t_l = locks::parse_t_l(cell.t_l, why),
        .t_dc = static_cast<Value>(cell.t_dc),
        .t_r = static_cast<Value>(cell.t_r),
        .reader_batch = static_cast<Value>(cell.reader_batch),
        .t_w = static_cast<Value>(cell.t_w),
        .passes = passes(cell),
        .patience = Duration(cell.patience),
        .budgets = {static_cast<Value>(cell.budget_remote), static_cast<Value>(cell.budget_local)}};
    if (!why.empty())
        throw Refused(fmt::format("t_l '{}': {}", cell.t_l, why));
    return asked;
}

/// A field that may hold anything.
std::string quoted(const std::string& text) {
    std::string field = "\"";
    for (const char c : text)
        field += c == '"' ? "'" : c == '\n' ? ";" : std::string(1, c);
    return field + "\"";
}

std::string line_of(const Result& r) {
    return fmt::format("{},{:.1f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4g},{:.3f},{}"
                       ",{:.6f},{},{},{}",
                       r.operations, r.per_second, r.latency, r.acquire, r.reader_latency,
                       r.writer_latency, r.median, r.p90, r.p99, fmt::join(r.twentieths, "/"),
                       r.longest, r.fewest, r.seconds, r.counts.verbs, r.counts.messages,
                       r.counts.round_trips);
}

std::string without_result(const char* outcome, const std::string& text) {
    return fmt::format(",,,,,,,,,,,,,,,,{},{}", outcome, quoted(text));
}

} // namespace

Run run_of(const Cell& cell, const std::filesystem::path& models) {
    Run run{.window = {.lock = cell.lock,
                       .layout = {cell.ranks, cell.ranks_per_node, cell.nodes_per_rack},
                       .topology = cell.topology,
                       .thresholds = thresholds(cell)},
            .costs = read_costs(models, cell.model),
            .benchmark = benchmark(cell.benchmark),
            .locks = cell.locks,
            .local = cell.local,
            .writers = cell.writers,
            .seed = cell.seed,
            .budget = cell.budget,
            .operations = cell.operations};
    if (cell.domain != "model") {
        if (cell.domain != "cpu" && cell.domain != "nic")
            throw Refused(fmt::format("domain '{}'; it may be cpu, nic, or model for what the cost "
                                      "model says",
                                      cell.domain));
        run.costs.domain = cell.domain == "cpu" ? fabric::Domain::cpu : fabric::Domain::nic;
    }
    if (run.costs.domain == fabric::Domain::nic && run.costs.served_by == ServedBy::cpu)
        throw Refused(
            fmt::format("domain nic with the cost model {}, which has no adapters", cell.model));
    return run;
}

std::string key_of(const Cell& cell) {
    std::string t_l = cell.t_l, topology = cell.topology;
    std::ranges::replace(t_l, ',', '/');
    std::ranges::replace(topology, ',', '/');
    return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                       cell.lock, cell.model, cell.domain, cell.benchmark, cell.ranks,
                       cell.ranks_per_node, cell.nodes_per_rack, topology, cell.locks, cell.local,
                       cell.writers, cell.t_dc, t_l, cell.passes, cell.t_r, cell.reader_batch,
                       cell.t_w, cell.budget_remote, cell.budget_local, cell.patience, cell.seed,
                       cell.budget, cell.operations);
}

const std::string& Results::header() {
    static const std::string text =
        "lock,model,domain,benchmark,ranks,ranks_per_node,nodes_per_rack,topology,locks,local,f_w,"
        "t_dc,t_l,"
        "passes,t_r,reader_batch,t_w,budget_remote,budget_local,patience,seed,budget,asked_"
        "operations,"
        "operations,per_second,latency_us,acquire_us,reader_us,writer_us,median_us,p90_us,p99_us,"
        "twentieths_us,longest_us,"
        "fewest,seconds,verbs,"
        "messages,round_trips,outcome,text";
    return text;
}

Results::Results(const std::filesystem::path& file) {
    const bool there = std::filesystem::exists(file) && std::filesystem::file_size(file) != 0;
    if (there)
        read(file);
    out_.open(file, std::ios::app);
    if (!out_)
        throw std::runtime_error(fmt::format("cannot write '{}'", file.string()));
    if (!there)
        out_ << header() << std::endl;
}

void Results::read(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    if (!std::getline(in, line) || line != header())
        throw std::runtime_error(fmt::format(
            "'{}' is no result of this program: its first line has other columns", file.string()));
    while (std::getline(in, line)) {
        std::size_t end = 0;
        for (int column = 0; column < kKeyColumns && end != std::string::npos; ++column)
            end = line.find(',', end + (column != 0));
        if (end == std::string::npos || line.back() != '"')
            throw std::runtime_error(
                fmt::format("'{}' has a line that is cut off; remove it and run again: {}",
                            file.string(), line));
        keys_.insert(line.substr(0, end));
    }
}

Outcome Results::add(const Cell& cell, const std::filesystem::path& models, std::string& said) {
    Outcome outcome = Outcome::ok;
    std::string line;
    try {
        const auto begin = std::chrono::steady_clock::now();
        const Result result = run(run_of(cell, models));
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        line = line_of(result) + ",ok,\"\"";
        said = fmt::format("{:.4g} operations/s, {:.4g} us; simulated {:.2g} million verbs/s",
                           result.per_second, result.latency,
                           static_cast<double>(result.counts.verbs) / took.count() / 1e6);
    } catch (const Refused& refused) {
        outcome = Outcome::refused;
        line = without_result("refused", said = refused.what());
    } catch (const Failure& failure) {
        constexpr const char* kNames[] = {"mutual exclusion", "deadlock", "endless", "wild word"};
        outcome = Outcome::failed;
        line = without_result(kNames[failure.kind], said = failure.what());
    }
    keys_.insert(key_of(cell));
    out_ << key_of(cell) << ',' << line << std::endl;
    return outcome;
}

} // namespace rmalock::sim
