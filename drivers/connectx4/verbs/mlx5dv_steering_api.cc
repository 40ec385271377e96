// SPDX-License-Identifier: BSD-3-Clause
// libmlx5: direct rules, as much of them as a ConnectX-4 has. It steers in the root table only, so
// no other table can be made.
#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "private_api.h"

namespace {

constexpr size_t kOuterHeaders = 64;
constexpr size_t kUnmatchable = 24;  // header length and results of checks
constexpr size_t kUnmatchableEnd = 27;
constexpr uint16_t kPriorities = 16;

enum class ActionKind { kQueue, kDrop, kTag, kMiss };

}  // namespace

struct mlx5dv_dr_domain {
  ibv_context* context;
  mlx5dv_dr_domain_type type;
};
struct mlx5dv_dr_table {
  mlx5dv_dr_domain* domain;
};
struct mlx5dv_dr_matcher {
  mlx5dv_dr_table* table;
  uint16_t priority;
  uint8_t mask[kOuterHeaders];
};
struct mlx5dv_dr_action {
  ActionKind kind;
  ibv_qp* queue;
  uint32_t tag;
};
struct mlx5dv_dr_rule {
  connectx4_rule* rule;  // null: of the sending side, where nothing is steered
};

namespace {

mlx5dv_dr_action* make_action(ActionKind kind, ibv_qp* queue = nullptr, uint32_t tag = 0) {
  return new mlx5dv_dr_action{kind, queue, tag};
}

}  // namespace

extern "C" {

mlx5dv_dr_domain* mlx5dv_dr_domain_create(ibv_context* context, enum mlx5dv_dr_domain_type type) {
  if (type == MLX5DV_DR_DOMAIN_TYPE_FDB) {
    errno = EOPNOTSUPP;  // no switch between functions
    return nullptr;
  }
  return new mlx5dv_dr_domain{context, type};
}

int mlx5dv_dr_domain_destroy(mlx5dv_dr_domain* domain) {
  delete domain;
  return 0;
}

int mlx5dv_dr_domain_sync(mlx5dv_dr_domain*, uint32_t) {
  return 0;
}
void mlx5dv_dr_domain_set_reclaim_device_memory(mlx5dv_dr_domain*, bool) {
}
void mlx5dv_dr_domain_allow_duplicate_rules(mlx5dv_dr_domain*, bool) {
}

mlx5dv_dr_table* mlx5dv_dr_table_create(mlx5dv_dr_domain* domain, uint32_t level) {
  if (level != 0) {
    errno = EOPNOTSUPP;
    return nullptr;
  }
  return new mlx5dv_dr_table{domain};
}

int mlx5dv_dr_table_destroy(mlx5dv_dr_table* table) {
  delete table;
  return 0;
}

mlx5dv_dr_matcher* mlx5dv_dr_matcher_create(mlx5dv_dr_table* table, uint16_t priority, uint8_t,
                                            mlx5dv_flow_match_parameters* mask) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(mask->match_buf);
  const auto none = [bytes](size_t from, size_t to) {
    return std::all_of(bytes + from, bytes + to, [](uint8_t byte) { return byte == 0; });
  };
  if (priority >= kPriorities || mask->match_sz < kOuterHeaders) {
    errno = EINVAL;
    return nullptr;
  }
  if (!none(kUnmatchable, kUnmatchableEnd) || !none(kOuterHeaders, mask->match_sz)) {
    errno = EOPNOTSUPP;  // inner headers, tunnels, registers
    return nullptr;
  }
  auto* matcher = new mlx5dv_dr_matcher{table, priority, {}};
  std::memcpy(matcher->mask, bytes, kOuterHeaders);
  return matcher;
}

int mlx5dv_dr_matcher_destroy(mlx5dv_dr_matcher* matcher) {
  delete matcher;
  return 0;
}

mlx5dv_dr_rule* mlx5dv_dr_rule_create(mlx5dv_dr_matcher* matcher,
                                      mlx5dv_flow_match_parameters* value, size_t count,
                                      mlx5dv_dr_action* actions[]) {
  ibv_qp* queue = nullptr;
  uint32_t tag = 0;
  connectx4_verdict verdict = CONNECTX4_MISS;
  for (size_t i = 0; i < count; ++i) {
    switch (actions[i]->kind) {
      case ActionKind::kQueue:
        queue = actions[i]->queue;
        verdict = CONNECTX4_QUEUE;
        break;
      case ActionKind::kDrop:
        verdict = CONNECTX4_DROP;
        break;
      case ActionKind::kTag:
        tag = actions[i]->tag;
        break;
      case ActionKind::kMiss:
        verdict = CONNECTX4_MISS;
        break;
    }
  }
  auto rule = std::make_unique<mlx5dv_dr_rule>();
  const mlx5dv_dr_domain& domain = *matcher->table->domain;
  if (domain.type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX) {
    uint8_t bytes[kOuterHeaders] = {};
    std::memcpy(bytes, value->match_buf, std::min(value->match_sz, kOuterHeaders));
    rule->rule = connectx4_add_rule(domain.context, matcher->priority, matcher->mask, bytes,
                                    verdict, queue, tag);
    if (rule->rule == nullptr) return nullptr;
  }
  return rule.release();
}

int mlx5dv_dr_rule_destroy(mlx5dv_dr_rule* handle) {
  const std::unique_ptr<mlx5dv_dr_rule> rule(handle);
  return rule->rule == nullptr ? 0 : connectx4_remove_rule(rule->rule);
}

mlx5dv_dr_action* mlx5dv_dr_action_create_dest_ibv_qp(ibv_qp* queue) {
  return make_action(ActionKind::kQueue, queue);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_drop(void) {
  return make_action(ActionKind::kDrop);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_tag(uint32_t tag) {
  return make_action(ActionKind::kTag, nullptr, tag);
}
mlx5dv_dr_action* mlx5dv_dr_action_create_default_miss(void) {
  return make_action(ActionKind::kMiss);
}

int mlx5dv_dr_action_destroy(mlx5dv_dr_action* action) {
  delete action;
  return 0;
}

}  // extern "C"
