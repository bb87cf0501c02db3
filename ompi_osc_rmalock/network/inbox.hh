// The receiving end of messages, in the process.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "network/answers.hh"
#include "network/message.hh"
#include "network/section.hh"
#include "network/waiting_requests.hh"
#include "network/waiting_sections.hh"
#include "network/window_directory.hh"
#include "ucx_glue/worker.hh"

namespace rmalock::network {

/// Takes answers, and hands requests to their windows. All of it with the worker locked, in
/// whichever thread runs progress.
class Inbox {
  public:
    /// `checks`: debug parameter check_messages.
    Inbox(ucx::Worker& worker, const WindowDirectory& windows, Answers& answers, bool checks)
        : worker_(worker), windows_(windows), answers_(answers), checks_(checks) {}

    void handle(ucx::PeerId from, std::span<const std::byte> header,
                std::span<const std::byte> data);
    /// Tries again what could not be applied. True: some of it still waits.
    bool retry();

  private:
    void check(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data);
    std::string flaw_of_request(ucx::PeerId from, const MessageHeader& header,
                                std::span<const std::byte> data) const;
    /// False: the request cannot be applied yet.
    bool serve(ucx::PeerId from, const MessageHeader& header, std::span<const std::byte> data,
               bool may_wait = false);
    void handle_section(ucx::PeerId from, const MessageHeader& header,
                        std::span<const std::byte> data);

    ucx::Worker& worker_;
    const WindowDirectory& windows_;
    Answers& answers_;
    const bool checks_;
    WaitingRequests waiting_;
    WaitingSections sections_{Section::kPatience};
};

} // namespace rmalock::network
