// What a random program consists of: operations, and the phases that synchronize them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layouts.hh"
#include "types.hh"
#include "windows.hh"

namespace oracle {

enum class Call { put, get, acc, gacc, fop, cas, rput, rget, racc, rgacc };
constexpr const char* kCallNames[] = {"put", "get",  "acc",  "gacc", "fop",
                                      "cas", "rput", "rget", "racc", "rgacc"};
enum class Flush { none, target, local, all, local_all };
constexpr const char* kFlushNames[] = {"", " flush", " flush_local", " flush_all",
                                       " flush_local_all"};

inline bool writes(Call c) {
    return c != Call::get && c != Call::rget;
}
inline bool plain_put(Call c) {
    return c == Call::put || c == Call::rput;
}
inline bool plain_get(Call c) {
    return c == Call::get || c == Call::rget;
}
inline bool fetches(Call c) {
    return plain_get(c) || c == Call::gacc || c == Call::fop || c == Call::cas || c == Call::rgacc;
}
inline bool by_request(Call c) {
    return c == Call::rput || c == Call::rget || c == Call::racc || c == Call::rgacc;
}

struct RmaCall {
    Call call = Call::put;
    Op op = Op::replace;
    const Basic* basic = nullptr;
    size_t window = 0; // index among the phase's windows
    int origin = 0, target = 0;
    Offset place = 0; // byte the target's layout is relative to
    Layout from, to, into;
    bool absolute = false; // the origin's addresses are in the type
    bool checked = true;   // the fetched result is determined
    bool guarded = false;  // get, add, put back; under an exclusive lock
    bool match = false;    // compare_and_swap: what it compares with is there
    Flush flush = Flush::none;
    std::vector<char> values, compare, expected; // packed, in the order of the signature
    // Of the origin alone, while the operation is under way:
    std::vector<char> source, result;
    MPI_Request request = MPI_REQUEST_NULL;

    int elements() const { return static_cast<int>(to.offset.size()); }
    bool touches(Offset byte) const {
        return std::any_of(to.offset.begin(), to.offset.end(), [&](Offset o) {
            return byte >= place + o && byte < place + o + basic->bytes;
        });
    }
    std::string text() const;
};

/// Applies the operation to the model, and keeps what it must fetch. Only here is it known what a
/// swap compares with.
void apply_to_model(RmaCall& o, std::vector<char>& memory);

enum class Sync { passive, fence, pscw };
constexpr const char* kSyncNames[] = {"passive", "fence", "pscw"};

/// How one origin holds one window in a passive phase.
struct Hold {
    bool lock_all = false;
    bool at_once = false; // all its locks together, in the order of the targets; else one by one
    int assertion = 0;
    std::vector<int> kind; // per target: MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED
};

struct Phase {
    Sync sync = Sync::passive;
    std::vector<Window*> windows;
    std::vector<std::vector<Hold>> holds;               // [window][rank]
    std::vector<std::vector<std::vector<char>>> access; // PSCW: [window][origin][target]
    std::vector<bool> exclusive_only;                   // [window]: guarded places are allowed
    std::vector<std::unique_ptr<RmaCall>> operations;
};

struct Options {
    uint64_t seed = 0;
    long ops = 20000;
    bool replay = false;
    unsigned timeout = 300;
    std::vector<int> flavors = {0, 1, 2, 3};
    std::vector<Call> calls;
};

} // namespace oracle
