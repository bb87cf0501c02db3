// Random RMA programs against a sequential oracle.
//
//     oracle [--ops N] [--seed N] [--flavors F,F] [--calls C,C] [--replay] [--timeout S]
//
// All ranks generate the same program from one seed, phase by phase. A phase is one synchronization
// (passive epochs, fence, or PSCW) on one or two windows, with up to some dozens of operations per
// rank, ended by a barrier. Only programs with one possible outcome are generated; each location of
// a target is, within a phase, one of
//     private      used by one origin, one operation after another, with flushes where order needs
//     them;
//                  accumulates follow each other without (their order is guaranteed)
//     commutative  accumulated to by all, with one operation; nobody looks at what was fetched
//     guarded      read and written back (not atomically) by all, under exclusive locks
// So the sequential application of all operations, in any order that keeps each origin's, is what
// memory and every fetched result must show. Every rank knows the whole memory of everybody (the
// model) and compares its own part after each phase.
//
// At the first difference all ranks stop; the location is printed with the operations of the phase
// that touched it. The same command line (the seed is always printed) gives the same program again;
// --replay also prints every operation before it is executed.
#define OMPI_SKIP_MPICXX 1 // the C interface is all we want
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <complex>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using Offset = std::ptrdiff_t;

/// splitmix64; equal on all ranks as long as all draw the same numbers.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    int below(int n) { return static_cast<int>(next() % static_cast<uint64_t>(n)); }
    int between(int low, int high) { return low + below(high - low + 1); }
    bool one_in(int n) { return below(n) == 0; }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<size_t>(below(static_cast<int>(from.size())))];
    }
    template <class T>
    void shuffle(std::vector<T>& v) {
        for (size_t i = v.size(); i > 1; --i)
            std::swap(v[i - 1], v[next() % i]);
    }

  private:
    uint64_t state_;
};

// --- Types and operations
// -------------------------------------------------------------------------

enum class Op {
    sum,
    prod,
    max,
    min,
    land,
    lor,
    lxor,
    band,
    bor,
    bxor,
    minloc,
    maxloc,
    replace,
    no_op
};
constexpr const char* kOpNames[] = {"SUM",  "PROD", "MAX",  "MIN",    "LAND",   "LOR",     "LXOR",
                                    "BAND", "BOR",  "BXOR", "MINLOC", "MAXLOC", "REPLACE", "NO_OP"};

MPI_Op mpi_op(Op op) {
    switch (op) {
    case Op::sum:
        return MPI_SUM;
    case Op::prod:
        return MPI_PROD;
    case Op::max:
        return MPI_MAX;
    case Op::min:
        return MPI_MIN;
    case Op::land:
        return MPI_LAND;
    case Op::lor:
        return MPI_LOR;
    case Op::lxor:
        return MPI_LXOR;
    case Op::band:
        return MPI_BAND;
    case Op::bor:
        return MPI_BOR;
    case Op::bxor:
        return MPI_BXOR;
    case Op::minloc:
        return MPI_MINLOC;
    case Op::maxloc:
        return MPI_MAXLOC;
    case Op::replace:
        return MPI_REPLACE;
    case Op::no_op:
        break;
    }
    return MPI_NO_OP;
}

/// Each zone of a window holds values of one kind, so that sums of floating-point numbers stay
/// exact and independent of their order: they are small whole numbers.
enum class Zone { raw, f32, f64 };

struct Basic {
    const char* name;
    MPI_Datatype type;
    Offset bytes;
    Zone zone;
    bool integer;                                      // compare_and_swap takes it
    std::vector<Op> ops;                               // what accumulates may do
    std::function<void(Op, const char*, char*)> apply; // inout = inout op in
};

