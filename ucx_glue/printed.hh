// What UCX tells nobody but readers of its logs.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

namespace rmalock::ucx {

/// What `print` writes to the stream it is given. Empty if there is no memory for it.
template <class Print>
std::string printed(Print&& print) {
    char* text = nullptr;
    std::size_t bytes = 0;
    std::FILE* const stream = open_memstream(&text, &bytes);
    if (stream == nullptr)
        return {};
    print(stream);
    std::fclose(stream);
    const std::unique_ptr<char, decltype(&std::free)> owned(text, &std::free);
    return {text, bytes};
}

} // namespace rmalock::ucx
