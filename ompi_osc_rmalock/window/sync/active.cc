// Active target: fence, and post/start/complete/wait.
//
// A post sets the poster's bit at each origin; a complete adds one to a counter at each target. Both
// are verbs of the fabric. Where CPUs do the network's atomics, a complete is a message behind all
// else that was sent to the target, and waits for none of it there.
#include <algorithm>
#include <iterator>
#include <span>

#include "fabric/layout.hh"
#include "window/sync/epochs.hh"

namespace rmalock::window {
namespace {

using fabric::Slot;
using fabric::Value;
using fabric::Word;
using Slots = fabric::WindowSlots;

Word post_word(Rank origin, Rank poster) {
    return {origin, Slots::post_bits + static_cast<Slot>(poster) / 64};
}
constexpr Value post_bit(Rank poster) {
    return Value{1} << (poster % 64);
}

} // namespace

Status Epochs::fence(bool nosucceed) {
    {
        const Guard guard(*this);
        const Event event = nosucceed ? Event::fence_last : Event::fence;
        if (const Status status = advance(event, "MPI_Win_fence"); status != RMALOCK_OK)
            return status;
    }
    complete_everywhere();
    renew_regions();
    const auto await = awaiting({Mode::fence});
    return comm_.barrier(comm_.handle) == 0 ? copied() : RMALOCK_ERR_COMM;
}

Status Epochs::start(const int* group, int count, bool nocheck) {
    {
        const Guard guard(*this);
        if (const Status status = advance(Event::start, "MPI_Win_start"); status != RMALOCK_OK)
            return status;
        targets_.assign(group, group + count);
        access_group_.assign(static_cast<std::size_t>(comm_.size), false);
        for (const Rank target : targets_)
            access_group_[static_cast<std::size_t>(target)] = true;
    }
    renew_regions();
    if (nocheck) // the program promises that every post went before, and they set no bits
        return RMALOCK_OK;
    for (const Rank target : targets_) {
        const Word word = post_word(rank(), target);
        const Value bit = post_bit(target);
        const auto await = awaiting({Mode::post, target});
        fabric_.await(word, [bit](Value posts) { return (posts & bit) != 0; });
        // Taken back at once: the target posts to this rank again only after this epoch's complete.
        fabric_.fetch_add(word, Value{0} - bit);
    }
    return RMALOCK_OK;
}

Status Epochs::complete() {
    std::vector<Rank> targets;
    {
        const Guard guard(*this);
        if (const Status status = advance(Event::complete, "MPI_Win_complete");
            status != RMALOCK_OK)
            return status;
        targets.swap(targets_);
    }
    held_back_.send_all();
    // The word comes behind all that was sent to the target, or waits for it.
    const auto behind = std::partition(targets.begin(), targets.end(), [this](Rank target) {
        return !is_far(target) || !remote_->send_complete(target);
    });
    std::vector<Rank> far;
    std::copy_if(targets.begin(), behind, std::back_inserter(far),
                 [this](Rank target) { return is_far(target); });
    if (!far.empty())
        remote_->complete_each(far);
    for (const Rank target : std::span(targets.begin(), behind))
        fabric_.add({target, Slots::completions}, 1);
    for (const Rank target : std::span(behind, targets.end()))
        remote_->flush_local(target);
    return copied();
}

void Epochs::complete_by_message() {
    fabric_.fetch_add({rank(), Slots::completions}, 1);
}

Status Epochs::post(const int* group, int count, bool nocheck) {
    {
        const Guard guard(*this);
        if (exposed_)
            return fail(RMALOCK_ERR_SYNC, "MPI_Win_post", -1, "an exposure epoch is open");
        exposed_ = true;
        origins_ = static_cast<std::size_t>(count);
    }
    // The owner's stores before the post are visible to the origin that sees the bit: a posted
    // verb releases.
    for (int i = 0; i < count && !nocheck; ++i) {
        fabric_.add(post_word(group[i], rank()), post_bit(rank()));
    }
    return RMALOCK_OK;
}

Status Epochs::wait() {
    std::size_t origins = 0;
    {
        const Guard guard(*this);
        if (!exposed_)
            return fail(RMALOCK_ERR_SYNC, "MPI_Win_wait", -1, "no exposure epoch is open");
        origins = origins_;
    }
    const Word word{rank(), Slots::completions};
    const auto await = awaiting({Mode::completes});
    fabric_.await(word, [origins](Value completions) { return completions >= origins; });
    fabric_.fetch_add(word, Value{0} - origins);
    const Guard guard(*this);
    exposed_ = false;
    return RMALOCK_OK;
}

/// Neither verbs nor progress run under the guard: other threads use the window meanwhile.
Status Epochs::test(bool& done) {
    static constexpr char kCall[] = "MPI_Win_test", kNone[] = "no exposure epoch is open";
    std::size_t origins = 0;
    {
        const Guard guard(*this);
        if (!exposed_)
            return fail(RMALOCK_ERR_SYNC, kCall, -1, kNone);
        origins = origins_;
    }
    const Word word{rank(), Slots::completions};
    done = fabric_.get(word) >= origins;
    if (!done) {
        if (fabric_.waiter().progress != nullptr)
            fabric_.waiter().progress(); // a program that only tests must get its messages as well
        return RMALOCK_OK;
    }
    {
        const Guard guard(*this);
        if (!exposed_) // another thread has ended the epoch
            return fail(RMALOCK_ERR_SYNC, kCall, -1, kNone);
        exposed_ = false;
    }
    fabric_.fetch_add(word, Value{0} - origins);
    return RMALOCK_OK;
}

} // namespace rmalock::window
