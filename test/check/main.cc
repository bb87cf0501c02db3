// rmalock_check: runs the shipped lock headers through every interleaving of their verbs.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "cases.hh"

namespace rmalock::check {

namespace {

struct Options {
    bool list = false;
    bool all_small = false;
    bool all_deep = false;
    bool markdown = false;
    bool adapters_linger = false;
    bool small_only = false;
    std::vector<std::string> run;
    std::string replay;
    int preemptions = -1;
    std::uint64_t seed = 0;
    std::uint64_t runs = 0;
    double at_most = 0; ///< seconds; 0: no limit
    double beyond = 0;  ///< the same
    std::string times;  ///< file
    unsigned part = 1, parts = 1;
};

/// How long cases have taken: lines "seconds lock:configuration".
std::map<std::string, double> recorded(const std::string& file) {
    std::ifstream in(file);
    if (!in)
        throw std::runtime_error("cannot read the recorded times '" + file + "'");
    std::map<std::string, double> seconds;
    double value = 0;
    for (std::string name; in >> value && std::getline(in >> std::ws, name);)
        seconds[name] = value;
    return seconds;
}

/// The cheapest of the small cases, as many as take so long together. A case without a recorded
/// time is new: it is among them.
std::set<std::string> cheapest(double seconds, const std::string& file) {
    const std::map<std::string, double> times = recorded(file);
    std::vector<std::pair<double, std::string>> by_time;
    for (const Case& c : all_cases()) {
        const auto found = times.find(c.name());
        if (c.size == Size::small)
            by_time.emplace_back(found != times.end() ? found->second : 0, c.name());
    }
    std::sort(by_time.begin(), by_time.end());
    std::set<std::string> chosen;
    for (const auto& [time, name] : by_time)
        if ((seconds -= time) >= 0)
            chosen.insert(name);
    return chosen;
}

Outcome look_at(const Case& c, const Program& program) {
    return c.search == Search::random ? run_randomly(program, c.limits)
                                      : explore(program, c.limits);
}

/// Both atomicity domains, if the case has not one of its own; one search says it all if the lock never asks which
/// one it is in.
Outcome check(const Case& c, std::string& domains) {
    Outcome outcome = look_at(c, c.program);
    const bool nic = c.program.domain == Domain::nic, one = nic || c.program.cpus_alone;
    const bool of_nic = c.program.adapters_linger || (nic && outcome.domain_matters);
    domains = c.program.cpus_alone ? "cpu" : of_nic ? "nic" : "both";
    if (one || !outcome.domain_matters || outcome.violation.failure != Failure::none)
        return outcome;
    domains = "cpu, nic";
    Program in_nic = c.program;
    in_nic.domain = Domain::nic;
    Outcome second = look_at(c, in_nic);
    second.states += outcome.states;
    second.seconds += outcome.seconds;
    return second;
}

std::string searched(const Case& c, const Outcome& outcome) {
    if (c.search == Search::random)
        return fmt::format("{} random runs, seed {}", outcome.states, c.limits.seed);
    std::string text = fmt::format("{} states", outcome.states);
    if (c.limits.preemptions >= 0)
        text += fmt::format(", <= {} preemptions", c.limits.preemptions);
    return text;
}

bool as_expected(const Case& c, const Outcome& outcome) {
    const bool finished = outcome.complete || c.search == Search::random;
    return outcome.violation.failure == c.expected && (c.expected != Failure::none || finished);
}

std::string verdict(const Case& c, const Outcome& outcome) {
    const Failure found = outcome.violation.failure;
    if (c.expected != Failure::none)
        return found == c.expected ? fmt::format("caught ({})", name_of(found))
                                   : fmt::format("NOT CAUGHT ({})", name_of(found));
    if (found != Failure::none)
        return fmt::format("FAILED: {}", name_of(found));
    return as_expected(c, outcome) ? "clean" : "UNFINISHED";
}

std::string overtaken(const Case& c, const Outcome& outcome) {
    if (!c.program.watch_overtaking || c.expected != Failure::none)
        return "-";
    return fmt::format("{}/{}", outcome.most_overtaken[0] + outcome.most_overtaken[2],
                       outcome.most_overtaken[1] + outcome.most_overtaken[3]);
}

/// `found` is what the search said; a replay sees no more than its own execution.
void print_story(const Case& c, const std::vector<Choice>& path, const Violation& found = {}) {
    Story story;
    const Outcome outcome = replay(c.program, path, story);
    constexpr std::size_t kLines = 300; // the end is what matters
    for (std::size_t i = story.size() - std::min(story.size(), kLines); i < story.size(); ++i)
        fmt::print("    {}\n", story[i]);
    const bool seen = outcome.violation.failure != Failure::none;
    const Violation& violation = seen ? outcome.violation : found;
    fmt::print("  {}: {}\n", name_of(violation.failure), violation.text);
}

bool run_case(const Case& c, const Options& options) {
    std::string domains;
    const Outcome outcome = check(c, domains);
    const char* row = options.markdown
                          ? "| {} | {} | {} | {} | {:.1f} | {} | {} |\n"
                          : "{:<34} | {:<16} | {:<8} | {:<34} | {:>7.1f} | {:<7} | {}\n";
    fmt::print(fmt::runtime(row), c.lock, c.configuration, domains, searched(c, outcome),
               outcome.seconds, overtaken(c, outcome), verdict(c, outcome));
    std::fflush(stdout);
    const bool good = as_expected(c, outcome);
    const bool explain = !good || (!options.run.empty() && c.expected != Failure::none);
    if (explain && outcome.violation.failure != Failure::none) {
        print_story(c, outcome.path, outcome.violation);
        fmt::print("  again: rmalock_check --run '{}' --replay {}\n", c.name(),
                   to_text(outcome.path));
    }
    return good;
}

/// The cases that --at-most and --beyond are about.
struct Cheapest {
    std::set<std::string> at_most, beyond;

