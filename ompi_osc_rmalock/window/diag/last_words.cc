#include "window/diag/last_words.hh"

#include <csignal>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

namespace rmalock::window {
namespace {

constexpr std::size_t kMostWindows = 64; ///< further ones say nothing
constexpr std::size_t kNoPlace = kMostWindows;
constexpr Rank kMostLines = 32; ///< of a window

struct Known {
    std::mutex mutex; ///< of those that come and go; the handler takes none
    std::array<std::atomic<const LastWords*>, kMostWindows> windows{};
    std::size_t count = 0;
    char host[64] = "";
};
Known& known() {
    static Known the_ones;
    return the_ones;
}
std::atomic<bool> speaking{false};
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<const LastWords*>::is_always_lock_free);

/// A line to standard error, by what a handler may call (POSIX 2017, 2.4.3). What is too long is cut.
class Line {
  public:
    Line& operator<<(std::string_view text) {
        const std::size_t length = std::min(text.size(), sizeof text_ - 1 - length_);
        std::memcpy(text_ + length_, text.data(), length);
        length_ += length;
        return *this;
    }
    Line& operator<<(long number) { return put(number, 1); }
    /// With zeros before it, up to so many digits.
    Line& put(long number, std::ptrdiff_t least) {
        char digits[24];
        char* const end = digits + sizeof digits;
        char* first = end;
        for (; number != 0 || end - first < least; number /= 10)
            *--first = static_cast<char>('0' + number % 10);
        return *this << std::string_view(first, static_cast<std::size_t>(end - first));
    }
    void write() {
        text_[length_++] = '\n';
        // There is nobody to tell that it fails.
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text_, length_);
    }

  private:
    char text_[512];
    std::size_t length_ = 0;
};

Line begun() {
    Line line;
    line << "[" << known().host << ":";
    line.put(::getpid(), 5)
        << "] osc/rmalock: the job is ended: window '"; // as Open MPI begins them
    return line;
}

Line& operator<<(Line& line, Lock lock) {
    switch (lock.mode) {
    case Mode::exclusive:
        return line << "the exclusive lock of rank " << static_cast<long>(lock.target);
    case Mode::shared:
        return line << "the shared lock of rank " << static_cast<long>(lock.target);
    case Mode::all:
        return line << "lock_all";
    case Mode::fence:
        return line << "MPI_Win_fence";
    case Mode::post:
        return line << "MPI_Win_post of rank " << static_cast<long>(lock.target);
    case Mode::completes:
        return line << "MPI_Win_complete of its origins";
    }
    __builtin_unreachable();
}

extern "C" void speak(int signal) {
    speaking = true;
    for (const auto& each : known().windows)
        if (const LastWords* const window = each; window != nullptr)
            window->print();
    std::signal(signal, SIG_DFL);
    std::raise(signal); // takes effect when this returns
}

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == speak;
}

/// With the windows locked.
void listen(bool on) {
    struct sigaction now {};
    if (::sigaction(SIGTERM, nullptr, &now) != 0)
        return;
    const bool untouched = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL;
    if (on ? untouched : is_ours(now))
        std::signal(SIGTERM, on ? speak : SIG_DFL);
}

} // namespace

LastWords::LastWords(const Of& of) : of_(of), place_(kNoPlace) {
    Known& all = known();
    const std::lock_guard lock(all.mutex);
    const auto free =
        std::ranges::find_if(all.windows, [](const auto& each) { return each == nullptr; });
    if (free == all.windows.end())
        return;
    if (all.count++ == 0) {
        (void)::gethostname(all.host, sizeof all.host - 1);
        listen(true);
    }
    place_ = static_cast<std::size_t>(free - all.windows.begin());
    *free = this;
}

void LastWords::withdraw() {
    if (place_ == kNoPlace)
        return;
    Known& all = known();
    const std::lock_guard lock(all.mutex);
    all.windows[std::exchange(place_, kNoPlace)] = nullptr;
    if (--all.count == 0)
        listen(false);
    while (speaking)
        ::pause(); // another thread reads the records, and then ends the process
}

void LastWords::print() const {
    if (!is_first())
        return;
    Rank lines = 0, more = 0;
    for (Rank rank = 0; rank < of_.size; ++rank)
        if (of_.records.near(rank) && of_.records.of(rank).says_anything(of_.number)) {
            if (lines < kMostLines)
                ++lines, print(rank);
            else
                ++more;
        }
    if (more != 0)
        (begun() << of_.window.now() << "': and " << long{more} << " more ranks").write();
}

/// Of the node's processes.
bool LastWords::is_first() const {
    for (Rank rank = 0; rank < of_.size; ++rank)
        if (of_.records.near(rank))
            return of_.records.of(rank).first_to_print();
    return false;
}

void LastWords::print(Rank rank) const {
    Line line = begun();
    line << of_.window.now() << "': rank " << static_cast<long>(rank);
    const char* before = " holds ";
    const Record& record = of_.records.of(rank);
    record.each_held([&](Lock held) { line << std::exchange(before, ", ") << held; });
    if (const auto awaited = record.awaited(of_.number))
        line << (*before == ',' ? ", and waits for " : " waits for ") << *awaited;
    line.write();
}

} // namespace rmalock::window