template <class T>
T load(const char* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class T>
void apply_integer(Op op, const char* in, char* inout) {
    using U = std::make_unsigned_t<T>;
    const T a = load<T>(inout), b = load<T>(in);
    const U ua = static_cast<U>(a), ub = static_cast<U>(b);
    T r = a;
    switch (op) {
    case Op::sum:
        r = static_cast<T>(static_cast<U>(ua + ub));
        break;
    case Op::prod:
        r = static_cast<T>(static_cast<U>(uint64_t{ua} * ub));
        break;
    case Op::max:
        r = std::max(a, b);
        break;
    case Op::min:
        r = std::min(a, b);
        break;
    case Op::land:
        r = a && b;
        break;
    case Op::lor:
        r = a || b;
        break;
    case Op::lxor:
        r = !a != !b;
        break;
    case Op::band:
        r = static_cast<T>(ua & ub);
        break;
    case Op::bor:
        r = static_cast<T>(ua | ub);
        break;
    case Op::bxor:
        r = static_cast<T>(ua ^ ub);
        break;
    case Op::replace:
        r = b;
        break;
    default:
        break;
    }
    std::memcpy(inout, &r, sizeof r);
}

template <class T>
void apply_real(Op op, const char* in, char* inout) {
    const T a = load<T>(inout), b = load<T>(in);
    T r = a;
    if (op == Op::sum)
        r = a + b;
    else if (op == Op::prod)
        r = a * b;
    else if (op == Op::replace)
        r = b;
    if constexpr (std::is_floating_point_v<T>) {
        if (op == Op::max)
            r = std::max(a, b);
        else if (op == Op::min)
            r = std::min(a, b);
    }
    std::memcpy(inout, &r, sizeof r);
}

void apply_pair(Op op, const char* in, char* inout) {
    struct Pair {
        int value, index;
    };
    Pair a = load<Pair>(inout);
    const Pair b = load<Pair>(in);
    const bool better = op == Op::maxloc ? b.value > a.value : b.value < a.value;
    if (op == Op::replace || (op != Op::no_op && better))
        a = b;
    else if (op != Op::no_op && a.value == b.value)
        a.index = std::min(a.index, b.index);
    std::memcpy(inout, &a, sizeof a);
}

const std::vector<Op> kIntegerOps = {Op::sum,  Op::prod, Op::max, Op::min,  Op::land,   Op::lor,
                                     Op::lxor, Op::band, Op::bor, Op::bxor, Op::replace};
// Without sums and products: Open MPI's vectorized operations saturate where C wraps around.
const std::vector<Op> kSmallIntegerOps = {Op::max,  Op::min, Op::land, Op::lor,    Op::lxor,
                                          Op::band, Op::bor, Op::bxor, Op::replace};
const std::vector<Op> kBitOps = {Op::band, Op::bor, Op::bxor, Op::replace};
const std::vector<Op> kRealOps = {Op::sum, Op::prod, Op::max, Op::min, Op::replace};
const std::vector<Op> kComplexOps = {Op::sum, Op::prod, Op::replace};
const std::vector<Op> kPairOps = {Op::minloc, Op::maxloc, Op::replace};

template <class T>
Basic integer(const char* name, MPI_Datatype type) {
    return {name,
            type,
            sizeof(T),
            Zone::raw,
            true,
            sizeof(T) <= 2 ? kSmallIntegerOps : kIntegerOps,
            apply_integer<T>};
}

std::vector<Basic> make_basics() {
    return {
        integer<int8_t>("INT8", MPI_INT8_T),
        integer<uint8_t>("UINT8", MPI_UINT8_T),
        integer<int16_t>("INT16", MPI_INT16_T),
        integer<uint16_t>("UINT16", MPI_UINT16_T),
        integer<int32_t>("INT", MPI_INT),
        integer<uint32_t>("UINT32", MPI_UINT32_T),
        integer<int64_t>("INT64", MPI_INT64_T),
        integer<uint64_t>("UINT64", MPI_UINT64_T),
        {"BYTE", MPI_BYTE, 1, Zone::raw, true, kBitOps, apply_integer<uint8_t>},
        {"2INT", MPI_2INT, 8, Zone::raw, false, kPairOps, apply_pair},
        {"FLOAT", MPI_FLOAT, 4, Zone::f32, false, kRealOps, apply_real<float>},
        {"DOUBLE", MPI_DOUBLE, 8, Zone::f64, false, kRealOps, apply_real<double>},
        {"C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, 16, Zone::f64, false, kComplexOps,
         apply_real<std::complex<double>>},
    };
}

/// A random value that belongs in the zone; `positive` keeps products from growing and from -0.
void random_value(Random& r, const Basic& b, bool positive, char* to) {
    const int low = positive ? 1 : -8, high = positive ? 3 : 8;
    for (Offset i = 0; i < b.bytes; i += b.zone == Zone::f32 ? 4 : 8) {
        const float f = static_cast<float>(r.between(low, high));
        const double d = f;
        const uint64_t bits = r.next();
        if (b.zone == Zone::f32)
            std::memcpy(to + i, &f, sizeof f);
        else if (b.zone == Zone::f64)
            std::memcpy(to + i, &d, sizeof d);
        else
            std::memcpy(to + i, &bits, static_cast<size_t>(std::min<Offset>(b.bytes - i, 8)));
    }
}

// --- Layouts
// ---------------------------------------------------------------------------------------

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

class LayoutMaker {
  public:
    LayoutMaker(Random& r, const Basic& b, bool build) : r_(r), b_(b), build_(build) {}

    /// n elements in any arrangement.
    Layout make(int n) {
        Layout l;
        switch (r_.below(8)) {
        case 0:
            l = vector(n);
            break;
        case 1:
            l = indexed(n);
            break;
        case 2:
            l = structure(n);
            break;
        case 3:
            l = subarray(n);
            break;
        case 4:
            l = items(n);
            break;
        default:
            return plain(n);
        }
        l.own = true;
        if (build_)
            MPI_Type_commit(&l.type);
        return l;
    }

    Layout plain(int n) {
        Layout l{b_.type, n, false, "contiguous", {}};
        for (int i = 0; i < n; ++i)
            l.offset.push_back(i * b_.bytes);
        return l;
    }

  private:
    int divisor(int n) {
        std::vector<int> all;
        for (int d = 1; d <= n; ++d)
            if (n % d == 0)
                all.push_back(d);
        return r_.pick(all);
    }

    Layout vector(int n) {
        Layout l{b_.type, 1, true, "vector", {}};
        const int count = divisor(n), block = n / count;
        int stride = (block + r_.below(4)) * (r_.one_in(4) ? -1 : 1);
        if (stride == -block) // Open MPI 4.1's own MPI_Pack reverses vector(n, 1, -1) of bytes
            --stride;
        if (build_)
            MPI_Type_vector(count, block, stride, b_.type, &l.type);
        for (int i = 0; i < n; ++i)
            l.offset.push_back((Offset{i / block} * stride + i % block) * b_.bytes);
        return l;
    }

    /// Blocks of random lengths and gaps, in random order.
    Layout indexed(int n) {
        Layout l{b_.type, 1, true, "hindexed", {}};
        std::vector<std::pair<MPI_Aint, int>> blocks;
        Offset place = r_.between(-6, 6) * b_.bytes;
        for (int left = n; left > 0;) {
            const int length = r_.between(1, left);
            blocks.emplace_back(place, length);
            place += (length + r_.below(4)) * b_.bytes;
            left -= length;
        }
        r_.shuffle(blocks);
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        for (const auto& [at, length] : blocks) {
            places.push_back(at);
            lengths.push_back(length);
            for (int i = 0; i < length; ++i)
                l.offset.push_back(at + i * b_.bytes);
        }
        if (build_)
            MPI_Type_create_hindexed(static_cast<int>(blocks.size()), lengths.data(), places.data(),
                                     b_.type, &l.type);
        return l;
    }

    /// A struct of two other layouts, the second one before or behind the first.
    Layout structure(int n) {
        const int first = r_.between(1, std::max(1, n - 1));
        Layout parts[2] = {nested(first), nested(std::max(0, n - first))};
        Layout l{b_.type, 1, true, "struct(" + parts[0].name + "," + parts[1].name + ")", {}};
        MPI_Aint places[2] = {0, 0};
        const Offset gap = r_.below(3) * b_.bytes;
        if (r_.one_in(2))
            places[1] = parts[0].high(b_.bytes) - parts[1].low() + gap;
        else
            places[1] = parts[0].low() - parts[1].high(b_.bytes) - gap;
        const int counts[2] = {parts[0].count, parts[1].count};
        const MPI_Datatype types[2] = {parts[0].type, parts[1].type};
        for (int p = 0; p < 2; ++p)
            for (const Offset o : parts[p].offset)
                l.offset.push_back(places[p] + o);
        if (!build_)
            return l;
        MPI_Type_create_struct(2, counts, places, types, &l.type);
        for (Layout& part : parts)
            if (part.own)
                MPI_Type_free(&part.type);
        return l;
    }

    Layout nested(int n) {
        if (n == 0 || r_.one_in(2))
            return plain(n);
        return r_.one_in(2) ? vector(n) : indexed(n);
    }

    Layout subarray(int n) {
        Layout l{b_.type, 1, true, "subarray", {}};
        const int rows = divisor(n), columns = n / rows;
        const int start[2] = {r_.below(3), r_.below(3)}, part[2] = {rows, columns};
        const int sizes[2] = {rows + start[0] + r_.below(2), columns + start[1] + r_.below(2)};
        if (build_)
            MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, b_.type, &l.type);
        for (int i = 0; i < n; ++i)
            l.offset.push_back(
                (Offset{start[0] + i / columns} * sizes[1] + start[1] + i % columns) * b_.bytes);
        return l;
    }

    /// Several items of a resized vector.
    Layout items(int n) {
        const int count = divisor(n), each = n / count;
        const Offset extent = (2 * each + 1 + r_.below(3)) * b_.bytes;
        Layout l{b_.type, count, true, "items", {}};
        for (int i = 0; i < n; ++i)
            l.offset.push_back(i / each * extent + i % each * 2 * b_.bytes);
        if (!build_)
            return l;
        MPI_Datatype inner;
        MPI_Type_vector(each, 1, 2, b_.type, &inner);
        MPI_Type_create_resized(inner, 0, extent, &l.type);
        MPI_Type_free(&inner);
        return l;
    }

    Random& r_;
    const Basic& b_;
    bool build_;
};

