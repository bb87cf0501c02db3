// The memory model: what fabric/concept.hh promises, and nothing more.
//
// Fetching verbs act at once and are sequentially consistent. A posted verb to another rank is only
// noted; it takes effect when the search delivers it, which it may do at any later moment and in
// any order with everything else that is pending. A posted verb to the caller's own rank acts at
// once.
//
// Real processors are weaker in one point: a put to one's own rank is a store, and a load that
// follows it may be made before others see it. With Program::store_buffer such a put is noted like
// any other; its issuer sees it, and has to wait for it before its next read-modify-write or flush.
//
// Adapters are weaker in another (Domain::nic): what one has written into a node's memory is a
// posted write of PCI Express, which the node's CPUs see later, in order, while other processes'
// adapter verbs on the node see it at once. A read by the adapter pushes before it all that the
// adapter has written there for any process, and so does its read for an atomic ("PCI Express
// Base Specification", ordering rules: a read request passes no posted write); so does the word that
// an own verb has completed, which comes the same way. With Program::adapters_linger what verbs
// from other nodes write is noted until then, or until the search lets the node's CPUs see it.
#pragma once

#include <cstdint>
#include <source_location>
#include <vector>

#include "fabric/concept.hh"
#include "fingerprint.hh"

namespace rmalock::check {

using fabric::Domain;
using fabric::Rank;
using fabric::Slot;
using fabric::Value;
using fabric::Word;

enum class Verb : std::uint8_t {
    get,
    fetch_add,
    swap,
    compare_swap,
    put,
    add,
    flush,
    await,
    await_until,
    add_single_writer,
    fence_node,
    // Not verbs of the fabric: the end of a critical section whose release only posts, and the
    // moment before a post that others can tell from the verb before it.
    leave,
    pass,
};

constexpr const char* name_of(Verb verb) {
    constexpr const char* names[] = {"get",        "fetch_add", "swap",  "compare_swap", "put",
                                     "add",        "flush",     "await", "await_until",  "count",
                                     "fence_node", "leave",     "pass"};
    return names[static_cast<unsigned>(verb)];
}

constexpr bool is_read_modify_write(Verb verb) {
    return verb == Verb::fetch_add || verb == Verb::swap || verb == Verb::compare_swap ||
           verb == Verb::add;
}

constexpr bool is_change(Verb verb) {
    return verb == Verb::put || is_read_modify_write(verb);
}

/// A posted verb that has not taken effect yet.
struct Posted {
    Rank issuer;
    Verb verb; // put or add
    Word word;
    Value value;
    std::source_location at;
    bool near = false; ///< by the CPU, whatever the domain
};

class Memory {
  public:
    Memory(Rank ranks, Slot slots)
        : slots_(slots), words_(static_cast<std::size_t>(ranks) * slots) {}

    bool has(Word w) const {
        return w.rank >= 0 && w.slot < slots_ &&
               static_cast<std::size_t>(w.rank) < words_.size() / slots_;
    }

    Value read(Word w) const { return words_[index(w)]; }

    void write(Word w, Value v) {
        Value& word = words_[index(w)];
        sum_ += term(w, v) - term(w, word);
        word = v;
    }

    void apply(Verb verb, Word w, Value v) { write(w, verb == Verb::put ? v : read(w) + v); }

    void post(const Posted& p) {
        posted_.push_back(p);
        sum_ += term(p);
    }

    /// The posted verb at position `i` of posted() is no longer pending.
    Posted take(std::size_t i) {
        const Posted p = posted_[i];
        posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(i));
        sum_ -= term(p);
        return p;
    }

    const std::vector<Posted>& posted() const { return posted_; }

    /// What `reader` reads: its own put, if one lingers, else what everybody reads.
    Value read_by(Rank reader, Word w) const {
        if (w.rank == reader)
            for (const Posted& p : posted_)
                if (p.issuer == reader && p.word == w)
                    return p.value;
        return read(w);
    }

    /// Lets an earlier put of the same process to its own word `w` take effect.
    void settle(Rank rank, Word w) {
        for (std::size_t i = 0; i < posted_.size(); ++i)
            if (posted_[i].issuer == rank && posted_[i].word == w && w.rank == rank) {
                const Posted p = take(i);
                apply(p.verb, p.word, p.value);
                return;
            }
    }

