// Memory that all processes of a window on one node map: its lock state, and the memory of ALLOCATE
// and SHARED windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rmalock::window {

/// The part of a segment that one process provides the pages of.
struct Range {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

/// The file behind a segment, mode 0600. If the file system can, it has no name: the others open it
/// by way of /proc, and it is gone with the last process that has it, even if all are killed. Else
/// it has a random name, which is gone once every process of the node has opened it; if the process
/// is killed before, the launcher removes it, as far as it can (rmalock_host_t::remove_at_end).
class SegmentFile {
  public:
    /// How the others find it. Trivially copyable, so that it can be sent.
    struct Name {
        std::int32_t error = 0; ///< errno, if it could not be made
        // Of a file without a name: whose descriptor it is (0: the file has a name), and what is to
        // be found there, since the number can be another process's in another container.
        std::int32_t pid = 0, descriptor = -1;
        std::uint64_t device = 0, inode = 0;
        std::uint64_t random[2] = {}; ///< else: the name
        bool is_named() const { return pid == 0; }
    };

    SegmentFile() = default;
    /// Makes an empty file in `folder`; see name().error.
    explicit SegmentFile(const std::string& folder);
    /// Takes the name away again.
    ~SegmentFile();
    SegmentFile(const SegmentFile&) = delete;
    SegmentFile& operator=(const SegmentFile&) = delete;

    const Name& name() const { return name_; }
    /// From here on this process makes files with names: others may not look into its /proc.
    static void use_names();

  private:
    bool make_without_name(const std::string& folder);
    void make_with_name(const std::string& folder);

    std::string path_;
    int descriptor_ = -1; ///< without a name: what the others open
    Name name_;
};

/// A segment's file, opened by this process.
class OpenFile {
  public:
    OpenFile() = default;
    ~OpenFile();
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;

    /// Returns 0 or an errno; also the one in `name`.
    int open(const std::string& folder, const SegmentFile::Name& name);
    int descriptor() const { return descriptor_; }

  private:
    void close();
    int descriptor_ = -1;
};

/// RAII mapping.
class Segment {
  public:
    Segment() = default;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    /// Maps `bytes` of zeroed memory in `file`; every process of the node asks for the same. The
    /// caller reserves the pages of `mine` itself (so that they lie in its NUMA domain, and so that
    /// a full file system is an error here and not SIGBUS at the first touch); the ranges of all
    /// processes cover what is used. Returns 0 or an errno.
    static int map(const OpenFile& file, std::size_t bytes, Range mine, Segment& segment);

    std::byte* base() const { return base_; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::byte* base_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Bytes of a page of memory.
std::size_t page_bytes();
/// `bytes` rounded up to whole pages.
std::size_t whole_pages(std::size_t bytes);

} // namespace rmalock::window
