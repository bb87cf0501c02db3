// The fabric of the component's windows: CPU atomics on the words of one's own node, the network for
// all others.
//
// Domain::cpu   a word's read-modify-writes are all done by CPUs, on its node by the caller's, from
//               other nodes by the CPU that serves the network.
// Domain::nic   every read-modify-write, even of one's own words, goes through the network adapter;
//               loads, and stores to words that nobody modifies atomically, stay with the CPU on
//               the node.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fabric/node.hh"
#include "fabric/remote.hh"

namespace rmalock::fabric {

/// Where the processes of a window are.
struct Placement {
    Rank self = 0;
    Rank size = 1;
    /// By rank: which part of the node's WordSpace is its, or -1 on another node. Null: all are on
    /// this node, part r is rank r's.
    const std::int32_t* parts = nullptr;
    /// All that the lock takes for a node, and that has a process of this one, lies on it. Not so with a
    /// tree that somebody asked for and that takes ranks of two nodes for one. All processes of a node
    /// agree on it: so its words are changed by CPUs alone, or by the adapter alone.
    bool whole = true;
};

class HybridFabric : public FabricBase<HybridFabric> {
  public:
    /// `remote` may be null if all ranks are on this node and `domain` is cpu; it outlives the
    /// fabric. `threads`: several of this process may use the fabric at a time.
    HybridFabric(WordSpace node, const Placement& placement, Waiter waiter, Domain domain,
                 RemoteWords* remote, bool threads)
        : node_(node, placement.self, waiter), placement_(placement), domain_(domain),
          all_near_(placement.parts == nullptr && domain == Domain::cpu), remote_(remote),
          threads_(threads) {}

    Rank self() const { return placement_.self; }
    Rank size() const { return placement_.size; }
    bool same_node(Rank rank) const {
        return placement_.parts == nullptr || placement_.parts[rank] >= 0;
    }
    Domain domain() const { return domain_; }
    const Waiter& waiter() const { return node_.waiter(); }
    /// The verbs of a window of one node, for its only thread.
    NodeFabric& node() { return node_; }

    // The first line of each is all there is to a window of one node. It is inlined into the locks,
    // whose uncontended paths are little more than one of these.
    [[gnu::always_inline]] Value get(Word w) { return all_near_ ? near().get(w) : get_any(w); }
    [[gnu::always_inline]] Value fetch_add(Word w, Value v) {
        return all_near_ ? near().fetch_add(w, v) : fetch_add_any(w, v);
    }
    [[gnu::always_inline]] Value swap(Word w, Value v) {
        return all_near_ ? near().swap(w, v) : swap_any(w, v);
    }
    [[gnu::always_inline]] Value compare_swap(Word w, Value expected, Value desired) {
        return all_near_ ? near().compare_swap(w, expected, desired)
                         : compare_swap_any(w, expected, desired);
    }
    Value fetch_then_get(const Rmw& rmw, Slot first, std::span<Value> out) {
        return same_node(rmw.word.rank) ? fetch_then_get_by(*this, rmw, first, out)
                                        : remote_->fetch_then_get(rmw, first, out);
    }
    [[gnu::always_inline]] void put(Word w, Value v) {
        all_near_ ? near().put(w, v) : put_any(w, v);
    }
    [[gnu::always_inline]] void add(Word w, Value v) {
        all_near_ ? near().add(w, v) : add_any(w, v);
    }

    [[gnu::always_inline]] Value near_fetch_add(Word w, Value v) {
        return placement_.whole ? near().fetch_add(part(w), v) : fetch_add_any(w, v);
    }
    [[gnu::always_inline]] Value near_swap(Word w, Value v) {
        return placement_.whole ? near().swap(part(w), v) : swap_any(w, v);
    }
    [[gnu::always_inline]] Value near_compare_swap(Word w, Value expected, Value desired) {
        return placement_.whole ? near().compare_swap(part(w), expected, desired)
                                : compare_swap_any(w, expected, desired);
    }
    [[gnu::always_inline]] void near_add(Word w, Value v) {
        placement_.whole ? near().add(part(w), v) : add_any(w, v);
    }

    /// Far words as well: see Placement::whole.
    void add_single_writer(Word w, Value v) {
        if (same_node(w.rank))
            near().add_single_writer(part(w), v);
        else
            remote_->fetch_add(w, v);
    }
    void fence_node() { near().fence_node(); }
    void scan(std::span<const Rank> ranks, Slot first, Slot stride, std::span<Value> out) {
        const std::size_t each = out.size() / ranks.size();
        std::vector<RemoteWords::Scan> far;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const std::span<Value> here = out.subspan(i * each, each);
            const Rank mine = same_node(ranks[i]) ? part({ranks[i], 0}).rank : -1;
            if (mine >= 0)
                near().scan(std::span(&mine, 1), first, stride, here);
            else
                far.push_back({ranks[i], here});
        }
        if (!far.empty())
            remote_->scan(far, first, stride);
    }
    void add_each(std::span<const Rank> ranks, Slot slot, Value v) {
        for (const Rank rank : ranks)
            add({rank, slot}, v);
        flush_all();
    }

    void fetch_each(std::span<const Rmw> rmws, std::span<Value> out) {
        std::vector<RemoteWords::Fetch> far;
        for (std::size_t i = 0; i < rmws.size(); ++i)
            if (!by_cpu(rmws[i].word))
                far.push_back({rmws[i], &out[i]});
            else
                out[i] = fetch_by(*this, rmws[i]);
        if (!far.empty())
            remote_->fetch_each(far);
    }