// --- Windows
// ---------------------------------------------------------------------------------------

constexpr Offset kZoneBytes = 4096; // of each of the three zones, at most
constexpr int kZones = 3;
constexpr const char* kFlavorNames[] = {"create", "allocate", "shared", "dynamic"};

struct Window {
    MPI_Win win = MPI_WIN_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int flavor = 0, number = 0, rank = 0, ranks = 0;
    char* base = nullptr;
    std::vector<Offset> zone_bytes; // per rank: each zone's size
    std::vector<int> unit;
    std::vector<MPI_Aint> address; // DYNAMIC
    std::vector<std::vector<char>> model;

    Offset bytes(int target) const { return kZones * zone_bytes[static_cast<size_t>(target)]; }

    MPI_Aint displacement(int target, Offset byte) const {
        const size_t t = static_cast<size_t>(target);
        return flavor == 3 ? MPI_Aint_add(address[t], byte) : byte / unit[t];
    }
};

[[noreturn]] void die(const char* what) {
    std::fprintf(stderr, "oracle: %s failed\n", what);
    std::fflush(nullptr);
    _exit(3);
}

void must(int code, const char* what) {
    if (code != MPI_SUCCESS)
        die(what);
}
#define MUST(call) must((call), #call)

void make_memory(Window& w, MPI_Aint bytes, int unit) {
    if (w.flavor == 0 || w.flavor == 3)
        w.base = static_cast<char*>(
            std::aligned_alloc(64, static_cast<size_t>(bytes + 63) / 64 * 64 + 64));
    if (w.flavor == 0)
        MUST(MPI_Win_create(w.base, bytes, unit, MPI_INFO_NULL, w.comm, &w.win));
    else if (w.flavor == 1)
        MUST(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win));
    else if (w.flavor == 2)
        MUST(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, w.comm, &w.base, &w.win));
    else {
        MUST(MPI_Win_create_dynamic(MPI_INFO_NULL, w.comm, &w.win));
        if (bytes > 0)
            MUST(MPI_Win_attach(w.win, w.base, bytes));
    }
}

/// Drawn alike by all ranks: sizes and units differ from rank to rank, some have no memory at all,
/// and some windows number the ranks backwards.
Window open_window(Random& r, int flavor, int number) {
    Window w;
    w.flavor = flavor;
    w.number = number;
    const bool backwards = r.one_in(3);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_split(MPI_COMM_WORLD, 0, backwards ? -w.rank : w.rank, &w.comm);
    MPI_Comm_rank(w.comm, &w.rank);
    MPI_Comm_size(w.comm, &w.ranks);
    for (int t = 0; t < w.ranks; ++t) {
        w.zone_bytes.push_back(r.one_in(8) ? 0 : kZoneBytes >> r.below(3));
        w.unit.push_back(flavor == 3 ? 1 : 1 << r.below(4));
        w.model.emplace_back(static_cast<size_t>(w.bytes(t)));
    }
    make_memory(w, w.bytes(w.rank), w.unit[static_cast<size_t>(w.rank)]);
    MPI_Aint mine = 0;
    if (w.bytes(w.rank) > 0)
        MPI_Get_address(w.base, &mine);
    w.address.resize(static_cast<size_t>(w.ranks));
    MPI_Allgather(&mine, 1, MPI_AINT, w.address.data(), 1, MPI_AINT, w.comm);
    MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win));
    if (w.bytes(w.rank) > 0)
        std::memset(w.base, 0, static_cast<size_t>(w.bytes(w.rank)));
    MUST(MPI_Win_unlock(w.rank, w.win));
    MPI_Barrier(w.comm);
    return w;
}

void close_window(Window& w) {
    if (w.flavor == 3 && w.bytes(w.rank) > 0)
        MUST(MPI_Win_detach(w.win, w.base));
    MUST(MPI_Win_free(&w.win));
    if (w.flavor == 0 || w.flavor == 3)
        std::free(w.base);
    MPI_Comm_free(&w.comm);
}

// --- One operation
// -----------------------------------------------------------------------------------

enum class Call { put, get, acc, gacc, fop, cas, rput, rget, racc, rgacc };
constexpr const char* kCallNames[] = {"put", "get",  "acc",  "gacc", "fop",
                                      "cas", "rput", "rget", "racc", "rgacc"};
enum class Flush { none, target, local, all, local_all };
constexpr const char* kFlushNames[] = {"", " flush", " flush_local", " flush_all",
                                       " flush_local_all"};

