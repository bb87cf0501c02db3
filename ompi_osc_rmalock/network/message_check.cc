#include "network/message_check.hh"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace rmalock::network {
namespace {

/// The name of `number`, or the number.
template <std::size_t kNames>
std::string name_of(const char* const (&names)[kNames], unsigned number) {
    return number < kNames ? names[number] : std::to_string(number);
}

std::string name_of_kind(MessageKind kind) {
    static constexpr const char* kNames[] = {
        "accumulate", "accumulate_flush", "compare_swap", "put",    "put_flush", "get",
        "section",    "complete",         "flush",        "result", "flushed"};
    return name_of(kNames, static_cast<unsigned>(kind));
}

/// Of an accumulate, such as "sum of real".
std::string name_of_operation(const MessageHeader& header) {
    static constexpr const char* kOperations[] = {"sum",     "prod",  "max",    "min",   "land",
                                                  "lor",     "lxor",  "band",   "bor",   "bxor",
                                                  "replace", "no_op", "maxloc", "minloc"};
    static constexpr const char* kTypes[] = {"signed",
                                             "unsigned",
                                             "real",
                                             "complex",
                                             "quad",
                                             "complex of quad",
                                             "bool",
                                             "pair of signed and int",
                                             "pair of real and int"};
    return name_of(kOperations, header.op) + " of " + name_of(kTypes, header.element_kind);
}

std::string flaw_of_copy(const MessageHeader& header) {
    if (header.element_size != 1 || header.element_extent != 1)
        return "bytes are copied, not elements of " + std::to_string(header.element_size) +
               " bytes, " + std::to_string(header.element_extent) + " apart";
    const bool has_operand = header.has_operand != 0;
    if (has_operand != is_put(header.kind))
        return has_operand ? "an operand where none is used" : "the operand is missing";
    return "";
}

std::string flaw_of_operation(const MessageHeader& header) {
    if (is_copy(header.kind))
        return flaw_of_copy(header);
    if (!is_accumulate(header.kind))
        return std::has_single_bit(header.element_size) && header.element_size <= 8 &&
                       header.element_extent == header.element_size
                   ? ""
                   : "no element of this size can be swapped";
    if (header.element_size == 0 || header.element_size > header.element_extent)
        return "elements of " + std::to_string(header.element_size) + " bytes, " +
               std::to_string(header.element_extent) + " apart";
    // What is no value of an enumeration must not become one.
    if (header.element_kind >= RMALOCK_KIND_OTHER || header.op >= RMALOCK_OP_OTHER)
        return "the operation is not defined for the type";
    const bool has_operand = header.has_operand != 0;
    if (has_operand != (header.op != RMALOCK_OP_NO_OP))
        return has_operand ? "an operand where none is used" : "the operand is missing";
    return "";
}

std::string flaw_of_ticket(const MessageHeader& header) {
    const bool changes = header.kind == MessageKind::accumulate && header.op != RMALOCK_OP_NO_OP;
    const bool answered =
        !changes && header.kind != MessageKind::put && header.kind != MessageKind::complete;
    return header.ticket == 0 && answered ? "the ticket for the answer is missing" : "";
}

std::string flaw_of_rest(std::uint64_t rest, std::uint64_t expected) {
    return rest == expected ? ""
                            : std::to_string(rest) + " bytes of operands where " +
                                  std::to_string(expected) + " belong to the runs";
}

/// Of puts and gets.
std::string flaw_of_copies(const MessageHeader& header, std::span<const std::byte> data) {
    constexpr std::uint64_t kMost = 1U << 20; // far more than is collected
    const auto runs = runs_of<CopyRun>(header, data);
    if (header.runs == 0 || runs.size() != header.runs)
        return "not as many runs as the header says";
    std::uint64_t bytes = 0;
    for (const CopyRun& run : runs) {
        if (run.bytes == 0 || run.bytes > kMost || run.times == 0 || run.times > kMost)
            return "a run of " + std::to_string(run.times) + " times " + std::to_string(run.bytes) +
                   " bytes";
        bytes += run.bytes * run.times;
    }
    return flaw_of_rest(data.size() - runs.size() * sizeof(CopyRun),
                        is_put(header.kind) ? bytes : 0);
}

/// Whether header, runs and operands tell of the same number of elements.
std::string flaw_of_length(const MessageHeader& header, std::span<const std::byte> data) {
    const std::vector<MessageRun> runs = runs_of(header, data);
    const std::size_t rest = data.size() - runs.size() * sizeof(MessageRun);
    if (header.runs == 0 || runs.size() != header.runs)
        return "not as many runs as the header says";
    const std::uint64_t most = UINT64_MAX / 2 / header.element_extent / runs.size();
    std::uint64_t elements = 0;
    for (const MessageRun& run : runs) {
        if (run.count == 0 || run.count > most)
            return "a run of " + std::to_string(run.count) + " elements";
        elements += run.count;
    }
    const bool swaps = header.kind == MessageKind::compare_swap;
    if (swaps && elements != 1)
        return "more than one element to be swapped";
    const std::uint64_t operands = swaps ? 2 : header.has_operand;
    const std::uint64_t expected = operands * elements * header.element_extent;
    return flaw_of_rest(rest, expected);
}

std::uint64_t results_of(const SectionRequest& request) {
    if (request.header.ticket == 0)
        return 0;
    std::uint64_t bytes = 0;
    if (request.header.kind == MessageKind::get)
        for (const auto& run : runs_of<CopyRun>(request.header, request.data))
            bytes += run.bytes * run.times;
    else
        for (const MessageRun& run : runs_of(request.header, request.data))
            bytes += run.count * request.header.element_extent;
    return bytes;
}

/// Of the requests of a section, too.
std::string flaw_of_section(const MessageHeader& header, std::span<const std::byte> data) {
    if (header.op > SectionFlags::all)
        return "a section with flags that there are not";
    std::uint64_t results = 0, wanted = 0, requests = 0;
    try {
        for (wanted = take_value<std::uint64_t>(data); requests < header.runs; ++requests) {
            const auto request = SectionRequest::take_from(data);
            const MessageKind kind = request.header.kind;
            if (kind != MessageKind::put && kind != MessageKind::get &&
                kind != MessageKind::accumulate && kind != MessageKind::compare_swap)
                return "no kind of request, in a section";
            if (std::string flaw = flaw_of(request.header, request.data); !flaw.empty())
                return flaw + ", in a section";
            results += results_of(request);
        }
    } catch (const std::runtime_error&) {
        return "a section that is too short";
    }
    if (!data.empty())
        return "data behind the last request of a section";
    return results == wanted ? "" : "a section whose requests have other results than it says";
}

} // namespace

