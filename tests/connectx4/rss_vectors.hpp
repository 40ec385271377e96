// SPDX-License-Identifier: BSD-3-Clause
// The verification vectors of receive side scaling, from "Verifying the RSS hash calculation" in
// Microsoft's network driver documentation.
#pragma once

#include <arpa/inet.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace nearpool::connectx4::test {

constexpr std::array<uint8_t, 40> kRssKey = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

struct RssVector {
  std::vector<uint8_t> source;  // 4 or 16 bytes
  std::vector<uint8_t> destination;
  uint16_t source_port;
  uint16_t destination_port;
  uint32_t hash_of_addresses;
  uint32_t hash_with_ports;
};

inline std::vector<uint8_t> address_bytes(const std::string& text) {
  const bool v6 = text.find(':') != std::string::npos;
  std::vector<uint8_t> bytes(v6 ? 16 : 4);
  inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), bytes.data());
  return bytes;
}

inline std::vector<RssVector> rss_vectors() {
  const auto vector = [](const char* source, uint16_t source_port, const char* destination,
                         uint16_t destination_port, uint32_t addresses, uint32_t all) {
    return RssVector{address_bytes(source),
                     address_bytes(destination),
                     source_port,
                     destination_port,
                     addresses,
                     all};
  };
  return {
      vector("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323e8fc2, 0x51ccc178),
      vector("199.92.111.2", 14230, "65.69.140.83", 4739, 0xd718262a, 0xc626b0ea),
      vector("24.19.198.95", 12898, "12.22.207.184", 38024, 0xd2d0a5de, 0x5c2b394a),
      vector("38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xafc7327f),
      vector("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5d1809c5, 0x10e828a2),
      vector("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2cc18cd5, 0x40207d3d),
      vector("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0f0c461c, 0xdde51bbf),
      vector("3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, "fe80::200:f8ff:fe21:67cf", 38024,
             0x4b61e985, 0x02d1feef),
  };
}

}  // namespace nearpool::connectx4::test