    explicit Cheapest(const Options& options) {
        if (options.at_most != 0)
            at_most = cheapest(options.at_most, options.times);
        if (options.beyond != 0)
            beyond = cheapest(options.beyond, options.times);
    }
};

bool wanted(const Case& c, const Options& options, const Cheapest& limits) {
    // Of mutants it is said in which domain they are caught.
    if (options.adapters_linger && (c.mutant() || c.program.adapters_linger))
        return false;
    if (options.at_most != 0 || options.beyond != 0)
        return c.size == Size::small && !limits.beyond.contains(c.name()) &&
               (options.at_most == 0 || limits.at_most.contains(c.name()));
    if (options.small_only && c.size != Size::small)
        return false;
    for (const std::string& name : options.run)
        if (c.name() == name || c.lock == name || c.lock.starts_with(name + "/") || name == "all")
            return true;
    return (options.all_small && c.size == Size::small) || options.all_deep;
}

Case with(Case c, const Options& options) {
    if (options.adapters_linger) {
        c = with_late_adapters(c);
        c.program.bound = {}; // a process that is seen late waits longer
    }
    if (options.preemptions >= 0)
        c.limits.preemptions = options.preemptions;
    if (options.seed != 0)
        c.limits.seed = options.seed;
    if (options.runs != 0)
        c.limits.runs = options.runs;
    return c;
}

int run(const Options& options) {
    unsigned done = 0, bad = 0, number = 0;
    const Cheapest limits(options);
    const bool table = !options.list && options.replay.empty();
    if (table && options.markdown)
        fmt::print(
            "| lock | configuration | domain | searched | seconds | overtaken R/W | verdict |\n"
            "|---|---|---|---|---|---|---|\n");
    for (const Case& c : all_cases()) {
        if (options.list) {
            fmt::print("{}{}\n", c.name(), c.size == Size::deep ? "  (deep)" : "");
            continue;
        }
        if (!wanted(c, options, limits) || ++number % options.parts != options.part - 1)
            continue;
        ++done;
        if (table)
            bad += run_case(with(c, options), options) ? 0 : 1;
        else
            print_story(c, from_text(options.replay));
    }
    if (table && !options.markdown)
        fmt::print("{} cases, {} not as expected\n", done, bad);
    return bad == 0 && (done != 0 || options.list || options.parts > 1) ? 0 : 1;
}

} // namespace

} // namespace rmalock::check

int main(int argc, char** argv) {
    rmalock::check::Options options;
    CLI::App app{"Explores the interleavings of the shipped lock headers."};
    app.add_flag("--list", options.list, "Print the names of all cases.");
    app.add_flag("--all-small", options.all_small, "Run every small case.");
    app.add_flag("--all-deep", options.all_deep, "Run every case.");
    app.add_option("--at-most", options.at_most,
                   "Run the cheapest small cases, as many as took so many seconds together.")
        ->check(CLI::PositiveNumber);
    app.add_option("--beyond", options.beyond,
                   "Leave out those that --at-most so many seconds would run, and run the others.")
        ->check(CLI::PositiveNumber);
    app.add_option("--times", options.times,
                   "With --at-most and --beyond: the file of recorded times.");
    app.add_option("--parts", options.parts, "Run every n-th of the wanted cases ...")
        ->check(CLI::Range(1, 64));
    app.add_option("--part", options.part, "... of which this is the first.")
        ->check(CLI::Range(1, 64));
    app.add_option("--run", options.run,
                   "Run these: lock:configuration, lock with its mutants, or all.");
    app.add_option("--replay", options.replay, "With --run: tell the story of this choice string.");
    app.add_flag("--small", options.small_only, "Of what --run names, the small cases.");
    app.add_flag("--adapters-linger", options.adapters_linger,
                 "Of these, the sound locks, where CPUs see late what adapters write.");
    app.add_flag("--markdown", options.markdown, "Print the table in Markdown.");
    app.add_option("--preemptions", options.preemptions, "Bound the number of preemptions.");
    app.add_option("--seed", options.seed, "Random cases: first seed.");
    app.add_option("--runs", options.runs, "Random cases: number of executions.");
    CLI11_PARSE(app, argc, argv);
    try {
        return rmalock::check::run(options);
    } catch (const std::exception& e) {
        fmt::print(stderr, "rmalock_check: {}\n", e.what());
        return 2;
    }
}
