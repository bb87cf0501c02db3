// Reading cost models; see costs.hh.
#include "sim/costs.hh"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <utility>

namespace rmalock::sim {
namespace {

using nlohmann::json;

/// What one model says; complains with the model's name.
class Model {
  public:
    Model(std::string name, const json& rows) : name_(std::move(name)), rows_(rows) {}

    double figure(const std::string& row) const {
        if (!rows_.contains(row))
            fail(fmt::format("has no row '{}'; it needs {}", row, allowed()));
        const json& entry = rows_[row];
        if (!entry.is_object() || !entry.contains("value") || !entry["value"].is_number() ||
            entry["value"].get<double>() < 0)
            fail(fmt::format("row '{}' needs a \"value\" that is a number of at least 0", row));
        if (!entry.contains("source") || !entry["source"].is_string())
            fail(fmt::format("row '{}' needs a \"source\": where its value is from", row));
        return entry["value"];
    }

    /// Which of two words the model says.
    bool is_first(const char* key, const char* first, const char* second) const {
        const std::string word = rows_.value(key, "");
        if (word != first && word != second)
            fail(fmt::format("\"{}\" is '{}'; it may be {} or {}", key, word, first, second));
        return word == first;
    }

    void refuse_other_rows() const {
        for (const auto& [row, value] : rows_.items())
            if (row != "domain" && row != "served_by" && row != "machine" &&
                allowed().find(" " + row + ",") == std::string::npos)
                fail(fmt::format("has a row '{}', which is none; there are {}", row, allowed()));
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(fmt::format("cost model '{}': {}", name_, what));
    }

  private:
    static std::string allowed() {
        std::string rows;
#define RMALOCK_COST(name, unit, meaning) rows += " " #name ",";
#include "sim/costs.def"
#undef RMALOCK_COST
        return rows + " domain and served_by";
    }

    std::string name_;
    const json& rows_;
};

void assign(Time& cost, double figure) {
    cost = nanoseconds(figure);
}
void assign(double& cost, double figure) {
    cost = figure;
}

json parsed(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in)
        throw std::runtime_error(fmt::format("cannot read the cost models in '{}'", file.string()));
    try {
        return json::parse(in);
    } catch (const json::parse_error& error) {
        throw std::runtime_error(fmt::format("'{}' is no JSON: {}", file.string(), error.what()));
    }
}

} // namespace

Costs read_costs(const std::filesystem::path& file, std::string_view model) {
    const json models = parsed(file);
    if (!models.contains(model)) {
        std::string names;
        for (const auto& [name, rows] : models.items())
            names += (names.empty() ? "" : ", ") + name;
        throw std::runtime_error(
            fmt::format("no cost model is called '{}'; '{}' has {}", model, file.string(), names));
    }
    const Model from{std::string(model), models[std::string(model)]};
    Costs costs;
    costs.model = model;
    costs.domain =
        from.is_first("domain", "cpu", "nic") ? fabric::Domain::cpu : fabric::Domain::nic;
    costs.served_by =
        from.is_first("served_by", "adapter", "cpu") ? ServedBy::adapter : ServedBy::cpu;
#define RMALOCK_COST(name, unit, meaning) assign(costs.name, from.figure(#name));
#include "sim/costs.def"
#undef RMALOCK_COST
    from.refuse_other_rows();
    if (costs.bandwidth == 0)
        from.fail("row 'bandwidth' is 0; it has to be more");
    return costs;
}

} // namespace rmalock::sim
