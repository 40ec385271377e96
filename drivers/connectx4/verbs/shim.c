/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded into the program: ioctl() on a control netdev goes by the device first. A library
 * cannot do this, because the C library's own ioctl() comes before that of any library loaded
 * later. */
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/ioctl.h>

typedef int (*ioctl_function)(int, unsigned long, ...);

static const struct connectx4_shim_calls* calls;

void connectx4_shim_install(const struct connectx4_shim_calls* installed) {
  /* Pairs with the acquire below: what the calls point to is complete. */
  __atomic_store_n(&calls, installed, __ATOMIC_RELEASE);
}

int ioctl(int file, unsigned long request, ...) {
  static ioctl_function next;
  va_list arguments;
  va_start(arguments, request);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  ioctl_function kernel = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (kernel == NULL) {
    *(void**)&kernel = dlsym(RTLD_NEXT, "ioctl");
    __atomic_store_n(&next, kernel, __ATOMIC_RELAXED);
  }
  const struct connectx4_shim_calls* device = __atomic_load_n(&calls, __ATOMIC_ACQUIRE);
  if (device == NULL) return kernel(file, request, argument);
  if (request == SIOCETHTOOL) {
    const int answer = device->ethtool(argument);
    if (answer > 0) return 0;
    if (answer < 0) {
      errno = -answer;
      return -1;
    }
  }
  if (request == SIOCSIFMTU && argument != NULL) {
    const int answer = device->set_mtu(argument);
    if (answer < 0) {
      errno = -answer;
      return -1;
    }
  }
  const int result = kernel(file, request, argument);
  if (result == 0 && (request == SIOCSIFMTU || request == SIOCSIFFLAGS)) device->changed(argument);
  return result;
}