bool writes(Call c) {
    return c != Call::get && c != Call::rget;
}
bool plain_put(Call c) {
    return c == Call::put || c == Call::rput;
}
bool plain_get(Call c) {
    return c == Call::get || c == Call::rget;
}
bool fetches(Call c) {
    return plain_get(c) || c == Call::gacc || c == Call::fop || c == Call::cas || c == Call::rgacc;
}
bool by_request(Call c) {
    return c == Call::rput || c == Call::rget || c == Call::racc || c == Call::rgacc;
}

struct Operation {
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
    std::string text() const {
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
};

/// Applies the operation to the model, and keeps what it must fetch. What a swap compares with is
/// only known here.
void apply_to_model(Operation& o, std::vector<char>& memory) {
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

// --- Generating a phase
// ------------------------------------------------------------------------------

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
    std::vector<std::unique_ptr<Operation>> operations;
};

struct Options {
    uint64_t seed = 0;
    long ops = 20000;
    bool replay = false;
    unsigned timeout = 300;
    std::vector<int> flavors = {0, 1, 2, 3};
    std::vector<Call> calls;
};

class Generator {
  public:
    Generator(Random& r, const std::vector<Basic>& basics, const Options& options)
        : r_(r), basics_(basics), options_(options) {}

    /// What is drawn is the same on all ranks; MPI types are built only by the rank that uses them.
    Phase make(std::vector<Window>& all) {
        Phase p;
        p.sync = static_cast<Sync>(std::min(r_.below(5), 2)); // PSCW more often than its share
        p.sync = p.sync == Sync::pscw && r_.one_in(2) ? Sync::passive : p.sync;
        const size_t first = static_cast<size_t>(r_.below(static_cast<int>(all.size())));
        p.windows.push_back(&all[first]);
        if (p.sync == Sync::passive && r_.one_in(3) && first + 1 < all.size())
            p.windows.push_back(&all[first + 1]);
        for (size_t w = 0; w < p.windows.size(); ++w)
            decide_access(p, *p.windows[w]);
        for (size_t w = 0; w < p.windows.size(); ++w)
            fill(p, w);
        return p;
    }

  private:
    void decide_access(Phase& p, const Window& w) {
        std::vector<Hold> holds(static_cast<size_t>(w.ranks));
        std::vector<std::vector<char>> access(static_cast<size_t>(w.ranks));
        // One decision for all ranks where ranks must fit together: whoever takes several exclusive
        // locks at once could be in a ring of waiting with somebody's lock_all.
        const bool exclusive = r_.one_in(3), shared = !exclusive && r_.one_in(2),
                   at_once = r_.one_in(2);
        for (Hold& h : holds) {
            h.at_once = at_once;
            h.lock_all = !exclusive && !(at_once && !shared) && r_.one_in(2);
            h.assertion = shared && r_.one_in(4) ? MPI_MODE_NOCHECK : 0;
            for (int t = 0; t < w.ranks; ++t)
                h.kind.push_back(exclusive || (!shared && r_.one_in(2)) ? MPI_LOCK_EXCLUSIVE
                                                                        : MPI_LOCK_SHARED);
        }
        for (auto& row : access)
            for (int t = 0; t < w.ranks; ++t)
                row.push_back(p.sync != Sync::pscw || !r_.one_in(3));
        p.holds.push_back(std::move(holds));
        p.access.push_back(std::move(access));
        p.exclusive_only.push_back(p.sync == Sync::passive && exclusive);
    }

    /// Gives every zone of every target out, piece by piece, until operations or memory are used
    /// up.
    void fill(Phase& p, size_t w) {
        const Window& window = *p.windows[w];
        const int pieces = r_.between(1, 12);
        for (int target = 0; target < window.ranks; ++target)
            for (int zone = 0; zone < kZones; ++zone) {
                const Offset size = window.zone_bytes[static_cast<size_t>(target)];
                Offset at = zone * size;
                for (int i = 0; i < pieces && at < (zone + 1) * size; ++i)
                    at = piece(p, w, target, static_cast<Zone>(zone), at, (zone + 1) * size);
            }
    }

    const Basic& basic_of(Zone zone) {
        std::vector<const Basic*> fitting;
        for (const Basic& b : basics_)
            if (b.zone == zone)
                fitting.push_back(&b);
        return *r_.pick(fitting);
    }

    /// One piece of memory from `at`, used in one of the three ways; returns where it ends.
    Offset piece(Phase& p, size_t w, int target, Zone zone, Offset at, Offset end) {
        const Basic& b = basic_of(zone);
        at = (at + 15) / 16 * 16 + 16 * r_.below(3);
        switch (r_.below(4)) {
        case 0:
            return commutative(p, w, target, b, at, end);
        case 1:
            if (p.exclusive_only[w])
                return guarded(p, w, target, b, at, end);
            [[fallthrough]];
        default:
            return of_one_origin(p, w, target, b, at, end);
        }
    }

    std::vector<int> origins(const Phase& p, size_t w, int target) const {
        std::vector<int> all;
        for (int o = 0; o < p.windows[w]->ranks; ++o)
            if (p.access[w][static_cast<size_t>(o)][static_cast<size_t>(target)])
                all.push_back(o);
        return all;
    }

    std::vector<Call> allowed(std::vector<Call> calls) const {
        std::erase_if(calls, [&](Call c) {
            return std::find(options_.calls.begin(), options_.calls.end(), c) ==
                   options_.calls.end();
        });
        return calls;
    }

    /// The operation without its call: who, where, and through which layouts.
    std::unique_ptr<Operation> blank(Phase& p, size_t w, int origin, int target, const Basic& b,
                                     int n) {
        auto o = std::make_unique<Operation>();
        o->basic = &b;
        o->window = w;
        o->origin = origin;
        o->target = target;
        const bool mine = p.windows[w]->rank == origin;
        LayoutMaker maker(r_, b, mine);
        o->from = maker.make(n);
        o->into = maker.make(n);
        o->to = n == 1 ? maker.plain(1) : maker.make(n);
        o->absolute = r_.one_in(8);
        o->flush = static_cast<Flush>(r_.one_in(2) ? 0 : r_.below(5));
        return o;
    }

    void add(Phase& p, std::unique_ptr<Operation> o, Call call, Op op) {
        const bool single = call == Call::fop || call == Call::cas;
        o->call = call;
        o->op = plain_put(call) ? Op::replace : plain_get(call) ? Op::no_op : op;
        if (!plain_get(call))
            for (int k = 0; k < o->elements(); ++k) {
                char value[16];
                random_value(r_, *o->basic, o->op == Op::prod, value);
                o->values.insert(o->values.end(), value, value + o->basic->bytes);
            }
        if (single) { // they take one element, and no layouts
            o->absolute = false;
            o->from.name = o->to.name = "one";
        }
        p.operations.push_back(std::move(o));
    }

