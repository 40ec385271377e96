// SPDX-License-Identifier: BSD-3-Clause
#include "eal_main.hpp"

#include <gtest/gtest.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace nearpool::test {
namespace {

bool eal_on_hugepages = false;

bool asked_for_no_huge() {
  const char* value = std::getenv("NEARPOOL_TEST_NO_HUGE");
  return value != nullptr && std::string(value) == "1";
}

std::string more_arguments() {
  const char* more = std::getenv("NEARPOOL_TEST_EAL_ARGS");
  return more == nullptr ? "" : more;
}

std::vector<std::string> eal_arguments(const char* program) {
  const std::string cpus = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "(0-1)" : "0";
  std::vector<std::string> arguments = {program,
                                        "--no-pci",
                                        "--lcores",
                                        "(0-7)@" + cpus,
                                        "--file-prefix=nearpool_unit_" + std::to_string(getpid()),
                                        "--log-level=lib.eal:warning"};
  if (eal_on_hugepages) {
    arguments.insert(arguments.end(), {"--in-memory", "-m", "64"});
  } else {
    // 22.11 refuses --in-memory beside --no-huge.
    arguments.insert(arguments.end(), {"--no-huge", "-m", "64"});
  }
  std::istringstream words(more_arguments());
  for (std::string word; words >> word;)
    arguments.push_back(word);
  // The EAL takes no word back.
  if (std::find(arguments.begin(), arguments.end(), "--telemetry") == arguments.end()) {
    arguments.push_back("--no-telemetry");
  }
  return arguments;
}

}  // namespace

bool have_hugepages() {
  return eal_on_hugepages;
}

std::size_t free_hugepages() {
  std::size_t pages = 0;
  std::ifstream("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages") >> pages;
  return pages;
}

}  // namespace nearpool::test

int main(int argc, char** argv) {
  using namespace nearpool::test;
  testing::InitGoogleTest(&argc, argv);
  eal_on_hugepages = !asked_for_no_huge() && free_hugepages() >= 32 && geteuid() == 0;

  std::vector<std::string> arguments = eal_arguments(argv[0]);
  std::vector<char*> pointers;
  for (std::string& argument : arguments)
    pointers.push_back(argument.data());
  if (rte_eal_init(static_cast<int>(pointers.size()), pointers.data()) < 0) {
    std::fprintf(stderr, "rte_eal_init: %s\n", rte_strerror(rte_errno));
    return 1;
  }
  const int result = RUN_ALL_TESTS();
  rte_eal_cleanup();
  return result;
}
