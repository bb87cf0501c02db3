#include "executor.hh"

#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

namespace oracle {

namespace {

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
    bool mine(const RmaCall& o) const { return p_.windows[o.window]->rank == o.origin; }

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

    void issue_and_flush(RmaCall& o) {
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

    void read_add_write(RmaCall& o) {
        const Window& w = *p_.windows[o.window];
        const MPI_Aint at = w.displacement(o.target, o.place);
        char value[16];
        MUST(MPI_Get(value, 1, o.basic->type, o.target, at, 1, o.basic->type, w.win));
        MUST(MPI_Win_flush(o.target, w.win));
        o.basic->apply(Op::sum, o.values.data(), value);
        MUST(MPI_Put(value, 1, o.basic->type, o.target, at, 1, o.basic->type, w.win));
        MUST(MPI_Win_flush(o.target, w.win));
    }

    /// A buffer for the layout, a canary everywhere but in its elements. Returns the address that
    /// the offsets count from.
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

    void issue(RmaCall& o) {
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

    void issue_on(RmaCall& o, char* from, char* into) {
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

    void issue_single(RmaCall& o) {
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

    static void free_types(RmaCall& o) {
        for (Layout* l : {&o.from, &o.into, &o.to})
            if (l->own && l->type != MPI_DATATYPE_NULL)
                MPI_Type_free(&l->type);
    }

    Phase& p_;
    bool tell_;
};

} // namespace

void execute(Phase& p, bool tell) {
    Executor(p, tell).run();
}

} // namespace oracle
