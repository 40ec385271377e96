// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace nearpool {
namespace {

class File {
 public:
  explicit File(const std::string& text) {
    std::string name = "/tmp/nearpmd_options_test.XXXXXX";
    close(mkstemp(name.data()));
    path_ = name;
    std::ofstream(path_) << text;
  }
  ~File() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

OptionOrigin origin(const ParsedOptions& parsed, const std::string& name) {
  const auto found = std::find_if(parsed.origins.begin(), parsed.origins.end(),
                                  [&](const OptionOrigin& entry) { return entry.name == name; });
  return found == parsed.origins.end() ? OptionOrigin{} : *found;
}

// Each of `parts` must be in the sentence.
void expect_refused(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& parts) {
  const auto parsed = parse_options(arguments);
  ASSERT_FALSE(parsed) << arguments.front();
  for (const std::string& part : parts) {
    EXPECT_NE(parsed.error().find(part), std::string::npos) << parsed.error();
  }
  EXPECT_EQ(parsed.error().find('\n'), std::string::npos) << parsed.error();
}

TEST(Options, Defaults) {
  const auto parsed = parse_options({});
  ASSERT_TRUE(parsed) << parsed.error();
  const Options& o = parsed->options;
  EXPECT_FALSE(o.interactive);
  EXPECT_EQ(o.rxq, 1);
  EXPECT_EQ(o.burst, 32);
  EXPECT_EQ(o.verdict, Verdict::kRedirect);
  EXPECT_EQ(o.topology, Topology::kPaired);
  EXPECT_EQ(o.pool.ops, "page_pool");
  EXPECT_TRUE(o.pool.node_follow && o.pool.foreign_reject && o.pool.pressure_reject);
  EXPECT_TRUE(o.pool.bulk_return);
  EXPECT_FALSE(o.arena.min_pages.has_value());
  EXPECT_EQ(origin(*parsed, "burst").value, "32");
  EXPECT_EQ(origin(*parsed, "burst").origin, "default");
}

TEST(Options, EachOneArrives) {
  const auto parsed = parse_options({"-i",
                                     "-a",
                                     "--tx-first",
                                     "--stats-period",
                                     "3",
                                     "--rx-watchdog=4",
                                     "--rxq=2",
                                     "--txq=4",
                                     "--rxd=512",
                                     "--txd=256",
                                     "--burst=64",
                                     "--corelist=1-2",
                                     "--nb-cores=1",
                                     "--portlist=0,1",
                                     "--forward-mode=macswap",
                                     "--touch=parse-ip",
                                     "--port-topology=chained",
                                     "--eth-peer=1,02:00:00:00:00:09",
                                     "--total-num-mbufs=5000",
                                     "--mbuf-size=4096",
                                     "--max-pkt-len=9018",
                                     "--promiscuous-mode=off",
                                     "--no-flush-rx",
                                     "--numa-map=1:0,2:1",
                                     "--arena-min=0",
                                     "--arena-low=100",
                                     "--arena-no-huge",
                                     "--arena-lenient",
                                     "--pool-ring=128",
                                     "--pool-cache=64",
                                     "--pool-quota=900",
                                     "--pool-bulk=16",
                                     "--no-node-follow",
                                     "--no-foreign-reject",
                                     "--no-pressure-reject",
                                     "--no-bulk-return",
                                     "--hardened",
                                     "--rebalance",
                                     "--rebalance-dry-run",
                                     "--rebalance-period=7",
                                     "--rebalance-threshold=70",
                                     "--rebalance-gain=20",
                                     "--pass-map=0:1",
                                     "--port-numa-config=0:1",
                                     "--cmdline-file=x"});
  ASSERT_TRUE(parsed) << parsed.error();
  const Options& o = parsed->options;
  EXPECT_TRUE(o.interactive && o.auto_start && o.tx_first && o.no_flush_rx);
  EXPECT_EQ(o.stats_period, 3u);
  EXPECT_EQ(o.rx_watchdog, 4u);
  EXPECT_EQ(o.rxq, 2);
  EXPECT_EQ(o.txq, 4);
  EXPECT_EQ(o.rxd, 512);
  EXPECT_EQ(o.txd, 256);
  EXPECT_EQ(o.burst, 64);
  EXPECT_EQ(o.corelist, (std::vector<uint16_t>{1, 2}));
  EXPECT_EQ(o.nb_cores, 1);
  EXPECT_EQ(o.portlist, (std::vector<uint16_t>{0, 1}));
  EXPECT_EQ(o.verdict, Verdict::kTx);
  EXPECT_EQ(o.touch, Touch::kParseIp);
  EXPECT_EQ(o.topology, Topology::kChained);
  EXPECT_EQ(o.eth_peer.at(1)[5], 9);
  EXPECT_EQ(o.arena.total_num_pages, 5000u);
  EXPECT_EQ(o.arena.mbuf_size, 4096u);
  EXPECT_EQ(o.max_pkt_len, 9018u);
  EXPECT_FALSE(o.promiscuous);
  EXPECT_EQ(o.numa_map, "1:0,2:1");
  EXPECT_EQ(o.arena.min_pages, 0u);
  EXPECT_EQ(o.arena.low_pages, 100u);
  EXPECT_FALSE(o.arena.high_pages.has_value());
  EXPECT_TRUE(o.arena.no_huge && o.arena.lenient);
  EXPECT_EQ(o.pool.ring, 128u);
  EXPECT_EQ(o.pool.cache, 64u);
  EXPECT_EQ(o.pool.quota, 900u);
  EXPECT_EQ(o.pool.bulk, 16u);
  EXPECT_FALSE(o.pool.node_follow || o.pool.foreign_reject || o.pool.pressure_reject ||
               o.pool.bulk_return);
  EXPECT_TRUE(o.pool.hardened);
  EXPECT_TRUE(o.rebalance.on && o.rebalance.dry_run);
  EXPECT_EQ(o.rebalance.period_seconds, 7u);
  EXPECT_EQ(o.rebalance.threshold_percent, 70u);
  EXPECT_EQ(o.rebalance.gain_percent, 20u);
  EXPECT_EQ(o.pass_map.at(0), 1);
  EXPECT_EQ(o.port_numa.at(0), 1);
  EXPECT_EQ(o.cmdline_file, "x");
  const auto idle = parse_options({"--exit-when-idle", "--tx-first"});
  ASSERT_TRUE(idle) << idle.error();
  EXPECT_TRUE(idle->options.exit_when_idle && idle->options.tx_first);
}

TEST(Options, TheSentenceNamesOptionValueAndRange) {
  expect_refused({"--burst", "513"}, {"--burst", "513", "1 to 512"});
  expect_refused({"--burst", "x"}, {"--burst", "x"});
  expect_refused({"--rxd=0"}, {"--rxd", "0", "1 to 32768"});
  expect_refused({"--pool-bulk=3"}, {"--pool-bulk", "3", "4 to 512"});
  expect_refused({"--mbuf-size=100"}, {"--mbuf-size", "100", "256"});
  expect_refused({"--forward-mode=mac"}, {"--forward-mode", "mac", "drop"});
  expect_refused({"--touch=all"}, {"--touch", "all", "read-data"});
  expect_refused({"--port-topology=star"}, {"--port-topology", "star", "paired"});
  expect_refused({"--corelist=1-"}, {"--corelist", "1-"});
  expect_refused({"--portmask=zz"}, {"--portmask", "zz"});
  expect_refused({"--eth-peer=1"}, {"--eth-peer", "'1'"});
  expect_refused({"--pass-map=0"}, {"--pass-map", "'0'"});
  expect_refused({"--promiscuous-mode=maybe"}, {"--promiscuous-mode", "maybe", "on"});
}

TEST(Options, NothingIsIgnored) {
  expect_refused({"--no-such-option"}, {"--no-such-option"});
  expect_refused({"stray"}, {"stray"});
  expect_refused({"-a"}, {"--auto-start", "-i"});
  expect_refused({"--corelist=1", "--coremask=2"}, {"corelist", "coremask"});
  expect_refused({"--corelist=1", "--nb-cores=2"}, {"--nb-cores 2"});
  expect_refused({"--pool-ops=ring_mp_mc", "--hardened"}, {"ring_mp_mc", "--hardened"});
  expect_refused({"--pool-ops=ring_mp_mc", "--no-bulk-return"}, {"ring_mp_mc"});
  expect_refused({"--pool-ops=ring_mp_mc", "--pool-bulk=16"}, {"ring_mp_mc", "--pool-bulk"});
  expect_refused({"--pass-map=0:1"}, {"--pass-map", "pass"});
  expect_refused({"-i", "--tx-first"}, {"--tx-first", "--auto-start"});
  expect_refused({"-i", "--exit-when-idle"}, {"--exit-when-idle", "-i"});
  expect_refused({"--rebalance-dry-run"}, {"--rebalance-dry-run", "--rebalance:"});
  expect_refused({"--eth-peer=1,02:00:00:00:00:09", "--forward-mode=drop"},
                 {"--eth-peer", "redirect"});
  EXPECT_TRUE(parse_options({"--eth-peer=1,02:00:00:00:00:09", "--forward-mode=drop", "-i"}));
}

TEST(Options, AFileHoldsAnyOfThem) {
  const File file("burst = 16\n\"pool-bulk\" = 8\nhardened = true\nforward-mode = \"tx\"\n");
  const auto parsed = parse_options({"--config", file.path(), "--burst=64"});
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(parsed->options.burst, 64);  // the command line goes before the file
  EXPECT_EQ(parsed->options.pool.bulk, 8u);
  EXPECT_TRUE(parsed->options.pool.hardened);
  EXPECT_EQ(parsed->options.verdict, Verdict::kTx);
  EXPECT_EQ(origin(*parsed, "burst").origin, "command line");
  EXPECT_EQ(origin(*parsed, "pool-bulk").origin, "file " + file.path());
  EXPECT_EQ(origin(*parsed, "pool-bulk").value, "8");
  EXPECT_EQ(origin(*parsed, "rxq").origin, "default");
}

TEST(Options, AFileIsHeldToTheSameRules) {
  const File unknown("bust = 16\n");
  expect_refused({"--config", unknown.path()}, {"bust"});
  const File range("burst = 1600\n");
  expect_refused({"--config", range.path()}, {"burst", "1600", "1 to 512"});
  expect_refused({"--config", "/nonexistent/nearpmd.toml"}, {"/nonexistent/nearpmd.toml"});
}

TEST(Options, HelpListsThem) {
  const auto parsed = parse_options({"--help"});
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->help);
  const auto plain = parse_options({});
  ASSERT_TRUE(plain);
  for (const OptionOrigin& entry : plain->origins) {
    EXPECT_NE(parsed->help_text.find("--" + entry.name), std::string::npos) << entry.name;
  }
}

}  // namespace
}  // namespace nearpool
