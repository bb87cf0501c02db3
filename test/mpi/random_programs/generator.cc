#include "generator.hh"

#include <algorithm>
#include <memory>
#include <utility>

namespace oracle {

namespace {

class Generator {
  public:
    Generator(Random& r, const std::vector<Basic>& basics, const Options& options)
        : r_(r), basics_(basics), options_(options) {}

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
        // One decision for all ranks where ranks must fit together: an origin that takes several
        // exclusive locks at once could be in a ring of waiting with another origin's lock_all.
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

    /// Gives every zone of every target out, piece by piece, until the pieces or the memory are
    /// used up.
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

    /// The operation without its call: its origin, its place, and its layouts.
    std::unique_ptr<RmaCall> blank(Phase& p, size_t w, int origin, int target, const Basic& b,
                                   int n) {
        auto o = std::make_unique<RmaCall>();
        o->basic = &b;
        o->window = w;
        o->origin = origin;
        o->target = target;
        const bool mine = p.windows[w]->rank == origin;
        o->from = any_layout(r_, b, mine, n);
        o->into = any_layout(r_, b, mine, n);
        o->to = n == 1 ? contiguous_layout(b, 1) : any_layout(r_, b, mine, n);
        o->absolute = r_.one_in(8);
        o->flush = static_cast<Flush>(r_.one_in(2) ? 0 : r_.below(5));
        return o;
    }

    void add(Phase& p, std::unique_ptr<RmaCall> o, Call call, Op op) {
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

    /// The place for a layout behind `at`, or -1 if it does not fit before `end`. It is a multiple
    /// of 16, which suits every displacement unit.
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
        // All operations of the piece go through one target layout, to the same elements.
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

    /// Operations of one origin on the same elements, with a flush between two of them unless both
    /// are accumulates.
    void chain(Phase& p, std::unique_ptr<RmaCall> first, const std::vector<Call>& calls,
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

    static void free_layouts(RmaCall& o) {
        for (Layout* l : {&o.from, &o.into, &o.to})
            if (l->own && l->type != o.basic->type && l->type != MPI_DATATYPE_NULL)
                MPI_Type_free(&l->type);
    }

    Random& r_;
    const std::vector<Basic>& basics_;
    const Options& options_;
};

} // namespace

Phase generate(Random& r, const std::vector<Basic>& basics, const Options& options,
               std::vector<Window>& windows) {
    return Generator(r, basics, options).make(windows);
}

} // namespace oracle
