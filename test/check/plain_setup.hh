// What the cases of locks without queues have in common: a home record, and nothing else.
#pragma once

#include "mutants/broken_fabric.hh"
#include "scenario.hh"

namespace rmalock::check {

struct NoSetup {};

template <class Lock>
struct Plain {
    Lock lock;
    Plain(CheckerFabric& fabric, const NoSetup&) : lock(fabric, 0) {}
};

template <class Lock>
Program plain(std::vector<Script> scripts) {
    constexpr Slot kEnough = 2;
    return make_program<Plain<Lock>>(Cast{std::move(scripts), 1, kEnough}, NoSetup{});
}

} // namespace rmalock::check
