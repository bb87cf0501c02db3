#include "window/create/scratch.hh"

#include <array>
#include <atomic>
#include <bit>
#include <new>

#include "rmalock_api.h"

namespace rmalock::window {
namespace {

/// What is in front of the memory.
struct alignas(64) Piece {
    std::size_t bytes;
    std::byte* memory() { return reinterpret_cast<std::byte*>(this + 1); }
    static Piece* of(std::byte* memory) { return reinterpret_cast<Piece*>(memory) - 1; }
};
constexpr std::align_val_t kAlignment{alignof(Piece)};

bool is_kept(std::size_t bytes) {
    return bytes >= Scratch::kLeastKept && bytes <= Scratch::kMostKept;
}

Piece* make(std::size_t bytes) {
    if (is_kept(bytes))
        bytes = std::bit_ceil(bytes); // serves calls of other sizes as well
    return new (::operator new(sizeof(Piece) + bytes, kAlignment)) Piece{bytes};
}

void drop(Piece* piece) {
    ::operator delete(piece, kAlignment);
}

/// The process's pieces that no call has. A thread that takes one finds what the thread before wrote
/// to `bytes`: the exchanges acquire and release it.
class Kept {
  public:
    ~Kept() {
        for (auto& place : places_)
            drop(place.load()); // null is none
    }
    /// Null: none of so many bytes.
    Piece* take(std::size_t bytes) {
        for (auto& place : places_) {
            Piece* const piece = place.exchange(nullptr);
            if (piece != nullptr && piece->bytes >= bytes)
                return piece;
            if (piece != nullptr)
                give(piece);
        }
        return nullptr;
    }
    /// Those that were given before move up a place; the last one goes if there is none for it.
    void give(Piece* piece) {
        for (auto& place : places_) {
            piece = place.exchange(piece);
            if (piece == nullptr)
                return;
        }
        drop(piece);
    }

  private:
    std::array<std::atomic<Piece*>, Scratch::kPiecesKept> places_{};
};
Kept kept;

std::byte* take(std::size_t bytes) {
    Piece* const piece = is_kept(bytes) ? kept.take(bytes) : nullptr;
    return (piece != nullptr ? piece : make(bytes))->memory();
}

void give(std::byte* memory) {
    Piece* const piece = Piece::of(memory);
    is_kept(piece->bytes) ? kept.give(piece) : drop(piece);
}

} // namespace

Scratch::Scratch(std::size_t bytes) : memory_(take(bytes)) {}
Scratch::~Scratch() {
    give(memory_);
}

} // namespace rmalock::window

extern "C" void* rmalock_scratch_take(size_t bytes) {
    try {
        return rmalock::window::take(bytes);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

extern "C" void rmalock_scratch_give(void* memory) {
    if (memory != nullptr)
        rmalock::window::give(static_cast<std::byte*>(memory));
}
