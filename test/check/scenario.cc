// Scenarios; see scenario.hh.
#include "scenario.hh"

namespace rmalock::check {

Script repeat(Mode mode, unsigned times, Rank target) {
    Script script;
    for (unsigned i = 0; i < times; ++i) {
        script.push_back({Operation::acquire, mode, target});
        script.push_back({Operation::release, mode, target});
    }
    return script;
}

Script both(Mode mode) {
    return {{Operation::acquire, mode, 0}, {Operation::acquire, mode, 1}, done(0), done(1)};
}

Script nested(const Script& acquires) {
    Script script = acquires;
    for (auto op = acquires.rbegin(); op != acquires.rend(); ++op)
        script.push_back(done(op->target));
    return script;
}

std::vector<Script> hold_and_wait() {
    return {nested({shared(0), exclusive(1)}), nested({shared(1), shared(0)}), writer(1)};
}

Script joiner(unsigned times) {
    Script script = reader(times);
    for (Operation& op : script)
        op.joins = true;
    return script;
}

} // namespace rmalock::check
