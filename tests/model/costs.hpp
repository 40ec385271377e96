// SPDX-License-Identifier: BSD-3-Clause
// What a frame costs in the model: a table that was published for the Linux kernel's page_pool, and
// one assumption about cache lines.
#pragma once

#include <string>

namespace nearpool::model {

// Rates of one core in Mpps, on a machine with two sockets (Xeon E5-2603 v4, 1.7 GHz, ConnectX-4
// 100G), before and after the kernel's pool learned to follow the node.
struct Published {
  double near;        // the queue is polled from the NIC's node
  double far_before;  // from the other node, pages stay on the NIC's
  double far_after;   // from the other node, pages come to it. Not used by the model
};

// Cache lines per frame that the device wrote or read since the core last had them, and that the
// core therefore fetches from the node their memory is on.
struct Lines {
  double ring;  // on the NIC's node, where descriptors stay
  double page;  // on the page's node
};

struct Scenario {
  std::string name;
  Published published;
  Lines lines;
};

// Received and dropped: a completion (64 B) and a quarter of that for the posted buffer (16 B)
// against the line of the frame that holds its headers. What else there is of a page is the core's
// alone, and stays in its cache while the pool reuses the newest pages first.
// Sent back: one more send descriptor (64 B) and, for every 16 frames, a completion.
inline const Scenario kScenarios[] = {
    {"drop", {11.0, 4.4, 5.8}, {1 + 1.0 / 4, 1}},
    {"tx", {6.5, 3.5, 4.0}, {1 + 1.0 / 4 + 1 + 1.0 / 16, 1}},
};

// Nanoseconds per frame.
class Costs {
 public:
  // The two published figures say what all lines together cost more on the other node. That each
  // line costs the same is the assumption.
  explicit Costs(const Scenario& scenario)
      : near_(1e3 / scenario.published.near),
        line_((1e3 / scenario.published.far_before - near_) /
              (scenario.lines.ring + scenario.lines.page)),
        lines_(scenario.lines) {}

  // A frame polled by a core that is, or is not, on the NIC's node, in a page that is, or is not,
  // on the core's node.
  double frame(bool far_ring, bool far_page) const {
    return near_ + line_ * ((far_ring ? lines_.ring : 0) + (far_page ? lines_.page : 0));
  }
  double line() const { return line_; }

 private:
  double near_;
  double line_;
  Lines lines_;
};

}  // namespace nearpool::model
