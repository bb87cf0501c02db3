#include "network/trial.hh"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "host.hh"

namespace rmalock::network {
namespace {

/// For answers of partners that poll for nothing else: they are in the same collective call, and
/// have come from the same collective operation. TCP repeats what was lost four times in it.
constexpr std::chrono::seconds kMostWait{20};

// For an answer of the network adapter alone. It comes in microseconds, unless a packet is lost.
constexpr std::chrono::milliseconds kPatience{20};

constexpr std::uint64_t kKnocked = 0, kMet = 1, kParted = 2; ///< stages

/// Followed by the bytes of the key, of the worker's address, and of place().
struct Offer {
    ucx::RemoteAddress words;
    std::uint32_t key_bytes, address_bytes, place_bytes;
};

std::string setting(const char* variable) {
    const char* const value = std::getenv(variable);
    return std::string(variable) + (value != nullptr ? std::string("=") + value : " not set");
}

} // namespace

Trial::Trial(ucx::PeerId self, Rank rank, std::span<const TrialPair> pairs, bool narrow)
    : worker_({.self = self,
               .narrow_atomics = narrow,
               .connects_in_progress = true,
               .ends_abruptly = true}) {
    for (const TrialPair& pair : pairs) {
        if (pair.asks != rank && pair.answers != rank)
            continue;
        const bool asks = pair.asks == rank;
        partners_.push_back({.rank = asks ? pair.answers : pair.asks,
                             .asks = asks,
                             .tries_atomics = pair.tries_atomics,
                             .slot = asks ? pair.place_at_answers : pair.place_at_asks});
    }
    words_.resize(1 + partners_.size());
    registration_ = ucx::Registration(worker_, words_.data(), words_.size() * sizeof words_[0]);
}

std::string Trial::place() {
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    return std::string(host) + ", " + setting("UCX_TLS") + ", " + setting("UCX_NET_DEVICES");
}

ucx::Bytes Trial::offer() const {
    const ucx::Bytes key = registration_.key();
    const std::string place = Trial::place();
    const Offer mine{reinterpret_cast<ucx::RemoteAddress>(words_.data()),
                     static_cast<std::uint32_t>(key.size()),
                     static_cast<std::uint32_t>(worker_.address().size()),
                     static_cast<std::uint32_t>(place.size())};
    const auto first = std::as_bytes(std::span(&mine, 1));
    ucx::Bytes all(first.begin(), first.end());
    all.insert(all.end(), key.begin(), key.end());
    all.insert(all.end(), worker_.address().begin(), worker_.address().end());
    const auto text = std::as_bytes(std::span(place));
    all.insert(all.end(), text.begin(), text.end());
    return all;
}

void Trial::connect(std::span<const Station> stations, std::span<const ucx::Bytes> offers) {
    for (Partner& partner : partners_) {
        const auto rank = static_cast<std::size_t>(partner.rank);
        if (offers[rank].empty())
            continue; // that process has failed, and tells why itself
        try {
            connect(partner, stations[rank].peer, offers[rank]);
        } catch (const ucx::Error& error) {
            partner.result = Result::refused;
            partner.why = error.what();
        }
    }
}

void Trial::connect(Partner& partner, ucx::PeerId id, std::span<const std::byte> offer) {
    Offer theirs;
    std::memcpy(&theirs, offer.data(), sizeof theirs);
    const auto rest = offer.subspan(sizeof theirs);
    partner.there = theirs.words;
    const auto place = rest.last(theirs.place_bytes);
    partner.place.assign(reinterpret_cast<const char*>(place.data()), place.size());
    partner.peer = &worker_.introduce(id, rest.subspan(theirs.key_bytes, theirs.address_bytes));
    partner.key = ucx::RemoteKey(worker_, *partner.peer, rest.first(theirs.key_bytes));
}

void Trial::ask(Partner& partner) {
    worker_.post_store(*partner.peer, partner.there, partner.key, 1);
}

/// The one that asks goes ahead when its atomic is complete, and tells the other one.
bool Trial::has_come_to(std::uint64_t stage, Partner& partner) {
    if (!partner.asks) {
        const std::size_t place = 1 + static_cast<std::size_t>(&partner - partners_.data());
        // Acquire: the partner's word comes behind what it has done in that stage (carry_out).
        return std::atomic_ref(words_[place]).load(std::memory_order_acquire) >= stage;
    }
    if (!ucx::Worker::complete_here(*partner.peer))
        return false;
    if (std::exchange(partner.told, stage) != stage)
        tell(partner, stage);
    return true;
}

void Trial::tell(const Partner& partner, std::uint64_t stage) {
    worker_.send_word(*partner.peer, ucx::WordOp::store,
                      partner.there + (1 + partner.slot) * sizeof words_[0], stage);
}

/// Meanwhile all serve each other, and MPI. Not before everything has been sent: a partner waits
/// for it, and this process goes on to where it does nothing for the worker.
void Trial::until(std::uint64_t stage, std::span<Partner> partners) {
    const auto end = Clock::now() + kMostWait;
    for (;;) {
        bool all = true;
        for (Partner& partner : partners)
            all = has_come_to(stage, partner) && all;
        if ((all && worker_.all_messages_left()) || Clock::now() > end)
            return;
        if (!worker_.progress())
            host().progress();
    }
}

void Trial::meet() {
    try {
        for (Partner& partner : partners_) {
            if (partner.asks)
                ask(partner);
            else
                tell(partner, kKnocked); // UCX tells of a lost connection where something was sent
        }
        until(kMet, partners_);
        for (Partner& partner : partners_)
            if (has_come_to(kMet, partner))
                partner.result = Result::reached;
    } catch (const ucx::Error& error) {
        refuse_the_rest(error.what());
    }
}

/// The worker has failed; UCX does not say with which of them.
void Trial::refuse_the_rest(const std::string& why) {
    for (Partner& partner : partners_) {
        if (partner.result == Result::reached)
            continue;
        partner.result = Result::refused;
        partner.why = why;
    }
}

std::size_t Trial::atomics_answered() {
    const auto partner = std::find_if(partners_.begin(), partners_.end(), [](const Partner& each) {
        return each.tries_atomics && each.asks;
    });
    if (partner == partners_.end())
        return ucx::kAtomics;
    std::size_t answered = 0;
    while (answered < ucx::kAtomics &&
           worker_.answers(*partner->peer, static_cast<ucx::Atomic>(answered), partner->there,
                           partner->key, kPatience))
        ++answered;
    ask(*partner); // behind those that are still under way: part() waits for its answer
    return answered;
}

void Trial::part() {
    for (Partner& partner : partners_)
        if (partner.tries_atomics)
            until(kParted, std::span(&partner, 1));
}

const Trial::Partner& Trial::worst() const {
    return *std::min_element(
        partners_.begin(), partners_.end(),
        [](const Partner& one, const Partner& other) { return one.result < other.result; });
}

Trial::Result Trial::result() const {
    return worst().result;
}

} // namespace rmalock::network
