// Fibers: processes of the checker and of the simulator, many of them on one thread.
//
// A suspended fiber's state can be copied out and put back, so that a search can return to a state
// it has been in without running everything again from the start. What is copied is the used part
// of the stack, to and from the same addresses: pointers into the stack stay valid. Objects on the
// heap are not copied; code on a fiber that is copied may build them before its first suspension
// and must not change them afterwards. A fiber that is dropped half way is not unwound.
//
// Built on the two primitives below Boost.Context's classes, because those own their stacks and
// cannot be rewound. All switches are in this file; AddressSanitizer's annotations would go here.
#pragma once

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace rmalock::model {

/// The stacks of all fibers, in one slab. A guarded stack each would take two mappings, and Linux
/// permits 65,530 (vm.max_map_count). Pages that no fiber touches take no memory.
class Stacks {
  public:
    static constexpr std::size_t kBytes = 64 * 1024; ///< of each

    explicit Stacks(std::size_t stacks) : bytes_(stacks * kBytes) {
        void* const slab = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slab == MAP_FAILED)
            throw std::bad_alloc();
        madvise(slab, bytes_, MADV_NOHUGEPAGE); // one would hold 32 stacks, all of each
        slab_ = static_cast<std::byte*>(slab);
    }
    ~Stacks() { munmap(slab_, bytes_); }
    Stacks(const Stacks&) = delete;
    Stacks& operator=(const Stacks&) = delete;

    std::byte* bottom(std::size_t i) const { return slab_ + i * kBytes; }

  private:
    std::size_t bytes_;
    std::byte* slab_;
};

class Fiber {
  public:
    /// A suspended fiber, copied out.
    struct Image {
        boost::context::detail::fcontext_t context = nullptr;
        bool finished = false;
        std::vector<std::byte> stack;
    };

    using Entry = void (*)(void* argument);

    /// `stack` has Stacks::kBytes, and outlives the fiber.
    Fiber(Entry entry, void* argument, std::byte* stack)
        : entry_(entry), argument_(argument), stack_(stack) {
        context_ = boost::context::detail::make_fcontext(top(), Stacks::kBytes, &Fiber::main);
    }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    /// Runs the fiber until it suspends or returns. Called from outside any fiber.
    void resume() {
        context_ = boost::context::detail::jump_fcontext(context_, this).fctx;
        if (static_cast<const std::byte*>(context_) < stack_)
            overflowed();
    }

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
    void* top() const { return stack_ + Stacks::kBytes; }

    static void main(boost::context::detail::transfer_t from) {
        Fiber* self = static_cast<Fiber*>(from.data);
        self->outside_ = from.fctx;
        self->entry_(self->argument_);
        self->finished_ = true;
        self->suspend(); // for good
    }

    /// Another fiber's stack is damaged by then.
    [[noreturn]] static void overflowed() {
        std::fprintf(stderr, "a fiber needs more than its %zu bytes of stack\n", Stacks::kBytes);
        std::abort();
    }

    Entry entry_;
    void* argument_;
    std::byte* stack_;
    boost::context::detail::fcontext_t context_ = nullptr;
    boost::context::detail::fcontext_t outside_ = nullptr;
    bool finished_ = false;
};

} // namespace rmalock::model
