// SPDX-License-Identifier: BSD-3-Clause
// Rings that a broken or hostile program writes: each entry that makes no sense is an error
// completion that says why, whatever the bytes; the device goes on, and the queue works again after
// a reset.
#include <cstdio>
#include <functional>
#include <random>
#include <string>

#include "verbs_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

constexpr uint8_t kSendDone = 0x0;
constexpr uint8_t kReceiveDone = 0x2;
constexpr uint8_t kSendError = 0xd;
constexpr uint8_t kReceiveError = 0xe;
constexpr uint8_t kLength = 1;
constexpr uint8_t kOperation = 2;
constexpr uint8_t kProtection = 4;
constexpr uint8_t kFlushed = 5;
constexpr uint32_t kFrame = 100;

class Hostile : public Verbs {
 protected:
  void SetUp() override {
    Verbs::SetUp();
    send_ = std::make_unique<SendRingByHand>(near_domain_, 64);
    receive_ = std::make_unique<ReceiveRingByHand>(far_domain_, 64);
  }
  void TearDown() override {
    send_.reset();
    receive_.reset();
    Verbs::TearDown();
  }

  uint8_t* write_good() { return send_->write_entry(out_->data(), kFrame, out_region_->lkey); }
  void post_buffer() { receive_->post(in_->data(), 2048, in_region_->lkey); }

  // Both queues begin anew, and a frame goes from one to the other.
  void expect_all_is_well() {
    send_->restart();
    receive_->restart();
    while (send_->completions().poll() || receive_->completions().poll()) {}
    std::memset(in_->data(), 0, kFrame);
    post_buffer();
    write_good();
    send_->post();
    EXPECT_EQ(send_->completions().wait().opcode, kSendDone);
    const Completion arrived = receive_->completions().wait();
    EXPECT_EQ(arrived.opcode, kReceiveDone);
    EXPECT_EQ(arrived.bytes, kFrame);
    EXPECT_EQ(std::memcmp(in_->data(), out_->data(), kFrame), 0);
  }

  // Sends frames until the receiver has completed something.
  Completion provoke() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      write_good();
      send_->post();
      EXPECT_EQ(send_->completions().wait().opcode, kSendDone);
      if (const auto seen = receive_->completions().poll()) return *seen;
    }
    ADD_FAILURE() << "the receiver completes nothing";
    return {};
  }

  std::unique_ptr<SendRingByHand> send_;
  std::unique_ptr<ReceiveRingByHand> receive_;
};

TEST_F(Hostile, AGoodFramePasses) {
  ASSERT_NO_FATAL_FAILURE(expect_all_is_well());
}

