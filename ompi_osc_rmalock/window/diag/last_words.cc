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

#include "host.hh"

namespace rmalock::window {
namespace {

constexpr std::size_t kMostWindows = 64; ///< further ones say nothing
constexpr std::size_t kNoPlace = kMostWindows;
constexpr Rank kMostLines = 32; ///< of a window

struct Known {
    std::mutex mutex; ///< of those that come and go; the handler takes none
    std::array<std::atomic<const LastWords*>, kMostWindows> windows{};
    std::size_t count = 0;
    pid_t process = 0; ///< that these are of; what it forks has none
    char host[64] = "";
};
Known& known() {
    static Known the_ones;
    return the_ones;
}
std::atomic<bool> speaking{false};
static_assert(std::atomic<bool>::is_always_lock_free);
static_assert(std::atomic<const LastWords*>::is_always_lock_free);

/// A line to standard error, by what a handler may call (POSIX 2017, 2.4.3). What does not fit is left out,
/// and shown as "...".
class Line {
  public:
    Line& operator<<(std::string_view text) {
        if (cut_ || text.size() > kMost - length_) {
            cut_ = true;
            return *this;
        }
        std::memcpy(text_ + length_, text.data(), text.size());
        length_ += text.size();
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
        const std::string_view end = cut_ ? "...\n" : "\n";
        std::memcpy(text_ + length_, end.data(), end.size());
        length_ += end.size();
        // There is nobody to tell that it fails.
        [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text_, length_);
    }

  private:
    static constexpr std::size_t kMost = 508;

    char text_[kMost + sizeof "...\n"];
    std::size_t length_ = 0;
    bool cut_ = false;
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
    return line << "something unknown"; // the program wrote where it should not have
}

bool is_ours(const struct sigaction& action);

extern "C" void speak(int signal) {
    // A handler that came later, and calls this one, goes on by itself.
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) != 0 || !is_ours(now) || speaking.exchange(true))
        return;
    if (::getpid() == known().process)
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
        all.process = ::getpid();
        if (host().stay_loaded != nullptr)
            host().stay_loaded(); // a program may put the handler back, or never free the window
        listen(true);
    }
    place_ = static_cast<std::size_t>(free - all.windows.begin());
    *free = this;
}

LastWords::~LastWords() {
    if (place_ == kNoPlace)
        return;
    Known& all = known();
    const std::lock_guard lock(all.mutex);
    all.windows[place_] = nullptr;
    if (--all.count == 0)
        listen(false);
    // Another thread reads the records, and then ends the process, unless that is the first of a
    // container, which signals do not end.
    for (int tries = 0; speaking && tries < 1000; ++tries)
        ::usleep(1000);
}

void LastWords::print() const {
    if (!is_first())
        return;
    Rank lines = 0, more = 0;
    for (Rank rank = 0; rank < of_.size; ++rank)
        if (of_.records.near(rank) && says_anything(rank)) {
            if (lines < kMostLines)
                ++lines, print(rank);
            else
                ++more;
        }
    if (more != 0)
        (begun() << of_.window.now() << "': and " << long{more} << " more ranks").write();
}

bool LastWords::says_anything(Rank rank) const {
    const Record& record = of_.records.of(rank);
    return record.awaited(of_.number) || record.holds_anything();
}

/// Of the node's processes.
bool LastWords::is_first() const {
    for (Rank rank = 0; rank < of_.size; ++rank)
        if (of_.records.near(rank))
            return of_.records.of(rank).first_to_print();
    return false;
}

void LastWords::print(Rank rank) const {
    const Record& record = of_.records.of(rank);
    const auto of_rank = [&] {
        Line line = begun();
        line << of_.window.now() << "': rank " << static_cast<long>(rank);
        return line;
    };
    if (const auto awaited = record.awaited(of_.number))
        (of_rank() << " waits for " << *awaited).write();
    if (!record.holds_anything())
        return;
    Line line = of_rank();
    const char* before = " holds ";
    if (const std::uint64_t more = record.more_held(); more != 0)
        line << std::exchange(before, ", ") << static_cast<long>(more)
             << " locks that found no place";
    record.each_held([&](Lock held) { line << std::exchange(before, ", ") << held; });
    line.write();
}

} // namespace rmalock::window