    /// An adapter writes, and the CPUs of the word's node do not see it yet.
    void write_late(Word w, Value v) { late_.push_back({w, v}); }
    /// What adapters read: the last that one of them wrote, if CPUs do not see it yet.
    Value read_by_adapter(Word w) const {
        for (std::size_t i = late_.size(); i-- > 0;)
            if (late_[i].word == w)
                return late_[i].value;
        return read(w);
    }
    /// The node's CPUs see all that adapters wrote there. On which node a rank is, `node_of` says.
    template <class NodeOf>
    void see_all(Rank node, NodeOf node_of) {
        while (see_next(node, node_of))
            continue;
    }
    /// The next of it, in order; false: there is none.
    template <class NodeOf>
    bool see_next(Rank node, NodeOf node_of) {
        for (std::size_t i = 0; i < late_.size(); ++i)
            if (node_of(late_[i].word.rank) == node) {
                write(late_[i].word, late_[i].value);
                late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
                return true;
            }
        return false;
    }
    struct Late {
        Word word;
        Value value;
    };
    const std::vector<Late>& late() const { return late_; }

    bool anything_posted(Rank issuer) const {
        for (const Posted& p : posted_)
            if (p.issuer == issuer)
                return true;
        return false;
    }
    bool anything_posted(Rank issuer, Rank home) const {
        for (const Posted& p : posted_)
            if (p.issuer == issuer && p.word.rank == home)
                return true;
        return false;
    }

    /// Of all words and all that is posted, kept up to date by every change. Posted verbs of one
    /// issuer are a multiset: their order is not part of the state, because any may land next.
    /// What CPUs do not see yet is a sequence.
    Fingerprint fingerprint() const {
        Fingerprint late = 0;
        for (const Late& l : late_)
            late = mix(mix(late, index(l.word) + 1), l.value);
        return sum_ + late;
    }

  private:
    std::size_t index(Word w) const {
        return static_cast<std::size_t>(w.rank) * slots_ + static_cast<std::size_t>(w.slot);
    }
    Fingerprint term(Word w, Value v) const { return mix(index(w) + 1, v); }
    Fingerprint term(const Posted& p) const {
        const auto origin =
            static_cast<std::uint64_t>(p.issuer) << 8 | static_cast<std::uint64_t>(p.verb);
        return mix(mix(~index(p.word), origin), p.value);
    }

    Slot slots_;
    std::vector<Value> words_;
    std::vector<Posted> posted_;
    std::vector<Late> late_;
    Fingerprint sum_ = 0;
};

/// Checks that every word is used in one of the ways that fabric/concept.hh allows under
/// Domain::nic: atomic, mailbox, cohort, or holder record. Uses add up over all executions a search
/// looks at.
class WordUses {
  public:
    WordUses(Rank ranks, Slot slots)
        : slots_(slots), uses_(static_cast<std::size_t>(ranks) * slots, 0) {}

    struct How {
        Verb verb;
        bool near, same_node; ///< by a near_ verb; by a process of the home's node
    };

    /// Notes one use; false if the word has now been used in a way no class allows.
    bool note(Rank user, Word w, const How& how) {
        std::uint16_t& use = uses_[static_cast<std::size_t>(w.rank) * slots_ + w.slot];
        if (how.verb == Verb::add_single_writer)
            return how.same_node && note_count(use, static_cast<std::uint16_t>(user + 1));
        if (how.verb == Verb::put)
            use |= kPut;
        if (is_read_modify_write(how.verb))
            use |= how.near ? kNear : kAtomic;
        if (!how.same_node && is_change(how.verb))
            use |= kOffNode;
        if (use / kCounter != 0)
            return (use & kChanged) == 0;
        return !((use & kAtomic) != 0 && (use & (kPut | kNear)) != 0) &&
               (use & (kNear | kOffNode)) != (kNear | kOffNode);
    }

  private:
    static constexpr std::uint16_t kPut = 1, kAtomic = 2, kNear = 4, kOffNode = 8, kCounter = 16,
                                   kChanged = kPut | kAtomic | kNear;

    /// `counter`, not 0, is the process that counts.
    static bool note_count(std::uint16_t& use, std::uint16_t counter) {
        if ((use & kChanged) != 0 || (use / kCounter != 0 && use / kCounter != counter))
            return false;
        use = static_cast<std::uint16_t>(use % kCounter + counter * kCounter);
        return true;
    }

    Slot slots_;
    std::vector<std::uint16_t> uses_;
};

} // namespace rmalock::check
