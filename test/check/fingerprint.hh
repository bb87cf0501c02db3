// Fingerprints of states, and the set of those already seen.
//
// A state is kept as 64 bits, not whole: two different states that collide make the search skip
// one. With n states the chance that this ever happens is about n^2 / 2^65, 3 in 10,000 for 10^8
// states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rmalock::check {

using Fingerprint = std::uint64_t;

constexpr std::uint64_t scramble(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

/// Order matters: mix(mix(h, a), b) is the fingerprint of the sequence a, b.
constexpr Fingerprint mix(Fingerprint h, std::uint64_t v) {
    return scramble(h * 0x2545f4914f6cdd1dU + scramble(v));
}

/// Open addressing with linear probing; 0 marks a free place.
class FingerprintSet {
  public:
    explicit FingerprintSet(std::size_t places = std::size_t{1} << 16) : table_(places) {}

    /// Returns whether `f` was not in the set before.
    bool insert(Fingerprint f) {
        if (f == 0)
            f = 1;
        if (4 * (count_ + 1) > 3 * table_.size())
            grow();
        return place(f);
    }

    bool contains(Fingerprint f) const {
        if (f == 0)
            f = 1;
        const std::size_t mask = table_.size() - 1;
        for (std::size_t i = f & mask; table_[i] != 0; i = (i + 1) & mask)
            if (table_[i] == f)
                return true;
        return false;
    }

    std::size_t size() const { return count_; }
    std::size_t bytes() const { return table_.size() * sizeof(Fingerprint); }

  private:
    bool place(Fingerprint f) {
        const std::size_t mask = table_.size() - 1;
        for (std::size_t i = f & mask;; i = (i + 1) & mask) {
            if (table_[i] == f)
                return false;
            if (table_[i] == 0) {
                table_[i] = f;
                ++count_;
                return true;
            }
        }
    }

    void grow() {
        std::vector<Fingerprint> old(table_.size() * 2);
        old.swap(table_);
        count_ = 0;
        for (const Fingerprint f : old)
            if (f != 0)
                place(f);
    }

    std::vector<Fingerprint> table_;
    std::size_t count_ = 0;
};

} // namespace rmalock::check
