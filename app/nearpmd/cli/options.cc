// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace nearpool {
namespace {

constexpr uint16_t kMaxPorts = 32;    // RTE_MAX_ETHPORTS
constexpr uint16_t kMaxLcores = 128;  // RTE_MAX_LCORE
constexpr int kMaxNodes = 32;         // PAGE_POOL_MAX_NODES

// What the user wrote and what cannot go straight into Options.
struct Texts {
  std::string verdict = "redirect";
  std::string touch = "no-touch";
  std::string topology = "paired";
  std::string promiscuous = "on";
  std::string coremask, corelist, portmask, portlist, pass_map, port_numa;
  std::vector<std::string> eth_peer;
  int64_t arena_min = -1, arena_low = -1, arena_high = -1;
  bool no_node_follow = false, no_foreign_reject = false, no_pressure_reject = false;
  bool no_bulk_return = false;
};

CLI::Validator on_off() {
  return CLI::IsMember({"on", "off"});
}

void add_run_options(CLI::App& app, Options& o) {
  app.add_flag("-i,--interactive", o.interactive, "open the prompt");
  app.add_flag("-a,--auto-start", o.auto_start, "with -i: start forwarding at once");
  app.add_flag("--tx-first", o.tx_first, "send one burst from each TX queue first");
  app.add_option("--stats-period", o.stats_period,
                 "every N seconds: rates, local share and pool levels of each queue; 0: never")
      ->check(CLI::Range(0, 3600));
  app.add_option("--rx-watchdog", o.rx_watchdog,
                 "say when a port is silent for N seconds while its link is up; 0: never")
      ->check(CLI::Range(0, 86400));
  app.add_option("--cmdline-file", o.cmdline_file, "run the prompt's commands in this file first");
  app.add_option("--eal", o.eal,
                 "an argument of the EAL, for a configuration file: eal = [\"-a\", \"81:00.0\"]")
      ->allow_extra_args(false);
  app.add_flag("--exit-when-idle", o.exit_when_idle,
               "end when no port delivers anything any more, live ports included");
}

void add_port_options(CLI::App& app, Options& o, Texts& t) {
  app.add_option("--rxq", o.rxq, "RX queues per port")->check(CLI::Range(1, 1024));
  app.add_option("--txq", o.txq, "TX queues per port; 0: one per forwarding lcore")
      ->check(CLI::Range(0, 1024));
  app.add_option("--rxd", o.rxd, "descriptors per RX queue")->check(CLI::Range(1, 32768));
  app.add_option("--txd", o.txd, "descriptors per TX queue")->check(CLI::Range(1, 32768));
  app.add_option("--max-pkt-len", o.max_pkt_len, "longest frame, CRC included; 0: the port's own")
      ->check(CLI::Range(0, 65535));
  app.add_option("--promiscuous-mode", t.promiscuous, "on or off")->check(on_off());
  app.add_flag("--no-flush-rx", o.no_flush_rx, "keep what waits in RX queues before a start");
  auto* mask = app.add_option("--portmask", t.portmask, "ports to use, hexadecimal mask");
  app.add_option("--portlist", t.portlist, "ports to use, as 0-2,5")->excludes(mask);
  app.add_option("--port-topology", t.topology, "paired, chained or loop");
  app.add_option("--port-numa-config", t.port_numa, "node of ports, PORT:NODE,...");
  app.add_option("--eth-peer", t.eth_peer,
                 "PORT,MAC: frames redirected to PORT go to MAC, from the port's own address")
      ->delimiter(';');
}

void add_forward_options(CLI::App& app, Options& o, Texts& t) {
  app.add_option("--burst", o.burst, "frames per burst")->check(CLI::Range(1, 512));
  app.add_option("--nb-cores", o.nb_cores, "forwarding lcores; 0: all but the main lcore")
      ->check(CLI::Range(0, kMaxLcores - 1));
  auto* mask = app.add_option("--coremask", t.coremask, "forwarding lcores, hexadecimal mask");
  app.add_option("--corelist", t.corelist, "forwarding lcores, as 1-2,5")->excludes(mask);
  app.add_option("--forward-mode", t.verdict,
                 "drop (rxonly), tx (macswap), redirect (io), redirect-cpu or pass");
  app.add_option("--touch", t.touch, "no-touch, read-data, parse-ip or swap-macs");
  app.add_option("--pass-map", t.pass_map, "exception ports, PORT:EXCEPTION_PORT,...");
  app.add_option("--numa-map", o.numa_map, "emulated topology, LCORE:NODE,...");
}

void add_arena_options(CLI::App& app, Options& o, Texts& t) {
  const auto watermark = CLI::Range(int64_t{-1}, int64_t{UINT32_MAX - 1});
  app.add_option("--total-num-pages,--total-num-mbufs", o.arena.total_num_pages,
                 "pages per node; 0: what rings and bursts need")
      ->check(CLI::Range(uint32_t{0}, uint32_t{1} << 28));
  app.add_option("--mbuf-size", o.arena.mbuf_size, "bytes of data room, headroom included")
      ->check(CLI::Range(256, 65535));
  app.add_option("--arena-min", t.arena_min, "min watermark, pages; 0: none, -1: default")
      ->check(watermark);
  app.add_option("--arena-low", t.arena_low, "low watermark, pages; 0: none, -1: default")
      ->check(watermark);
  app.add_option("--arena-high", t.arena_high, "high watermark, pages; 0: none, -1: default")
      ->check(watermark);
  app.add_flag("--arena-no-huge", o.arena.no_huge, "ordinary pages instead of hugepages");
  app.add_flag("--arena-lenient", o.arena.lenient, "warn of memory on a wrong node, do not refuse");
}

void add_pool_options(CLI::App& app, Options& o, Texts& t) {
  app.add_option("--pool-ops", o.pool.ops, "page_pool, or a stock mempool's ops (ring_mp_mc ...)");
  app.add_option("--pool-ring", o.pool.ring, "return ring, pages; 0: room for the quota")
      ->check(CLI::Range(0, 1 << 20));
  app.add_option("--pool-cache", o.pool.cache, "alloc cache, pages")->check(CLI::Range(0, 512));
  app.add_option("--pool-quota", o.pool.quota,
                 "most pages a pool owns; 0: what its queue can use, or its share if more")
      ->check(CLI::Range(uint32_t{0}, uint32_t{1} << 28));
  app.add_option("--pool-bulk", o.pool.bulk, "returns a lcore gathers")->check(CLI::Range(4, 512));
  app.add_flag("--no-node-follow", t.no_node_follow, "pools stay on their first node");
  app.add_flag("--no-foreign-reject", t.no_foreign_reject, "keep pages of other nodes");
  app.add_flag("--no-pressure-reject", t.no_pressure_reject, "keep pages taken under pressure");
  app.add_flag("--no-bulk-return", t.no_bulk_return, "return pages one by one");
  app.add_flag("--hardened", o.pool.hardened, "check every take and return");
  app.add_option("--leak-report", o.pool.leak_seconds,
                 "watch pages that are out for more than N seconds, hardened; 0: do not")
      ->check(CLI::Range(0, 86400));
}

void add_rebalance_options(CLI::App& app, Options& o) {
  app.add_flag("--rebalance", o.rebalance.on, "move queues from overloaded lcores to idle ones");
  app.add_flag("--rebalance-dry-run", o.rebalance.dry_run, "only say what would be moved");
  app.add_option("--rebalance-period", o.rebalance.period_seconds, "seconds")
      ->check(CLI::Range(1, 3600));
  app.add_option("--rebalance-threshold", o.rebalance.threshold_percent,
                 "load from which a lcore is overloaded, percent")
      ->check(CLI::Range(1, 100));
  app.add_option("--rebalance-gain", o.rebalance.gain_percent,
                 "a move must lower the highest load by this, percentage points")
      ->check(CLI::Range(1, 100));
}

std::optional<uint32_t> watermark_of(int64_t value) {
  if (value < 0) return std::nullopt;
  return static_cast<uint32_t>(value);
}

// Writes the value of `parsed` to `target`, or its sentence, led by the option's name, to `error`.
template <class T, class U>
bool take(const char* option, const Result<T>& parsed, U& target, std::string& error) {
  if (parsed) {
    target = *parsed;
    return true;
  }
  error = fmt::format("{}: {}", option, parsed.error());
  return false;
}

Status take_lists(Options& o, const Texts& t) {
  std::string error;
  bool ok = true;
  if (!t.coremask.empty()) {
    ok = take("--coremask", parse_mask(t.coremask, kMaxLcores), o.corelist, error);
  }
  if (ok && !t.corelist.empty()) {
    ok = take("--corelist", parse_list(t.corelist, kMaxLcores), o.corelist, error);
  }
  if (ok && !t.portmask.empty()) {
    ok = take("--portmask", parse_mask(t.portmask, kMaxPorts), o.portlist, error);
  }
  if (ok && !t.portlist.empty()) {
    ok = take("--portlist", parse_list(t.portlist, kMaxPorts), o.portlist, error);
  }
  if (ok && !t.port_numa.empty()) {
    ok = take("--port-numa-config", parse_pairs(t.port_numa, kMaxPorts, kMaxNodes), o.port_numa,
              error);
  }
  if (ok && !t.pass_map.empty()) {
    const auto pairs = parse_pairs(t.pass_map, kMaxPorts, kMaxPorts);
    if (!pairs) return failure("--pass-map: {}", pairs.error());
    for (const auto& [port, exception] : *pairs) {
      o.pass_map[port] = static_cast<uint16_t>(exception);
    }
  }
  if (!ok) return tl::unexpected(error);
  return {};
}

Status take_texts(Options& o, const Texts& t) {
  std::string error;
  if (!take("--forward-mode", verdict_from_name(t.verdict), o.verdict, error) ||
      !take("--touch", touch_from_name(t.touch), o.touch, error) ||
      !take("--port-topology", topology_from_name(t.topology), o.topology, error)) {
    return tl::unexpected(error);
  }
  for (const std::string& text : t.eth_peer) {
    const auto peer = parse_eth_peer(text);
    if (!peer) return failure("--eth-peer: {}", peer.error());
    o.eth_peer[peer->first] = peer->second;
  }
  o.promiscuous = t.promiscuous == "on";
  o.arena.min_pages = watermark_of(t.arena_min);
  o.arena.low_pages = watermark_of(t.arena_low);
  o.arena.high_pages = watermark_of(t.arena_high);
  o.pool.node_follow = !t.no_node_follow;
  o.pool.foreign_reject = !t.no_foreign_reject;
  o.pool.pressure_reject = !t.no_pressure_reject;
  o.pool.bulk_return = !t.no_bulk_return;
  return take_lists(o, t);
}

// Options that contradict each other or would have no effect.
Status check_together(const Options& o) {
  if (o.auto_start && !o.interactive) {
    return failure("--auto-start needs -i: without the prompt forwarding starts by itself");
  }
  if (o.tx_first && o.interactive && !o.auto_start) {
    return failure("--tx-first needs --auto-start beside -i: the prompt has start tx_first");
  }
  if (o.exit_when_idle && o.interactive) {
    return failure("--exit-when-idle does not go with -i: a prompt ends with quit");
  }
  if (o.rebalance.dry_run && !o.rebalance.on) {
    return failure("--rebalance-dry-run needs --rebalance: without it nothing is looked at");
  }
  const bool redirects = o.verdict == Verdict::kRedirect || o.verdict == Verdict::kRedirectCpu;
  if (!o.eth_peer.empty() && !redirects && !o.tx_first && !o.interactive) {
    return failure(
        "--eth-peer needs --forward-mode=redirect or redirect-cpu, --tx-first, or -i to choose "
        "them later");
  }
  if (!o.corelist.empty() && o.nb_cores > o.corelist.size()) {
    return failure(
        "--nb-cores {} is more than the {} lcores of --corelist or --coremask: name more lcores or "
        "lower --nb-cores",
        o.nb_cores, o.corelist.size());
  }
  if (!o.pass_map.empty() && o.verdict != Verdict::kPass && !o.interactive) {
    return failure("--pass-map needs --forward-mode=pass, or -i to choose it later");
  }
  const bool stock = o.pool.ops != "page_pool";
  if (stock && (o.pool.hardened || o.pool.leak_seconds != 0 || !o.numa_map.empty() ||
                o.arena.no_huge || o.arena.lenient || o.arena.min_pages || o.arena.low_pages ||
                o.arena.high_pages || o.pool.ring != 0 || o.pool.quota != 0 ||
                o.pool.bulk != PoolOptions{}.bulk || !o.pool.node_follow ||
                !o.pool.foreign_reject || !o.pool.pressure_reject || !o.pool.bulk_return)) {
    return failure(
        "--pool-ops {} is a stock mempool: --hardened, --leak-report, --numa-map, --arena-*, "
        "--pool-ring, --pool-quota, --pool-bulk, --no-node-follow, --no-foreign-reject, "
        "--no-pressure-reject and --no-bulk-return need --pool-ops page_pool",
        o.pool.ops);
  }
  return {};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : " ") + part;
  return text;
}

