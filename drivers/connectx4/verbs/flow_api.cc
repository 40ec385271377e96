// SPDX-License-Identifier: BSD-3-Clause
// Steering rules, from Verbs flows and from our libmlx5's direct rules.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "../device/adapter.hpp"
#include "flow_specs.hpp"
#include "operations.hpp"
#include "private_api.h"
#include "queue_pair.hpp"

using namespace nearpool::connectx4;

struct connectx4_rule {
  SteeringRule rule;
  Port* port = nullptr;
  QueuePair* target = nullptr;
};

namespace {

connectx4_rule* add(Port* port, std::unique_ptr<connectx4_rule> rule, ibv_qp* target) {
  if (rule->rule.verdict == Verdict::kQueue) {
    rule->target = target == nullptr ? nullptr : QueuePair::of(target);
    if (rule->target == nullptr || rule->target->rss == nullptr) {
      errno = EINVAL;
      return nullptr;
    }
    rule->rule.target = rule->target->rss.get();
    ++rule->target->users;
  }
  rule->port = port;
  ControlLock lock;
  port->steering().add(&rule->rule);
  return rule.release();
}

struct VerbsFlow {
  Handle<ibv_flow, VerbsFlow> handle;
  connectx4_rule* rule = nullptr;
};

}  // namespace

namespace nearpool::connectx4 {

ibv_flow* create_flow(ibv_qp* queue, ibv_flow_attr* attributes) {
  auto rule = std::make_unique<connectx4_rule>();
  const int error = translate_flow(*attributes, rule->rule);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  connectx4_rule* added = add(Port::of(queue->context), std::move(rule), queue);
  if (added == nullptr) return nullptr;
  auto* flow = new VerbsFlow;
  flow->rule = added;
  flow->handle.owner = flow;
  flow->handle.verbs.context = queue->context;
  return &flow->handle.verbs;
}

int destroy_flow(ibv_flow* verbs) {
  std::unique_ptr<VerbsFlow> flow(owner_of<VerbsFlow>(verbs));
  connectx4_remove_rule(flow->rule);
  return 0;
}

}  // namespace nearpool::connectx4

extern "C" {

connectx4_rule* connectx4_add_rule(ibv_context* context, uint32_t priority, const uint8_t* mask,
                                   const uint8_t* value, connectx4_verdict verdict, ibv_qp* target,
                                   uint32_t flow_tag) {
  auto rule = std::make_unique<connectx4_rule>();
  std::memcpy(rule->rule.mask.bytes.data(), mask, MatchKey::kBytes);
  std::memcpy(rule->rule.value.bytes.data(), value, MatchKey::kBytes);
  rule->rule.priority = priority;
  rule->rule.flow_tag = flow_tag;
  rule->rule.verdict = verdict == CONNECTX4_QUEUE  ? Verdict::kQueue
                       : verdict == CONNECTX4_DROP ? Verdict::kDrop
                                                   : Verdict::kMiss;
  return add(Port::of(context), std::move(rule), target);
}

void connectx4_remove_rule(connectx4_rule* handle) {
  std::unique_ptr<connectx4_rule> rule(handle);
  ControlLock lock;
  rule->port->steering().remove(&rule->rule);
  if (rule->target != nullptr) --rule->target->users;
}

}  // extern "C"