    /// The place for a layout behind `at`, or -1 if it does not fit before `end`. Multiples of 16
    /// suit every displacement unit.
    static Offset fit(const Layout& l, Offset width, Offset at, Offset end) {
        const Offset place = std::max<Offset>(0, (at - l.low() + 15) / 16 * 16);
        return place + l.high(width) <= end && place + l.low() >= at ? place : -1;
    }

    Offset of_one_origin(Phase& p, size_t w, int target, const Basic& b, Offset at, Offset end) {
        const std::vector<int> all = origins(p, w, target);
        std::vector<Call> calls = allowed({Call::put, Call::get, Call::acc, Call::gacc, Call::rput,
                                           Call::rget, Call::racc, Call::rgacc});
        if (p.sync != Sync::passive)
            std::erase_if(calls, by_request); // only in passive epochs
        const bool one = r_.one_in(3);
        if (one)
            for (const Call c : allowed({Call::fop, Call::cas}))
                if (c == Call::fop || b.integer)
                    calls.push_back(c);
        if (all.empty() || calls.empty())
            return end;
        const int origin = r_.pick(all), n = one ? 1 : r_.between(1, 40);
        // All operations of the piece go through one target layout: the same elements, again and
        // again.
        auto first = blank(p, w, origin, target, b, n);
        first->place = fit(first->to, b.bytes, at, end);
        if (first->place < 0)
            return free_layouts(*first), end;
        const Offset stop = first->place + first->to.high(b.bytes);
        const Layout to = first->to;
        const Offset place = first->place;
        chain(p, std::move(first), calls, to, place, n);
        return stop;
    }

    /// Operations of one origin on the same elements, flushed in between unless both are
    /// accumulates.
    void chain(Phase& p, std::unique_ptr<Operation> first, const std::vector<Call>& calls,
               const Layout& to, Offset place, int n) {
        const size_t w = first->window;
        const int origin = first->origin, target = first->target;
        const Basic& b = *first->basic;
        const int length = p.sync == Sync::passive ? r_.between(1, 4) : 1;
        const bool mine = p.windows[w]->rank == origin;
        Call previous = Call::put;
        Op op = Op::no_op;
        for (int i = 0; i < length; ++i) {
            auto o = i == 0 ? std::move(first) : blank(p, w, origin, target, b, n);
            if (i > 0) {
                if (o->to.own && mine)
                    MPI_Type_free(&o->to.type);
                o->to = to;
                if (to.own && mine)
                    MPI_Type_dup(to.type, &o->to.type);
                o->place = place;
            }
            const Call call = r_.pick(calls);
            const bool plain = plain_put(call) || plain_get(call);
            const bool plain_before = plain_put(previous) || plain_get(previous);
            if (i > 0 && (plain || plain_before))
                p.operations.back()->flush = r_.one_in(2) ? Flush::target : Flush::all;
            previous = call;
            o->match = r_.one_in(2);
            op = chain_op(b, call, i > 0 && op == Op::replace);
            add(p, std::move(o), call, op);
        }
    }

    /// Products of numbers that were there before would grow without a bound: only after a REPLACE.
    Op chain_op(const Basic& b, Call call, bool after_replace) {
        if (plain_put(call))
            return Op::replace;
        if ((call == Call::gacc || call == Call::rgacc || call == Call::fop) && r_.one_in(4))
            return Op::no_op;
        const Op op = r_.pick(b.ops);
        return op == Op::prod && b.zone != Zone::raw && !after_replace ? Op::replace : op;
    }

    /// All origins, one operation, any subset of the elements.
    Offset commutative(Phase& p, size_t w, int target, const Basic& b, Offset at, Offset end) {
        const std::vector<int> all = origins(p, w, target);
        std::vector<Call> calls =
            allowed({Call::acc, Call::gacc, Call::fop, Call::racc, Call::rgacc});
        if (p.sync != Sync::passive)
            std::erase_if(calls, by_request);
        std::vector<Op> ops = b.ops;
        std::erase_if(ops, [&](Op op) {
            return op == Op::replace || op == Op::prod || op == Op::land || op == Op::lor ||
                   op == Op::lxor;
        });
        if (all.empty() || calls.empty())
            return end;
        const Op op = r_.pick(ops);
        const Offset stop = std::min(end, at + r_.between(1, 16) * 16);
        const int members = r_.between(2, 2 * static_cast<int>(all.size()));
        for (int i = 0; i < members; ++i) {
            const Call call = r_.pick(calls);
            auto o =
                blank(p, w, r_.pick(all), target, b, call == Call::fop ? 1 : r_.between(1, 12));
            o->place = fit(o->to, b.bytes, at + 16 * r_.below(3), stop);
            if (o->place < 0) {
                free_layouts(*o);
                continue;
            }
            o->checked = false;
            add(p, std::move(o), call, op);
        }
        return stop;
    }

    /// Under exclusive locks everybody may read, add and write back.
    Offset guarded(Phase& p, size_t w, int target, const Basic& b, Offset at, Offset end) {
        const bool sums = std::find(b.ops.begin(), b.ops.end(), Op::sum) != b.ops.end();
        if (at + b.bytes > end || allowed({Call::put, Call::get}).size() < 2 || !sums)
            return end;
        for (const int origin : origins(p, w, target)) {
            auto o = blank(p, w, origin, target, b, 1);
            o->place = fit(o->to, b.bytes, at, end);
            if (o->place < 0) {
                free_layouts(*o);
                continue;
            }
            o->guarded = true;
            o->checked = false;
            add(p, std::move(o), Call::acc, Op::sum); // this is what it comes to
        }
        return at + 16;
    }

    static void free_layouts(Operation& o) {
        for (Layout* l : {&o.from, &o.into, &o.to})
            if (l->own && l->type != o.basic->type && l->type != MPI_DATATYPE_NULL)
                MPI_Type_free(&l->type);
    }

