// Layouts: derived types, and where their elements lie by our own account.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "types.hh"

namespace oracle {

/// `count` items of `type`: where each element of the signature lies, in order. The type exists
/// only where it is used (`build`); the offsets are known to all.
struct Layout {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int count = 1;
    bool own = false; // to be freed
    std::string name;
    std::vector<Offset> offset;

    Offset low() const {
        return offset.empty() ? 0 : *std::min_element(offset.begin(), offset.end());
    }
    Offset high(Offset width) const {
        return offset.empty() ? 0 : *std::max_element(offset.begin(), offset.end()) + width;
    }
};

/// n elements in a random arrangement, the same whether `build` makes the MPI type or not.
Layout any_layout(Random& r, const Basic& b, bool build, int n);

/// n elements in a row.
Layout contiguous_layout(const Basic& b, int n);

} // namespace oracle
