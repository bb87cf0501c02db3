// Parameters: ranges, and what a window's info may set.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "locks/window_lock/lock_config.hh"
#include "rmalock_api.h"

namespace {

rmalock_params_t defaults() {
    rmalock_params_t params{};
#define RMALOCK_PARAM_INT(name, def, low, high, scope, help) params.name = def;
#define RMALOCK_PARAM_BOOL(name, def, scope, help) params.name = def;
#define RMALOCK_PARAM_CHOICE(name, def, allowed, scope, help) params.name = def;
#define RMALOCK_PARAM_TEXT(name, def, scope, help) params.name = def;
#include "params.def"
#undef RMALOCK_PARAM_INT
#undef RMALOCK_PARAM_BOOL
#undef RMALOCK_PARAM_CHOICE
#undef RMALOCK_PARAM_TEXT
    return params;
}

class Params : public testing::Test {
  protected:
    rmalock_status_t check() { return rmalock_params_check(&params, why, sizeof why); }
    rmalock_status_t set(const char* name, const char* value) {
        return rmalock_params_set(&params, name, value, why, sizeof why);
    }
    rmalock_params_t params = defaults();
    char why[256] = "";
};

TEST_F(Params, DefaultsAreAllowed) {
    EXPECT_EQ(check(), RMALOCK_OK) << why;
}

TEST_F(Params, ANumberOutOfRangeIsNamedWithItsRange) {
    params.spin = -1;
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
    EXPECT_STREQ(why, "parameter 'spin' cannot be '-1'; allowed: a whole number from 0 to 1000000");
}

TEST_F(Params, AnUnknownChoiceIsNamedWithTheChoices) {
    params.yield = "sometimes";
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
    EXPECT_STREQ(why, "parameter 'yield' cannot be 'sometimes'; allowed: auto|always|never");
}

TEST_F(Params, AChoiceIsNotMatchedByItsBeginning) {
    params.yield = "alw";
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
    params.yield = "";
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
    params.yield = "auto|always";
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
}

TEST_F(Params, EmptyTextIsRefused) {
    params.shm_dir = "";
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
    params.shm_dir = nullptr;
    EXPECT_EQ(check(), RMALOCK_ERR_ARG);
}

TEST_F(Params, InfoSetsWindowParameters) {
    EXPECT_EQ(set("lock", "direct_passive"), RMALOCK_OK);
    EXPECT_STREQ(params.lock, "direct_passive");
    EXPECT_EQ(set("t_w", "12"), RMALOCK_OK);
    EXPECT_EQ(params.t_w, 12);
    EXPECT_EQ(set("t_w", "12x"), RMALOCK_ERR_ARG);
    EXPECT_EQ(set("t_w", "-1"), RMALOCK_ERR_ARG);
    EXPECT_EQ(params.t_w, 12);
    EXPECT_EQ(set("enable", "false"), RMALOCK_OK);
    EXPECT_FALSE(params.enable);
    EXPECT_EQ(set("enable", "yes"), RMALOCK_OK);
    EXPECT_TRUE(params.enable);
}

TEST_F(Params, TextsWithAGrammarAreRead) {
    EXPECT_EQ(set("t_l", "4,8"), RMALOCK_OK) << why;
    EXPECT_EQ(set("topology", "numa:2,node,rack:2"), RMALOCK_OK) << why;
    EXPECT_EQ(set("t_l", "4,,8"), RMALOCK_ERR_ARG);
    EXPECT_STREQ(
        why, "parameter 't_l' cannot be '4,,8': it is auto, or up to 3 numbers from 0 to 1000000, "
             "separated by commas");
    EXPECT_EQ(set("passes", "8"), RMALOCK_OK) << why;
    EXPECT_EQ(set("passes", "4,8"), RMALOCK_ERR_ARG);
    EXPECT_STREQ(why,
                 "parameter 'passes' cannot be '4,8': it is auto, or a number from 0 to 1000000");
    EXPECT_EQ(set("topology", "node,cabinet"), RMALOCK_ERR_ARG);
    EXPECT_STREQ(
        why, "parameter 'topology' cannot be 'node,cabinet': 'cabinet' is no level; there are l3, "
             "numa, node and rack, or auto or flat alone");
    EXPECT_STREQ(params.t_l, "4,8");
    EXPECT_STREQ(params.passes, "8");
    EXPECT_STREQ(params.topology, "numa:2,node,rack:2");
}

TEST_F(Params, ABadInfoValueChangesNothing) {
    EXPECT_EQ(set("lock", "best"), RMALOCK_ERR_ARG);
    EXPECT_STREQ(params.lock, "auto");
    EXPECT_NE(std::string(why).find("'lock' cannot be 'best'"), std::string::npos) << why;
    EXPECT_EQ(set("enable", "perhaps"), RMALOCK_ERR_ARG);
    EXPECT_TRUE(params.enable);
}

TEST_F(Params, InfoCannotSetProcessParameters) {
    EXPECT_EQ(set("priority", "5"), RMALOCK_ERR_ARG);
    EXPECT_EQ(set("no_such", "5"), RMALOCK_ERR_ARG);
}

TEST_F(Params, WindowKeysAreListed) {
    std::set<std::string> keys;
    rmalock_params_each_window_key(
        [](const char* name, void* arg) { static_cast<std::set<std::string>*>(arg)->insert(name); },
        &keys);
    EXPECT_EQ(keys, (std::set<std::string>{"acc_single_intrinsic", "budget_local", "budget_remote",
                                           "check_nocheck", "defer", "enable", "lock", "patience",
                                           "passes", "reader_batch", "summary", "t_dc", "t_l", "t_r",
                                           "t_w", "topology"}));
}

} // namespace