    Random& r_;
    const std::vector<Basic>& basics_;
    const Options& options_;
};

// --- Executing a phase
// ---------------------------------------------------------------------------------

class Executor {
  public:
    Executor(Phase& p, bool tell) : p_(p), tell_(tell) {}

    void run() {
        if (p_.sync == Sync::fence)
            fence();
        else if (p_.sync == Sync::pscw)
            pscw();
        else
            passive();
        for (auto& o : p_.operations)
            if (mine(*o))
                free_types(*o);
    }

  private:
    bool mine(const Operation& o) const { return p_.windows[o.window]->rank == o.origin; }

    void fence() {
        Window& w = *p_.windows[0];
        MUST(MPI_Win_fence(MPI_MODE_NOPRECEDE, w.win));
        for (auto& o : p_.operations)
            if (mine(*o))
                issue(*o);
        MUST(MPI_Win_fence(MPI_MODE_NOSUCCEED, w.win));
    }

    MPI_Group group(const Window& w, const std::vector<int>& ranks) {
        MPI_Group all, some;
        MPI_Comm_group(w.comm, &all);
        MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
        MPI_Group_free(&all);
        return some;
    }

    void pscw() {
        Window& w = *p_.windows[0];
        std::vector<int> targets, origins;
        for (int r = 0; r < w.ranks; ++r) {
            if (p_.access[0][static_cast<size_t>(w.rank)][static_cast<size_t>(r)])
                targets.push_back(r);
            if (p_.access[0][static_cast<size_t>(r)][static_cast<size_t>(w.rank)])
                origins.push_back(r);
        }
        MPI_Group to = group(w, targets), from = group(w, origins);
        MUST(MPI_Win_post(from, 0, w.win));
        MUST(MPI_Win_start(to, 0, w.win));
        for (auto& o : p_.operations)
            if (mine(*o))
                issue(*o);
        MUST(MPI_Win_complete(w.win));
        MUST(MPI_Win_wait(w.win));
        MPI_Group_free(&to);
        MPI_Group_free(&from);
    }

    const Hold& hold(size_t w) const {
        return p_.holds[w][static_cast<size_t>(p_.windows[w]->rank)];
    }
    bool held_whole(size_t w) const { return hold(w).lock_all || hold(w).at_once; }

    void lock(size_t w, int target) {
        const Hold& h = hold(w);
        MUST(MPI_Win_lock(h.kind[static_cast<size_t>(target)], target, h.assertion,
                          p_.windows[w]->win));
    }

    /// Windows held as a whole first, all at once; then those whose targets are locked one by one.
    void passive() {
        for (size_t w = 0; w < p_.windows.size(); ++w) {
            if (hold(w).lock_all)
                MUST(MPI_Win_lock_all(hold(w).assertion, p_.windows[w]->win));
            else if (hold(w).at_once)
                for (int t = 0; t < p_.windows[w]->ranks; ++t)
                    lock(w, t);
        }
        for (auto& o : p_.operations)
            if (mine(*o) && held_whole(o->window))
                issue_and_flush(*o);
        wait_all();
        for (size_t w = 0; w < p_.windows.size(); ++w) {
            if (hold(w).lock_all)
                MUST(MPI_Win_unlock_all(p_.windows[w]->win));
            else if (hold(w).at_once)
                for (int t = p_.windows[w]->ranks - 1; t >= 0; --t)
                    MUST(MPI_Win_unlock(t, p_.windows[w]->win));
        }
        for (size_t w = 0; w < p_.windows.size(); ++w)
            if (!held_whole(w)) // nothing else is held now: no ring of waiting can close
                one_by_one(w);
    }

    void one_by_one(size_t w) {
        const Window& window = *p_.windows[w];
        for (int i = 0; i < window.ranks; ++i) {
            const int target = (window.rank + i) % window.ranks;
            lock(w, target);
            for (auto& o : p_.operations)
                if (mine(*o) && o->window == w && o->target == target)
                    issue_and_flush(*o);
            wait_all();
            MUST(MPI_Win_unlock(target, window.win));
        }
    }

