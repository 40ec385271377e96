// SPDX-License-Identifier: BSD-3-Clause
// What the calls that steer answer where they refuse: direct rules and Verbs flows.
#include <cerrno>

#include "verbs_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

class AnswersToRules : public Verbs {
 protected:
  static constexpr size_t kOuter = 64;
  struct Parameters {
    alignas(8) uint8_t bytes[sizeof(mlx5dv_flow_match_parameters) + kOuter * 2] = {};
    explicit Parameters(size_t size = kOuter) { get()->match_sz = size; }
    mlx5dv_flow_match_parameters* get() {
      return reinterpret_cast<mlx5dv_flow_match_parameters*>(bytes);
    }
    uint8_t& at(size_t offset) { return reinterpret_cast<uint8_t*>(get()->match_buf)[offset]; }
  };
};

TEST_F(AnswersToRules, DirectRules) {
  EXPECT_EQ(
      error_of([&] { return mlx5dv_dr_domain_create(far_.get(), MLX5DV_DR_DOMAIN_TYPE_FDB); }),
      EOPNOTSUPP);
  mlx5dv_dr_domain* domain = mlx5dv_dr_domain_create(far_.get(), MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(mlx5dv_dr_domain_sync(domain, MLX5DV_DR_DOMAIN_SYNC_FLAGS_SW), EOPNOTSUPP);
  EXPECT_EQ(error_of([&] { return mlx5dv_dr_table_create(domain, 1); }), EOPNOTSUPP);
  mlx5dv_dr_table* table = mlx5dv_dr_table_create(domain, 0);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(mlx5dv_dr_domain_destroy(domain), EBUSY);
  Parameters inner(kOuter * 2);
  inner.at(kOuter) = 1;
  EXPECT_EQ(error_of([&] { return mlx5dv_dr_matcher_create(table, 0, 1, inner.get()); }),
            EOPNOTSUPP);
  Parameters none;
  EXPECT_EQ(error_of([&] { return mlx5dv_dr_matcher_create(table, 99, 0, none.get()); }), EINVAL);
  mlx5dv_dr_matcher* matcher = mlx5dv_dr_matcher_create(table, 0, 0, none.get());
  ASSERT_NE(matcher, nullptr);
  EXPECT_EQ(mlx5dv_dr_table_destroy(table), EBUSY);

  mlx5dv_dr_action* drop = mlx5dv_dr_action_create_drop();
  mlx5dv_dr_action* tag = mlx5dv_dr_action_create_tag(7);
  const auto refused = [&](std::vector<mlx5dv_dr_action*> actions) {
    return error_of(
        [&] { return mlx5dv_dr_rule_create(matcher, none.get(), actions.size(), actions.data()); });
  };
  EXPECT_EQ(refused({}), EINVAL) << "nowhere to go";
  EXPECT_EQ(refused({tag}), EINVAL) << "a mark, and nowhere to go";
  mlx5dv_dr_action* actions[] = {drop};
  mlx5dv_dr_rule* rule = mlx5dv_dr_rule_create(matcher, none.get(), 1, actions);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(mlx5dv_dr_matcher_destroy(matcher), EBUSY);
  EXPECT_EQ(mlx5dv_dr_action_destroy(drop), EBUSY);
  EXPECT_EQ(mlx5dv_dr_rule_destroy(rule), 0);
  EXPECT_EQ(mlx5dv_dr_action_destroy(drop), 0);
  EXPECT_EQ(mlx5dv_dr_action_destroy(tag), 0);
  EXPECT_EQ(mlx5dv_dr_matcher_destroy(matcher), 0);
  EXPECT_EQ(mlx5dv_dr_table_destroy(table), 0);
  EXPECT_EQ(mlx5dv_dr_domain_destroy(domain), 0);
}

TEST_F(AnswersToRules, TheDestinationIsReferredTo) {
  ReceiveRingByHand receive(far_domain_, 16);
  mlx5dv_dr_domain* domain = mlx5dv_dr_domain_create(far_.get(), MLX5DV_DR_DOMAIN_TYPE_NIC_RX);
  mlx5dv_dr_table* table = mlx5dv_dr_table_create(domain, 0);
  Parameters none;
  mlx5dv_dr_matcher* matcher = mlx5dv_dr_matcher_create(table, 0, 0, none.get());
  mlx5dv_dr_action* queue = mlx5dv_dr_action_create_dest_ibv_qp(receive.pair());
  mlx5dv_dr_action* drop = mlx5dv_dr_action_create_drop();
  mlx5dv_dr_action* twice[] = {queue, queue};
  EXPECT_EQ(error_of([&] { return mlx5dv_dr_rule_create(matcher, none.get(), 2, twice); }),
            EOPNOTSUPP);
  mlx5dv_dr_action* both[] = {queue, drop};
  EXPECT_EQ(error_of([&] { return mlx5dv_dr_rule_create(matcher, none.get(), 2, both); }), EINVAL);
  mlx5dv_dr_rule* rule = mlx5dv_dr_rule_create(matcher, none.get(), 1, twice);
  ASSERT_NE(rule, nullptr);
  EXPECT_EQ(ibv_destroy_qp(receive.pair()), EBUSY);
  EXPECT_EQ(mlx5dv_dr_rule_destroy(rule), 0);
  EXPECT_EQ(mlx5dv_dr_action_destroy(queue), 0);
  EXPECT_EQ(mlx5dv_dr_action_destroy(drop), 0);
  EXPECT_EQ(mlx5dv_dr_matcher_destroy(matcher), 0);
  EXPECT_EQ(mlx5dv_dr_table_destroy(table), 0);
  EXPECT_EQ(mlx5dv_dr_domain_destroy(domain), 0);
}

TEST_F(AnswersToRules, FlowSpecifications) {
  ReceiveRingByHand receive(far_domain_, 16);
  struct Rule {
    ibv_flow_attr attributes{};
    ibv_flow_spec_eth ethernet{};
  };
  const auto refused = [&](auto change) {
    Rule rule;
    rule.attributes.type = IBV_FLOW_ATTR_NORMAL;
    rule.attributes.port = 1;
    rule.attributes.num_of_specs = 1;
    rule.ethernet.type = IBV_FLOW_SPEC_ETH;
    rule.ethernet.size = sizeof rule.ethernet;
    change(rule);
    return error_of([&] { return ibv_create_flow(receive.pair(), &rule.attributes); });
  };
  EXPECT_EQ(refused([](Rule& rule) { rule.ethernet.size = 8; }), EINVAL);
  EXPECT_EQ(refused([](Rule& rule) { rule.ethernet.size = 0; }), EINVAL);
  EXPECT_EQ(refused([](Rule& rule) { rule.attributes.port = 2; }), EINVAL);
  EXPECT_EQ(refused([](Rule& rule) { rule.attributes.priority = 999; }), EINVAL);
  EXPECT_EQ(refused([](Rule& rule) {
              rule.ethernet.type =
                  static_cast<ibv_flow_spec_type>(IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH);
            }),
            EOPNOTSUPP);
}

}  // namespace
}  // namespace nearpool::connectx4::test
