// Checks and overrides of the parameters; the rows are in params.def.
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "locks/window_lock/lock_config.hh"
#include "rmalock_api.h"
#include "topology/spec.hh"

const char rmalock_lock_choices[] = "auto"
#define RMALOCK_LOCK(name, Class) "|" #name
#include "locks/all.def"
#undef RMALOCK_LOCK
    ;

namespace {

constexpr bool PROCESS = false, WINDOW = true; // the scopes, as params.def spells them

enum class Type { integer, boolean, choice, text };

/// One row of params.def.
struct Row {
    const char* name;
    Type type;
    bool per_window;
    long low, high;
    const char* allowed; ///< choice: "a|b|c"
    std::size_t offset;  ///< of the field in rmalock_params_t
};

constexpr Row kRows[] = {
#define AT(name) offsetof(rmalock_params_t, name)
#define RMALOCK_PARAM_INT(name, def, low, high, scope, help)                                       \
    {#name, Type::integer, scope, low, high, "", AT(name)},
#define RMALOCK_PARAM_BOOL(name, def, scope, help)                                                 \
    {#name, Type::boolean, scope, 0, 0, "", AT(name)},
#define RMALOCK_PARAM_CHOICE(name, def, allowed, scope, help)                                      \
    {#name, Type::choice, scope, 0, 0, allowed, AT(name)},
#define RMALOCK_PARAM_TEXT(name, def, scope, help) {#name, Type::text, scope, 0, 0, "", AT(name)},
#include "params.def"
#undef RMALOCK_PARAM_INT
#undef RMALOCK_PARAM_BOOL
#undef RMALOCK_PARAM_CHOICE
#undef RMALOCK_PARAM_TEXT
#undef AT
};

template <class T>
T& field(rmalock_params_t* params, const Row& row) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(params) + row.offset);
}

bool is_among(std::string_view value, std::string_view allowed) {
    while (!allowed.empty()) {
        const std::string_view one = allowed.substr(0, allowed.find('|'));
        if (one == value)
            return true;
        allowed.remove_prefix(std::min(one.size() + 1, allowed.size()));
    }
    return false;
}

rmalock_status_t refuse(const Row& row, const char* value, char* why, std::size_t size) {
    char range[64];
    const char* allowed = row.allowed;
    if (row.type == Type::integer) {
        std::snprintf(range, sizeof range, "a whole number from %ld to %ld", row.low, row.high);
        allowed = range;
    } else if (row.type == Type::boolean) {
        allowed = "true|false";
    } else if (row.type == Type::text) {
        allowed = "a text that is not empty";
    }
    std::snprintf(why, size, "parameter '%s' cannot be '%s'; allowed: %s", row.name, value,
                  allowed);
    return RMALOCK_ERR_ARG;
}

/// What is wrong with a text that has a grammar; empty if nothing is.
std::string flaw(const Row& row, const char* value) {
    const std::string_view name = row.name;
    std::string why;
    if (name == "topology")
        (void)rmalock::topology::parse(value, why);
    else if (name == "t_l")
        (void)rmalock::locks::parse_t_l(value, why);
    else if (name == "passes")
        (void)rmalock::locks::parse_passes(value, why);
    return why;
}

rmalock_status_t check(const Row& row, rmalock_params_t* params, char* why, std::size_t size) {
    switch (row.type) {
    case Type::integer: {
        const int value = field<int>(params, row);
        char text[24];
        std::snprintf(text, sizeof text, "%d", value);
        return value < row.low || value > row.high ? refuse(row, text, why, size) : RMALOCK_OK;
    }
    case Type::choice:
    case Type::text: {
        const char* value = field<const char*>(params, row);
        const bool good = value != nullptr && *value != '\0' &&
                          (row.type == Type::text || is_among(value, row.allowed));
        if (!good)
            return refuse(row, value != nullptr ? value : "", why, size);
        const std::string wrong = flaw(row, value);
        if (!wrong.empty())
            std::snprintf(why, size, "parameter '%s' cannot be '%s': %s", row.name, value,
                          wrong.c_str());
        return wrong.empty() ? RMALOCK_OK : RMALOCK_ERR_ARG;
    }
    case Type::boolean:
        return RMALOCK_OK;
    }
    return RMALOCK_ERR_INTERN;
}

/// Sets the field from text. False: not even of the type.
bool parse(const Row& row, const char* value, rmalock_params_t* params) {
    const std::string_view text = value;
    switch (row.type) {
    case Type::integer: {
        const auto [end, error] =
            std::from_chars(text.begin(), text.end(), field<int>(params, row));
        return error == std::errc() && end == text.end();
    }
    case Type::boolean:
        if (!is_among(text, "true|1|yes|on") && !is_among(text, "false|0|no|off"))
            return false;
        field<bool>(params, row) = is_among(text, "true|1|yes|on");
        return true;
    case Type::choice:
    case Type::text:
        field<const char*>(params, row) = value;
        return true;
    }
    return false;
}

} // namespace

extern "C" rmalock_status_t rmalock_params_check(const rmalock_params_t* params, char* why,
                                                 size_t why_size) {
    rmalock_params_t copy = *params;
    for (const Row& row : kRows)
        if (const auto status = check(row, &copy, why, why_size); status != RMALOCK_OK)
            return status;
    return RMALOCK_OK;
}

extern "C" void rmalock_params_each_window_key(void (*visit)(const char*, void*), void* arg) {
    for (const Row& row : kRows)
        if (row.per_window)
            visit(row.name, arg);
}

extern "C" rmalock_status_t rmalock_params_set(rmalock_params_t* params, const char* name,
                                               const char* value, char* why, size_t why_size) {
    for (const Row& row : kRows) {
        if (!row.per_window || std::strcmp(row.name, name) != 0)
            continue;
        rmalock_params_t changed = *params;
        if (!parse(row, value, &changed))
            return refuse(row, value, why, why_size);
        const auto status = check(row, &changed, why, why_size);
        if (status == RMALOCK_OK)
            *params = changed;
        return status;
    }
    std::snprintf(why, why_size, "there is no parameter '%s' that a window's info can set", name);
    return RMALOCK_ERR_ARG;
}
