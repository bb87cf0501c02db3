// What ucx_glue asks of UCX's TCP transport. Private to ucx_glue.
#pragma once

namespace rmalock::ucx {

/// The name that ucp_config_modify has for the size of the pieces in which TCP sends, which differs
/// by UCX's version (with or without the transport's prefix). Asked of the transport itself, since
/// UCX takes a wrong name and warns later. Null: it knows neither.
const char* tcp_piece_option();

} // namespace rmalock::ucx
