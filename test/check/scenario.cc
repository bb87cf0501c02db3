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

Script joiner(unsigned times) {
    Script script = reader(times);
    for (Operation& op : script)
        op.joins = true;
    return script;
}

} // namespace rmalock::check