    void wait_all() {
        std::vector<MPI_Request> requests;
        for (auto& o : p_.operations)
            if (o->request != MPI_REQUEST_NULL)
                requests.push_back(std::exchange(o->request, MPI_REQUEST_NULL));
        MUST(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
    }

    void issue_and_flush(Operation& o) {
        const Window& w = *p_.windows[o.window];
        if (o.guarded)
            read_add_write(o);
        else
            issue(o);
        switch (o.flush) {
        case Flush::none:
            return;
        case Flush::target:
            MUST(MPI_Win_flush(o.target, w.win));
            break;
        case Flush::local:
            MUST(MPI_Win_flush_local(o.target, w.win));
            break;
        case Flush::all:
            MUST(MPI_Win_flush_all(w.win));
            break;
        case Flush::local_all:
            MUST(MPI_Win_flush_local_all(w.win));
            break;
        }
    }

    void read_add_write(Operation& o) {
        const Window& w = *p_.windows[o.window];
        const MPI_Aint at = w.displacement(o.target, o.place);
        char value[16];
        MUST(MPI_Get(value, 1, o.basic->type, o.target, at, 1, o.basic->type, w.win));
        MUST(MPI_Win_flush(o.target, w.win));
        o.basic->apply(Op::sum, o.values.data(), value);
        MUST(MPI_Put(value, 1, o.basic->type, o.target, at, 1, o.basic->type, w.win));
        MUST(MPI_Win_flush(o.target, w.win));
    }

    /// A buffer for the layout, everything but its elements a canary; the address its offsets count
    /// from.
    static char* spread(std::vector<char>& buffer, const Layout& l, const Basic& b) {
        buffer.assign(static_cast<size_t>(l.high(b.bytes) - l.low()), '\xee');
        return buffer.data() - l.low();
    }

    /// The layout with its address in the type, for MPI_BOTTOM.
    static void make_absolute(Layout& l, char*& address) {
        MPI_Aint place;
        MPI_Datatype type;
        MPI_Get_address(address, &place);
        MPI_Type_create_hindexed(1, &l.count, &place, l.type, &type);
        MPI_Type_commit(&type);
        if (l.own)
            MPI_Type_free(&l.type);
        l.type = type;
        l.own = true;
        l.count = 1;
        address = static_cast<char*>(MPI_BOTTOM);
    }

    void issue(Operation& o) {
        if (tell_)
            std::fprintf(stderr, "rank %d: window %d: %s\n", p_.windows[o.window]->rank,
                         p_.windows[o.window]->number, o.text().c_str());
        if (o.call == Call::fop || o.call == Call::cas)
            return issue_single(o);
        const Basic& b = *o.basic;
        char* from = spread(o.source, o.from, b);
        char* into = spread(o.result, o.into, b);
        for (int k = 0; k < o.elements() && writes(o.call); ++k)
            std::memcpy(from + o.from.offset[static_cast<size_t>(k)], o.values.data() + k * b.bytes,
                        static_cast<size_t>(b.bytes));
        if (o.absolute) {
            make_absolute(o.from, from);
            make_absolute(o.into, into);
        }
        issue_on(o, from, into);
    }

    void issue_on(Operation& o, char* from, char* into) {
        const Window& w = *p_.windows[o.window];
        const MPI_Aint at = w.displacement(o.target, o.place);
        const Layout &f = o.from, &i = o.into, &t = o.to;
        const MPI_Op op = mpi_op(o.op);
        MPI_Request* q = &o.request;
        switch (o.call) {
        case Call::put:
            return MUST(MPI_Put(from, f.count, f.type, o.target, at, t.count, t.type, w.win));
        case Call::rput:
            return MUST(MPI_Rput(from, f.count, f.type, o.target, at, t.count, t.type, w.win, q));
        case Call::get:
            return MUST(MPI_Get(into, i.count, i.type, o.target, at, t.count, t.type, w.win));
        case Call::rget:
            return MUST(MPI_Rget(into, i.count, i.type, o.target, at, t.count, t.type, w.win, q));
        case Call::acc:
            return MUST(
                MPI_Accumulate(from, f.count, f.type, o.target, at, t.count, t.type, op, w.win));
        case Call::racc:
            return MUST(MPI_Raccumulate(from, f.count, f.type, o.target, at, t.count, t.type, op,
                                        w.win, q));
        case Call::gacc:
            return MUST(MPI_Get_accumulate(from, f.count, f.type, into, i.count, i.type, o.target,
                                           at, t.count, t.type, op, w.win));
        default:
            return MUST(MPI_Rget_accumulate(from, f.count, f.type, into, i.count, i.type, o.target,
                                            at, t.count, t.type, op, w.win, q));
        }
    }

    void issue_single(Operation& o) {
        const Window& w = *p_.windows[o.window];
        const MPI_Aint at = w.displacement(o.target, o.place);
        o.into.offset = {0};
        o.source = o.values;
        char* into = spread(o.result, o.into, *o.basic);
        if (o.call == Call::cas)
            MUST(MPI_Compare_and_swap(o.source.data(), o.compare.data(), into, o.basic->type,
                                      o.target, at, w.win));
        else
            MUST(MPI_Fetch_and_op(o.op == Op::no_op ? nullptr : o.source.data(), into,
                                  o.basic->type, o.target, at, mpi_op(o.op), w.win));
    }

    static void free_types(Operation& o) {
        for (Layout* l : {&o.from, &o.into, &o.to})
            if (l->own && l->type != MPI_DATATYPE_NULL)
                MPI_Type_free(&l->type);
    }

    Phase& p_;
    bool tell_;
};

// --- Comparing
// --------------------------------------------------------------------------------------------

class Judge {
  public:
    Judge(const Phase& p, long phase, const Options& o) : p_(p), phase_(phase), options_(o) {}

    /// Compares what this rank fetched and what it has in memory; true if all is as it should be.
    bool agree() {
        bool good = true;
        for (const auto& o : p_.operations)
            if (good && p_.windows[o->window]->rank == o->origin && fetches(o->call) && o->checked)
                good = fetched(*o);
        for (size_t w = 0; w < p_.windows.size(); ++w)
            good = memory(w, good) && good;
        return good;
    }

  private:
    bool fetched(const Operation& o) {
        std::vector<char> expected(o.result.size(), '\xee');
        const Offset low = o.into.low();
        for (int k = 0; k < o.elements(); ++k)
            std::memcpy(expected.data() + o.into.offset[static_cast<size_t>(k)] - low,
                        o.expected.data() + k * o.basic->bytes,
                        static_cast<size_t>(o.basic->bytes));
        if (expected == o.result)
            return true;
        const auto at = std::mismatch(expected.begin(), expected.end(), o.result.begin());
        const Offset byte = at.first - expected.begin() + low;
        size_t k = 0; // the element this byte belongs to, if any
        while (k < o.into.offset.size() &&
               (byte < o.into.offset[k] || byte >= o.into.offset[k] + o.basic->bytes))
            ++k;
        const bool inside = k < o.into.offset.size();
        report(o.window, o.target, inside ? o.place + o.to.offset[k] + byte - o.into.offset[k] : -1,
               *at.first, *at.second,
               (inside ? "fetched by: " : "beside the elements fetched by: ") + o.text());
        return false;
    }

    bool memory(size_t index, bool tell) {
        Window& w = *p_.windows[index];
        const std::vector<char>& model = w.model[static_cast<size_t>(w.rank)];
        MUST(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, w.rank, 0, w.win));
        const auto at = std::mismatch(model.begin(), model.end(), w.base);
        const bool good = at.first == model.end();
        if (!good && tell)
            report(index, w.rank, at.first - model.begin(), *at.first, *at.second, "in memory");
        MUST(MPI_Win_unlock(w.rank, w.win));
        return good;
    }

    void report(size_t index, int target, Offset byte, char expected, char actual,
                const std::string& what) {
        const Window& w = *p_.windows[index];
        std::string text;
        char line[600];
        std::snprintf(
            line, sizeof line,
            "oracle: seed %" PRIu64 ", phase %ld (%s), window %d (%s, rank %d of %d): byte %td "
            "of target %d: expected %02x, got %02x, %s\n",
            options_.seed, phase_, kSyncNames[static_cast<int>(p_.sync)], w.number,
            kFlavorNames[w.flavor], w.rank, w.ranks, byte, target,
            static_cast<unsigned char>(expected), static_cast<unsigned char>(actual), what.c_str());
        text += line;
        for (const auto& o : p_.operations)
            if (o->window == index && o->target == target && byte >= 0 && o->touches(byte))
                text += "oracle:   " + o->text() + "\n";
        std::fputs(text.c_str(), stderr);
    }

