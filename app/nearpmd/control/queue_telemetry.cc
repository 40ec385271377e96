// SPDX-License-Identifier: BSD-3-Clause
// /nearpmd/queues, on threads of the telemetry library.
#include <fmt/format.h>
#include <rte_telemetry.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "control/queue_board.hpp"
#include "dpdk_compat.hpp"

namespace nearpool {
namespace {

// The library's answers end at 16 KiB; a queue takes some 350 bytes.
constexpr unsigned kMostQueues = 40;

// Set once, before the command can be asked for.
std::atomic<const QueueBoard*> the_board{nullptr};

bool read_start(const char* text, unsigned& port, unsigned& queue) {
  port = queue = 0;
  if (text == nullptr || *text == '\0') return true;
  int used = 0;
  const int numbers = std::sscanf(text, "%5u%n,%5u%n", &port, &used, &queue, &used);
  return numbers >= 1 && text[used] == '\0';
}

rte_tel_data* as_dict(const QueueLine& line) {
  rte_tel_data* dict = rte_tel_data_alloc();
  if (dict == nullptr) return nullptr;
  rte_tel_data_start_dict(dict);
  const auto add = [dict](const char* name, auto value) {
    compat::add_dict_uint(dict, name, static_cast<uint64_t>(value));
  };
  const auto add_signed = [dict](const char* name, int64_t value) {
    rte_tel_data_add_dict_int(dict, name, static_cast<int>(value));
  };
  add("port", line.port);
  add("queue", line.queue);
  rte_tel_data_add_dict_string(dict, "device", line.device.c_str());
  add("started", line.started);
  add_signed("lcore", line.lcore);
  add_signed("lcore_node", line.lcore_node);
  add_signed("port_node", line.port_node);
  add("received", line.received);
  add("forwarded", line.forwarded);
  add("dropped", line.dropped);
  rte_tel_data_add_dict_string(dict, "pool", line.pool.c_str());
  add("pool_id", line.pool_id);
  add_signed("nid", line.nid);
  add("strict", line.strict);
  add("quota", line.quota);
  add("owned", line.owned);
  add("owned_foreign", line.foreign);
  add("cached", line.cached);
  add("stashed", line.stashed);
  add("ringed", line.ringed);
  add_signed("inflight", line.inflight);
  return dict;
}

int answer(const char* /*command*/, const char* params, rte_tel_data* data) {
  unsigned port = 0;
  unsigned queue = 0;
  if (!read_start(params, port, queue)) return -EINVAL;
  // 22.11 has no dictionaries in an array, so "PORT/QUEUE" is a queue's key.
  rte_tel_data_start_dict(data);
  unsigned count = 0;
  for (const QueueLine& line : the_board.load(std::memory_order_acquire)->lines()) {
    if (line.port < port || (line.port == port && line.queue < queue)) continue;
    if (count++ == kMostQueues) break;
    rte_tel_data* dict = as_dict(line);
    if (dict == nullptr) continue;
    rte_tel_data_add_dict_container(data, fmt::format("{}/{}", line.port, line.queue).c_str(), dict,
                                    0);
  }
  return 0;
}

}  // namespace

void answer_telemetry_from(const QueueBoard& board) {
  the_board.store(&board, std::memory_order_release);
  rte_telemetry_register_cmd("/nearpmd/queues", answer,
                             "RX queues, 40 at most. Parameters: PORT[,QUEUE] to begin with");
}

}  // namespace nearpool
