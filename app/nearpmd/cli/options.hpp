// SPDX-License-Identifier: BSD-3-Clause
// Everything that can be chosen on the command line, in the configuration file, or later at the
// prompt. Plain data: nothing here touches DPDK, so that it can be tested without it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "status.hpp"

namespace nearpool {

// Where a frame goes.
enum class Verdict { kDrop, kTx, kRedirect, kRedirectCpu, kPass };
// How much of a frame is read or written on its way.
enum class Touch { kNone, kReadData, kParseIp, kSwapMacs };
// How ports are mapped to each other: 0<->1 2<->3, 0->1->2->0, or each to itself.
enum class Topology { kPaired, kChained, kLoop };

using MacAddress = std::array<uint8_t, 6>;

struct ArenaOptions {
  uint32_t total_num_pages = 0;  // pages per node; 0: what rings and bursts need
  uint32_t mbuf_size = 2176;     // bytes of data room, headroom included
  std::optional<uint32_t> min_pages, low_pages, high_pages;  // watermarks; 0 is "none"
  bool no_huge = false;
  bool lenient = false;
};

struct PoolOptions {
  uint32_t ring = 0;     // pages; 0: room for the quota
  uint32_t cache = 512;  // pages
  uint32_t quota = 0;    // pages; 0: the arena's
  uint32_t bulk = 64;    // returns a lcore gathers
  bool node_follow = true;
  bool foreign_reject = true;
  bool pressure_reject = true;
  bool bulk_return = true;
  bool hardened = false;
  uint32_t leak_seconds = 0;  // pages out for longer are reported; 0: they are not watched
  std::string ops = "page_pool";
};

struct RebalanceOptions {
  bool on = false;
  bool dry_run = false;
  uint32_t period_seconds = 5;
  uint32_t threshold_percent = 80;  // a lcore busier than this is overloaded
  uint32_t gain_percent = 10;       // a move must lower the highest load by at least this
};

struct Options {
  bool interactive = false;
  bool auto_start = false;
  bool tx_first = false;
  uint32_t stats_period = 0;  // seconds; 0: none
  uint32_t rx_watchdog = 10;  // seconds without a frame that are worth a word; 0: none
  std::string cmdline_file;
  std::vector<std::string> eal;  // arguments of the EAL, before those of the command line

  uint16_t rxq = 1;
  uint16_t txq = 0;  // 0: one per lcore
  uint16_t rxd = 1024;
  uint16_t txd = 1024;
  uint16_t burst = 32;
  uint16_t nb_cores = 0;           // 0: all but the main lcore
  std::vector<uint16_t> corelist;  // empty: all but the main lcore
  std::vector<uint16_t> portlist;  // empty: all
  Verdict verdict = Verdict::kRedirect;
  Touch touch = Touch::kNone;
  Topology topology = Topology::kPaired;
  std::map<uint16_t, MacAddress> eth_peer;  // port to destination of what it sends
  std::map<uint16_t, uint16_t> pass_map;    // port to exception port
  std::map<uint16_t, int> port_numa;        // port to node, for ports that do not know theirs
  uint32_t max_pkt_len = 0;                 // 0: the port's own MTU
  bool promiscuous = true;
  bool no_flush_rx = false;
  std::string numa_map;
  bool exit_when_idle = false;

  ArenaOptions arena;
  PoolOptions pool;
  RebalanceOptions rebalance;
};

// One line of `show config`.
struct OptionOrigin {
  std::string name;    // as on the command line, without the dashes
  std::string value;   // in force
  std::string origin;  // "default", "command line", "file NAME", "prompt"
};

struct ParsedOptions {
  Options options;
  std::vector<OptionOrigin> origins;  // every option, in the order of the help text
  bool help = false;                  // --help was given; `help_text` is to be printed
  std::string help_text;
};

// @param arguments what follows "--" on the command line, the program's name not included.
Result<ParsedOptions> parse_options(const std::vector<std::string>& arguments);

// Names as the user types them; testpmd's own names are understood as well.
Result<Verdict> verdict_from_name(const std::string& name);
Result<Touch> touch_from_name(const std::string& name);
Result<Topology> topology_from_name(const std::string& name);
const char* verdict_name(Verdict verdict);
const char* touch_name(Touch touch);
const char* topology_name(Topology topology);

// "0-2,5" as 0 1 2 5; each number once and below `limit`.
Result<std::vector<uint16_t>> parse_list(const std::string& text, uint16_t limit);
// Bits of a hexadecimal mask, with or without 0x.
Result<std::vector<uint16_t>> parse_mask(const std::string& text, uint16_t limit);
// "1,00:11:22:33:44:55"
Result<std::pair<uint16_t, MacAddress>> parse_eth_peer(const std::string& text);
// "0:2,1:3": left numbers below `limit`, each once.
Result<std::map<uint16_t, int>> parse_pairs(const std::string& text, int left_limit,
                                            int right_limit);

}  // namespace nearpool
