// pf_alock with one thing wrong each; the checker must say so.
#pragma once

#include <utility>

#include "broken_fabric.hh"
#include "locks/algorithms/pf_alock.hh"

namespace rmalock::check::pf_alock_fault {

using Words = locks::PfAlockWords;
inline constexpr Slot kTailR = Words::kTailR, kTailL = Words::kTailL, kPhase = Words::kPhase,
                      kReadersR = Words::kReadersR, kReadersL = Words::kReadersL,
                      kJoin = Words::kJoin, kHomeSlots = fabric::kWordsPerLine,
                      kWake = locks::PushListWords::kWake;
inline bool is_wake(Word w) {
    return w.slot == kHomeSlots + kWake;
}

/// An owner looks at the readers of its own side only.
struct OverlooksRemoteReaders : Sound {
    Value seen(Word w, Value v) { return w.slot == kReadersR ? 0 : v; }
};
struct OverlooksLocalReaders : Sound {
    Value seen(Word w, Value v) { return w.slot == kReadersL ? 0 : v; }
};
/// A reader looks at the writers of one side only.
struct ReaderOverlooks : Sound {
    explicit ReaderOverlooks(Slot tail = kTailL) : tail_(tail) {}
    Value seen(Word w, Value v) { return w.slot == tail_ && reads_ ? 0 : v; }
    void done(Verb verb, Word w, Value) {
        if (verb == Verb::fetch_add)
            reads_ = true;
        else if (verb == Verb::swap && w.slot != kJoin)
            reads_ = false;
    }
    Slot tail_;
    bool reads_ = false;
};
struct ReaderOverlooksRemote : ReaderOverlooks {
    ReaderOverlooksRemote() : ReaderOverlooks(kTailR) {}
};
/// An owner does not wait for those that its own end of a phase lets in.
struct ForgetsThoseLetIn : Sound {
    Value seen(Word w, Value v) {
        return w.slot == kReadersR || w.slot == kReadersL ? v & (Words::waits1(0) - 1) : v;
    }
};
/// The end of a phase may be on its way when the owner looks at the readers.
struct NoFlush : Sound {
    bool skips_flush(Rank) { return true; }
};
/// An owner does not see those that wait; but one that saw the queues empty goes in.
struct OverlooksWaiting : Sound {
    Value seen(Word w, Value v) {
        return w.slot == kReadersR || w.slot == kReadersL ? v & (Words::waits1(0) - 1) : v;
    }
};
/// A writer that leaves the queues empty does not look for readers.
struct NoWake : Sound {
    Value seen(Word w, Value v) { return w.slot == kJoin ? 0 : v; }
};
/// A reader that is woken does not wake the one before it on the list.
struct NoWakeChain : Sound {
    bool skips_put(Word w, Value v) { return is_wake(w) && v != 0 && woken_; }
    void done(Verb verb, Word w, Value) {
        if (verb == Verb::await)
            woken_ = is_wake(w);
        else if (verb != Verb::put)
            woken_ = false;
    }
    bool woken_ = false;
};
/// A reader that begins to wait is not counted inside until it knows whether it does (P1).
struct NotCountedTwice : Sound {
    Value added(Word w, Value v) {
        begins_ = (w.slot == kReadersR || w.slot == kReadersL) &&
                  (v == Words::waits1(0) || v == Words::waits1(1));
        return begins_ ? v - Words::kInside1 : v;
    }
    /// The first behind that says that it waits, or that it is in.
    Value posted(Word, Value v) {
        if (!std::exchange(begins_, false))
            return v;
        return v == Value{0} - Words::kInside1 ? 0 : v + Words::kInside1;
    }
    bool begins_ = false;
};
/// The readers of the node are counted by the adapter, from a process that is not the only one.
struct LocalByAdapter : Sound {
    bool leaves_to_adapter(Word w, Value) { return w.slot == kReadersL; }
};
struct NoDelivery : Sound {
    bool skips_deliver() { return true; }
};
struct DataOvertaken : Sound {
    bool fetches_before_data(Word) { return true; }
};

} // namespace rmalock::check::pf_alock_fault
