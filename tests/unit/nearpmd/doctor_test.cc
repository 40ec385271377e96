// SPDX-License-Identifier: BSD-3-Clause
// What the doctor says of machines that are well and of machines that are not.
#include "doctor/doctor.hpp"

#include <gtest/gtest.h>

#include "cli/options.hpp"
#include "doctor/checks.hpp"
#include "fake_machine.hpp"

namespace nearpool::test {
namespace {

using namespace doctor;

const std::string kNic = "0000:81:00.0";
const std::string kPci = "/sys/bus/pci/devices/" + kNic;

// The finding number `index`: health, and a part of what is seen and of the advice.
void expect(const Findings& findings, size_t index, Health health, const std::string& seen,
            const std::string& advice = "") {
  ASSERT_LT(index, findings.size());
  const Finding& finding = findings[index];
  EXPECT_EQ(finding.health, health) << finding.seen;
  EXPECT_NE(finding.seen.find(seen), std::string::npos) << finding.seen;
  EXPECT_NE(finding.advice.find(advice), std::string::npos) << finding.advice;
  // A finding that is not good says what to do, and a good one asks for nothing.
  EXPECT_EQ(health == Health::kGood, finding.advice.empty() && health != Health::kUnknown)
      << finding.advice;
}
void expect_one(const Findings& findings, Health health, const std::string& seen,
                const std::string& advice = "") {
  ASSERT_EQ(findings.size(), 1U);
  expect(findings, 0, health, seen, advice);
}

TEST(Doctor, HugepagesPerNode) {
  FakeMachine machine;
  machine.node(0, "0-1", 512, 512).node(1, "2-3", 10, 4);
  const Findings findings = check_hugepages(machine.visit({}, {1, 2}));
  ASSERT_EQ(findings.size(), 2U);
  expect(findings, 0, Health::kGood, "node 0: 512 of 512 of 2 MiB free, 100 MiB are wanted");
  // 46 are lacking to 50 free ones.
  expect(findings, 1, Health::kStops, "node 1: 4 of 10",
         "echo 56 >/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages");
}

TEST(Doctor, HugepagesOfSeveralSizesCountTogether) {
  FakeMachine machine;
  machine.node(0, "0-1", 0, 0)
      .file("/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages", "1")
      .file("/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages", "1");
  expect_one(check_hugepages(machine.visit()), Health::kGood, "1 of 1 of 1 GiB");
}

TEST(Doctor, HugepagesWithoutNuma) {
  FakeMachine machine;
  const std::string folder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";
  machine.file(folder + "nr_hugepages", "0").file(folder + "free_hugepages", "0");
  machine.file("/sys/devices/system/cpu/online", "0-1");
  expect_one(check_hugepages(machine.visit()), Health::kStops, "node 0: none free",
             "echo 50 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
}

TEST(Doctor, HugepagesThatTheKernelHasNot) {
  FakeMachine machine;
  machine.file("/sys/devices/system/node/node0/cpulist", "0-1");
  expect_one(check_hugepages(machine.visit()), Health::kStops, "none", "--no-huge");
  Visit ordinary = machine.visit();
  ordinary.no_huge = true;
  expect_one(check_hugepages(ordinary), Health::kSlow, "ordinary pages", "leave --no-huge out");
}

TEST(Doctor, HugetlbfsMounted) {
  FakeMachine machine;
  machine.node(0, "0-1", 512, 512).file("/proc/mounts", "proc /proc proc rw 0 0");
  Visit visit = machine.visit();
  visit.in_memory = false;
  expect(check_hugepages(visit), 1, Health::kStops, "no hugetlbfs", "--in-memory");
  machine.file("/proc/mounts", "hugetlbfs /dev/hugepages hugetlbfs rw 0 0");
  EXPECT_EQ(check_hugepages(visit).size(), 1U);
}

TEST(Doctor, MainLcoreWithoutHugepagesOfItsNode) {
  FakeMachine machine;
  machine.node(0, "0-1", 16, 0).node(1, "2-3", 512, 512).node(2, "", 64, 64);
  Visit visit = machine.visit({}, {2});
  EXPECT_TRUE(check_main_lcore(visit).empty()) << "nobody knows where it will run";
  visit.main_cpus = {0};
  expect_one(check_main_lcore(visit), Health::kStops, "on node 0, which has no free hugepage",
             "echo 48 >/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages, or "
             "let the main lcore run on one of the CPUs 2,3");
  visit.main_cpus = {2};
  expect_one(check_main_lcore(visit), Health::kGood, "on node 1");
  visit.main_cpus = {1, 2};
  EXPECT_TRUE(check_main_lcore(visit).empty()) << "over two nodes";
  visit.main_cpus = {0};
  visit.no_huge = true;
  EXPECT_TRUE(check_main_lcore(visit).empty());
  // None anywhere is said once, of the nodes in use.
  FakeMachine bare;
  bare.node(0, "0-1", 0, 0).node(1, "2-3", 0, 0);
  Visit none = bare.visit({}, {2});
  none.main_cpus = {0};
  EXPECT_EQ(check_main_lcore(none).front().health, Health::kGood);
}

TEST(Doctor, Memlock) {
  FakeMachine machine;
  machine.node(0, "0-1").nic(kNic, 0, "mlx5_core");
  const std::string limit = "Max locked memory         8388608              8388608   bytes\n";
  machine.file("/proc/self/status", "CapEff:\t0000000000000000").file("/proc/self/limits", limit);
  expect_one(check_memlock(machine.visit({kNic})), Health::kStops, "8192 KiB may be locked",
             "LimitMEMLOCK=infinity");
  EXPECT_EQ(check_memlock(machine.visit()).front().health, Health::kGood) << "no device";
  machine.file("/proc/self/limits", "Max locked memory         unlimited   unlimited   bytes");
  expect_one(check_memlock(machine.visit({kNic})), Health::kGood, "unlimited");
  machine.file("/proc/self/limits", limit).file("/proc/self/status", "CapEff:\t0000000000004000");
  expect_one(check_memlock(machine.visit({kNic})), Health::kGood, "CAP_IPC_LOCK");
  machine.file("/proc/self/limits", "").file("/proc/self/status", "");
  expect_one(check_memlock(machine.visit({kNic})), Health::kUnknown, "cannot be read", "ulimit -l");
}

TEST(Doctor, NumaBalancing) {
  FakeMachine machine;
  machine.node(0, "0-1").node(1, "2-3");
  expect_one(check_numa_balancing(machine.visit()), Health::kGood, "has none");
  machine.file("/proc/sys/kernel/numa_balancing", "1");
  expect_one(check_numa_balancing(machine.visit()), Health::kSlow, "on", "numa_balancing=0");
  machine.file("/proc/sys/kernel/numa_balancing", "0");
  expect_one(check_numa_balancing(machine.visit()), Health::kGood, "off");
}

TEST(Doctor, NodeOfTheNic) {
  FakeMachine machine;
  machine.node(0, "0-1").node(1, "2-3").nic(kNic, 1, "mlx5_core");
  expect_one(check_device_nodes(machine.visit({kNic}, {2, 3})), Health::kGood, "2 of 2");
  expect_one(check_device_nodes(machine.visit({kNic}, {1, 2})), Health::kSlow, "1 of 2",
             "CPUs 2,3");
  expect_one(check_device_nodes(machine.visit({kNic}, {1})), Health::kSlow, "0 of 1", "node 1");
  expect_one(check_device_nodes(machine.visit({"0000:01:00.0"})), Health::kStops, "no such device",
             "lspci");
  machine.nic("0000:02:00.0", -1, "mlx5_core");
  expect_one(check_device_nodes(machine.visit({"02:00.0"})), Health::kSlow, "does not say",
             "--port-numa-config");
}

TEST(Doctor, IsolatedCpus) {
  FakeMachine machine;
  machine.file("/sys/devices/system/cpu/isolated", "2-3");
  expect_one(check_isolated_cpus(machine.visit({}, {2, 3})), Health::kGood, "2,3 are isolated");
  expect_one(check_isolated_cpus(machine.visit({}, {1, 2})), Health::kSlow,
             "1 of the forwarding CPUs 1,2", "isolcpus=1,2 nohz_full=1,2");
  expect_one(check_isolated_cpus(machine.visit({}, {})), Health::kStops, "no lcore", "-l 0,1");
}

TEST(Doctor, Governor) {
  FakeMachine machine;
  expect_one(check_governor(machine.visit({}, {1, 2})), Health::kUnknown, "does not set");
  machine.file("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance");
  expect_one(check_governor(machine.visit({}, {1})), Health::kGood, "performance");
  machine.file("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave");
  expect_one(check_governor(machine.visit({}, {1, 2})), Health::kSlow, "powersave on CPUs 2",
             "cpupower -c 2 frequency-set -g performance");
}

TEST(Doctor, KernelDriver) {
  FakeMachine machine;
  machine.nic(kNic, 0, "mlx5_core");
  expect_one(check_kernel_drivers(machine.visit({kNic})), Health::kGood, "mlx5_core");
  machine.nic("0000:02:00.0", 0, "ixgbe");
  expect_one(check_kernel_drivers(machine.visit({"02:00.0"})), Health::kStops, "the kernel's ixgbe",
             "dpdk-devbind.py -b vfio-pci 0000:02:00.0");
  machine.nic("0000:03:00.0", 0, "");
  expect_one(check_kernel_drivers(machine.visit({"03:00.0"})), Health::kStops, "no kernel driver",
             "mlx5_core");
  machine.nic("0000:04:00.0", 0, "uio_pci_generic");
  expect_one(check_kernel_drivers(machine.visit({"04:00.0"})), Health::kSlow, "uio_pci_generic",
             "vfio-pci");
}

TEST(Doctor, Vfio) {
  FakeMachine machine;
  machine.nic(kNic, 0, "vfio-pci");
  expect_one(check_kernel_drivers(machine.visit({kNic})), Health::kStops, "no IOMMU",
             "intel_iommu=on");
  machine.file("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y");
  expect_one(check_kernel_drivers(machine.visit({kNic})), Health::kSlow, "without an IOMMU",
             "write anywhere");
  machine.link(kPci + "/iommu_group", "../../../kernel/iommu_groups/7");
  machine.directory("/sys/kernel/iommu_groups/7/devices/" + kNic);
  expect_one(check_kernel_drivers(machine.visit({kNic})), Health::kStops, "no /dev/vfio/7",
             "modprobe");
  machine.file("/dev/vfio/7", "");
  expect_one(check_kernel_drivers(machine.visit({kNic})), Health::kGood, "alone in IOMMU group 7");
  machine.nic("0000:81:00.1", 0, "ixgbe")
      .directory("/sys/kernel/iommu_groups/7/devices/0000:81:00.1");
  expect_one(check_kernel_drivers(machine.visit({kNic})), Health::kStops, "0000:81:00.1 (ixgbe)",
             "bind these");
}

TEST(Doctor, IommuMode) {
  FakeMachine machine;
  machine.nic(kNic, 0, "mlx5_core");
  expect_one(check_iommu_mode(machine.visit({kNic})), Health::kGood, "off");
  machine.directory("/sys/kernel/iommu_groups/0").file("/proc/cmdline", "quiet intel_iommu=on");
  expect_one(check_iommu_mode(machine.visit({kNic})), Health::kSlow, "translates", "iommu=pt");
  EXPECT_EQ(check_iommu_mode(machine.visit()).front().health, Health::kGood);
  machine.file("/proc/cmdline", "quiet intel_iommu=on iommu=pt");
  expect_one(check_iommu_mode(machine.visit({kNic})), Health::kGood, "on");
}

TEST(Doctor, PauseFrames) {
  FakeMachine machine;
  machine.nic(kNic, 0, "mlx5_core");
  Visit visit = machine.visit({kNic});
  expect_one(check_pause_frames(visit), Health::kUnknown, "cannot be seen", "show port");
  machine.directory(kPci + "/net/eth7");
  visit.ask_pause_frames = [](const std::string& interface) {
    EXPECT_EQ(interface, "eth7");
    return PauseFrames{false, true};
  };
  expect_one(check_pause_frames(visit), Health::kSlow, "receive off, transmit on",
             "ethtool -A eth7 rx off tx off");
  visit.ask_pause_frames = [](const std::string&) { return PauseFrames{}; };
  expect_one(check_pause_frames(visit), Health::kGood, "off");
}

TEST(Doctor, FastFree) {
  FakeMachine machine;
  machine.nic(kNic, 0, "mlx5_core")
      .nic("0000:02:00.0", 1, "mlx5_core")
      .nic("0000:03:00.0", 0, "mlx5_core");
  expect_one(check_fast_free(machine.visit({kNic, "03:00.0"})), Health::kGood, "never asks");
  expect_one(check_fast_free(machine.visit({kNic, "02:00.0"})), Health::kSlow, "several nodes",
             "--tx-offloads=0");
}

TEST(Doctor, Firmware) {
  FakeMachine machine;
  machine.nic(kNic, 0, "mlx5_core");
  expect_one(check_firmware(machine.visit({kNic})), Health::kStops, "no RDMA device", "mlx5_ib");
  const std::string file = kPci + "/infiniband/mlx5_0/fw_ver";
  machine.file(file, "12.28.2006");
  expect_one(check_firmware(machine.visit({kNic})), Health::kGood,
             "(ConnectX-4): 12.28.2006, at least 12.21.1000");
  machine.file(file, "12.21.0998");
  expect_one(check_firmware(machine.visit({kNic})), Health::kStops, "12.21.0998", "mlxfwmanager");
  machine.file(file, "20.27.0090");
  expect_one(check_firmware(machine.visit({kNic})), Health::kGood, "ConnectX-6");
  machine.file(file, "99.1.1");
  expect_one(check_firmware(machine.visit({kNic})), Health::kUnknown, "family not known", "guide");
}

TEST(Doctor, RdmaCore) {
  FakeMachine machine;
  EXPECT_TRUE(check_rdma_core(machine.visit()).empty()) << "no device needs it";
  machine.nic(kNic, 0, "mlx5_core").file("/proc/sys/kernel/osrelease", "6.1.0-35-amd64");
  expect(check_rdma_core(machine.visit({kNic})), 0, Health::kStops, "not installed",
         "apt-get install");
  expect(check_rdma_core(machine.visit({kNic})), 1, Health::kGood, "6.1.0-35-amd64");
  machine.link("/usr/lib/libibverbs.so.1", "libibverbs.so.1.1.15.0");
  expect(check_rdma_core(machine.visit({kNic})), 0, Health::kStops, "15, at least 16", "newer");
  machine.link("/usr/lib/x86_64-linux-gnu/libibverbs.so.1", "libibverbs.so.1.14.44.0");
  expect(check_rdma_core(machine.visit({kNic})), 0, Health::kGood, "44, at least 16");
  machine.file("/proc/sys/kernel/osrelease", "3.10.0-1160");
  expect(check_rdma_core(machine.visit({kNic})), 1, Health::kStops, "3.10.0", "newer kernel");
}

TEST(Doctor, DeviceArguments) {
  FakeMachine machine;
  machine.nic(kNic, 0, "mlx5_core").nic("0000:02:00.0", 0, "vfio-pci");
  const Findings plain = check_device_arguments(machine.visit({kNic}));
  ASSERT_EQ(plain.size(), 2U);
  expect(plain, 0, Health::kGood, "off");
  expect(plain, 1, Health::kGood, "mlxconfig");
  const auto chosen = machine.visit({"81:00.0,mprq_en=1,rxq_cqe_comp_en=0,rx_vec_en=0", "02:00.0"});
  const Findings found = check_device_arguments(chosen);
  ASSERT_EQ(found.size(), 3U);
  expect(found, 0, Health::kSlow, "mprq_en=1", "leave mprq_en out");
  expect(found, 1, Health::kSlow, "rxq_cqe_comp_en=0", "PCI bandwidth");
  expect(found, 2, Health::kSlow, "rx_vec_en=0", "leave it out");
}

TEST(Doctor, Plugin) {
  FakeMachine machine;
  machine.directory("/usr/lib/pmds");
  expect_one(check_plugin(machine.visit()), Health::kSlow, "not in /usr/lib/pmds", "-d PATH");
  machine.link("/usr/lib/pmds/librte_mempool_page_pool.so", "../librte_mempool_page_pool.so.1");
  expect_one(check_plugin(machine.visit()), Health::kStops, "no such file", "meson install");
  machine.file("/usr/lib/librte_mempool_page_pool.so.1", "");
  expect_one(check_plugin(machine.visit()), Health::kGood, "can be loaded");
  machine.directory("/usr/lib", 0777);
  expect_one(check_plugin(machine.visit()), Health::kStops, "everybody may write to /usr/lib",
             "chmod o-w /usr/lib");
  machine.directory("/usr/lib", 0755);
  Visit named = machine.visit();
  machine.file("/tmp/own/x.so", "").directory("/tmp", 01777);
  named.loaded = {"/tmp/own/x.so", "librte_by_name.so"};
  expect(check_plugin(named), 0, Health::kStops, "everybody may write to /tmp",
         "install it elsewhere");
  EXPECT_EQ(check_plugin(named).size(), 2U);
}

TEST(Doctor, ExitCode) {
  std::FILE* nowhere = std::fopen("/dev/null", "w");
  ASSERT_NE(nowhere, nullptr);
  EXPECT_EQ(print_checklist(nowhere, {{Health::kGood, "", "", ""}}), 0);
  EXPECT_EQ(print_checklist(nowhere, {{Health::kSlow, "", "", ""}, {Health::kUnknown, "", "", ""}}),
            0);
  EXPECT_EQ(print_checklist(nowhere, {{Health::kGood, "", "", ""}, {Health::kStops, "", "", ""}}),
            3);
  std::fclose(nowhere);
}

TEST(Doctor, BytesWanted) {
  Options options;
  options.arena.total_num_pages = 1000;
  EXPECT_EQ(bytes_wanted(options, 2, 1), 1000U * (2176 + 256) + (64U << 20));
  options.arena.total_num_pages = 0;
  const uint64_t one = bytes_wanted(options, 1, 1);
  EXPECT_GT(one, (1024U + 1024) * 2432 + (64U << 20));
  EXPECT_GT(bytes_wanted(options, 2, 1), one);
}

}  // namespace
}  // namespace nearpool::test
