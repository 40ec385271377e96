// SPDX-License-Identifier: BSD-3-Clause
// What the driver of a real port's netdev would answer and a tap does not: statistics, pause, link
// modes. The answers reach the program through the preloaded shim, which asks us.
#pragma once

namespace nearpool::connectx4 {

// Tells the shim where to ask, if it is loaded. Any thread, any number of times.
void install_netdev_answers();

}  // namespace nearpool::connectx4
