// SPDX-License-Identifier: BSD-3-Clause
// A fault that the sanitizer of this build has to find, and the test of this name has to fail.
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <thread>

namespace {

volatile int sink;

void race() {
  int shared = 0;
  std::thread other([&shared] { shared = 1; });
  shared = 2;
  other.join();
  sink = shared;
}

void overrun() {
  const std::unique_ptr<char[]> bytes(new char[8]);
  volatile std::size_t at = 8;
  bytes[at] = 1;
  sink = bytes[0];
}

void overflow() {
  volatile int most = std::numeric_limits<int>::max();
  sink = most + 1;
}

void leak() {
  char* volatile lost = new char[64];
  sink = lost[0] = 1;
  lost = nullptr;
}

}  // namespace

int main(int count, char** arguments) {
  const char* fault = count == 2 ? arguments[1] : "";
  if (std::strcmp(fault, "race") == 0) race();
  if (std::strcmp(fault, "overrun") == 0) overrun();
  if (std::strcmp(fault, "overflow") == 0) overflow();
  if (std::strcmp(fault, "leak") == 0) leak();
  std::puts("nothing was found");
  return 0;
}
