#include "ucx_glue/tcp.hh"

#include <uct/api/uct.h>

#include <cstring>
#include <span>

namespace rmalock::ucx {

namespace {

constexpr const char* kTcp = "tcp"; ///< component, memory domain and transport

/// Whether the transport of an open memory domain knows the option.
bool knows(uct_md* domain, const char* option, const char* value) {
    uct_iface_config_t* config = nullptr;
    if (uct_md_iface_config_read(domain, kTcp, nullptr, nullptr, &config) != UCS_OK)
        return false;
    const bool known = uct_config_modify(config, option, value) == UCS_OK;
    uct_config_release(config);
    return known;
}

uct_md* open_domain(uct_component* component) {
    uct_md_config_t* config = nullptr;
    uct_md* domain = nullptr;
    if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK)
        return nullptr;
    if (uct_md_open(component, kTcp, config, &domain) != UCS_OK)
        domain = nullptr;
    uct_config_release(config);
    return domain;
}

bool is_tcp(uct_component* component) {
    uct_component_attr_t attributes{};
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_NAME;
    return uct_component_query(component, &attributes) == UCS_OK &&
           std::strcmp(attributes.name, kTcp) == 0;
}

const char* option_of(uct_component* component, std::span<const char* const> names,
                      const char* value) {
    uct_md* const domain = open_domain(component);
    if (domain == nullptr)
        return nullptr;
    const char* found = nullptr;
    for (const char* name : names)
        if (found == nullptr && knows(domain, name, value))
            found = name;
    uct_md_close(domain);
    return found;
}

} // namespace

const char* tcp_option(std::string_view option, const char* value) {
    static constexpr const char* kPieces[] = {"TX_SEG_SIZE", "TCP_TX_SEG_SIZE"};
    static constexpr const char* kConnects[] = {"CONN_NB", "TCP_CONN_NB"};
    const std::span<const char* const> names = option == kPieces[0] ? kPieces : kConnects;
    uct_component** components = nullptr;
    unsigned count = 0;
    if (uct_query_components(&components, &count) != UCS_OK)
        return nullptr;
    const char* found = nullptr;
    for (unsigned n = 0; n < count; ++n)
        if (is_tcp(components[n]))
            found = option_of(components[n], names, value);
    uct_release_component_list(components);
    return found;
}

} // namespace rmalock::ucx
