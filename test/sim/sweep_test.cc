// Cost models and sweeps: what is read, refused, written and resumed.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/sweep.hh"

namespace rmalock::sim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

class Sweep : public testing::Test {
  protected:
    Sweep() { fs::create_directory(folder); }
    ~Sweep() override { fs::remove_all(folder); }

    fs::path file(const std::string& name, const std::string& text) const {
        std::ofstream(folder / name) << text;
        return folder / name;
    }
    /// What is wrong with the shipped models after `change`.
    template <class Change>
    std::string fault(Change change, const char* model = "cray") const {
        json models = json::parse(text_of(RMALOCK_SIM_MODELS));
        change(models);
        try {
            read_costs(file("models.json", models.dump()), model);
        } catch (const std::runtime_error& error) {
            return error.what();
        }
        return "";
    }

    const fs::path folder = fs::temp_directory_path() / fmt::format("rmalock_sim.{}", getpid());
    const fs::path csv = folder / "sim.csv";
    Cell cell = small();

  private:
    static Cell small() {
        Cell cell;
        cell.lock = "d_mcs", cell.benchmark = "LB";
        cell.ranks = 4, cell.ranks_per_node = 2, cell.operations = 20;
        return cell;
    }
};

TEST_F(Sweep, ShippedModelsAreWhole) {
    const json models = json::parse(text_of(RMALOCK_SIM_MODELS));
    for (const auto& [name, rows] : models.items()) {
        const Costs costs = read_costs(RMALOCK_SIM_MODELS, name);
        EXPECT_EQ(costs.send, nanoseconds(rows["send"]["value"].get<double>())) << name;
        EXPECT_EQ(costs.jitter, rows["jitter"]["value"].get<double>()) << name;
        EXPECT_EQ(costs.domain == fabric::Domain::cpu, rows["domain"] == "cpu") << name;
    }
}

TEST_F(Sweep, ReadmesTableIsOfTheModels) {
    const json models = json::parse(text_of(RMALOCK_SIM_MODELS));
    const std::string readme = text_of(fs::path(RMALOCK_SIM_MODELS).parent_path() / "README.md");
    const auto expect_row = [&](const std::string& row, const char* unit, const char* meaning) {
        const std::string line = fmt::format("| `{}` | {} | {} | {} | {} |\n", row, unit,
                                             models["cray"][row]["value"].dump(),
                                             models["tcp"][row]["value"].dump(), meaning);
        EXPECT_NE(readme.find(line), std::string::npos) << line;
    };
#define RMALOCK_COST(name, unit, meaning) expect_row(#name, #unit, meaning);
#include "sim/costs.def"
#undef RMALOCK_COST
}

TEST_F(Sweep, AModelThatIsNotWholeIsRefusedByItsRow) {
    EXPECT_EQ(fault([](json&) {}), "");
    const std::string missing = fault([](json& m) { m["cray"].erase("serve_atomic"); });
    EXPECT_EQ(missing.find("cost model 'cray': has no row 'serve_atomic'; it needs  own, near,"),
              0U)
        << missing;
    EXPECT_NE(fault([](json& m) { m["cray"]["speed"] = 1; }).find("a row 'speed', which is none"),
              std::string::npos);
    EXPECT_NE(fault([](json& m) { m["cray"]["own"]["value"] = -1; }).find("at least 0"),
              std::string::npos);
    EXPECT_NE(fault([](json& m) { m["cray"]["own"].erase("source"); }).find("needs a \"source\""),
              std::string::npos);
    EXPECT_NE(fault([](json& m) { m["cray"]["domain"] = "gpu"; }).find("may be cpu or nic"),
              std::string::npos);
    EXPECT_NE(fault([](json& m) { m["cray"]["bandwidth"]["value"] = 0; }).find("'bandwidth' is 0"),
              std::string::npos);
    EXPECT_NE(fault([](json&) {}, "abacus").find("no cost model is called 'abacus'; "),
              std::string::npos);
    EXPECT_THROW(read_costs(folder / "none.json", "cray"), std::runtime_error);
    EXPECT_THROW(read_costs(file("bad.json", "{"), "cray"), std::runtime_error);
}

TEST_F(Sweep, CellsThatTheFileHasAreNotRunAgain) {
    std::string said;
    {
        Results results(csv);
        EXPECT_FALSE(results.has(cell));
        EXPECT_EQ(results.add(cell, RMALOCK_SIM_MODELS, said), Outcome::ok);
        EXPECT_TRUE(results.has(cell));
    }
    Results again(csv);
    EXPECT_TRUE(again.has(cell));
    cell.seed = 2;
    EXPECT_FALSE(again.has(cell));
    EXPECT_EQ(
        text_of(csv).find(Results::header() + "\nd_mcs,cray,model,LB,4,2,0,auto,0,0.9,0.002,"), 0U);
}

TEST_F(Sweep, WhatIsRefusedIsALineToo) {
    std::string said;
    cell.ranks = 5;
    {
        Results results(csv);
        EXPECT_EQ(results.add(cell, RMALOCK_SIM_MODELS, said), Outcome::refused);
    }
    EXPECT_EQ(said, "5 ranks do not divide into nodes of 2; a divisor is allowed");
    EXPECT_NE(text_of(csv).find(",refused,\"" + said + "\"\n"), std::string::npos);
    EXPECT_TRUE(Results(csv).has(cell));
}

TEST_F(Sweep, AnotherFileIsNotTouched) {
    file("sim.csv", "a,b\n1,2\n");
    EXPECT_THROW(Results{csv}, std::runtime_error);
    EXPECT_EQ(text_of(csv), "a,b\n1,2\n");
    file("sim.csv", Results::header() + "\nd_mcs,cray,mod");
    EXPECT_THROW(Results{csv}, std::runtime_error);
}

TEST_F(Sweep, WhatACellAsksForIsChecked) {
    const auto refused = [&](auto change) {
        Cell changed = cell;
        change(changed);
        EXPECT_THROW(run_of(changed, RMALOCK_SIM_MODELS), Refused);
    };
    EXPECT_NO_THROW(run_of(cell, RMALOCK_SIM_MODELS));
    refused([](Cell& c) { c.benchmark = "XYZ"; });
    refused([](Cell& c) { c.t_l = "many"; });
    refused([](Cell& c) { c.passes = "many"; });
    refused([](Cell& c) { c.domain = "gpu"; });
    refused([](Cell& c) { c.model = "tcp", c.domain = "nic"; });
    cell.domain = "cpu";
    EXPECT_EQ(run_of(cell, RMALOCK_SIM_MODELS).costs.domain, fabric::Domain::cpu);
}

} // namespace
} // namespace rmalock::sim
