// SPDX-License-Identifier: BSD-3-Clause
#include "run_directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "interfaces.hpp"

namespace nearpool::connectx4 {
namespace {

namespace fs = std::filesystem;

// Locked while runs come and go, so that two launchers do not meet in the middle.
class BaseLock {
 public:
  explicit BaseLock(const std::string& base)
      : file_(open((base + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~BaseLock() {
    if (file_ >= 0) close(file_);
  }
  BaseLock(const BaseLock&) = delete;
  BaseLock& operator=(const BaseLock&) = delete;

 private:
  int file_;
};

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// A run's lock if nobody holds it, or -1.
int try_lock(const fs::path& run) {
  const int file = open((run / "lock").c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0) return -1;
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  close(file);
  return -1;
}

std::string interface_name(int run, uint32_t port) {
  return "cx" + std::to_string(run) + "p" + std::to_string(port);
}

// Lines of "name" from before an interface was made, and "name network index" from then on. Who was
// killed in between may have made it.
void remove_run(const fs::path& run, bool killed) {
  std::map<std::string, std::optional<InterfaceIdentity>> noted;
  std::ifstream file(run / "interfaces");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    InterfaceIdentity identity;
    words >> name;
    auto& known = noted[name];
    if (words >> identity.network >> identity.index) known = identity;
  }
  for (const auto& [name, identity] : noted) {
    // A run in another network namespace, or of another base directory, may have one of this name.
    if (identity ? identity_of(name) == identity : killed) remove_tap(name);
  }
  std::error_code ignored;
  fs::remove_all(run, ignored);
}

// A shared-memory wire of which no end is held.
void remove_stale_wires(const fs::path& wires) {
  // So that no program is about to take an end: see the device's shm_wire.cc.
  const int guard = open(wires.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (guard < 0) return;
  flock(guard, LOCK_EX);
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(wires, ignored)) {
    if (entry.path().extension().empty()) files.push_back(entry.path());
  }
  for (const fs::path& file : files) {
    bool held = false;
    for (const char* end : {".end0", ".end1"}) {
      const int lock = open((file.string() + end).c_str(), O_RDWR | O_CLOEXEC);
      if (lock < 0) continue;
      held = held || flock(lock, LOCK_EX | LOCK_NB) != 0;
      close(lock);
    }
    if (held) continue;
    for (const char* suffix : {".end0", ".end1", ""})
      fs::remove(file.string() + suffix, ignored);
  }
  close(guard);
}

}  // namespace

std::string RunDirectory::base() {
  const char* chosen = std::getenv("CONNECTX4_BASE");
  if (chosen != nullptr) return chosen;
  // Root of a user namespace may not write there.
  if (geteuid() == 0 && access("/run", W_OK) == 0) return "/run/connectx4";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr) return std::string(runtime) + "/connectx4";
  return "/tmp/connectx4-" + std::to_string(geteuid());
}

void RunDirectory::remove_stale(const std::string& base) {
  std::error_code ignored;
  std::vector<fs::path> runs;
  for (const auto& entry : fs::directory_iterator(base, ignored)) {
    if (is_number(entry.path().filename())) runs.push_back(entry.path());
  }
  for (const fs::path& run : runs) {
    const int lock = try_lock(run);
    if (lock < 0) continue;
    remove_run(run, true);
    close(lock);
  }
  remove_stale_wires(fs::path(base) / "wires");
}

bool RunDirectory::create(std::string& error) {
  const std::string root = base();
  std::error_code failed;
  fs::create_directories(root, failed);
  if (failed) {
    error = "cannot make the directory " + root + ": " + failed.message() +
            " (CONNECTX4_BASE names another)";
    return false;
  }
  const BaseLock base_lock(root);
  remove_stale(root);
  for (int number = 0;; ++number) {
    // Runs with another base directory have numbers of their own.
    if (identity_of(interface_name(number, 0))) continue;
    const std::string path = root + "/" + std::to_string(number);
    if (mkdir(path.c_str(), 0755) != 0) {
      if (errno == EEXIST) continue;
      error = "cannot make the directory " + path + ": " + std::strerror(errno);
      return false;
    }
    number_ = number;
    path_ = path;
    lock_ = try_lock(path);
    if (lock_ >= 0) return true;
    error = "cannot lock " + path;
    return false;
  }
}

void RunDirectory::remove() {
  if (number_ < 0) return;
  const BaseLock base_lock(base());
  remove_run(path_, false);
  close(lock_);
  number_ = -1;
  remove_stale_wires(fs::path(base()) / "wires");
}

std::string RunDirectory::interface_of(uint32_t port) const {
  return interface_name(number_, port);
}

bool RunDirectory::note_interface(const std::string& name, std::string& error) {
  return note(name, error);
}

bool RunDirectory::note_made(const std::string& name, std::string& error) {
  const auto made = identity_of(name);
  if (!made) {
    error = "the interface " + name + " is gone";
    return false;
  }
  return note(name + ' ' + std::to_string(made->network) + ' ' + std::to_string(made->index),
              error);
}

bool RunDirectory::note(const std::string& line, std::string& error) {
  std::ofstream file(path_ + "/interfaces", std::ios::app);
  file << line << '\n';
  file.flush();
  if (!file) error = "cannot write " + path_ + "/interfaces";
  return static_cast<bool>(file);
}

}  // namespace nearpool::connectx4
