// Scenarios; see scenario.hh.
#include "scenario.hh"

namespace rmalock::check {

Script repeat(Mode mode, unsigned times, Rank target) {
    Script script;
    for (unsigned i = 0; i < times; ++i) {
        script.push_back({ScriptLine::acquire, mode, target});
        script.push_back({ScriptLine::release, mode, target});
    }
    return script;
}

Script first_then(Mode mode, Rank first, Rank second) {
    return {{ScriptLine::acquire, mode, first},
            {ScriptLine::release, mode, first},
            {ScriptLine::acquire, mode, second},
            {ScriptLine::release, mode, second}};
}

Script both(Mode mode) {
    return {{ScriptLine::acquire, mode, 0}, {ScriptLine::acquire, mode, 1}, done(0), done(1)};
}

Script nested(const Script& operations) {
    Script script = operations;
    for (auto op = operations.rbegin(); op != operations.rend(); ++op)
        if (op->kind == ScriptLine::acquire)
            script.push_back(in(op->window, done(op->target)));
    return script;
}

std::vector<Script> hold_and_wait() {
    return {nested({shared(0), exclusive(1)}), nested({shared(1), shared(0)}), writer(1)};
}

std::vector<Script> hold_and_receive() {
    return {nested({shared(0), receive(0)}), nested({shared(0), send(0)}), writer(1)};
}

std::vector<Script> meet_inside() {
    return {nested({shared(0), send(1), receive(0)}), nested({shared(0), send(0), receive(1)}),
            writer(1)};
}

} // namespace rmalock::check
