// Small numbers for the threads of a process.
#pragma once

namespace rmalock::window {

/// So many threads have a number at a time.
inline constexpr unsigned kNumberedThreads = 6;

/// A number of the calling thread that no other thread has while this one lives; from 0. Further
/// threads get kNumberedThreads, and so does one that ends, once it has given its number back.
unsigned thread_number();

} // namespace rmalock::window
