// A fiber whose suspended state can be copied out and put back, so that a search can return to a
// state it has been in without running everything again from the start.
//
// What is copied is the used part of the stack, to and from the same addresses: pointers into the
// stack stay valid. Objects on the heap are not copied; code on a fiber may build them before its
// first suspension and must not change them afterwards. A fiber that is dropped half way is not
// unwound.
//
// Built on the two primitives below Boost.Context's classes, because those own their stacks and
// cannot be rewound. All switches are in this file; AddressSanitizer's annotations would go here.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

namespace rmalock::check {

class Fiber {
  public:
    /// A suspended fiber, copied out.
    struct Image {
        boost::context::detail::fcontext_t context = nullptr;
        bool finished = false;
        std::vector<std::byte> stack;
    };

    static constexpr std::size_t kStackBytes = 64 * 1024;

    using Entry = void (*)(void* argument);

    Fiber(Entry entry, void* argument)
        : entry_(entry), argument_(argument), stack_(new std::byte[kStackBytes]) {
        context_ = boost::context::detail::make_fcontext(top(), kStackBytes, &Fiber::main);
    }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Runs the fiber until it suspends or returns. Called from outside any fiber.
    void resume() { context_ = boost::context::detail::jump_fcontext(context_, this).fctx; }

    /// Goes back to the caller of resume(). Called on this fiber.
    void suspend() { outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx; }

    bool finished() const { return finished_; }

    void save(Image& image) const {
        const std::byte* low = static_cast<const std::byte*>(context_);
        image.context = context_;
        image.finished = finished_;
        image.stack.assign(low, static_cast<const std::byte*>(top()));
    }

    void restore(const Image& image) {
        context_ = image.context;
        finished_ = image.finished;
        std::memcpy(image.context, image.stack.data(), image.stack.size());
    }

  private:
    void* top() const { return stack_.get() + kStackBytes; }

    static void main(boost::context::detail::transfer_t from) {
        Fiber* self = static_cast<Fiber*>(from.data);
        self->outside_ = from.fctx;
        self->entry_(self->argument_);
        self->finished_ = true;
        self->suspend(); // for good
    }

    Entry entry_;
    void* argument_;
    std::unique_ptr<std::byte[]> stack_;
    boost::context::detail::fcontext_t context_ = nullptr;
    boost::context::detail::fcontext_t outside_ = nullptr;
    bool finished_ = false;
};

} // namespace rmalock::check
