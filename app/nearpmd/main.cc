// SPDX-License-Identifier: BSD-3-Clause
// nearpmd: a packet processor whose buffers come from a page pool per RX queue.
#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include <string>
#include <vector>

#include "cli/options.hpp"
#include "cli/prompt.hpp"
#include "control/batch.hpp"
#include "control/captures.hpp"
#include "control/engine.hpp"
#include "control/report.hpp"
#include "control/signals.hpp"
#include "doctor/doctor.hpp"

namespace nearpool {
namespace {

int complain(const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "nearpmd: {}\n", sentence);
  return 1;
}

void print_usage(const char* program) {
  fmt::print("\nUsage: {} [EAL options] -- [options]; the options are shown by {} -- --help\n",
             program, program);
}

// The EAL is up. Everything made here is given back on every way out.
int run(const ParsedOptions& parsed) {
  if (!parsed.options.numa_map.empty()) {
    if (page_pool_emulate_nodes(parsed.options.numa_map.c_str()) != 0) {
      return complain(fmt::format("--numa-map: {}", page_pool_error()));
    }
    fmt::print("NUMA topology: emulated by --numa-map {}\n", parsed.options.numa_map);
  }
  const Captures captures;
  auto engine = Engine::create(parsed.options);
  if (!engine) return complain(engine.error());
  const bool prompt = parsed.options.interactive || !parsed.options.cmdline_file.empty();
  Status ran = (*engine)->start_ports();
  if (ran) ran = prompt ? run_prompt(**engine, parsed) : run_batch(**engine);
  if (!ran) complain(ran.error());
  const Status down = (*engine)->shut_down();
  if (!down) complain(down.error());
  const bool good = print_final(stdout, **engine);
  return ran && down && good ? 0 : 1;
}

}  // namespace
}  // namespace nearpool

int main(int argc, char** argv) {
  using namespace nearpool;
  // Our own options first: what is wrong with them needs no EAL to be said.
  std::vector<std::string> own;
  int eal_count = argc;
  for (int i = 1; i < argc; i++) {
    if (std::string(argv[i]) != "--") continue;
    eal_count = i;
    own.assign(argv + i + 1, argv + argc);
    break;
  }
  const auto parsed = parse_options(own);
  if (!parsed) return complain(parsed.error());
  if (parsed->help) {
    fmt::print("{} [EAL options] -- [options]\n{}", argv[0], parsed->help_text);
    fmt::print(
        "\nInstead: {} --doctor [EAL options] [-- options] looks whether the machine is ready for "
        "them\n",
        argv[0]);
    return 0;
  }
  std::vector<std::string> eal = parsed->options.eal;
  eal.insert(eal.end(), argv + 1, argv + eal_count);
  if (std::erase(eal, "--doctor") > 0) return doctor::run_doctor(eal, parsed->options);

  rte_set_application_usage_hook(print_usage);
  eal.insert(eal.begin(), argv[0]);
  std::vector<char*> words;  // which the EAL puts into another order
  for (std::string& word : eal)
    words.push_back(word.data());
  words.push_back(nullptr);
  const int taken = rte_eal_init(static_cast<int>(eal.size()), words.data());
  if (taken < 0) {
    return complain(fmt::format(
        "the EAL does not start: {} (its own lines above say more). If another DPDK program runs, "
        "give this one --file-prefix NAME or --in-memory; without hugepages give --no-huge -m 512",
        rte_strerror(rte_errno)));
  }
  // It puts last what is no option, and leaves it.
  if (const auto next = static_cast<size_t>(taken) + 1; next < eal.size()) {
    const int status = complain(
        fmt::format("'{}' before -- is no option of the EAL: leave it out, or put it behind the --",
                    words[next]));
    rte_eal_cleanup();
    return status;
  }
  catch_signals();
  const int status = run(*parsed);
  rte_eal_cleanup();
  return status;
}
