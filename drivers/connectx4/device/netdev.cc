// SPDX-License-Identifier: BSD-3-Clause
#include "netdev.hpp"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace nearpool::connectx4 {
namespace {

constexpr uint32_t kLinkMegabits = 100'000;

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  return request;
}

// A tap says 10 Mb/s unless told otherwise. Programs beside the PMD may look, too.
void set_speed(int socket, const std::string& name) {
  ethtool_cmd command{};
  command.cmd = ETHTOOL_SSET;
  command.duplex = DUPLEX_FULL;
  ethtool_cmd_speed_set(&command, kLinkMegabits);
  ifreq request = request_for(name);
  request.ifr_data = reinterpret_cast<char*>(&command);
  ioctl(socket, SIOCETHTOOL, &request);
}

}  // namespace

bool Netdev::attach(const std::string& name, std::string& error) {
  name_ = name;
  tap_ = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (tap_ < 0 || socket_ < 0) {
    error = "cannot open /dev/net/tun: " + std::string(std::strerror(errno));
    return false;
  }
  index_ = static_cast<int>(if_nametoindex(name.c_str()));
  ifreq request = request_for(name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (index_ == 0 || ioctl(tap_, TUNSETIFF, &request) != 0) {
    error = "cannot attach to the interface " + name + ": " +
            std::strerror(index_ == 0 ? ENODEV : errno) +
            " (a port can be open in one process at a time)";
    return false;
  }
  set_speed(socket_, name);
  refresh();
  return true;
}

Netdev::~Netdev() {
  if (tap_ >= 0) close(tap_);
  if (socket_ >= 0) close(socket_);
}

void Netdev::refresh() {
  ifreq request = request_for(name_);
  if (ioctl(socket_, SIOCGIFFLAGS, &request) == 0) {
    up_.store((request.ifr_flags & IFF_UP) != 0, std::memory_order_relaxed);
  }
  request = request_for(name_);
  if (ioctl(socket_, SIOCGIFMTU, &request) == 0) {
    mtu_.store(static_cast<uint32_t>(request.ifr_mtu), std::memory_order_relaxed);
  }
}

void Netdev::set_carrier(bool on) {
  if (on == carrier_) return;
  carrier_ = on;
  int value = on ? 1 : 0;
  ioctl(tap_, TUNSETCARRIER, &value);
}

}  // namespace nearpool::connectx4
