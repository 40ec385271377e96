// SPDX-License-Identifier: BSD-3-Clause
// Makes a wire worse than perfect: no faster than a rate, and losing a share of the frames.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nearpool::connectx4 {

struct Rate {
  double per_second = 0;  // 0: unlimited
  bool of_bits = false;   // bits on the wire, with preamble, gap and FCS; or else frames
};

// "5Mpps", "100kpps", "10Gbps", "250Mbps". False, with a sentence, for anything else.
bool parse_rate(std::string_view text, Rate& rate, std::string& error);

// Which of the frames at the head of a send queue get lost. Decided once for each: one that the
// wire does not take yet is offered again and again.
class LossPlan {
 public:
  uint32_t decided() const { return decided_; }
  bool is_lost(uint32_t frame) const { return (lost_ >> frame & 1) != 0; }
  void decide(bool lost) { lost_ |= static_cast<uint64_t>(lost) << decided_++; }
  // The first `frames`, at most 32, have gone.
  void advance(uint32_t frames) {
    decided_ -= frames < decided_ ? frames : decided_;
    lost_ >>= frames;
  }

 private:
  uint64_t lost_ = 0;
  uint32_t decided_ = 0;
};

class Shaper {
 public:
  void set_rate(const Rate& rate) { rate_ = rate; }
  // `share` of the frames, 0 to 1, chosen by a generator that starts from `seed`.
  void set_loss(double share, uint64_t seed);

  bool limits_rate() const { return rate_.per_second > 0; }
  bool loses() const { return loss_threshold_ != 0; }

  // Adds what has become allowed up to `now`, in nanoseconds.
  void advance(uint64_t now);
  // Takes a frame's share; false when it must wait.
  bool admit(uint32_t length);
  bool lose();

 private:
  Rate rate_;
  double credit_ = 0;  // in frames or bits
  uint64_t last_ = 0;
  uint64_t loss_threshold_ = 0;  // of a 32-bit random number
  uint64_t random_ = 1;
};

}  // namespace nearpool::connectx4
