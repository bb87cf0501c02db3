// Mutual exclusion as a ghost: which processes are inside a lock. Ghosts are seen by no lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rmalock::model {

/// How a process is inside a resource. The two rooms exclude each other and nobody else.
enum class Mode : std::uint8_t { shared, exclusive, room0, room1 };

inline constexpr std::size_t kModes = 4;
constexpr std::size_t index_of(Mode mode) {
    return static_cast<std::size_t>(mode);
}
constexpr const char* name_of(Mode mode) {
    constexpr const char* names[] = {"shared", "exclusive", "room 0", "room 1"};
    return names[index_of(mode)];
}

/// The processes inside one resource (a target's lock, or a window's gate).
class Occupancy {
  public:
    void enter(Mode mode) { ++inside_[index_of(mode)]; }
    void leave(Mode mode) { --inside_[index_of(mode)]; }

    bool exclusive_alone() const {
        const unsigned writers = inside_[index_of(Mode::exclusive)];
        const unsigned others = inside_[index_of(Mode::shared)];
        return writers == 0 || (writers == 1 && others == 0);
    }
    bool one_room() const {
        return inside_[index_of(Mode::room0)] == 0 || inside_[index_of(Mode::room1)] == 0;
    }
    bool lawful() const { return exclusive_alone() && one_room(); }

  private:
    std::array<std::uint32_t, kModes> inside_{};
};

} // namespace rmalock::model
