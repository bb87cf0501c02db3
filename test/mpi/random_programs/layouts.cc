#include "layouts.hh"

#include <algorithm>
#include <utility>

namespace oracle {

Layout contiguous_layout(const Basic& b, int n) {
    Layout l{b.type, n, false, "contiguous", {}};
    for (int i = 0; i < n; ++i)
        l.offset.push_back(i * b.bytes);
    return l;
}

namespace {

class LayoutMaker {
  public:
    LayoutMaker(Random& r, const Basic& b, bool build) : r_(r), b_(b), build_(build) {}

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
            return contiguous_layout(b_, n);
        }
        l.own = true;
        if (build_)
            MPI_Type_commit(&l.type);
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
            return contiguous_layout(b_, n);
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

} // namespace

Layout any_layout(Random& r, const Basic& b, bool build, int n) {
    return LayoutMaker(r, b, build).make(n);
}

} // namespace oracle
