// How this process stands with another one: states that exclude each other, and the events that
// change them. What is counted is elsewhere (peer.hh).
//
// An event that a table does not name for a state (-) changes nothing there: no state is left or
// reached by another way.
//
//    Contact    begins_contact  answered  pulsed    pulse_answered  parted   lose
//    none       greeted         met       -         -               -        lost
//    greeted    -               met       -         -               none     lost
//    met        -               -         pulsed    -               none     lost
//    pulsed     -               -         anew      met             none     lost
//    lost       -               -         -         -               -        -
//
//    WordsWay   words_greeted   words_answered  words_stored  parted
//    shared     greeted (S)     -               -             -
//    greeted    -               met             -             shared
//    met        -               -               apart         shared
//    apart      -               -               -             shared
//
//    S: unless `Second` is refused. An answer may be late: its endpoint was closed meanwhile.
//
//    Second       allowed -> refused (refuse_second), for good
//    TheirWords   shared -> apart (their_words_greeted) -> shared (parted)
//    Lanes        unknown -> one or several (lanes_counted), for good
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace rmalock::ucx {

/// How far this process has come with a peer. Puts wait until something has come back: while both
/// sides connect at once, UCX 1.13 can lose what a put over TCP waits for, and crash.
enum class Contact : std::uint8_t {
    none,
    greeted, ///< it was asked to answer
    met,     ///< it has answered; an answer to a fetch is as good as one to a greeting
    pulsed,  ///< and was asked again whether it is there (Worker::check_peers)
    lost,    ///< see PeerLost
};

/// Which way sent words go (Worker::send_word). Another endpoint, for them alone, is opened for
/// peers that are sent words often while descriptors are plenty. Words take it once it has brought
/// something back and all that went over the first one are stored. So a release does not wait for a
/// connection while the next lock overtakes it.
enum class WordsWay : std::uint8_t {
    shared,  ///< over the endpoint for all else; there is no other one
    greeted, ///< the same; the words' own was greeted and has brought nothing back: flushes wait
             ///< for that, so that no peer is asked that may have gone
    met,     ///< the same; it has, and words take it once all that were sent are stored
    apart,   ///< over their own endpoint
};

/// Whether an endpoint may be opened for words. What is open when it is refused stays.
enum class Second : std::uint8_t { allowed, refused };

/// Over which endpoint the peer's words come, as its greetings say.
enum class TheirWords : std::uint8_t { shared, apart };

/// Over how many connections of the transports' an endpoint sends. Over one, all arrives in the
/// order in which it was sent; over several ucp_worker_fence is not relied on, which in UCX's weak
/// mode (UCX_FENCE_MODE) has no lane wait for another.
enum class Lanes : std::uint8_t { unknown, one, several };

/// Events come with the worker locked. So do questions, but for lost() and words_way(), which waits
/// ask without it.
class PeerState {
  public:
    using Time = std::chrono::steady_clock::time_point;

    /// Acquire, for lose(): a wait that it ends sees what came from the peer before.
    bool lost() const { return contact_.load(std::memory_order_acquire) == Contact::lost; }
    /// Nothing has to wait for the peer's first answer: it has come, or will never come.
    bool met() const { return contact() >= Contact::met; }
    Contact contact() const { return contact_.load(std::memory_order_relaxed); }
    /// Since when the pulse is unanswered: in `pulsed`.
    Time pulsed_at() const { return pulsed_at_; }
    /// Acquire, for go(): a wait for the end of `greeted` sees what was counted before.
    WordsWay words_way() const { return words_way_.load(std::memory_order_acquire); }
    bool words_may_part() const {
        return words_way() == WordsWay::shared && second_ == Second::allowed;
    }
    TheirWords their_words() const { return their_words_; }
    Lanes lanes() const { return lanes_; }

    // ---- contact --------------------------------------------------------------------------------
    /// Whether the caller is to greet it.
    bool begins_contact() {
        const bool begins = contact() == Contact::none;
        if (begins)
            enter(Contact::greeted);
        return begins;
    }
    /// It has answered a greeting or a fetch.
    void answered() {
        if (contact() < Contact::met)
            enter(Contact::met);
    }
    /// It was asked whether it is there; or is given as long again to answer.
    void pulsed(Time now) {
        if (contact() != Contact::met && contact() != Contact::pulsed)
            return;
        pulsed_at_ = now;
        enter(Contact::pulsed);
    }
    void pulse_answered() {
        if (contact() == Contact::pulsed)
            enter(Contact::met);
    }
    /// The peer has gone. Release: see lost().
    void lose() { contact_.store(Contact::lost, std::memory_order_release); }
    /// The endpoints are closed; the next use opens others.
    void parted() {
        if (!lost())
            enter(Contact::none);
        go(WordsWay::shared);
        their_words_ = TheirWords::shared;
    }

    // ---- words ----------------------------------------------------------------------------------
    /// Their own endpoint is open, and was greeted.
    void words_greeted() {
        if (words_may_part())
            go(WordsWay::greeted);
    }
    /// That endpoint has brought something back.
    void words_answered() {
        if (words_way() == WordsWay::greeted)
            go(WordsWay::met);
    }
    /// All that went over the first endpoint are stored.
    void words_stored() {
        if (words_way() == WordsWay::met)
            go(WordsWay::apart);
    }
    /// This process or the peer is short of descriptors.
    void refuse_second() { second_ = Second::refused; }
    /// The peer has greeted over an endpoint for its words.
    void their_words_greeted() { their_words_ = TheirWords::apart; }

    // ---- lanes ----------------------------------------------------------------------------------
    void lanes_counted(std::size_t lanes) {
        if (lanes_ == Lanes::unknown)
            lanes_ = lanes == 1 ? Lanes::one : Lanes::several;
    }

  private:
    /// Relaxed: without the worker locked nobody asks for more than `lost`.
    void enter(Contact contact) { contact_.store(contact, std::memory_order_relaxed); }
    /// Release: see words_way().
    void go(WordsWay way) { words_way_.store(way, std::memory_order_release); }

    Time pulsed_at_;
    std::atomic<Contact> contact_{Contact::none};
    std::atomic<WordsWay> words_way_{WordsWay::shared};
    Second second_ = Second::allowed;
    TheirWords their_words_ = TheirWords::shared;
    Lanes lanes_ = Lanes::unknown;
};

} // namespace rmalock::ucx