TEST_F(Hostile, EachBrokenSendEntryIsAnErrorWithItsReason) {
  struct Case {
    const char* name;
    uint8_t syndrome;
    std::function<void(uint8_t*)> spoil;
  };
  const auto size = [](uint8_t* entry, uint32_t segments) {
    entry[7] = static_cast<uint8_t>(segments);
  };
  ibv_pd* other_domain = ibv_alloc_pd(near_.get());
  ibv_mr* other = ibv_reg_mr(other_domain, out_->data(), out_->size(), kWritable);
  ibv_mr* gone = ibv_reg_mr(near_domain_, out_->data(), out_->size(), kWritable);
  ASSERT_NE(other, nullptr);
  ASSERT_NE(gone, nullptr);
  const uint32_t gone_key = gone->lkey;
  ASSERT_EQ(ibv_dereg_mr(gone), 0);
  const auto end = reinterpret_cast<uintptr_t>(out_->data()) + out_->size();
  const std::vector<Case> cases = {
      {"an opcode that is not offered", kOperation, [](uint8_t* entry) { entry[3] = 0x0e; }},
      {"no opcode at all", kOperation, [](uint8_t* entry) { entry[3] = 0xff; }},
      {"no segments", kOperation, [&](uint8_t* entry) { size(entry, 0); }},
      {"no room for the Ethernet segment", kOperation, [&](uint8_t* entry) { size(entry, 1); }},
      {"nothing to send", kOperation, [&](uint8_t* entry) { size(entry, 2); }},
      {"an inline header behind the entry", kOperation,
       [](uint8_t* entry) { entry[28] = 3, entry[29] = 0xff; }},
      {"inline data behind the entry", kOperation,
       [](uint8_t* entry) { SendRingByHand::put32(entry + 32, 0x80000000 | 13); }},
      {"inline data of two gigabytes", kOperation,
       [](uint8_t* entry) { SendRingByHand::put32(entry + 32, 0xffffffff); }},
      {"a frame that is too short", kOperation,
       [](uint8_t* entry) { SendRingByHand::put32(entry + 32, 13); }},
      {"a frame that is too long", kOperation,
       [](uint8_t* entry) { SendRingByHand::put32(entry + 32, 0x7fffffff); }},
      {"a key that nobody has", kProtection,
       [](uint8_t* entry) { SendRingByHand::put32(entry + 36, 0xdeadbeef); }},
      {"key 0", kProtection, [](uint8_t* entry) { SendRingByHand::put32(entry + 36, 0); }},
      {"the key of another domain", kProtection,
       [&](uint8_t* entry) { SendRingByHand::put32(entry + 36, other->lkey); }},
      {"the key of a region that is gone", kProtection,
       [&](uint8_t* entry) { SendRingByHand::put32(entry + 36, gone_key); }},
      {"a byte behind the region", kProtection,
       [&](uint8_t* entry) { SendRingByHand::put64(entry + 40, end - kFrame + 1); }},
      {"a byte before the region", kProtection,
       [&](uint8_t* entry) {
         SendRingByHand::put64(entry + 40, reinterpret_cast<uintptr_t>(out_->data()) - 1);
       }},
      {"the end of all addresses", kProtection,
       [](uint8_t* entry) { SendRingByHand::put64(entry + 40, ~uint64_t{0} - 10); }},
      {"a second segment that is foreign", kProtection,
       [&](uint8_t* entry) {
         size(entry, 4);
         SendRingByHand::put32(entry + 48, 10);
       }},
  };
  for (const Case& broken : cases) {
    send_->restart();
    while (send_->completions().poll()) {}
    // Frames in front of it go out, those behind it are flushed.
    write_good();
    send_->post();
    EXPECT_EQ(send_->completions().wait().opcode, kSendDone) << broken.name;
    broken.spoil(write_good());
    send_->post();
    const Completion seen = send_->completions().wait();
    EXPECT_EQ(seen.opcode, kSendError) << broken.name;
    EXPECT_EQ(seen.syndrome, broken.syndrome) << broken.name;
    EXPECT_EQ(seen.counter, 1u) << broken.name;
    write_good();
    send_->post();
    const Completion behind = send_->completions().wait();
    EXPECT_EQ(behind.opcode, kSendError) << broken.name;
    EXPECT_EQ(behind.syndrome, kFlushed) << broken.name;
  }
  expect_all_is_well();
  EXPECT_EQ(ibv_dereg_mr(other), 0);
  EXPECT_EQ(ibv_dealloc_pd(other_domain), 0);
}

TEST_F(Hostile, EachForeignBufferIsAnErrorAndStaysUntouched) {
  Pages pages(2);
  ibv_pd* other_domain = ibv_alloc_pd(far_.get());
  ibv_mr* other = ibv_reg_mr(other_domain, in_->data(), in_->size(), kWritable);
  ibv_mr* constant = ibv_reg_mr(far_domain_, pages.data(), pages.size(), 0);
  ASSERT_NE(other, nullptr);
  ASSERT_NE(constant, nullptr);
  const uint32_t key = in_region_->lkey;
  uint8_t* end = in_->data() + in_->size();
  struct Case {
    const char* name;
    uint8_t* buffer;
    uint32_t key;
  };
  const std::vector<Case> cases = {
      {"a key that nobody has", in_->data(), 0xdeadbeef},
      {"the key of another domain", in_->data(), other->lkey},
      {"a byte behind the region", end - kFrame + 1, key},
      {"a byte before the region", in_->data() - 1, key},
      {"memory for reading only", pages.data(), constant->lkey},
  };
  for (const Case& broken : cases) {
    send_->restart();
    receive_->restart();
    while (send_->completions().poll() || receive_->completions().poll()) {}
    std::memset(in_->data(), 0xee, in_->size());
    receive_->post(broken.buffer, 2048, broken.key);
    const Completion seen = provoke();
    EXPECT_EQ(seen.opcode, kReceiveError) << broken.name;
    EXPECT_EQ(seen.syndrome, kProtection) << broken.name;
    for (size_t i = 0; i < in_->size(); ++i)
      ASSERT_EQ(in_->data()[i], 0xee) << broken.name << ", byte " << i;
    for (size_t i = 0; i < pages.size(); ++i)
      ASSERT_EQ(pages.data()[i], 0) << broken.name << ", byte " << i;
  }
  expect_all_is_well();

  // A buffer that is too short is the frame's fault, not the queue's.
  receive_->post(in_->data(), kFrame - 1, key);
  const Completion seen = provoke();
  EXPECT_EQ(seen.opcode, kReceiveError);
  EXPECT_EQ(seen.syndrome, kLength);
  post_buffer();
  EXPECT_EQ(provoke().opcode, kReceiveDone);
  EXPECT_EQ(ibv_dereg_mr(constant), 0);
  EXPECT_EQ(ibv_dereg_mr(other), 0);
  EXPECT_EQ(ibv_dealloc_pd(other_domain), 0);
}

