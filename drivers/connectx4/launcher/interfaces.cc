// SPDX-License-Identifier: BSD-3-Clause
#include "interfaces.hpp"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace nearpool::connectx4 {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

ifreq request_for(const std::string& name) {
  ifreq request{};
  std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
  return request;
}

// Neighbour discovery and the like would send frames into a cable that carries the program's
// traffic.
void disable_ipv6(const std::string& name) {
  std::ofstream("/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6") << "1\n";
}

}  // namespace

bool make_tap(const std::string& name, const std::array<uint8_t, 6>& address, std::string& error) {
  const Descriptor tap(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = request_for(name);
  request.ifr_flags = static_cast<short>(IFF_TAP | IFF_NO_PI | IFF_TUN_EXCL);
  if (tap.get() < 0 || socket.get() < 0 || ioctl(tap.get(), TUNSETIFF, &request) != 0 ||
      ioctl(tap.get(), TUNSETPERSIST, 1) != 0) {
    const int failed = errno;
    error = "cannot make the tap interface " + name + ": " + std::strerror(failed);
    if (failed == EPERM || failed == EACCES) {
      error += " (needs CAP_NET_ADMIN: run as root, or under unshare -Urn)";
    } else if (failed == EBUSY) {
      error += " (there is one already)";
    } else {
      error += " (needs /dev/net/tun)";
    }
    return false;
  }
  disable_ipv6(name);
  request = request_for(name);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, address.data(), address.size());
  bool good = ioctl(socket.get(), SIOCSIFHWADDR, &request) == 0;
  request = request_for(name);
  good = good && ioctl(socket.get(), SIOCGIFFLAGS, &request) == 0;
  request.ifr_flags |= IFF_UP;
  good = good && ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
  if (!good) error = "cannot set up the interface " + name + ": " + std::strerror(errno);
  return good;
}

void remove_tap(const std::string& name) {
  if (if_nametoindex(name.c_str()) == 0) return;
  const Descriptor tap(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
  ifreq request = request_for(name);
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (tap.get() < 0 || ioctl(tap.get(), TUNSETIFF, &request) != 0) return;
  ioctl(tap.get(), TUNSETPERSIST, 0);
}

std::optional<InterfaceIdentity> identity_of(const std::string& name) {
  struct stat network {};
  const uint32_t index = if_nametoindex(name.c_str());
  if (index == 0) return std::nullopt;
  // A kernel without namespaces has one network: 0.
  if (stat("/proc/self/ns/net", &network) != 0) network.st_ino = 0;
  return InterfaceIdentity{network.st_ino, index};
}

}  // namespace nearpool::connectx4
