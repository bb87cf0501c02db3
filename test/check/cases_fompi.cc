// foMPI-Spin and foMPI-RW, the papers' baselines.
#include "cases.hh"
#include "locks/algorithms/fompi_rw.hh"
#include "locks/algorithms/fompi_spin.hh"
#include "lock_setup.hh"

namespace rmalock::check {

namespace {

Case of(const char* lock, const char* configuration, Program program) {
    Case c;
    c.lock = lock;
    c.configuration = configuration;
    c.program = std::move(program);
    return c;
}

} // namespace

void add_fompi_spin(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(
            of("fompi_spin", configuration, program_of<locks::FompiSpin>(std::move(scripts))));
    };
    const auto w = writer(2), r = reader(2);
    add("3W", {w, w, w});
    add("2W+1R", {w, w, r});
    add("4W", {w, w, w, w});
}

void add_fompi_rw(std::vector<Case>& cases) {
    const auto add = [&](const char* configuration, std::vector<Script> scripts) {
        cases.push_back(
            of("fompi_rw", configuration, program_of<locks::FompiRw>(std::move(scripts))));
    };
    const auto w = writer(2), r = reader(2), a = all_locker(2);
    add("2W+1R", {w, w, r});
    add("1W+2R", {w, r, r});
    add("2W+1A once", {writer(1), writer(1), all_locker(1)});
    add("1W+1R+1A", {w, r, a});
    add("2W 2 targets+1A", {w, writer(2, 1), a});
}

} // namespace rmalock::check
