// SPDX-License-Identifier: BSD-3-Clause
// connectx4: runs a command on software ConnectX-4 ports.
#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../device/run_config.hpp"
#include "../wire/wire_spec.hpp"
#include "child.hpp"
#include "device_tree.hpp"
#include "interfaces.hpp"
#include "run_directory.hpp"

namespace {

using namespace nearpool::connectx4;
namespace fs = std::filesystem;

constexpr int kUsageError = 2;
constexpr int kStartError = 125;  // as env(1): the command was not run

struct Options {
  uint32_t ports = 2;
  std::string nodes = "0";
  std::vector<std::string> wires;
  std::vector<std::string> rates;
  std::vector<std::string> losses;
  std::vector<std::string> lossless;
  std::vector<std::string> faults;
  std::string threads = "shared";
  std::string cpus;
  std::string report;
  bool multi_packet = false;
  uint64_t seed = 1;
  int verbosity = 0;
  bool own_network = false;
  int join = -1;
  std::vector<std::string> command;
};

using ConfigLines = std::vector<std::pair<std::string, std::string>>;

ConfigLines config_lines(const Options& options) {
  ConfigLines lines{{"ports", std::to_string(options.ports)}};
  const auto add_all = [&lines](const char* name, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      lines.emplace_back(name, value);
  };
  add_all("wire", options.wires);
  add_all("rate", options.rates);
  add_all("loss", options.losses);
  add_all("lossless", options.lossless);
  add_all("fault", options.faults);
  lines.emplace_back("threads", options.threads);
  if (!options.cpus.empty()) lines.emplace_back("cpus", options.cpus);
  if (!options.report.empty()) lines.emplace_back("report", fs::absolute(options.report));
  lines.emplace_back("mprq", options.multi_packet ? "on" : "off");
  lines.emplace_back("seed", std::to_string(options.seed));
  lines.emplace_back("log", std::to_string(options.verbosity));
  return lines;
}

bool check(const ConfigLines& lines, std::string& error) {
  RunConfig config;
  for (const auto& [name, value] : lines) {
    if (!apply_config_line(name, value, config, error)) return false;
  }
  for (const PortConfig& port : config.ports) {
    WireSpec spec;
    if (!parse_wire_spec(port.wire, spec, error)) return false;
  }
  return true;
}

bool check_nodes(const Options& options, std::vector<int>& nodes, std::string& error) {
  if (!parse_list(options.nodes, nodes) || (nodes.size() != 1 && nodes.size() != options.ports)) {
    error = "--numa-node " + options.nodes +
            ": must be one node for all ports, or one for each of the " +
            std::to_string(options.ports) + ", with commas between; -1 for none";
    return false;
  }
  return true;
}

// Where the replacement libraries lie: beside the program as built, or as installed below whatever
// prefix. The shim tells them from the system's own libibverbs.
std::string library_directory() {
  std::error_code failed;
  const fs::path above = fs::read_symlink("/proc/self/exe", failed).parent_path().parent_path();
  for (const fs::path& place : {above / "lib", above / CONNECTX4_LIBRARY_DIRECTORY}) {
    if (fs::exists(place / "libconnectx4_shim.so", failed)) return place;
  }
  return {};
}

// Locally administered, and different for each port of the machine: byte 1 and 2 say whose it is.
std::array<uint8_t, 6> address_of(int run, uint32_t port) {
  return {0x02,
          0xc4,
          static_cast<uint8_t>(run >> 8),
          static_cast<uint8_t>(run),
          static_cast<uint8_t>(port >> 8),
          static_cast<uint8_t>(port)};
}

bool lay_out(RunDirectory& run, const ConfigLines& lines, const Options& options,
             const std::vector<int>& nodes, std::string& error) {
  if (!run.create(error)) return false;
  std::ofstream config(run.path() + "/config");
  for (const auto& [name, value] : lines)
    config << name << ' ' << value << '\n';
  config.flush();
  if (!config) {
    error = "cannot write " + run.path() + "/config";
    return false;
  }
  for (uint32_t port = 0; port < options.ports; ++port) {
    const std::string interface = run.interface_of(port);
    const int node = nodes.size() == 1 ? nodes.front() : nodes[port];
    if (!run.note_interface(interface, error) ||
        !make_tap(interface, address_of(run.number(), port), error) ||
        !run.note_made(interface, error) ||
        !write_port_tree(run.path(), port, interface, node, error)) {
      return false;
    }
  }
  return true;
}

std::string with_before(const char* variable, const std::string& first) {
  const char* old = std::getenv(variable);
  return old == nullptr || *old == '\0' ? first : first + ":" + old;
}

ChildResult run_command(const std::string& directory, const std::string& libraries,
                        const std::vector<std::string>& command) {
  return run_child(
      command, {{kDirectoryVariable, directory},
                {"SYSFS_PCI_DEVICES", directory + "/pci"},
                {"LD_LIBRARY_PATH", with_before("LD_LIBRARY_PATH", libraries)},
                {"LD_PRELOAD", with_before("LD_PRELOAD", libraries + "/libconnectx4_shim.so")}});
}

void define(CLI::App& app, Options& options) {
  app.add_option("--ports", options.ports, "Number of ports")->capture_default_str();
  app.add_option("--numa-node", options.nodes,
                 "NUMA node of all ports, or one for each: 0,1; -1: none")
      ->capture_default_str();
  app.add_option(
      "--wire", options.wires,
      "Cable of all ports, or of port I with I=WIRE: peer (0 to 1, 2 to 3...; the default), "
      "loop, tap, pcap:in=FILE:out=FILE:repeat=N, shm:NAME");
  app.add_option("--rate", options.rates, "Most that a port sends: 5Mpps, 10Gbps, I=RATE");
  app.add_option("--loss", options.losses,
                 "Share of the sent frames that gets lost: 0.01, I=SHARE");
  app.add_option("--lossless", options.lossless,
                 "on: a port without buffers holds its sender up instead of dropping; I=on");
  app.add_option(
      "--fault", options.faults,
      "rx-error, tx-error, tx-stall, no-buffer or flap, with :at=K :every=N :count=N :port=P "
      ":queue=Q :ms=T");
  app.add_option("--threads", options.threads, "Device threads: shared, or port for one each")
      ->capture_default_str();
  app.add_option("--cpus", options.cpus, "CPUs of the device threads: 0,2-3");
  app.add_flag("--mprq", options.multi_packet, "Offer multi-packet receive queues");
  app.add_option("--seed", options.seed, "Of everything random")->capture_default_str();
  app.add_option("--report", options.report, "File to which the device's own times are appended");
  app.add_flag("-v,--verbose", options.verbosity, "Say what the device does; twice: everything");
  app.add_flag("--netns", options.own_network,
               "Make the control netdevs in a network namespace of the run's own");
  app.add_option(
      "--join", options.join,
      "Run the command on the ports of the run with this number, as a secondary process does");
}

// Where the command begins: behind "--", or at the first word that belongs to no option.
int command_start(const CLI::App& app, int argc, char** argv) {
  int at = 1;
  for (; at < argc; ++at) {
    const std::string word = argv[at];
    if (word == "--" || word.empty() || word.front() != '-') return at;
    const CLI::Option* option = app.get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) ++at;  // its value
  }
  return at;
}