// One pass of CLI11 over the arguments, with or without the configuration file.
struct Pass {
  Options options;
  Texts texts;
  std::string config_file;
  CLI::App app{"packet processor with a page pool per RX queue", "nearpmd"};

  explicit Pass(bool read_file) {
    app.option_defaults()->always_capture_default();
    add_run_options(app, options);
    add_port_options(app, options, texts);
    add_forward_options(app, options, texts);
    add_arena_options(app, options, texts);
    add_pool_options(app, options, texts);
    add_rebalance_options(app, options);
    if (read_file) {
      app.set_config("--config", "", "TOML file that holds any of these options")
          ->type_name("FILE");
      app.allow_config_extras(CLI::config_extras_mode::error);
    } else {
      app.add_option("--config", config_file);
    }
  }

  // CLI11 takes arguments from the back of the vector.
  Status parse(std::vector<std::string> arguments, bool& help) {
    std::reverse(arguments.begin(), arguments.end());
    try {
      app.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      help = true;
    } catch (const CLI::ParseError& error) {
      return failure("{} (see nearpmd -- --help)", error.what());
    } catch (const std::exception& error) {
      return failure("the options cannot be read: {}", error.what());
    }
    return {};
  }
};

}  // namespace

Result<ParsedOptions> parse_options(const std::vector<std::string>& arguments) {
  // Twice, since CLI11 does not tell whether a value came from the command line or from the file.
  Pass line(false);
  Pass both(true);
  ParsedOptions parsed;
  if (auto status = line.parse(arguments, parsed.help); !status) {
    return tl::unexpected(status.error());
  }
  if (parsed.help) {
    parsed.help_text = both.app.help();
    return parsed;
  }
  if (auto status = both.parse(arguments, parsed.help); !status) {
    return tl::unexpected(status.error());
  }
  if (auto status = take_texts(both.options, both.texts); !status) {
    return tl::unexpected(status.error());
  }
  if (auto status = check_together(both.options); !status) return tl::unexpected(status.error());

  for (const CLI::Option* option : both.app.get_options()) {
    const std::string name = option->get_single_name();
    if (name == "help") continue;
    const CLI::Option* on_line = line.app.get_option_no_throw("--" + name);
    const bool flag = option->get_expected_max() == 0;
    OptionOrigin entry{name, option->get_default_str(), "default"};
    if (entry.value.empty() && flag) entry.value = "false";
    if (option->count() > 0) {
      entry.value = joined(option->results());
      entry.origin = on_line != nullptr && on_line->count() > 0
                         ? "command line"
                         : fmt::format("file {}", line.config_file);
    }
    parsed.origins.push_back(std::move(entry));
  }
  parsed.options = std::move(both.options);
  return parsed;
}

}  // namespace nearpool
