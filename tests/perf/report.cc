// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>

namespace nearpool::bench {

namespace {

constexpr int kLabelWidth = 18;
constexpr int kFigureWidth = 26;
constexpr int kRatioWidth = 15;
constexpr char kNothing[] = "-";

bool is_page_pool(const Column& column) {
  return column.contender == kPagePool;
}

std::string label_of(const Cell& cell) {
  return fmt::format("bulk {}, {} {}", cell.bulk, cell.scenario == "two_lcores" ? "pool" : "set",
                     cell.set);
}

// Of what was measured in the same round, since the machine may be slower in the next.
std::vector<double> round_by_round(const std::vector<double>& values,
                                   const std::vector<double>& base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(values.size(), base.size()); ++i) {
    ratios.push_back(values[i] / base[i]);
  }
  return ratios;
}

std::string ratio(const std::vector<double>& values, const std::vector<double>& base) {
  const double value = median(round_by_round(values, base));
  return std::isfinite(value) ? fmt::format("{:.3f}", value) : kNothing;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void Report::add(const Cell& cell, const Column& column, double cycles_per_page) {
  if (std::find(cells_.begin(), cells_.end(), cell) == cells_.end()) cells_.push_back(cell);
  if (std::find(columns_.begin(), columns_.end(), column) == columns_.end()) {
    columns_.push_back(column);
  }
  rounds_[{cell, column}].push_back(cycles_per_page);
}

const Report::Rounds& Report::rounds(const Cell& cell, const Column& column) const {
  static const Rounds none;
  const auto found = rounds_.find({cell, column});
  return found == rounds_.end() ? none : found->second;
}

std::vector<Column> Report::columns_of(const std::string& scenario) const {
  std::vector<Column> columns;
  for (const Column& column : columns_) {
    if (std::any_of(cells_.begin(), cells_.end(), [&](const Cell& cell) {
          return cell.scenario == scenario && !rounds(cell, column).empty();
        })) {
      columns.push_back(column);
    }
  }
  return columns;
}

void Report::print() const {
  std::string scenario;
  std::vector<Column> columns;
  for (const Cell& cell : cells_) {
    if (cell.scenario != scenario) {
      scenario = cell.scenario;
      columns = columns_of(scenario);
      fmt::print("\n{}: TSC cycles per page, median of the rounds (least to most)\n{:<{}}",
                 scenario, "", kLabelWidth);
      for (const Column& column : columns) {
        fmt::print("{:<{}}", column.contender + (column.mode.empty() ? "" : " " + column.mode),
                   kFigureWidth);
      }
      for (const std::string& title : ratio_titles(columns)) {
        fmt::print("{:<{}}", title, kRatioWidth);
      }
      fmt::print("\n");
    }
    print_row(cell, columns);
  }
}

void Report::print_row(const Cell& cell, const std::vector<Column>& columns) const {
  fmt::print("{:<{}}", label_of(cell), kLabelWidth);
  for (const Column& column : columns) {
    const Rounds& values = rounds(cell, column);
    if (values.empty()) {
      fmt::print("{:<{}}", kNothing, kFigureWidth);
      continue;
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    fmt::print("{:<{}}", fmt::format("{:.2f} ({:.2f} to {:.2f})", median(values), *least, *most),
               kFigureWidth);
  }
  const bool has_twin = !rounds(cell, {kTwin, kRelaxed}).empty();
  for (const std::string& figure : has_twin ? differences(cell) : ratios(cell, columns)) {
    fmt::print("{:<{}}", figure, kRatioWidth);
  }
  fmt::print("\n");
}

std::vector<std::string> Report::ratio_titles(const std::vector<Column>& columns) const {
  std::vector<std::string> titles;
  for (const Column& column : columns) {
    if (column.contender == kTwin) return {"norule/rule", "again/rule", "quartiles of again"};
    if (!is_page_pool(column)) continue;
    titles.push_back(column.mode + "/ring");
    titles.push_back(column.mode + "/best");
  }
  return titles;
}

// Of each mode of the page pool, to the yardstick and to the best of the others.
std::vector<std::string> Report::ratios(const Cell& cell,
                                        const std::vector<Column>& columns) const {
  Column best;
  for (const Column& column : columns) {
    if (is_page_pool(column) || rounds(cell, column).empty()) continue;
    if (best.contender.empty() || median(rounds(cell, column)) < median(rounds(cell, best))) {
      best = column;
    }
  }
  std::vector<std::string> ratios;
  for (const Column& column : columns) {
    if (!is_page_pool(column)) continue;
    ratios.push_back(ratio(rounds(cell, column), rounds(cell, {kYardstick, ""})));
    ratios.push_back(ratio(rounds(cell, column), rounds(cell, best)));
  }
  return ratios;
}

// Without the rule against with it, and the same of a second pool with it, which is noise.
std::vector<std::string> Report::differences(const Cell& cell) const {
  const Rounds& rule = rounds(cell, {kPagePool, kRelaxed});
  const Rounds& norule = rounds(cell, {kNoRule, kRelaxed});
  std::vector<double> again = round_by_round(rounds(cell, {kTwin, kRelaxed}), rule);
  if (again.empty() || norule.empty()) return {kNothing, kNothing, kNothing};
  std::sort(again.begin(), again.end());
  return {ratio(norule, rule), fmt::format("{:.3f}", median(again)),
          fmt::format("{:.3f} to {:.3f}", again[again.size() / 4], again[again.size() * 3 / 4])};
}

Result<void> Report::write_json(const std::string& path) const {
  std::ofstream file(path);
  file << "{\"results\": [";
  const char* separator = "\n";
  for (const Cell& cell : cells_) {
    for (const Column& column : columns_) {
      if (column.contender == kTwin || rounds(cell, column).empty()) continue;
      file << separator
           << fmt::format(R"(  {{"scenario": "{}", "mode": "{}", "bulk": {}, "set": {}, )"
                          R"("contender": "{}", "cycles_per_page": {:.4f}}})",
                          cell.scenario, column.mode, cell.bulk, cell.set, column.contender,
                          median(rounds(cell, column)));
      separator = ",\n";
    }
  }
  file << "\n]}\n";
  file.close();
  if (!file) return fail(-EIO, fmt::format("{} could not be written", path));
  return {};
}

}  // namespace nearpool::bench
