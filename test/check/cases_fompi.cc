// foMPI-Spin and foMPI-RW, the papers' baselines.
#include "cases.hh"
#include "locks/algorithms/fompi_rw.hh"
#include "locks/algorithms/fompi_spin.hh"
#include "plain_setup.hh"

namespace rmalock::check {

void add_fompi(std::vector<Case>& cases) {
    const auto add = [&](const char* lock, const char* configuration, Program program) {
        Case c;
        c.lock = lock;
        c.configuration = configuration;
        c.program = std::move(program);
        cases.push_back(std::move(c));
    };
    const auto w = writer(2), r = reader(2), a = all_locker(2);
    using Spin = locks::FompiSpin<CheckerFabric>;
    add(Spin::kName, "3W", plain<Spin>({w, w, w}));
    add(Spin::kName, "2W+1R", plain<Spin>({w, w, r}));
    add(Spin::kName, "4W", plain<Spin>({w, w, w, w}));
    using Rw = locks::FompiRw<CheckerFabric>;
    add(Rw::kName, "2W+1R", plain<Rw>({w, w, r}));
    add(Rw::kName, "1W+2R", plain<Rw>({w, r, r}));
    add(Rw::kName, "2W+1A once", plain<Rw>({writer(1), writer(1), all_locker(1)}));
    add(Rw::kName, "1W+1R+1A", plain<Rw>({w, r, a}));
    add(Rw::kName, "2W 2 targets+1A", plain<Rw>({w, writer(2, 1), a}));
}

} // namespace rmalock::check
