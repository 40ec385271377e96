// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/pause_frames.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace nearpool::doctor {

std::optional<PauseFrames> ask_pause_frames(const std::string& interface) {
  const int handle = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (handle < 0) return std::nullopt;
  ethtool_pauseparam pause{};
  pause.cmd = ETHTOOL_GPAUSEPARAM;
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
  request.ifr_data = reinterpret_cast<char*>(&pause);
  const bool answered = ioctl(handle, SIOCETHTOOL, &request) == 0;
  close(handle);
  if (!answered) return std::nullopt;
  return PauseFrames{pause.rx_pause != 0, pause.tx_pause != 0};
}

}  // namespace nearpool::doctor
