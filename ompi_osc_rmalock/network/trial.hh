// One process's side of the trial whether processes reach each other through the network.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ucx_glue/memory.hh"
#include "ucx_glue/worker.hh"
#include "network/trial_pairs.hh"

namespace rmalock::network {

/// Connects to the partners that the pairs name, by a worker that nothing else uses: if a
/// connection fails, so does that worker, and the process's own still serves the windows on one
/// node. UCX's refusals are kept, not thrown: each process goes through all collective calls of the
/// trial.
class Trial {
  public:
    /// How far the process has come with a partner, from bad to good.
    enum class Result : std::uint8_t { refused, no_answer, reached };

    /// `narrow`: opens UCX with atomics of 32 bits, as the process's own worker has.
    /// Throws ucx::Error. It may end when all partners are through, or one has failed: nobody then
    /// waits for anything that is under way.
    Trial(ucx::PeerId self, Rank rank, std::span<const TrialPair> pairs, bool narrow);

    /// What the partners need to know.
    ucx::Bytes offer() const;
    /// Opens the connections; offers by rank.
    void connect(std::span<const Station> stations, std::span<const ucx::Bytes> offers);
    /// An atomic stores a word at each partner, or the partner's does here, as the pair says; then
    /// the one that has posted it tells the other one. Until all is done, or the time is over.
    void meet();
    /// For the pair that tries out atomics, if this process is in one. The one that asks sends one
    /// of each kind while the other one does nothing for its worker, until one is not answered.
    /// Returns how many are, in the order of ucx::Atomic.
    std::size_t atomics_answered();
    /// After that.
    void part();

    /// The worst of all partners.
    Result result() const;
    /// The partner whose result that is, and UCX's words, if it has refused something.
    Rank partner() const { return worst().rank; }
    const std::string& why() const { return worst().why; }
    /// Where a process is, and what UCX was told there: for people that look for the cause.
    static std::string place();
    const std::string& place_of_partner() const { return worst().place; }

  private:
    using Clock = std::chrono::steady_clock;
    struct Partner {
        Rank rank;
        bool asks;          ///< this process does
        bool tries_atomics; ///< see TrialPair
        std::size_t slot;   ///< of the partner's stages: this process's
        ucx::Peer* peer = nullptr;
        ucx::RemoteAddress there = 0; ///< the partner's words
        ucx::RemoteKey key{};
        std::uint64_t told = 0; ///< the last stage that the partner was told
        Result result = Result::no_answer;
        std::string why{}, place{};
    };

    void connect(Partner& partner, ucx::PeerId id, std::span<const std::byte> offer);
    void ask(Partner& partner);
    void tell(const Partner& partner, std::uint64_t stage);
    bool has_come_to(std::uint64_t stage, Partner& partner);
    void until(std::uint64_t stage, std::span<Partner> partners);
    void refuse_the_rest(const std::string& why);
    const Partner& worst() const;

    std::vector<std::uint64_t> words_; ///< where atomics go; then by partner: its stage
    ucx::Worker worker_;
    ucx::Registration registration_;
    std::vector<Partner> partners_;
};

} // namespace rmalock::network
