// Names that locks had before 0.2.0. The parameter `lock` takes them for one release more.
#pragma once

#include <string_view>

namespace rmalock::locks {

struct FormerName {
    std::string_view former, present;
};
inline constexpr FormerName kFormerNames[] = {{"pfx", "pf_mcs"}, {"pfl", "pf_cohort"}};

/// What a lock is called now; a name that is no former one is returned as it is.
constexpr std::string_view present_name(std::string_view name) {
    for (const FormerName& row : kFormerNames)
        if (name == row.former)
            return row.present;
    return name;
}

} // namespace rmalock::locks
