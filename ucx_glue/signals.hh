// Keeps the application's signals away from the threads that this folder brings into its process.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace rmalock::ucx {

/// Blocks all signals of this thread for a while; a thread that is created meanwhile inherits that,
/// and so the application's handlers run in the application's threads only.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

} // namespace rmalock::ucx
