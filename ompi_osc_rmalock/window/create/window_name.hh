// What a window is called in messages.
#pragma once

namespace rmalock::window {

/// As the program says, which may change it at any time, in place; else by its flavor and number.
struct WindowName {
    const char* given;
    const char* label;

    const char* now() const { return *given != '\0' ? given : label; }
};

} // namespace rmalock::window
