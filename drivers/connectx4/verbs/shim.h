/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the preloaded shim and the device. */
#ifndef CONNECTX4_SHIM_H
#define CONNECTX4_SHIM_H

struct ifreq;

struct connectx4_shim_calls {
  /* Before the kernel gets SIOCETHTOOL. Returns 1 when the answer is in the request and the kernel
   * is not to be asked, 0 when it is, and a negative errno value for an error. */
  int (*ethtool)(struct ifreq* request);
  /* Before the kernel gets SIOCSIFMTU. 0 when it is to have it, or a negative errno value. */
  int (*set_mtu)(const struct ifreq* request);
  /* After the kernel has changed an interface. */
  void (*changed)(struct ifreq* request);
};

/* Exported by the shim. */
void connectx4_shim_install(const struct connectx4_shim_calls* calls);

#endif
