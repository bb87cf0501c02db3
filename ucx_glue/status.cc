#include "ucx_glue/status.hh"

namespace rmalock::ucx {

std::string describe(std::string_view tried, ucs_status_t status) {
    return std::string("UCX: ").append(tried).append(": ").append(ucs_status_string(status));
}

void raise(std::string_view tried, ucs_status_t status) {
    throw Error(describe(tried, status));
}

void check(std::string_view tried, ucs_status_t status) {
    if (status != UCS_OK)
        raise(tried, status);
}

bool completed_at_once(std::string_view tried, ucs_status_ptr_t request) {
    if (UCS_PTR_IS_ERR(request))
        raise(tried, UCS_PTR_STATUS(request));
    return request == nullptr;
}

} // namespace rmalock::ucx