int fail(const std::string& error, int status) {
  std::fprintf(stderr, "connectx4: %s\n", error.c_str());
  return status;
}

int run(const Options& options) {
  const std::string libraries = library_directory();
  if (libraries.empty()) return fail("its libraries are not beside it nor installed", kStartError);
  if (options.join >= 0) {
    const std::string directory = RunDirectory::base() + "/" + std::to_string(options.join);
    if (!fs::exists(directory + "/config")) {
      return fail("there is no run " + std::to_string(options.join) + " in " + RunDirectory::base(),
                  kStartError);
    }
    hold_signals();
    const ChildResult result = run_command(directory, libraries, options.command);
    if (!result.started) return fail(result.error, kStartError);
    end_like(result.status);
  }
  std::string error;
  std::vector<int> nodes;
  const ConfigLines lines = config_lines(options);
  if (!check(lines, error) || !check_nodes(options, nodes, error)) return fail(error, kUsageError);
  if (options.own_network && unshare(CLONE_NEWNET) != 0) {
    return fail(std::string("--netns: cannot make a network namespace: ") + std::strerror(errno) +
                    " (needs CAP_SYS_ADMIN: run as root, or all of it under unshare -Urn)",
                kStartError);
  }
  hold_signals();
  RunDirectory directory;
  ChildResult result;
  if (lay_out(directory, lines, options, nodes, error)) {
    result = run_command(directory.path(), libraries, options.command);
    error = result.error;
  }
  directory.remove();
  if (!result.started) return fail(error, kStartError);
  end_like(result.status);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Runs a command on software ConnectX-4 ports, which the genuine mlx5 driver of DPDK drives.\n"
      "connectx4 [OPTIONS] [--] COMMAND [ARGUMENTS]"};
  Options options;
  define(app, options);
  const int start = command_start(app, argc, argv);
  CLI11_PARSE(app, std::min(start, argc), argv);
  for (int at = start; at < argc; ++at) {
    if (at != start || std::string(argv[at]) != "--") options.command.emplace_back(argv[at]);
  }
  if (options.command.empty()) return fail("name a command to run: see --help", kUsageError);
  return run(options);
}