TEST_F(Hostile, AViolationIsSaidOnceWithAllThatIsKnown) {
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    send_->restart();
    while (send_->completions().poll()) {}
    send_->write_entry(out_->data(), kFrame, 0xdeadbeef);
    send_->post();
    EXPECT_EQ(send_->completions().wait().syndrome, kProtection);
  }
  const std::string said = ::testing::internal::GetCapturedStderr();
  char expected[200];
  std::snprintf(expected, sizeof expected,
                "index 0: protection error: address 0x%llx, length %u, key 0xdeadbeef",
                static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(out_->data())), kFrame);
  EXPECT_NE(said.find("mlx5_0: send queue 0x"), std::string::npos) << said;
  const size_t at = said.find(expected);
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find("protection error", at + sizeof "index 0: protection error"),
            std::string::npos)
      << said;
}

// Whatever the bytes, the doorbells and what the program says it has read.
TEST_F(Hostile, AnyBytesInAnyRing) {
  std::mt19937 random(11);
  const auto fill = [&random](uint8_t* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<uint8_t>(random());
  };
  for (int round = 0; round < 4000; ++round) {
    const size_t send_bytes = size_t{64} * send_->units();
    fill(send_->bytes(), send_bytes);
    // Half of the entries are as good as they need be to come further than the first check.
    for (size_t at = 0; at < send_bytes; at += 64) {
      uint8_t* entry = send_->bytes() + at;
      if (random() % 2 == 0) entry[3] = 0x0a;
      if (random() % 2 == 0) entry[28] = 0, entry[29] = static_cast<uint8_t>(random() % 32);
      if (random() % 2 == 0) SendRingByHand::put32(entry + 36, out_region_->lkey);
      if (random() % 2 == 0) SendRingByHand::put32(entry + 32, random() % 20000);
      if (random() % 2 == 0) {
        SendRingByHand::put64(entry + 40, reinterpret_cast<uintptr_t>(out_->data()) +
                                              random() % (out_->size() + 100));
      }
    }
    const size_t receive_bytes = size_t{receive_->stride()} * receive_->entries();
    fill(receive_->bytes(), receive_bytes);
    for (size_t at = 0; at < receive_bytes; at += receive_->stride()) {
      uint8_t* entry = receive_->bytes() + at;
      if (random() % 2 == 0) SendRingByHand::put32(entry + 4, in_region_->lkey);
      if (random() % 2 == 0) {
        SendRingByHand::put64(
            entry + 8, reinterpret_cast<uintptr_t>(in_->data()) + random() % (in_->size() + 100));
      }
    }
    receive_->set_record(static_cast<uint16_t>(random()));
    send_->set_record(static_cast<uint16_t>(random()));
    // Something comes of it: every second entry asks for a completion.
    send_->completions().wait();
    for (int i = 0; i < 20; ++i) {
      send_->completions().poll();
      receive_->completions().poll();
    }
    if (round % 50 == 0) expect_all_is_well();
    send_->restart();
    receive_->restart();
    while (send_->completions().poll() || receive_->completions().poll()) {}
  }
  ASSERT_NO_FATAL_FAILURE(expect_all_is_well());
}

// A program that says it has read what it has not, or goes back.
TEST_F(Hostile, AnyConsumerIndex) {
  std::mt19937 random(12);
  {
    SendRingByHand send(near_domain_, 16);
    for (int i = 0; i < 20000; ++i) {
      send.write_entry(out_->data(), kFrame, out_region_->lkey);
      send.post();
      send.completions().set_record(random());
    }
  }
  ASSERT_NO_FATAL_FAILURE(expect_all_is_well());
}

}  // namespace
}  // namespace nearpool::connectx4::test
