// What the worker keeps of operations that are under way: private to Worker.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ucx_glue/types.hh"

namespace rmalock::ucx {

class Completion;
class Peer;
class Worker;

/// Objects that UCX holds pointers to, taken and given back, never freed before the list: an
/// operation whose caller has gone (by an exception) may still be written to.
template <class T>
class FreeList {
  public:
    T& take() {
        if (free_.empty())
            return all_.emplace_back();
        T& object = *free_.back();
        free_.pop_back();
        return object;
    }
    void give_back(T& object) { free_.push_back(&object); }
    /// All of them, those that are back as well.
    template <class Visit>
    void each(Visit visit) {
        for (T& object : all_)
            visit(object);
    }

  private:
    std::deque<T> all_;
    std::vector<T*> free_;
};

/// A put, a get, a posted word or an atomic on data that waits to be issued. Small, since a program
/// may post millions between two flushes.
struct QueuedTransfer {
    enum class Kind : std::uint8_t {
        put,
        get,
        word_add,
        word_swap,
        element_add,
        element_read,
        element_fetch_add,
        element_swap,
        element_compare_swap,
    };

    Peer* peer;
    ucp_rkey* key;
    RemoteAddress address;
    void* origin; ///< put, get; of elements: where what was there goes, or null
    std::uint64_t bytes_or_operand;
    Completion* completion;
    Kind kind;
    std::uint8_t width = sizeof(std::uint64_t); ///< of a word or element: bytes

    bool is_word() const { return kind == Kind::word_add || kind == Kind::word_swap; }
    bool is_element() const { return kind >= Kind::element_add; }
    /// Its answer says that it is complete at the peer.
    bool is_answered() const { return kind == Kind::get || kind > Kind::element_add; }
};
static_assert(sizeof(QueuedTransfer) <= 56);

/// An operation that UCX has. It owns the words that UCX reads and writes until it is complete.
struct Operation {
    Worker* worker = nullptr;
    Peer* peer = nullptr;
    Completion* completion = nullptr;
    std::uint64_t operand = 0;
    std::uint64_t reply = 0;
    std::uint64_t covers = 0; ///< a flush: what peer.flushed_ becomes
    /// The callback releases the reply by it, and the thread that waits acquires it. Relaxed where it
    /// becomes false: with the worker locked, before UCX has the operation.
    std::atomic<bool> done{false};
    bool is_posted = false; ///< a put, a get or a posted word that is under way
};

/// The copy of an active message that UCX sends from. The room of a short one is kept for the next;
/// that of a long one goes with it, since many that are under way together would keep megabytes.
struct Message {
    static constexpr std::size_t kShort = 8U << 10;

    Worker* worker = nullptr;
    Peer* peer = nullptr;
    std::unique_ptr<std::byte[]> short_room, long_room;
    std::size_t bytes = 0;
    bool counts = false; ///< among those that are under way

    std::byte* room_for(std::size_t size) {
        std::unique_ptr<std::byte[]>& room = size <= kShort ? short_room : long_room;
        if (room == nullptr)
            room.reset(new std::byte[size <= kShort ? kShort : size]);
        bytes = size;
        return room.get();
    }
};

} // namespace rmalock::ucx
