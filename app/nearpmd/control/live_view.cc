// SPDX-License-Identifier: BSD-3-Clause
#include "control/live_view.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace nearpool {
namespace {

constexpr unsigned kRowsIfUnknown = 24;

// 14.88M, 1.2k, 7
std::string short_number(double value) {
  if (value >= 999.5e6) return fmt::format("{:.2f}G", value / 1e9);
  if (value >= 999.5e3) return fmt::format("{:.2f}M", value / 1e6);
  if (value >= 999.5) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.0f}", value);
}

std::string place(int lcore, int node) {
  return lcore < 0 ? "-" : fmt::format("{}@{}", lcore, node);
}

double percent_of_quota(const QueueLine& line) {
  return line.quota == 0
             ? 0
             : 100.0 * static_cast<double>(line.owned) / static_cast<double>(line.quota);
}

// A counter begins anew when its port was set up again.
double rate(uint64_t now, uint64_t before, double seconds) {
  return seconds <= 0 || now < before ? 0 : static_cast<double>(now - before) / seconds;
}

}  // namespace

LiveView::Rates LiveView::rates_of(const QueueLine& line, double seconds) const {
  const auto found = before_.find({line.port, line.queue});
  if (found == before_.end()) return {};
  const QueueLine& before = found->second;
  return {rate(line.received, before.received, seconds),
          rate(line.forwarded, before.forwarded, seconds),
          rate(line.dropped, before.dropped, seconds)};
}

std::string LiveView::next(const std::vector<QueueLine>& lines, double now_seconds, unsigned rows) {
  const double seconds = before_seconds_ == 0 ? 0 : now_seconds - before_seconds_;
  std::string text;
  size_t shown = 0;
  if (rows == 0) {
    for (const QueueLine& line : lines) {
      const Rates r = rates_of(line, seconds);
      text += fmt::format(
          "port {} queue {}: lcore@node {}, rx {:.0f}/s, forwarded {:.0f}/s, dropped {:.0f}/s, "
          "local {:.1f}%, owned {} ({:.0f}% of quota) = cached {} + stashed {} + ringed {} + "
          "inflight {}{}\n",
          line.port, line.queue, place(line.lcore, line.lcore_node), r.received, r.forwarded,
          r.dropped, line.local_percent(), line.owned, percent_of_quota(line), line.cached,
          line.stashed, line.ringed, line.inflight, line.strict ? ", strict" : "");
    }
  } else {
    // Over the last table; what is below the cursor goes.
    if (drawn_ != 0) text += fmt::format("\033[{}F\033[J", drawn_);
    text += fmt::format(
        "{:>4} {:>5} {:>10} {:>8} {:>8} {:>8} {:>6} {:>8} {:>6} {:>7} {:>7} {:>7} {:>8}\n", "port",
        "queue", "lcore@node", "rx/s", "fwd/s", "drop/s", "local", "owned", "quota", "cached",
        "stash", "ring", "inflight");
    // The last row of the screen stays empty, so that nothing scrolls.
    const size_t most = std::max(rows, 4u) - 3;
    for (const QueueLine& line : lines) {
      if (shown == most) break;
      const Rates r = rates_of(line, seconds);
      text += fmt::format(
          "{:>4} {:>5} {:>10} {:>8} {:>8} {:>8} {:>5.1f}% {:>8} {:>5.0f}% {:>7} {:>7} {:>7} "
          "{:>8}{}\n",
          line.port, line.queue, place(line.lcore, line.lcore_node), short_number(r.received),
          short_number(r.forwarded), short_number(r.dropped), line.local_percent(), line.owned,
          percent_of_quota(line), line.cached, line.stashed, line.ringed, line.inflight,
          line.strict ? " strict" : "");
      shown++;
    }
    drawn_ = 1 + shown;
    if (shown < lines.size()) {
      text += fmt::format("... and {} queues more\n", lines.size() - shown);
      drawn_++;
    }
  }
  before_.clear();
  for (const QueueLine& line : lines)
    before_[{line.port, line.queue}] = line;
  before_seconds_ = now_seconds;
  return text;
}

unsigned terminal_rows(std::FILE* out) {
  if (isatty(fileno(out)) == 0) return 0;
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_row != 0 ? size.ws_row
                                                                        : kRowsIfUnknown;
}

}  // namespace nearpool
