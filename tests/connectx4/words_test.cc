// SPDX-License-Identifier: BSD-3-Clause
// The words of the launcher's options.
#include <gtest/gtest.h>

#include "device/fault.hpp"
#include "device/run_config.hpp"
#include "device/shaper.hpp"
#include "wire/wire_spec.hpp"

namespace nearpool::connectx4 {
namespace {

TEST(Words, Rates) {
  Rate rate;
  std::string error;
  EXPECT_TRUE(parse_rate("5Mpps", rate, error));
  EXPECT_EQ(rate.per_second, 5e6);
  EXPECT_FALSE(rate.of_bits);
  EXPECT_TRUE(parse_rate("2.5Gbps", rate, error));
  EXPECT_EQ(rate.per_second, 2.5e9);
  EXPECT_TRUE(rate.of_bits);
  for (const char* bad : {"", "5", "5M", "0pps", "-1pps", "5Tbps", "fast", "5Mppss"}) {
    error.clear();
    EXPECT_FALSE(parse_rate(bad, rate, error)) << bad;
    EXPECT_NE(error.find("5Mpps, 10Gbps"), std::string::npos) << error;
  }
}

TEST(Words, Faults) {
  Fault fault;
  std::string error;
  EXPECT_TRUE(parse_fault("rx-error:at=7:every=3:port=1:queue=2", fault, error));
  EXPECT_EQ(fault.kind, FaultKind::kRxError);
  EXPECT_EQ(fault.at, 7u);
  EXPECT_EQ(fault.every, 3u);
  EXPECT_EQ(fault.port, 1u);
  EXPECT_EQ(fault.queue, 2u);
  EXPECT_TRUE(parse_fault("flap", fault, error));
  EXPECT_EQ(fault.port, Fault::kAny);
  for (const char* bad : {"", "melt", "rx-error:at=0", "rx-error:at", "rx-error:size=1",
                          "flap:ms=60001", "no-buffer:count=0", "rx-error:at=1x"}) {
    EXPECT_FALSE(parse_fault(bad, fault, error)) << bad;
  }
}

TEST(Words, FaultTriggerCounts) {
  FaultTrigger trigger;
  EXPECT_FALSE(trigger.active());
  Fault fault;
  std::string error;
  ASSERT_TRUE(parse_fault("rx-error:at=3:every=2", fault, error));
  trigger.add(fault);
  ASSERT_TRUE(parse_fault("no-buffer:at=4:count=3", fault, error));
  trigger.add(fault);
  std::string actions;
  for (int i = 0; i < 10; ++i) {
    const FaultAction action = trigger.next();
    actions += action == FaultAction::kNone ? '.' : action == FaultAction::kError ? 'E' : 'B';
  }
  EXPECT_EQ(actions, "..EBEBEBE.");
}

TEST(Words, Wires) {
  WireSpec spec;
  std::string error;
  EXPECT_TRUE(parse_wire_spec("peer", spec, error));
  EXPECT_TRUE(parse_wire_spec("pcap:in=a.pcap:out=/b/c.pcap:repeat=0", spec, error));
  EXPECT_EQ(spec.kind, WireKind::kPcap);
  EXPECT_EQ(spec.in, "a.pcap");
  EXPECT_EQ(spec.out, "/b/c.pcap");
  EXPECT_EQ(spec.repeat, 0u);
  EXPECT_TRUE(parse_wire_spec("shm:lab-1", spec, error));
  EXPECT_EQ(spec.name, "lab-1");
  for (const char* bad : {"", "string", "peer:1", "pcap", "pcap:in=", "pcap:repeat=2",
                          "pcap:in=a:x=b", "shm", "shm:", "shm:a/b", "shm:..", "tap:x"}) {
    EXPECT_FALSE(parse_wire_spec(bad, spec, error)) << bad;
  }
}

TEST(Words, ConfigLines) {
  RunConfig config;
  std::string error;
  ASSERT_TRUE(apply_config_line("ports", "3", config, error));
  EXPECT_TRUE(apply_config_line("wire", "loop", config, error));
  EXPECT_TRUE(apply_config_line("wire", "1=pcap:in=x.pcap", config, error));
  EXPECT_EQ(config.ports[0].wire, "loop");
  EXPECT_EQ(config.ports[1].wire, "pcap:in=x.pcap");
  EXPECT_TRUE(apply_config_line("lossless", "2=on", config, error));
  EXPECT_FALSE(config.ports[1].lossless);
  EXPECT_TRUE(config.ports[2].lossless);
  EXPECT_TRUE(apply_config_line("loss", "0.25", config, error));
  EXPECT_EQ(config.ports[1].loss, 0.25);
  EXPECT_TRUE(apply_config_line("cpus", "1,4-6", config, error));
  EXPECT_EQ(config.cpus, (std::vector<int>{1, 4, 5, 6}));
  EXPECT_FALSE(apply_config_line("wire", "3=loop", config, error));
  EXPECT_EQ(error, "option wire 'loop': there is no port 3, only 0 to 2");
  for (const auto& [name, value] :
       std::vector<std::pair<const char*, const char*>>{{"ports", "0"},
                                                        {"ports", "x"},
                                                        {"loss", "1.5"},
                                                        {"lossless", "maybe"},
                                                        {"cpus", "3-1"},
                                                        {"threads", "many"},
                                                        {"seed", "pi"},
                                                        {"log", "9"},
                                                        {"colour", "red"},
                                                        {"mprq", ""},
                                                        {"rate", "1=5M"}}) {
    EXPECT_FALSE(apply_config_line(name, value, config, error)) << name << ' ' << value;
  }
}

TEST(Words, ShaperKeepsTheRate) {
  Shaper shaper;
  shaper.set_rate({1e6, false});
  shaper.advance(1);
  uint64_t sent = 0;
  for (uint64_t now = 1; now <= 100'000'001; now += 10'000) {  // 100 ms in steps of 10 us
    shaper.advance(now);
    while (shaper.admit(60))
      ++sent;
  }
  EXPECT_NEAR(static_cast<double>(sent), 100'000, 600);
}

TEST(Words, ShaperLosesItsShareTheSameEachTime) {
  const auto lost = [](uint64_t seed) {
    Shaper shaper;
    shaper.set_loss(0.1, seed);
    std::vector<bool> frames;
    for (int i = 0; i < 100000; ++i)
      frames.push_back(shaper.lose());
    return frames;
  };
  const auto first = lost(1);
  EXPECT_NEAR(static_cast<double>(std::count(first.begin(), first.end(), true)), 10000, 500);
  EXPECT_EQ(first, lost(1));
  EXPECT_NE(first, lost(2));
}

}  // namespace
}  // namespace nearpool::connectx4
