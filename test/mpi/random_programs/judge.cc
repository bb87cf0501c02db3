#include "judge.hh"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace oracle {

namespace {

class Judge {
  public:
    Judge(const Phase& p, long phase, const Options& o) : p_(p), phase_(phase), options_(o) {}

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
    bool fetched(const RmaCall& o) {
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

} // namespace

bool agrees(const Phase& p, long number, const Options& options) {
    return Judge(p, number, options).agree();
}

} // namespace oracle
