// The words of all ranks, and of each cache line what a CPU's verb on it depends on. Lines that
// nobody touches take no memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>

#include "fabric/layout.hh"
#include "sim/costs.hh"

namespace rmalock::sim {

using fabric::Rank;
using fabric::Slot;
using fabric::Value;
using fabric::Word;

/// Zeroed memory for n objects; pages come at their first use.
template <class T>
class Slab {
  public:
    explicit Slab(std::size_t n) : bytes_(n * sizeof(T)) {
        void* const slab = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slab == MAP_FAILED)
            throw std::bad_alloc();
        madvise(slab, bytes_, MADV_NOHUGEPAGE);
        objects_ = static_cast<T*>(slab);
    }
    ~Slab() { munmap(objects_, bytes_); }
    Slab(const Slab&) = delete;
    Slab& operator=(const Slab&) = delete;
    T& operator[](std::size_t i) const { return objects_[i]; }

  private:
    std::size_t bytes_;
    T* objects_;
};

/// A cache line. All zero: nobody has touched it.
struct Line {
    Time free;             ///< when the verbs that are under way on it are done
    std::uint32_t version; ///< how often it has changed
    Rank owner;            ///< the only one whose core has it, and 1; 0: none, or several
    Rank waiter;           ///< the first process that waits for a word of it, and 1; 0: none
};

class Memory {
  public:
    Memory(Rank ranks, Slot slots)
        : ranks_(ranks),
          lines_of_rank_((slots + fabric::kWordsPerLine - 1) / fabric::kWordsPerLine),
          words_(lines() * fabric::kWordsPerLine), line_(lines()) {}

    bool has(Word w) const {
        return w.rank >= 0 && w.rank < ranks_ && w.slot / fabric::kWordsPerLine < lines_of_rank_;
    }
    Value& operator[](Word w) const {
        return words_[line_number(w) * fabric::kWordsPerLine + w.slot % fabric::kWordsPerLine];
    }
    Line& line(Word w) const { return line_[line_number(w)]; }
    std::size_t line_number(Word w) const {
        return static_cast<std::size_t>(w.rank) * lines_of_rank_ + w.slot / fabric::kWordsPerLine;
    }

  private:
    std::size_t lines() const { return static_cast<std::size_t>(ranks_) * lines_of_rank_; }

    Rank ranks_;
    Slot lines_of_rank_;
    Slab<Value> words_;
    Slab<Line> line_;
};

} // namespace rmalock::sim
