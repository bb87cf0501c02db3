// What ucx_glue asks of UCX's TCP transport. Private to ucx_glue.
#pragma once

#include <string_view>

namespace rmalock::ucx {

/// The name that ucp_config_modify has for an option of TCP, which differs by UCX's version (with
/// or without the transport's prefix): TX_SEG_SIZE, the size of the pieces in which it sends;
/// CONN_NB, whether the system need not wait for a connection. Asked of the transport itself, with
/// a value, since UCX takes a wrong name and warns later. Null: it knows neither. Text that stays.
const char* tcp_option(std::string_view option, const char* value);

} // namespace rmalock::ucx
