// SPDX-License-Identifier: BSD-3-Clause
// Figures of a benchmark run: collected round by round, printed as tables, written as JSON.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "error.hpp"

namespace nearpool::bench {

struct Cell {
  std::string scenario;  // one_core, two_lcores, keep_rule_off
  unsigned bulk;         // pages per call
  unsigned set;          // pages out at once; in two_lcores: pages the pool was made with
  auto operator<=>(const Cell&) const = default;
};

// Who was measured: contender and mode, "" where it has none.
struct Column {
  std::string contender;
  std::string mode;
  auto operator<=>(const Column&) const = default;
};

inline constexpr char kPagePool[] = "page_pool";
inline constexpr char kNoRule[] = "page_pool_norule";
// A second pool, made as the first: what differs between the two is noise. Not in the JSON file.
inline constexpr char kTwin[] = "page_pool_again";
inline constexpr char kRelaxed[] = "relaxed";
inline constexpr char kYardstick[] = "ring_mp_mc";

double median(std::vector<double> values);

class Report {
 public:
  void add(const Cell& cell, const Column& column, double cycles_per_page);
  // Tables in the order in which things were added.
  void print() const;
  // {"results": [...]}: one entry per figure, the median of its rounds.
  Result<void> write_json(const std::string& path) const;

 private:
  using Rounds = std::vector<double>;  // oldest first

  const Rounds& rounds(const Cell& cell, const Column& column) const;
  std::vector<Column> columns_of(const std::string& scenario) const;
  void print_row(const Cell& cell, const std::vector<Column>& columns) const;
  std::vector<std::string> ratio_titles(const std::vector<Column>& columns) const;
  std::vector<std::string> ratios(const Cell& cell, const std::vector<Column>& columns) const;
  std::vector<std::string> differences(const Cell& cell) const;

  std::vector<Cell> cells_;
  std::vector<Column> columns_;
  std::map<std::pair<Cell, Column>, Rounds> rounds_;
};

}  // namespace nearpool::bench
