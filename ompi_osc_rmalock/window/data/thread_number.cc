#include "window/data/thread_number.hh"

#include <atomic>

namespace rmalock::window {
namespace {

/// Apart from the number, which a destructor makes slower to read.
constexpr unsigned kNotYet = ~0U;
constinit thread_local unsigned known = kNotYet;

/// A bit for each number. The thread that gives one back releases its marks of elements, and the next
/// one with that number acquires them: the end of an old mark must not undo a new one.
std::atomic<unsigned> taken{0};

class Number {
  public:
    Number() {
        for (unsigned seen = taken.load(std::memory_order_relaxed); number_ < kNumberedThreads;) {
            const unsigned bit = 1U << number_;
            if ((seen & bit) != 0)
                ++number_;
            else if (taken.compare_exchange_weak(seen, seen | bit, std::memory_order_acquire,
                                                 std::memory_order_relaxed))
                return;
        }
    }
    /// Destructors that run later in this thread may still accumulate; the next thread may have the
    /// number by then.
    ~Number() {
        known = kNumberedThreads;
        if (number_ < kNumberedThreads)
            taken.fetch_and(~(1U << number_), std::memory_order_release);
    }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    unsigned value() const { return number_; }

  private:
    unsigned number_ = 0;
};

[[gnu::noinline]] unsigned take_number() {
    thread_local const Number mine;
    return known = mine.value();
}

} // namespace

unsigned thread_number() {
    const unsigned number = known;
    return number != kNotYet ? number : take_number();
}

} // namespace rmalock::window
