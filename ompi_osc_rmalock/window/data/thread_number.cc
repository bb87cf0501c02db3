#include "window/data/thread_number.hh"

#include <atomic>

namespace rmalock::window {
namespace {

std::atomic<unsigned> taken{0}; ///< a bit for each number

class Number {
  public:
    Number() {
        for (unsigned seen = taken.load(); number_ < kNumberedThreads;) {
            const unsigned bit = 1U << number_;
            if ((seen & bit) != 0)
                ++number_;
            else if (taken.compare_exchange_weak(seen, seen | bit))
                return;
        }
    }
    ~Number() {
        if (number_ < kNumberedThreads)
            taken.fetch_and(~(1U << number_));
    }
    Number(const Number&) = delete;
    Number& operator=(const Number&) = delete;
    unsigned value() const { return number_; }

  private:
    unsigned number_ = 0;
};

/// Apart from the number, which a destructor makes slower to read.
constexpr unsigned kNotYet = ~0U;
constinit thread_local unsigned known = kNotYet;

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
