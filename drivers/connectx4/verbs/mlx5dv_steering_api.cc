// SPDX-License-Identifier: BSD-3-Clause
// libmlx5: direct rules, as much of them as a ConnectX-4 has. It steers in the root table only, so
// no other table can be made.
#include <infiniband/mlx5dv.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "private_api.h"

namespace {

constexpr size_t kOuterHeaders = 64;
constexpr size_t kUnmatchable = 24;  // header length and results of checks
constexpr size_t kUnmatchableEnd = 27;
constexpr uint16_t kPriorities = 16;

enum class ActionKind { kQueue, kDrop, kTag, kMiss };

}  // namespace

// Each counts the objects that refer to it, and is busy as long as there are some.
struct mlx5dv_dr_domain {
  ibv_context* context;
  mlx5dv_dr_domain_type type;
  std::atomic<uint32_t> users{0};
};
struct mlx5dv_dr_table {
  mlx5dv_dr_domain* domain;
  std::atomic<uint32_t> users{0};
};
struct mlx5dv_dr_matcher {
  mlx5dv_dr_table* table;
  uint16_t priority;
  uint8_t mask[kOuterHeaders];
  std::atomic<uint32_t> users{0};
};
struct mlx5dv_dr_action {
  ActionKind kind;
  ibv_qp* queue;
  uint32_t tag;
  std::atomic<uint32_t> users{0};
};
struct mlx5dv_dr_rule {
  mlx5dv_dr_matcher* matcher = nullptr;
  std::vector<mlx5dv_dr_action*> actions;
  connectx4_rule* rule = nullptr;  // null: of the sending side, where nothing is steered
};

namespace {

mlx5dv_dr_action* make_action(ActionKind kind, ibv_qp* queue = nullptr, uint32_t tag = 0) {
  return new mlx5dv_dr_action{kind, queue, tag};
}

struct Fate {
  connectx4_verdict verdict = CONNECTX4_MISS;
  ibv_qp* queue = nullptr;
  uint32_t tag = 0;
};

// What becomes of the frames; exactly one of the actions says it. 0 or an errno value.
int fate_of(const std::vector<mlx5dv_dr_action*>& actions, Fate& fate) {
  uint32_t fates = 0;
  for (const mlx5dv_dr_action* action : actions) {
    switch (action->kind) {
      case ActionKind::kQueue:
        if (fate.queue != nullptr) return EOPNOTSUPP;  // no copies
        fate.queue = action->queue;
        fate.verdict = CONNECTX4_QUEUE;
        break;
      case ActionKind::kDrop:
        fate.verdict = CONNECTX4_DROP;
        break;
      case ActionKind::kMiss:
        fate.verdict = CONNECTX4_MISS;
        break;
      case ActionKind::kTag:
        fate.tag = action->tag;
        continue;
    }
    ++fates;
  }
  return fates == 1 ? 0 : EINVAL;
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
  if (domain->users != 0) return EBUSY;
  delete domain;
  return 0;
}

int mlx5dv_dr_domain_sync(mlx5dv_dr_domain*, uint32_t) {
  return errno = EOPNOTSUPP;  // for tables that software keeps, and the root is not one
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
  ++domain->users;
  return new mlx5dv_dr_table{domain};
}

int mlx5dv_dr_table_destroy(mlx5dv_dr_table* table) {
  if (table->users != 0) return EBUSY;
  --table->domain->users;
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
  ++table->users;
  return matcher;
}

int mlx5dv_dr_matcher_destroy(mlx5dv_dr_matcher* matcher) {
  if (matcher->users != 0) return EBUSY;
  --matcher->table->users;
  delete matcher;
  return 0;
}

mlx5dv_dr_rule* mlx5dv_dr_rule_create(mlx5dv_dr_matcher* matcher,
                                      mlx5dv_flow_match_parameters* value, size_t count,
                                      mlx5dv_dr_action* actions[]) {
  auto rule = std::make_unique<mlx5dv_dr_rule>();
  rule->matcher = matcher;
  rule->actions.assign(actions, actions + count);
  Fate fate;
  const mlx5dv_dr_domain& domain = *matcher->table->domain;
  if (domain.type == MLX5DV_DR_DOMAIN_TYPE_NIC_RX) {
    const int error = fate_of(rule->actions, fate);
    if (error != 0) {
      errno = error;
      return nullptr;
    }
    uint8_t bytes[kOuterHeaders] = {};
    std::memcpy(bytes, value->match_buf, std::min(value->match_sz, kOuterHeaders));
    rule->rule = connectx4_add_rule(domain.context, matcher->priority, matcher->mask, bytes,
                                    fate.verdict, fate.queue, fate.tag);
    if (rule->rule == nullptr) return nullptr;
  }
  ++matcher->users;
  for (mlx5dv_dr_action* action : rule->actions)
    ++action->users;
  return rule.release();
}

int mlx5dv_dr_rule_destroy(mlx5dv_dr_rule* handle) {
  const std::unique_ptr<mlx5dv_dr_rule> rule(handle);
  if (rule->rule != nullptr) connectx4_remove_rule(rule->rule);
  --rule->matcher->users;
  for (mlx5dv_dr_action* action : rule->actions)
    --action->users;
  return 0;
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
  if (action->users != 0) return EBUSY;
  delete action;
  return 0;
}

}  // extern "C"
