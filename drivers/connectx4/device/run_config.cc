// SPDX-License-Identifier: BSD-3-Clause
#include "run_config.hpp"

#include <charconv>
#include <fstream>

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kMostPorts = 65536;

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  return status == std::errc() && end == text.data() + text.size();
}

// The port an "INDEX=" prefix names, which is then cut off; -1 without one.
int take_port(std::string_view& value) {
  const size_t equals = value.find('=');
  int port = -1;
  if (equals == std::string_view::npos || !parse_number(value.substr(0, equals), port) ||
      port < 0) {
    return -1;
  }
  value.remove_prefix(equals + 1);
  return port;
}

std::string quoted(std::string_view name, std::string_view value) {
  return "option " + std::string(name) + " '" + std::string(value) + "': ";
}

bool apply_port_field(std::string_view name, std::string_view value, PortConfig& port,
                      std::string& error) {
  if (name == "wire") {
    port.wire = value;
    return true;
  }
  if (name == "rate") return parse_rate(value, port.rate, error);
  if (name == "loss") {
    double share = 0;
    if (!parse_number(value, share) || share < 0 || share > 1) {
      error = quoted(name, value) + "must be a share from 0 to 1";
      return false;
    }
    port.loss = share;
    return true;
  }
  if (value != "on" && value != "off") {
    error = quoted(name, value) + "must be on or off";
    return false;
  }
  port.lossless = value == "on";
  return true;
}

bool apply_port_line(std::string_view name, std::string_view value, RunConfig& config,
                     std::string& error) {
  const int port = take_port(value);
  if (port >= static_cast<int>(config.ports.size())) {
    error = quoted(name, value) + "there is no port " + std::to_string(port) + ", only 0 to " +
            std::to_string(config.ports.size() - 1);
    return false;
  }
  for (size_t i = 0; i < config.ports.size(); ++i) {
    if (port >= 0 && i != static_cast<size_t>(port)) continue;
    if (!apply_port_field(name, value, config.ports[i], error)) return false;
  }
  return true;
}

}  // namespace

bool parse_list(std::string_view text, std::vector<int>& list) {
  constexpr int kMost = 65535;
  list.clear();
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const size_t dash = item.find('-', 1);
    int first = 0;
    int last = 0;
    if (!parse_number(item.substr(0, dash), first)) return false;
    last = first;
    if (dash != std::string_view::npos && !parse_number(item.substr(dash + 1), last)) return false;
    if (first < -1 || last < first || last > kMost) return false;
    for (int i = first; i <= last; ++i)
      list.push_back(i);
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool apply_config_line(std::string_view name, std::string_view value, RunConfig& config,
                       std::string& error) {
  if (name == "wire" || name == "rate" || name == "loss" || name == "lossless") {
    return apply_port_line(name, value, config, error);
  }
  if (name == "ports") {
    uint32_t count = 0;
    if (!parse_number(value, count) || count == 0 || count > kMostPorts) {
      error = quoted(name, value) + "must be a number from 1 to " + std::to_string(kMostPorts);
      return false;
    }
    config.ports.resize(count);
  } else if (name == "fault") {
    Fault fault;
    if (!parse_fault(value, fault, error)) return false;
    config.faults.push_back(fault);
  } else if (name == "cpus") {
    if (!parse_list(value, config.cpus) || config.cpus.front() < 0) {
      error = quoted(name, value) + "must be a list of CPUs like 0,2-3";
      return false;
    }
  } else if (name == "threads") {
    if (value != "shared" && value != "port") {
      error = quoted(name, value) + "must be shared (one for all ports) or port (one for each)";
      return false;
    }
    config.thread_per_port = value == "port";
  } else if (name == "mprq") {
    if (value != "on" && value != "off") {
      error = quoted(name, value) + "must be on or off";
      return false;
    }
    config.multi_packet = value == "on";
  } else if (name == "report") {
    config.report_file = value;
  } else if (name == "seed") {
    if (!parse_number(value, config.seed)) {
      error = quoted(name, value) + "must be a number";
      return false;
    }
  } else if (name == "log") {
    if (!parse_number(value, config.log_level) || config.log_level < 0 || config.log_level > 2) {
      error = quoted(name, value) + "must be 0 (errors), 1 (notices) or 2 (all)";
      return false;
    }
  } else {
    error = "unknown option '" + std::string(name) + "'";
    return false;
  }
  return true;
}

bool read_run_config(const std::string& directory, RunConfig& config, std::string& error) {
  config = RunConfig{};
  config.directory = directory;
  std::ifstream file(directory + "/config");
  if (!file) {
    error = "cannot read " + directory + "/config: start the program through connectx4";
    return false;
  }
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    const std::string_view name = std::string_view(line).substr(0, space);
    const std::string_view value =
        space == std::string::npos ? std::string_view{} : std::string_view(line).substr(space + 1);
    if (!apply_config_line(name, value, config, error)) {
      error = directory + "/config: " + error;
      return false;
    }
  }
  if (config.ports.empty()) {
    error = directory + "/config has no ports line";
    return false;
  }
  return true;
}

}  // namespace nearpool::connectx4
