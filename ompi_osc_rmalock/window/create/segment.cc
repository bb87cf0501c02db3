#include "window/create/segment.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <utility>

#include "host.hh"

namespace rmalock::window {
namespace {

/// See SegmentFile::use_names. A flag without data: relaxed would do, and a creation takes far longer.
std::atomic<bool> names_only{false};

std::string path_of(const std::string& folder, const SegmentFile::Name& name) {
    char text[48];
    std::snprintf(text, sizeof text, "/rmalock.%016llx%016llx",
                  static_cast<unsigned long long>(name.random[0]),
                  static_cast<unsigned long long>(name.random[1]));
    return folder + text;
}

std::string path_of_descriptor(const SegmentFile::Name& name) {
    return "/proc/" + std::to_string(name.pid) + "/fd/" + std::to_string(name.descriptor);
}

/// Beyond the limit the kernel ends a process that lets a file grow, by SIGXFSZ. A program that asks for
/// memory knows of no file, so it is told instead.
bool is_beyond_file_limit(std::size_t bytes) {
    struct rlimit limit;
    if (bytes > std::numeric_limits<off_t>::max())
        return true;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur; // none is the highest
}

int reserve_at(const OpenFile& file, std::size_t offset, std::size_t bytes) {
    return posix_fallocate(file.descriptor(), static_cast<off_t>(offset),
                           static_cast<off_t>(bytes));
}

/// At once, so that what there is no room for takes none. Linux before 6.10 gives all of it up at a
/// signal, each time beside a timer: then in steps, which are shorter.
int reserve(const OpenFile& file, Range mine) {
    constexpr std::size_t kStep = 4 << 20;
    int error = mine.bytes != 0 ? reserve_at(file, mine.offset, mine.bytes) : 0;
    if (error != EINTR)
        return error;
    for (std::size_t done = 0; done < mine.bytes; done += kStep) {
        do
            error = reserve_at(file, mine.offset + done, std::min(kStep, mine.bytes - done));
        while (error == EINTR);
        if (error != 0)
            return error;
    }
    return 0;
}

/// All open the file once more, and the umask may have taken the owner's rights.
bool is_ours(int file) {
    constexpr mode_t kOurs = S_IRUSR | S_IWUSR;
    struct stat found;
    return fstat(file, &found) == 0 &&
           ((found.st_mode & kOurs) == kOurs || fchmod(file, kOurs) == 0);
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
    if (names_only || !make_without_name(folder))
        make_with_name(folder);
}

/// False: the file system cannot.
bool SegmentFile::make_without_name(const std::string& folder) {
    descriptor_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct stat found;
    if (descriptor_ < 0 || !is_ours(descriptor_) || fstat(descriptor_, &found) != 0)
        return false;
    name_.pid = getpid();
    name_.descriptor = descriptor_;
    name_.device = found.st_dev;
    name_.inode = found.st_ino;
    return true;
}

void SegmentFile::make_with_name(const std::string& folder) {
    if (getrandom(name_.random, sizeof name_.random, 0) != sizeof name_.random) {
        name_.error = EAGAIN;
        return;
    }
    const std::string path = path_of(folder, name_);
    if (host().remove_at_end != nullptr)
        host().remove_at_end(path.c_str());
    const int file = open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) {
        name_.error = errno;
        return;
    }
    path_ = path;
    if (!is_ours(file))
        name_.error = errno;
    close(file);
}

SegmentFile::~SegmentFile() {
    if (!path_.empty())
        unlink(path_.c_str());
    if (descriptor_ >= 0)
        close(descriptor_);
}

void SegmentFile::use_names() {
    names_only = true;
}

OpenFile::~OpenFile() {
    close();
}

void OpenFile::close() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
    descriptor_ = -1;
}

int OpenFile::open(const std::string& folder, const SegmentFile::Name& name) {
    close();
    if (name.error != 0)
        return name.error;
    descriptor_ = name.is_named()
                      ? ::open(path_of(folder, name).c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC)
                      : ::open(path_of_descriptor(name).c_str(), O_RDWR | O_CLOEXEC);
    if (descriptor_ < 0)
        return errno;
    struct stat found;
    if (fstat(descriptor_, &found) != 0)
        return errno;
    const bool same = found.st_dev == name.device && found.st_ino == name.inode;
    return name.is_named() || same ? 0 : ESTALE;
}

int Segment::map(const OpenFile& file, std::size_t bytes, Range mine, Segment& segment) {
    if (is_beyond_file_limit(bytes))
        return EFBIG;
    // All processes set the same size, in any order.
    if (ftruncate(file.descriptor(), static_cast<off_t>(bytes)) != 0)
        return errno;
    if (const int error = reserve(file, mine))
        return error;
    void* const base =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor(), 0);
    if (base == MAP_FAILED)
        return errno;
    segment = Segment();
    segment.base_ = static_cast<std::byte*>(base);
    segment.bytes_ = bytes;
    return 0;
}

} // namespace rmalock::window
