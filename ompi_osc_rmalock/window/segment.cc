#include "window/segment.hh"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "window/host.hh"

namespace rmalock::window {
namespace {

/// What rank 0 tells the others: where the file is, or that there is none.
struct Announcement {
    int error = 0;
    char path[PATH_MAX - sizeof(int)] = {};
};

class File {
  public:
    File() = default;
    ~File() {
        if (descriptor >= 0)
            close(descriptor);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int descriptor = -1;
};

int make_file(const std::string& folder, std::size_t bytes, File& file, Announcement& where) {
    std::uint64_t random[2];
    if (getrandom(random, sizeof random, 0) != sizeof random)
        return EAGAIN;
    const int length = std::snprintf(where.path, sizeof where.path, "%s/rmalock.%016llx%016llx",
                                     folder.c_str(), static_cast<unsigned long long>(random[0]),
                                     static_cast<unsigned long long>(random[1]));
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof where.path)
        return ENAMETOOLONG;
    file.descriptor = open(where.path, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file.descriptor < 0)
        return errno;
    return ftruncate(file.descriptor, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int open_file(const Announcement& where, File& file) {
    if (where.error != 0)
        return where.error;
    file.descriptor = open(where.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    return file.descriptor >= 0 ? 0 : errno;
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

/// The first error any process had, in rank order; 0 if none had one.
rmalock_status_t first_error(const rmalock_comm_t& comm, int mine, int& first) {
    std::vector<int> all(static_cast<std::size_t>(comm.size));
    if (comm.allgather(comm.handle, &mine, all.data(), sizeof mine) != 0)
        return RMALOCK_ERR_COMM;
    const auto failed = std::find_if(all.begin(), all.end(), [](int error) { return error != 0; });
    first = failed == all.end() ? 0 : *failed;
    return RMALOCK_OK;
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

rmalock_status_t Segment::create(const rmalock_comm_t& comm, const std::string& folder,
                                 std::size_t bytes, Range mine, Segment& segment) {
    File file;
    Announcement where;
    if (comm.rank == 0)
        where.error = make_file(folder, bytes, file, where);
    if (comm.broadcast(comm.handle, &where, sizeof where, 0) != 0)
        return RMALOCK_ERR_COMM;

    int error = comm.rank == 0 ? where.error : open_file(where, file);
    if (error == 0)
        error = reserve(file, mine);
    void* base = MAP_FAILED;
    if (error == 0) {
        base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0);
        error = base == MAP_FAILED ? errno : 0;
    }

    int first = 0;
    const rmalock_status_t status = first_error(comm, error, first);
    if (comm.rank == 0 && file.descriptor >= 0)
        unlink(where.path); // everybody has opened it, or nobody will use it
    if (status != RMALOCK_OK || first != 0) {
        if (base != MAP_FAILED)
            munmap(base, bytes);
        if (status == RMALOCK_OK && comm.rank == 0)
            report(0, "a segment of %zu bytes in '%s' could not be made: %s", bytes, folder.c_str(),
                   std::strerror(first));
        return status != RMALOCK_OK ? status : RMALOCK_ERR_NO_MEM;
    }
    segment = Segment();
    segment.base_ = static_cast<std::byte*>(base);
    segment.bytes_ = bytes;
    return RMALOCK_OK;
}

} // namespace rmalock::window
