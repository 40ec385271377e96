// SPDX-License-Identifier: BSD-3-Clause
#include "adapter.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "log.hpp"

namespace nearpool::connectx4 {

namespace fs = std::filesystem;

Adapter& Adapter::instance() {
  static auto* const adapter = new Adapter;
  return *adapter;
}

std::atomic<Adapter*> Adapter::made_{nullptr};

Adapter::Adapter() : process_(getpid()) {
  made_.store(this, std::memory_order_release);  // pairs with halt()
  const char* directory = std::getenv(kDirectoryVariable);
  std::string error;
  if (directory == nullptr) {
    log(LogLevel::kError, "%s is not set: start the program through connectx4", kDirectoryVariable);
    return;
  }
  if (!read_run_config(directory, config_, error)) {
    log(LogLevel::kError, "%s", error.c_str());
    config_ = RunConfig{};
    return;
  }
  set_log_level(static_cast<LogLevel>(config_.log_level));
  describe_ports();
}

void Adapter::describe_ports() {
  for (uint32_t index = 0; index < config_.ports.size(); ++index) {
    const std::string name = "mlx5_" + std::to_string(index);
    const std::string path = config_.directory + "/ibdev/" + name;
    auto description = std::make_unique<PortDescription>();
    description->index = index;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path + "/device/net", ignored)) {
      description->interface = entry.path().filename();
    }
    description->handle.owner = description.get();
    ibv_device& device = description->handle.verbs;
    device.node_type = IBV_NODE_CA;
    device.transport_type = IBV_TRANSPORT_IB;
    std::snprintf(device.name, sizeof device.name, "%s", name.c_str());
    std::snprintf(device.dev_name, sizeof device.dev_name, "uverbs%u", index);
    std::snprintf(device.dev_path, sizeof device.dev_path, "%s", path.c_str());
    std::snprintf(device.ibdev_path, sizeof device.ibdev_path, "%s", path.c_str());
    descriptions_.push_back(std::move(description));
  }
}

Engine& Adapter::engine_for(const Port& port) {
  const uint32_t index = config_.thread_per_port ? port.description()->index : 0;
  const auto known = engines_.find(index);
  if (known != engines_.end()) return *known->second;
  std::vector<int> cpus = config_.cpus;
  if (config_.thread_per_port && !cpus.empty()) cpus = {cpus[index % cpus.size()]};
  auto engine = std::make_unique<Engine>("connectx4-" + std::to_string(index), std::move(cpus));
  engine->pause();  // ControlLock does not know it yet
  return *engines_.emplace(index, std::move(engine)).first->second;
}

void Adapter::add(Port* port) {
  // What may fail comes first: threads that cannot be had.
  if (link_monitor_ == nullptr) link_monitor_ = std::make_unique<LinkMonitor>();
  const bool known = engines_.contains(config_.thread_per_port ? port->description()->index : 0);
  Engine& engine = engine_for(*port);
  engine.add(port);
  ports_[port->description()->index] = port;
  for (const auto& [index, other] : ports_)
    other->wire().ports_changed();
  if (!known) engine.resume();  // last: from here on it polls the port
}

void Adapter::remove(Port* port) {
  ports_.erase(port->description()->index);
  for (const auto& [index, other] : ports_)
    other->wire().ports_changed();
  for (auto& [index, engine] : engines_)
    engine->remove(port);
}

Port* Adapter::find(uint32_t index) const {
  const auto found = ports_.find(index);
  return found == ports_.end() ? nullptr : found->second;
}

void Adapter::halt() {
  Adapter* adapter = made_.load(std::memory_order_acquire);
  if (adapter == nullptr || adapter->process_ != getpid()) return;
  adapter->control_mutex_.lock();
  for (auto& [index, engine] : adapter->engines_) {
    engine->pause();
    adapter->report(*engine);
  }
}

void Adapter::report(const Engine& engine) const {
  const EngineTimes times = engine.times();
  log(LogLevel::kNotice, "thread %s: %llu frames, %.1f ns each, busy %.1f%%", engine.name().c_str(),
      static_cast<unsigned long long>(times.frames), times.nanoseconds_per_frame(),
      times.busy_share() * 100);
  if (config_.report_file.empty()) return;
  FILE* file = std::fopen(config_.report_file.c_str(), "ae");
  if (file == nullptr) return;
  std::fprintf(file, "thread=%s frames=%llu ns_per_frame=%.1f best_ns_per_frame=%.1f busy=%.3f\n",
               engine.name().c_str(), static_cast<unsigned long long>(times.frames),
               times.nanoseconds_per_frame(), times.best_nanoseconds_per_frame(),
               times.busy_share());
  std::fclose(file);
}

void Adapter::refresh_links() {
  std::lock_guard lock(control_mutex_);
  // Each netdev first, since a link needs both of its ends.
  for (const auto& [index, port] : ports_)
    port->netdev().refresh();
  for (const auto& [index, port] : ports_)
    port->refresh_link();
}

ControlLock::ControlLock() : adapter_(Adapter::instance()), lock_(adapter_.control_mutex_) {
  for (auto& [index, engine] : adapter_.engines_) {
    engine->pause();
    paused_.push_back(engine.get());
  }
}

ControlLock::~ControlLock() {
  for (Engine* engine : paused_)
    engine->resume();
  // A thread without ports ends; it is not one of those that may wait for this lock.
  std::erase_if(adapter_.engines_, [this](const auto& entry) {
    if (!entry.second->empty()) return false;
    adapter_.report(*entry.second);
    return true;
  });
}

}  // namespace nearpool::connectx4
