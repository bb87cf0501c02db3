// What is told, now and then, that its thread waits. The watchdog (diag/) is such an observer.
#pragma once

namespace rmalock::window {

/// Observes its thread while it lives. Several of one thread are nested, and the innermost is told.
class WaitObserver {
  public:
    WaitObserver(const WaitObserver&) = delete;
    WaitObserver& operator=(const WaitObserver&) = delete;

    /// Called by every thread that waits (fabric::Waiter::watch). Without an observer of the thread
    /// it does nothing.
    static void look(void* unused = nullptr);

  protected:
    WaitObserver();
    ~WaitObserver();

  private:
    virtual void still_waiting() = 0;

    WaitObserver* const outer_;
};

} // namespace rmalock::window
