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

/// The file behind a segment. It has mode 0600 and a random name, and that name is gone once every
/// process of the node has opened it; what is left disappears with the last mapping, even of a
/// killed process.
class SegmentFile {
  public:
    /// How the others find it. Trivially copyable, so that it can be sent.
    struct Name {
        std::int32_t error = 0; ///< errno, if it could not be made
        std::uint64_t random[2] = {};
    };

    SegmentFile() = default;
    /// Makes an empty file in `folder`; see name().error.
    explicit SegmentFile(const std::string& folder);
    /// Takes the name away again.
    ~SegmentFile();
    SegmentFile(const SegmentFile&) = delete;
    SegmentFile& operator=(const SegmentFile&) = delete;

    const Name& name() const { return name_; }

  private:
    std::string path_;
    Name name_;
};

/// RAII mapping.
class Segment {
  public:
    Segment() = default;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    /// Maps `bytes` of zeroed memory in the file called `name` in `folder`; every process of the
    /// node asks for the same. The caller reserves the pages of `mine` itself (so that they lie in
    /// its NUMA domain, and so that a full file system is an error here and not SIGBUS at the first
    /// touch); the ranges of all processes cover what is used. Returns 0 or an errno.
    static int map(const std::string& folder, const SegmentFile::Name& name, std::size_t bytes,
                   Range mine, Segment& segment);

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
