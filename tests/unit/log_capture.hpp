// SPDX-License-Identifier: BSD-3-Clause
// While it lives, what the EAL's log says goes to a string.
#pragma once

#include <rte_log.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace nearpool::test {

class LogCapture {
 public:
  LogCapture() : stream_(open_memstream(&text_, &length_)) { rte_openlog_stream(stream_); }
  ~LogCapture() {
    rte_openlog_stream(nullptr);
    std::fclose(stream_);
    std::free(text_);
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::string text() const {
    std::fflush(stream_);
    return {text_, length_};
  }
  // How often the log says so.
  unsigned count(const std::string& what) const {
    const std::string all = text();
    unsigned times = 0;
    for (std::size_t at = 0; (at = all.find(what, at)) != std::string::npos; at += what.size())
      ++times;
    return times;
  }

 private:
  char* text_ = nullptr;
  std::size_t length_ = 0;
  std::FILE* stream_;
};

// An address as %p prints it.
inline std::string address_text(const void* address) {
  char text[32];
  std::snprintf(text, sizeof(text), "%p", address);
  return text;
}

}  // namespace nearpool::test
