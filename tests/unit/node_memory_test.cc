// SPDX-License-Identifier: BSD-3-Clause
// What nodes and cgroups have free, by made-up trees.
#include "numa/node_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fake_sysfs.hpp"

namespace nearpool::numa {
namespace {

using test::FakeSysfs;

TEST(NodeMemory, AvailableCountsReclaimableAndKeepsSomeBack) {
  FakeSysfs tree;
  tree.write(1, "meminfo",
             "Node 1 MemTotal:       64000 kB\n"
             "Node 1 MemFree:         1000 kB\n"
             "Node 1 Active:          9999 kB\n"
             "Node 1 Active(file):    2000 kB\n"
             "Node 1 Inactive(file):  3000 kB\n"
             "Node 1 SReclaimable:     500 kB\n");
  EXPECT_EQ(read_available_bytes(tree.root(), 1), std::uint64_t{6500 - 1000} * 1024);
  EXPECT_EQ(read_available_bytes(tree.root(), 2), std::nullopt);
}

TEST(NodeMemory, AvailableIsNeverBelowZero) {
  FakeSysfs tree;
  tree.write(0, "meminfo", "Node 0 MemTotal: 64000 kB\nNode 0 MemFree: 10 kB\n");
  EXPECT_EQ(read_available_bytes(tree.root(), 0), std::uint64_t{0});
}

TEST(NodeMemory, WithoutATreeTheMachineCounts) {
  FakeSysfs empty;
  EXPECT_GT(read_available_bytes(empty.root(), 0).value_or(0), std::uint64_t{0});
}

TEST(NodeMemory, DamagedCountsAreNone) {
  FakeSysfs tree;
  tree.node(0, 1024, {0}, "10").write(0, "hugepages/hugepages-2048kB/nr_hugepages", "many\n");
  tree.write(0, "hugepages/hugepages-xkB/nr_hugepages", "1\n").write(0, "hugepages/other", "1\n");
  const auto sizes = read_hugepages(tree.root(), 0);
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].total, 0U);
  EXPECT_EQ(sizes[0].free, 0U);
}

// A hierarchy /a/b in a folder of its own, and the file that says the process is in it.
class Cgroups : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) {
    const std::filesystem::path path = folder.root() + "/" + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::optional<std::uint64_t> available() const {
    return read_cgroup_available(folder.root() + "/own", folder.root() + "/fs");
  }

  FakeSysfs folder;
};

TEST_F(Cgroups, NoLimit) {
  EXPECT_EQ(available(), std::nullopt) << "no cgroups";
  write("own", "4:memory:/x\n");
  write("fs/x/memory.max", "4096\n");
  EXPECT_EQ(available(), std::nullopt) << "version 1 only";
  write("own", "0::/a/b\n");
  EXPECT_EQ(available(), std::nullopt) << "no files";
  write("fs/a/b/memory.max", "max\n");
  write("fs/a/b/memory.current", "1000\n");
  EXPECT_EQ(available(), std::nullopt);
}

TEST_F(Cgroups, LimitLessWhatIsUsedAndCannotBeReclaimed) {
  write("own", "1:cpu:/other\n0::/a/b\n");
  write("fs/a/b/memory.max", "10000\n");
  EXPECT_EQ(available(), std::uint64_t{10000});
  write("fs/a/b/memory.current", "7000\n");
  EXPECT_EQ(available(), std::uint64_t{3000});
  write("fs/a/b/memory.stat",
        "anon 9\nfile 800\ninactive_file 300\nactive_file 200\nslab_reclaimable 100\nslab 5000\n");
  EXPECT_EQ(available(), std::uint64_t{3600});
  write("fs/a/b/memory.current", "20000\n");
  EXPECT_EQ(available(), std::uint64_t{0});
  write("fs/a/b/memory.current", "100\n");
  EXPECT_EQ(available(), std::uint64_t{10000}) << "more reclaimable than used";
}

TEST_F(Cgroups, TightestLimitOnTheWayUpCounts) {
  write("own", "0::/a/b\n");
  write("fs/a/b/memory.max", "10000\n");
  write("fs/a/memory.max", "5000\n");
  EXPECT_EQ(available(), std::uint64_t{5000});
  write("fs/memory.max", "2000\n");
  EXPECT_EQ(available(), std::uint64_t{2000});
  write("own", "0::/\n");
  EXPECT_EQ(available(), std::uint64_t{2000}) << "a container sees itself as the root";
  write("fs/memory.max", "max\n");
  EXPECT_EQ(available(), std::nullopt);
}

}  // namespace
}  // namespace nearpool::numa
