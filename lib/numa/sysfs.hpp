// SPDX-License-Identifier: BSD-3-Clause
// Internal to lib/numa: reading the kernel's node tree. What cannot be read is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nearpool::numa {

// Whole file; empty: it is not there or may not be read.
std::string read_file(const std::string& path);

// Decimal digits and nothing else, leading blanks and a line end apart.
std::optional<std::uint64_t> parse_count(std::string_view text);

// "0-3,8\n" is 0 1 2 3 8. Parts that make no sense are left out.
std::vector<int> parse_id_list(std::string_view text);

// Value of a line "...NAME:  123 kB" of a meminfo file, in bytes.
std::optional<std::uint64_t> meminfo_bytes(std::string_view meminfo, std::string_view name);

// N of each entry PREFIXN of a folder, ascending: numbered_entries(root, "node").
std::vector<int> numbered_entries(const std::string& folder, std::string_view prefix);

std::string node_path(const std::string& sysfs_root, int node);

}  // namespace nearpool::numa
