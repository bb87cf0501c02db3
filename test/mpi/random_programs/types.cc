#include "types.hh"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace oracle {

MPI_Op mpi_op(Op op) {
    const MPI_Op ops[] = {MPI_SUM,    MPI_PROD,   MPI_MAX,     MPI_MIN,  MPI_LAND,
                          MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,  MPI_BXOR,
                          MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};
    return ops[static_cast<int>(op)]; // in the order of Op, as the names are
}

namespace {

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
    // clang-format off
    switch (op) {
    case Op::sum: r = static_cast<T>(static_cast<U>(ua + ub)); break;
    case Op::prod: r = static_cast<T>(static_cast<U>(uint64_t{ua} * ub)); break;
    case Op::max: r = std::max(a, b); break;
    case Op::min: r = std::min(a, b); break;
    case Op::land: r = a && b; break;
    case Op::lor: r = a || b; break;
    case Op::lxor: r = !a != !b; break;
    case Op::band: r = static_cast<T>(ua & ub); break;
    case Op::bor: r = static_cast<T>(ua | ub); break;
    case Op::bxor: r = static_cast<T>(ua ^ ub); break;
    case Op::replace: r = b; break;
    default: break;
    }
    // clang-format on
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
    const std::vector<Op>& ops = sizeof(T) <= 2 ? kSmallIntegerOps : kIntegerOps;
    return {name, type, sizeof(T), Zone::raw, true, ops, apply_integer<T>};
}

} // namespace

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

} // namespace oracle
