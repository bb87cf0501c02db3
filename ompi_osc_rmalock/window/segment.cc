#include "window/segment.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

namespace rmalock::window {
namespace {

class File {
  public:
    explicit File(int opened) : descriptor(opened) {}
    ~File() {
        if (descriptor >= 0)
            close(descriptor);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    const int descriptor;
};

std::string path_of(const std::string& folder, const SegmentFile::Name& name) {
    char text[48];
    std::snprintf(text, sizeof text, "/rmalock.%016llx%016llx",
                  static_cast<unsigned long long>(name.random[0]),
                  static_cast<unsigned long long>(name.random[1]));
    return folder + text;
}

int reserve(const File& file, Range mine) {
    if (mine.bytes == 0)
        return 0;
    int error;
    do {
        error = posix_fallocate(file.descriptor, static_cast<off_t>(mine.offset),
                                static_cast<off_t>(mine.bytes));
    } while (error == EINTR);
    return error;
}

} // namespace

std::size_t page_bytes() {
    static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return bytes;
}

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

Segment::~Segment() {
    if (base_ != nullptr)
        munmap(base_, bytes_);
}

SegmentFile::SegmentFile(const std::string& folder) {
    if (getrandom(name_.random, sizeof name_.random, 0) != sizeof name_.random) {
        name_.error = EAGAIN;
        return;
    }
    const std::string path = path_of(folder, name_);
    const File file(open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.descriptor < 0)
        name_.error = errno;
    else
        path_ = path;
}

SegmentFile::~SegmentFile() {
    if (!path_.empty())
        unlink(path_.c_str());
}

int Segment::map(const std::string& folder, const SegmentFile::Name& name, std::size_t bytes,
                 Range mine, Segment& segment) {
    if (name.error != 0)
        return name.error;
    const File file(open(path_of(folder, name).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    // All processes set the same size, in any order.
    if (file.descriptor < 0 || ftruncate(file.descriptor, static_cast<off_t>(bytes)) != 0)
        return errno;
    if (const int error = reserve(file, mine))
        return error;
    void* const base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
    if (base == MAP_FAILED)
        return errno;
    segment = Segment();
    segment.base_ = static_cast<std::byte*>(base);
    segment.bytes_ = bytes;
    return 0;
}

} // namespace rmalock::window
