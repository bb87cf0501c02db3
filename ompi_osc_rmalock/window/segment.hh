// Memory that all processes of a window map: its lock state, and the memory of ALLOCATE and SHARED
// windows.
#pragma once

#include <cstddef>
#include <string>

#include "rmalock_api.h"

namespace rmalock::window {

/// The part of a segment that one process provides the pages of.
struct Range {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

/// RAII mapping. The file behind it has mode 0600 and a random name, and that name is gone once every
/// process has opened it; what is left disappears with the last mapping, even of a killed process.
class Segment {
  public:
    Segment() = default;
    Segment(Segment&& other) noexcept;
    Segment& operator=(Segment&& other) noexcept;
    ~Segment();

    /// Collective over `comm`. Zeroed memory of `bytes` in a file in `folder`. Each process reserves
    /// the pages of `mine` itself (so that they lie in its NUMA domain, and so that a full file system
    /// is an error here and not SIGBUS at the first touch); the ranges of all processes cover what is
    /// used. All processes return the same: RMALOCK_OK, RMALOCK_ERR_NO_MEM, or RMALOCK_ERR_COMM.
    static rmalock_status_t create(const rmalock_comm_t& comm, const std::string& folder,
                                   std::size_t bytes, Range mine, Segment& segment);

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