std::string describe(const MessageHeader& header, std::span<const std::byte> data) {
    const std::vector<MessageRun> runs = runs_of(header, data);
    std::string what = name_of_kind(header.kind);
    if (is_accumulate(header.kind))
        what += " (" + name_of_operation(header) + ")";
    if (!runs.empty() && header.kind < MessageKind::section)
        what += " of elements of " + std::to_string(header.element_size) +
                " bytes, the first at displacement " + std::to_string(runs[0].offset);
    char rest[96];
    std::snprintf(rest, sizeof rest,
                  " in window %" PRIu32 " of generation %" PRIu32 ", ticket %#" PRIx64,
                  header.window.number, header.window.generation, header.ticket);
    return what + rest;
}

std::string flaw_of(const MessageHeader& header, std::span<const std::byte> data) {
    if (header.kind > MessageKind::flushed)
        return "no kind of message";
    std::string flaw = flaw_of_ticket(header);
    if (header.kind == MessageKind::section)
        return flaw.empty() ? flaw_of_section(header, data) : flaw;
    if (header.kind == MessageKind::flush || header.kind == MessageKind::complete)
        return flaw.empty() && !data.empty() ? "data where none are used" : flaw;
    if (flaw.empty())
        flaw = flaw_of_operation(header);
    if (!flaw.empty())
        return flaw;
    return is_copy(header.kind) ? flaw_of_copies(header, data) : flaw_of_length(header, data);
}

void Tickets::give(std::uint64_t ticket, ucx::PeerId to, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    given_[ticket] = {to, bytes};
}

std::string Tickets::take_back(const MessageHeader& answer, ucx::PeerId from, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = given_.find(answer.ticket);
    if (found == given_.end())
        return "no request of this process waits with the ticket";
    if (found->second.to != from)
        return "the request with the ticket went to another process";
    const bool expects_result = found->second.bytes != 0;
    if (expects_result != (answer.kind == MessageKind::result))
        return "the request with the ticket wants another kind of answer";
    if (found->second.bytes != bytes)
        return std::to_string(bytes) + " bytes where the request wants " +
               std::to_string(found->second.bytes);
    given_.erase(found);
    return "";
}

} // namespace rmalock::network
