// How a process stands with a peer: every event in every state, as the tables of peer_state.hh have
// it.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "ucx_glue/peer_state.hh"

namespace rmalock::ucx {
namespace {

using namespace std::chrono_literals;

constexpr PeerState::Time kThen{1s}, kNow{2s};

using Event = std::function<void(PeerState&)>;
const Event kGreet = [](PeerState& peer) { peer.begins_contact(); };
const Event kAnswered = [](PeerState& peer) { peer.answered(); };
const Event kPulsed = [](PeerState& peer) { peer.pulsed(kNow); };
const Event kPulseAnswered = [](PeerState& peer) { peer.pulse_answered(); };
const Event kParted = [](PeerState& peer) { peer.parted(); };
const Event kLose = [](PeerState& peer) { peer.lose(); };
const Event kWordsGreeted = [](PeerState& peer) { peer.words_greeted(); };
const Event kWordsAnswered = [](PeerState& peer) { peer.words_answered(); };
const Event kWordsStored = [](PeerState& peer) { peer.words_stored(); };
const Event kRefuse = [](PeerState& peer) { peer.refuse_second(); };

void happen(PeerState& peer, const std::vector<Event>& events) {
    for (const Event& event : events)
        event(peer);
}

/// A peer of that contact, by the shortest way there.
void bring_to(Contact contact, PeerState& peer) {
    switch (contact) {
    case Contact::none:
        return;
    case Contact::greeted:
        return happen(peer, {kGreet});
    case Contact::met:
        return happen(peer, {kGreet, kAnswered});
    case Contact::pulsed:
        happen(peer, {kGreet, kAnswered});
        return peer.pulsed(kThen);
    case Contact::lost:
        return happen(peer, {kLose});
    }
}

void bring_to(WordsWay way, PeerState& peer) {
    const std::vector<Event> steps{kWordsGreeted, kWordsAnswered, kWordsStored};
    happen(peer, {steps.begin(), steps.begin() + static_cast<int>(way)});
}

/// What an event makes of the states in their order.
template <class State>
struct Column {
    const char* name;
    Event event;
    std::vector<State> after;
};

Contact state_of(const PeerState& peer, Contact) {
    return peer.contact();
}
WordsWay state_of(const PeerState& peer, WordsWay) {
    return peer.words_way();
}

template <class State>
void expect_table(const std::vector<Column<State>>& table) {
    for (const Column<State>& column : table)
        for (std::size_t i = 0; i < column.after.size(); ++i) {
            const auto before = static_cast<State>(i);
            PeerState peer;
            bring_to(before, peer);
            ASSERT_EQ(state_of(peer, before), before);
            column.event(peer);
            EXPECT_EQ(state_of(peer, before), column.after[i]) << column.name << " in state " << i;
        }
}

TEST(PeerState, ContactGoesByTheTable) {
    using enum Contact;
    expect_table<Contact>({
        {"begins_contact", kGreet, {greeted, greeted, met, pulsed, lost}},
        {"answered", kAnswered, {met, met, met, pulsed, lost}},
        {"pulsed", kPulsed, {none, greeted, pulsed, pulsed, lost}},
        {"pulse_answered", kPulseAnswered, {none, greeted, met, met, lost}},
        {"parted", kParted, {none, none, none, none, lost}},
        {"lose", kLose, {lost, lost, lost, lost, lost}},
        {"words_answered", kWordsAnswered, {none, greeted, met, pulsed, lost}},
    });
}

TEST(PeerState, WordsGoByTheTable) {
    using enum WordsWay;
    expect_table<WordsWay>({
        {"words_greeted", kWordsGreeted, {greeted, greeted, met, apart}},
        {"words_answered", kWordsAnswered, {shared, met, met, apart}},
        {"words_stored", kWordsStored, {shared, greeted, apart, apart}},
        {"parted", kParted, {shared, shared, shared, shared}},
        {"refuse_second", kRefuse, {shared, greeted, met, apart}},
        {"answered", kAnswered, {shared, greeted, met, apart}},
        {"lose", kLose, {shared, greeted, met, apart}},
    });
}

TEST(PeerState, OneGreetingBeginsAContact) {
    PeerState peer;
    EXPECT_TRUE(peer.begins_contact());
    EXPECT_FALSE(peer.begins_contact());
    peer.answered();
    EXPECT_FALSE(peer.begins_contact());
    peer.parted();
    EXPECT_TRUE(peer.begins_contact()) << "the endpoint is another one";
    peer.lose();
    peer.parted();
    EXPECT_FALSE(peer.begins_contact());
}

TEST(PeerState, NothingWaitsForTheFirstAnswerOfAPeerThatHasAnsweredOrGone) {
    for (const Contact contact :
         {Contact::none, Contact::greeted, Contact::met, Contact::pulsed, Contact::lost}) {
        PeerState peer;
        bring_to(contact, peer);
        EXPECT_EQ(peer.met(), contact != Contact::none && contact != Contact::greeted);
        EXPECT_EQ(peer.lost(), contact == Contact::lost);
    }
}

TEST(PeerState, APulseMayBeGivenMoreTime) {
    PeerState peer;
    bring_to(Contact::pulsed, peer);
    EXPECT_EQ(peer.pulsed_at(), kThen);
    peer.pulsed(kNow);
    EXPECT_EQ(peer.pulsed_at(), kNow);
}

TEST(PeerState, ARefusedSecondEndpointIsNeverGreeted) {
    PeerState peer;
    EXPECT_TRUE(peer.words_may_part());
    peer.refuse_second();
    EXPECT_FALSE(peer.words_may_part());
    peer.words_greeted();
    EXPECT_EQ(peer.words_way(), WordsWay::shared);
}

TEST(PeerState, ARefusalOutlastsTheEndpointThatWasOpen) {
    PeerState peer;
    bring_to(WordsWay::apart, peer);
    peer.refuse_second();
    EXPECT_EQ(peer.words_way(), WordsWay::apart);
    peer.parted();
    EXPECT_FALSE(peer.words_may_part());
}

TEST(PeerState, PartingEndsTheOtherSidesWayAsWell) {
    PeerState peer;
    peer.their_words_greeted();
    EXPECT_EQ(peer.their_words(), TheirWords::apart);
    peer.parted();
    EXPECT_EQ(peer.their_words(), TheirWords::shared);
}

TEST(PeerState, LanesAreCountedOnce) {
    PeerState one, several;
    EXPECT_EQ(one.lanes(), Lanes::unknown);
    one.lanes_counted(1);
    several.lanes_counted(2);
    EXPECT_EQ(one.lanes(), Lanes::one);
    EXPECT_EQ(several.lanes(), Lanes::several);
    one.parted();
    one.lanes_counted(2);
    EXPECT_EQ(one.lanes(), Lanes::one) << "the next endpoint is alike";
    PeerState silent;
    silent.lanes_counted(0);
    EXPECT_EQ(silent.lanes(), Lanes::several) << "UCX said nothing of the kind";
}

} // namespace
} // namespace rmalock::ucx
