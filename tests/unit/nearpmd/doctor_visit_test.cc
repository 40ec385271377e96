// SPDX-License-Identifier: BSD-3-Clause
// What the doctor takes from the EAL's arguments, and from the machine where they say nothing.
#include <gtest/gtest.h>

#include "doctor/visit.hpp"
#include "fake_machine.hpp"

namespace nearpool::test {
namespace {

using namespace doctor;
using Numbers = std::vector<int>;

TEST(DoctorVisit, NumbersAndRanges) {
  EXPECT_EQ(numbers_of("0-2,5\n"), (Numbers{0, 1, 2, 5}));
  EXPECT_EQ(numbers_of("5,1,1"), (Numbers{1, 5}));
  EXPECT_EQ(numbers_of(""), Numbers{});
  EXPECT_EQ(numbers_of("x,3,9-7,-2"), Numbers{3});
  EXPECT_EQ(ranges_of({0, 1, 2, 5, 7, 8}), "0-2,5,7,8");
  EXPECT_EQ(ranges_of({}), "");
}

TEST(DoctorVisit, Devices) {
  const Device device = device_of("81:00.0,mprq_en=1,representor=(0,1),flag");
  EXPECT_EQ(device.address, "0000:81:00.0");
  EXPECT_EQ(device.arguments.at("mprq_en"), "1");
  EXPECT_EQ(device.arguments.at("representor"), "(0,1)");
  EXPECT_EQ(device.arguments.at("flag"), "");
  EXPECT_EQ(device_of("pci:0001:02:00.0").address, "0001:02:00.0");
}

TEST(DoctorVisit, Arguments) {
  const auto read = read_eal_arguments({"-l", "0,2-3", "-a", "81:00.0", "--allow=81:00.1", "--vdev",
                                        "net_null0", "-d/opt/x.so", "--in-memory", "--no-telemetry",
                                        "--main-lcore=3", "-m", "512"});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->lcore_ids, (Numbers{0, 2, 3}));
  ASSERT_EQ(read->devices.size(), 2U);
  EXPECT_EQ(read->devices[1].address, "0000:81:00.1");
  EXPECT_EQ(read->vdevs, 1U);
  EXPECT_EQ(read->loaded, std::vector<std::string>{"/opt/x.so"});
  EXPECT_TRUE(read->in_memory);
  EXPECT_FALSE(read->no_huge);
  EXPECT_EQ(read->main_lcore, 3);
}

TEST(DoctorVisit, LcoresOnCpus) {
  const auto read = read_eal_arguments({"--lcores", "1@4,(5-6)@(8-9),0"});
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->lcore_ids, (Numbers{0, 1, 5, 6}));
  EXPECT_EQ(read->lcores[1], Numbers{4});
  EXPECT_EQ(read->lcores[3], (Numbers{8, 9}));
  const auto mask = read_eal_arguments({"-c", "0x5"});
  ASSERT_TRUE(mask);
  EXPECT_EQ(mask->lcore_ids, (Numbers{0, 2}));
}

TEST(DoctorVisit, WrongArguments) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"-l", "abc"},
                                                                 {"-l"},
                                                                 {"-c", "0"},
                                                                 {"-c", "zz"},
                                                                 {"--main-lcore", "x"},
                                                                 {"--lcores", "1@"}}) {
    const auto read = read_eal_arguments(words);
    EXPECT_FALSE(read) << words.front();
  }
}

TEST(DoctorVisit, WhatIsNotSaidComesFromTheMachine) {
  FakeMachine machine;
  machine.node(0, "0-1").node(1, "2-3").file("/proc/self/status", "Cpus_allowed_list:\t0-2");
  machine.nic("0000:81:00.0", 1, "mlx5_core").nic("0000:02:00.0", 0, "ixgbe");
  machine.nic("0000:03:00.0", 0, "vfio-pci");
  machine.file("/sys/bus/pci/devices/0000:04:00.0/class", "0x010000");
  Visit visit = machine.visit();
  complete(visit, *read_eal_arguments({}));
  ASSERT_EQ(visit.devices.size(), 2U);
  EXPECT_EQ(visit.devices[0].address, "0000:03:00.0");
  EXPECT_EQ(visit.devices[1].address, "0000:81:00.0");
  EXPECT_EQ(visit.cpus, (Numbers{1, 2})) << "all but the main lcore's";
  EXPECT_EQ(visit.main_cpus, Numbers{0});
  EXPECT_EQ(visit.nodes_in_use(), (Numbers{0, 1}));
  complete(visit, *read_eal_arguments({"--no-pci", "-l", "2,3"}));
  EXPECT_TRUE(visit.devices.empty());
  EXPECT_EQ(visit.nodes_in_use(), Numbers{1});
  complete(visit, *read_eal_arguments({"-a", "02:00.0", "--lcores=0@3,1@1", "--main-lcore=1"}));
  EXPECT_EQ(visit.devices.front().address, "0000:02:00.0");
  EXPECT_EQ(visit.cpus, Numbers{3});
  EXPECT_EQ(visit.main_cpus, Numbers{1});
}

}  // namespace
}  // namespace nearpool::test
