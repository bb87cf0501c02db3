// One MPI window in one process. Its layers, each of which uses those below:
//
//   Window    the whole: made and freed by all processes, known to the network   window.cc
//   Accesses  put, get and accumulates                                           data/
//   Epochs    epochs and the window's lock                                       sync/
//   Observed  counters and the watchdog                                          diag/
//   Body      memory, and the ways to the other ranks                            create/
//
// They are one object, so that a call of the short ways touches a few lines of it, at offsets that
// are known.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "network/message_sink.hh"
#include "rmalock_api.h"
#include "window/data/access.hh"

namespace rmalock::window {

class Window final : public Accesses, public network::MessageSink {
  public:
    /// Collective. All processes get a window, or none does.
    static Status create(const rmalock_spec_t& spec, std::unique_ptr<Window>& window);
    ~Window();
    Status free();
    /// Instead, once a process has failed.
    void abandon();
    /// Instead, for a window that the program has not freed when it ends. The memory stays until the
    /// window is destroyed.
    void leave();

    bool apply(ucx::PeerId from, const network::MessageHeader& header,
               std::span<const std::byte> data, bool may_wait,
               std::vector<std::byte>& result) override {
        return header.kind == network::MessageKind::section
                   ? do_section(from, header, data, may_wait, result)
                   : apply_message(header, data, result);
    }
    std::string flaw_of(ucx::PeerId from, const network::MessageHeader& header,
                        std::span<const std::byte> data) const override {
        return flaw_of_message(from, header, data);
    }
    void wake_neighbours() override { fabric_.wake(rank()); }

  private:
    using Accesses::Accesses;

    /// From here on messages go here.
    void be_known() {
        if (remote_ != nullptr)
            remote_->id().give_to(*this);
    }
    /// Says at verbose levels what was chosen.
    void announce(const Plan& plan) const;
};

} // namespace rmalock::window