    const Phase& p_;
    long phase_;
    const Options& options_;
};

// --- The whole
// ------------------------------------------------------------------------------------------

struct {
    long phase = 0;
    uint64_t seed = 0;
    int rank = 0;
} now;

void on_alarm(int) {
    char line[128];
    const int n =
        std::snprintf(line, sizeof line, "\nTIMEOUT rank %d oracle seed %" PRIu64 " phase %ld\n",
                      now.rank, now.seed, now.phase);
    if (write(STDERR_FILENO, line, static_cast<size_t>(n)) < 0)
        _exit(125);
    _exit(124);
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    for (size_t at = 0; at <= list.size();) {
        const size_t comma = std::min(list.find(',', at), list.size());
        parts.push_back(list.substr(at, comma - at));
        at = comma + 1;
    }
    return parts;
}

template <size_t N>
int index_of(const char* const (&names)[N], const std::string& name) {
    for (size_t i = 0; i < N; ++i)
        if (name == names[i])
            return static_cast<int>(i);
    std::fprintf(stderr, "oracle: unknown name %s\n", name.c_str());
    std::exit(2);
}

Options parse(int argc, char** argv) {
    Options o;
    for (int i = 0; i < 10; ++i)
        o.calls.push_back(static_cast<Call>(i));
    for (int i = 1; i < argc; ++i) {
        const std::string key = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        if (key == "--replay") {
            o.replay = true;
            continue;
        }
        ++i;
        if (key == "--ops")
            o.ops = std::atol(value.c_str());
        else if (key == "--seed")
            o.seed = std::strtoull(value.c_str(), nullptr, 0);
        else if (key == "--timeout")
            o.timeout = static_cast<unsigned>(std::atoi(value.c_str()));
        else if (key == "--flavors") {
            o.flavors.clear();
            for (const std::string& f : split(value))
                o.flavors.push_back(index_of(kFlavorNames, f));
        } else if (key == "--calls") {
            o.calls.clear();
            for (const std::string& c : split(value))
                o.calls.push_back(static_cast<Call>(index_of(kCallNames, c)));
        } else if (key !=
                   "--skip") { // the runner passes it to every program; here it has no meaning
            std::fprintf(stderr, "oracle: unknown option %s\n", key.c_str());
            std::exit(2);
        }
    }
    return o;
}

void tell(const Phase& p) {
    for (size_t w = 0; w < p.windows.size(); ++w) {
        const Window& window = *p.windows[w];
        const Hold& h = p.holds[w][static_cast<size_t>(window.rank)];
        std::string kinds, access;
        for (int t = 0; t < window.ranks; ++t) {
            kinds += h.kind[static_cast<size_t>(t)] == MPI_LOCK_EXCLUSIVE ? 'x' : 's';
            access +=
                p.access[w][static_cast<size_t>(window.rank)][static_cast<size_t>(t)] ? 'y' : 'n';
        }
        std::fprintf(stderr, "rank %d: phase %ld, window %d (%s): %s, %s%s\n", window.rank,
                     now.phase, window.number, kFlavorNames[window.flavor],
                     kSyncNames[static_cast<int>(p.sync)],
                     p.sync == Sync::pscw ? access.c_str()
                     : h.lock_all         ? "lock_all"
                     : h.at_once          ? "at once "
                                          : "one by one ",
                     p.sync == Sync::passive && !h.lock_all ? kinds.c_str() : "");
    }
}

/// One phase: generated, applied to the model, executed, compared. All ranks return the same.
bool run_phase(Generator& generator, std::vector<Window>& windows, const Options& options,
               long& done) {
    Phase p = generator.make(windows);
    for (auto& o : p.operations) {
        Window& w = *p.windows[o->window];
        apply_to_model(*o, w.model[static_cast<size_t>(o->target)]);
    }
    done += static_cast<long>(p.operations.size());
    if (options.replay)
        tell(p);
    Executor(p, options.replay).run();
    MPI_Barrier(MPI_COMM_WORLD);
    int good = Judge(p, now.phase, options).agree(), all = 0;
    MPI_Allreduce(&good, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    return all != 0;
}

bool run(const Options& options, long& done) {
    Random random(options.seed);
    const std::vector<Basic> basics = make_basics();
    Generator generator(random, basics, options);
    std::vector<Window> windows;
    int number = 0;
    for (const int f : options.flavors)
        for (int copy = 0; copy < 2; ++copy)
            windows.push_back(open_window(random, f, number++));
    bool good = true;
    for (now.phase = 0; good && done < options.ops; ++now.phase) {
        alarm(options.timeout);
        if (now.phase % 64 == 63) { // windows come and go
            Window& w =
                windows[static_cast<size_t>(random.below(static_cast<int>(windows.size())))];
            close_window(w);
            w = open_window(random, w.flavor, number++);
        }
        good = run_phase(generator, windows, options, done);
    }
    for (Window& w : windows)
        close_window(w);
    return good;
}

/// Ranks on several hosts share no memory.
bool on_several_hosts() {
    MPI_Comm host;
    int ranks, together;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &together);
    MPI_Comm_free(&host);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return together < ranks;
}

} // namespace

int main(int argc, char** argv) {
    Options options = parse(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &now.rank);
    if (options.seed == 0) // MPI_Wtime may count from the start of the program
        options.seed = static_cast<uint64_t>(std::chrono::system_clock::now().time_since_epoch() /
                                             std::chrono::microseconds(1));
    MPI_Bcast(&options.seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    now.seed = options.seed;
    if (on_several_hosts())
        std::erase(options.flavors, index_of(kFlavorNames, "shared"));
    if (options.flavors.empty()) {
        std::fprintf(stderr,
                     "oracle: no flavor is left: shared windows need all ranks on one host\n");
        return 2;
    }
    std::signal(SIGALRM, on_alarm);
    long done = 0;
    const double begin = MPI_Wtime();
    const bool good = run(options, done);
    if (now.rank == 0) {
        int ranks;
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
        std::printf("oracle: seed %" PRIu64 ", %ld operations in %ld phases, %.1f s\n",
                    options.seed, done, now.phase, MPI_Wtime() - begin);
        std::printf("oracle: %d passed, %d failed, 0 skipped (%d ranks)\n", good, !good, ranks);
    }
    MPI_Finalize();
    return !good;
}
