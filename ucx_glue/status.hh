// UCX's errors as text: the one place that knows them. Private to ucx_glue, as it includes UCX's
// headers.
#pragma once

#include <ucp/api/ucp.h>

#include <string>
#include <string_view>

#include "ucx_glue/types.hh"

namespace rmalock::ucx {

/// "UCX: <what was tried>: <UCX's words for the status>".
std::string describe(std::string_view tried, ucs_status_t status);
/// Throws that as an Error.
[[noreturn]] void raise(std::string_view tried, ucs_status_t status);
/// Throws unless the status is UCS_OK.
void check(std::string_view tried, ucs_status_t status);
/// Throws if `request` is an error; true if the operation is complete already.
bool completed_at_once(std::string_view tried, ucs_status_ptr_t request);

} // namespace rmalock::ucx
