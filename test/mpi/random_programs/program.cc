#include "program.hh"

#include <cstdio>
#include <cstring>

namespace oracle {

std::string RmaCall::text() const {
    char line[400];
    std::snprintf(line, sizeof line,
                  "%s%s %s %s n=%d origin=%d target=%d bytes [%td,%td) %s -> %s%s%s%s",
                  kCallNames[static_cast<int>(call)], guarded ? " (guarded)" : "",
                  kOpNames[static_cast<int>(op)], basic->name, elements(), origin, target,
                  place + to.low(), place + to.high(basic->bytes), from.name.c_str(),
                  to.name.c_str(), absolute ? " absolute" : "", checked ? "" : " unchecked",
                  kFlushNames[static_cast<int>(flush)]);
    return line;
}

void apply_to_model(RmaCall& o, std::vector<char>& memory) {
    const Offset width = o.basic->bytes;
    const size_t n = static_cast<size_t>(width);
    for (int k = 0; k < o.elements(); ++k) {
        char* element = memory.data() + o.place + o.to.offset[static_cast<size_t>(k)];
        o.expected.insert(o.expected.end(), element, element + width);
        if (!writes(o.call))
            continue;
        const char* value = o.values.data() + k * width;
        if (o.call == Call::cas) {
            o.compare.assign(value, value + width);
            if (o.match)
                o.compare.assign(element, element + width);
            if (std::memcmp(element, o.compare.data(), n) == 0)
                std::memcpy(element, value, n);
        } else {
            o.basic->apply(plain_put(o.call) ? Op::replace : o.op, value, element);
        }
    }
}

} // namespace oracle