    // On the node data are there when the call that puts them returns.
    [[gnu::always_inline]] Value fetch_add_after_data(Word w, Value v) {
        return all_near_           ? near().fetch_add(w, v)
               : same_node(w.rank) ? fetch_add_any(w, v)
                                   : remote_->fetch_add_after_data(w, v);
    }
    void deliver(Rank rank) {
        if (!same_node(rank))
            remote_->deliver(rank);
    }

    void flush(Rank rank) {
        if (!same_node(rank) || domain_ == Domain::nic)
            remote_->flush(rank);
        full_fence();
    }
    void flush_all() {
        if (remote_ != nullptr)
            remote_->flush_all();
        full_fence();
    }

    template <Predicate P>
    Value await(Word w, P pred) {
        if (!same_node(w.rank))
            return *await_far(w, pred, {});
        const Value seen = near().look(part(w));
        return pred(seen) ? seen : await_near(part(w), pred);
    }
    template <Predicate P>
    std::optional<Value> await_until(Word w, P pred, Moment end) {
        if (!same_node(w.rank))
            return await_far(w, pred, end);
        if (const Value seen = near().look(part(w)); pred(seen))
            return seen;
        const Waiting waiting(threads_);
        return cpu().await_until(part(w), pred, end);
    }
    Moment after(Duration time) const { return node_.after(time); }
    void backoff(unsigned attempt) {
        const Waiting waiting(threads_);
        cpu().backoff(attempt);
    }

    // Beside the verbs.
    /// The verbs on words of this node, where CPUs do the atomics, for what is too short to be asked
    /// at each verb where its word is, or to be counted. Its ranks are parts of the node.
    CpuFabric parts() const { return node_.inner().of(part({self(), 0}).rank); }
    Rank part_of(Rank rank) const { return part({rank, 0}).rank; }
    /// Wakes all that sleep until a word of `rank`, of this node, changes: after one was changed by
    /// other means.
    void wake(Rank rank) { cpu().wake(part({rank, 0}).rank); }
    // See fabric/tally.hh.
    const Tally& tally() const { return node_.tally(); }
    /// What the calling thread has waited, in all windows.
    Waits& waits() const { return Waits::mine(threads_); }
    void handed_over(Rank other) {
        Tally& tally = node_.tally();
        (same_node(other) ? tally.near_handovers : tally.far_handovers).add(threads_);
    }
    void mode_changed() { node_.tally().mode_changes.add(threads_); }

  private:
    CpuFabric& cpu() { return node_.inner(); }
    /// For one verb, which is counted here. NodeFabric's adapter counts for one thread, in one
    /// instruction; to ask whether there are several would make WordLock's path longer. An adapter around
    /// this class would ask a second time where the word is.
    [[gnu::always_inline]] CpuFabric& near() {
        node_.tally().near_verbs.add(threads_);
        return cpu();
    }
    bool by_cpu(Word w) const { return domain_ == Domain::cpu && same_node(w.rank); }
    Word part(Word w) const {
        return placement_.parts == nullptr ? w : Word{placement_.parts[w.rank], w.slot};
    }

    // The same for windows of several nodes, or with atomics by network adapters.
    [[gnu::noinline]] Value get_any(Word w) {
        return same_node(w.rank) ? near().get(part(w)) : remote_->get(w);
    }
    [[gnu::noinline]] Value fetch_add_any(Word w, Value v) {
        return by_cpu(w) ? near().fetch_add(part(w), v) : remote_->fetch_add(w, v);
    }
    [[gnu::noinline]] Value swap_any(Word w, Value v) {
        return by_cpu(w) ? near().swap(part(w), v) : remote_->swap(w, v);
    }
    [[gnu::noinline]] Value compare_swap_any(Word w, Value expected, Value desired) {
        return by_cpu(w) ? near().compare_swap(part(w), expected, desired)
                         : remote_->compare_swap(w, expected, desired);
    }
    [[gnu::noinline]] void put_any(Word w, Value v) {
        same_node(w.rank) ? near().put(part(w), v) : remote_->put(w, v);
    }
    [[gnu::noinline]] void add_any(Word w, Value v) {
        if (by_cpu(w))
            near().add(part(w), v);
        else if (w.rank == self())
            remote_->fetch_add(w, v); // the network does not order it before our next one
        else
            remote_->add(w, v);
    }

    /// Not inline, as a first look is mostly enough.
    template <Predicate P>
    [[gnu::noinline]] Value await_near(Word w, P pred) {
        const Waiting waiting(threads_);
        return cpu().await(w, pred);
    }

    /// Each poll is a round trip, which passes most of the time.
    template <Predicate P>
    std::optional<Value> await_far(Word w, P pred, Moment end) {
        if (const Value seen = remote_->get(w); pred(seen))
            return seen;
        const Waiting waiting(threads_);
        for (unsigned attempt = 0; !end.has_come(); ++attempt) {
            cpu().backoff(attempt);
            if (const Value seen = remote_->get(w); pred(seen))
                return seen;
        }
        return std::nullopt;
    }

    NodeFabric node_;
    Placement placement_;
    Domain domain_;
    bool all_near_; ///< one node, CPUs do the atomics: the shortest path
    RemoteWords* remote_;
    const bool threads_;
};

static_assert(Fabric<HybridFabric>);

} // namespace rmalock::fabric
