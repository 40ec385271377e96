// SPDX-License-Identifier: BSD-3-Clause
// Programs of the Verbs library itself, without the PMD: what each call answers, and rings written
// by hand. The program is started through the launcher.
#pragma once

#include <endian.h>
#include <gtest/gtest.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace nearpool::connectx4::test {

constexpr std::array<uint8_t, 40> kHashKey = {1, 2, 3};

struct ClosesContext {
  void operator()(ibv_context* context) const { EXPECT_EQ(ibv_close_device(context), 0); }
};
using Context = std::unique_ptr<ibv_context, ClosesContext>;

// Null with errno when the device of this index cannot be opened.
inline Context open_port(int index) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr || index >= count) {
    ADD_FAILURE() << "start this through connectx4 --ports 2";
    return nullptr;
  }
  Context context(ibv_open_device(devices[index]));
  const int error = errno;
  ibv_free_device_list(devices);
  errno = error;
  return context;
}

struct Completion {
  uint8_t opcode = 0;
  uint8_t syndrome = 0;
  uint16_t counter = 0;
  uint32_t bytes = 0;
};

// A completion queue that is read by hand.
class CompletionRing {
 public:
  CompletionRing(ibv_context* context, int entries)
      : queue_(ibv_create_cq(context, entries, nullptr, nullptr, 0)) {
    mlx5dv_obj object{};
    object.cq = {queue_, &ring_};
    EXPECT_EQ(mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ), 0);
  }
  ~CompletionRing() { EXPECT_EQ(ibv_destroy_cq(queue_), 0); }
  CompletionRing(const CompletionRing&) = delete;
  CompletionRing& operator=(const CompletionRing&) = delete;

  ibv_cq* verbs() const { return queue_; }

  std::optional<Completion> poll() {
    auto* entry = static_cast<uint8_t*>(ring_.buf) + size_t{64} * (consumer_ & (ring_.cqe_cnt - 1));
    // The device writes the last word as a whole, behind all others.
    const uint64_t last =
        be64toh(std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(entry + 56))
                    .load(std::memory_order_acquire));
    const auto owner = static_cast<uint8_t>(last);
    if (owner >> 4 == 0xf || (owner & 1) != ((consumer_ & ring_.cqe_cnt) != 0 ? 1 : 0)) return {};
    Completion seen;
    seen.opcode = owner >> 4;
    seen.syndrome = entry[55];
    seen.counter = static_cast<uint16_t>(last >> 16);
    std::memcpy(&seen.bytes, entry + 44, sizeof seen.bytes);
    seen.bytes = be32toh(seen.bytes);
    ++consumer_;
    set_record(consumer_);
    return seen;
  }
  // What the program says it has read, true or not.
  void set_record(uint32_t index) {
    std::atomic_ref<__be32>(ring_.dbrec[0])
        .store(htobe32(index & 0xffffff), std::memory_order_release);
  }
  Completion wait() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      if (const auto seen = poll()) return *seen;
    }
    ADD_FAILURE() << "no completion came";
    return {};
  }

 private:
  ibv_cq* queue_;
  mlx5dv_cq ring_{};
  uint32_t consumer_ = 0;
};

inline int set_queue_pair(ibv_qp* queue, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.port_num = 1;
  return ibv_modify_qp(queue, &attributes,
                       state == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PORT : IBV_QP_STATE);
}

// A send queue whose entries are written by hand.
class SendRingByHand {
 public:
  SendRingByHand(ibv_pd* domain, uint32_t entries)
      : completions_(domain->context, static_cast<int>(entries)) {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions_.verbs();
    attributes.qp_type = IBV_QPT_RAW_PACKET;
    attributes.cap.max_send_wr = entries;
    attributes.cap.max_send_sge = 2;
    queue_ = ibv_create_qp(domain, &attributes);
    mlx5dv_obj object{};
    object.qp = {queue_, &ring_};
    EXPECT_EQ(mlx5dv_init_obj(&object, MLX5DV_OBJ_QP), 0);
    restart();
  }
  ~SendRingByHand() { EXPECT_EQ(ibv_destroy_qp(queue_), 0); }
  SendRingByHand(const SendRingByHand&) = delete;
  SendRingByHand& operator=(const SendRingByHand&) = delete;

  void restart() {
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      EXPECT_EQ(set_queue_pair(queue_, state), 0) << state;
    }
    index_ = 0;
  }

  uint32_t units() const { return ring_.sq.wqe_cnt; }
  uint8_t* bytes() const { return static_cast<uint8_t*>(ring_.sq.buf); }
  uint16_t index() const { return index_; }
  CompletionRing& completions() { return completions_; }

  // The entry at the producer index: one data segment, a completion wanted.
  uint8_t* write_entry(const void* data, uint32_t length, uint32_t key) {
    uint8_t* entry = bytes() + size_t{64} * (index_ & (units() - 1));
    std::memset(entry, 0, 64);
    put32(entry, static_cast<uint32_t>(index_) << 8 | 0x0a);
    put32(entry + 4, queue_->qp_num << 8 | 3);
    entry[11] = 8;
    put32(entry + 32, length);
    put32(entry + 36, key);
    put64(entry + 40, reinterpret_cast<uintptr_t>(data));
    return entry;
  }
  void post(uint16_t units = 1) { set_record(static_cast<uint16_t>(index_ + units)); }
  void set_record(uint16_t index) {
    index_ = index;
    std::atomic_ref<__be32>(ring_.dbrec[1]).store(htobe32(index), std::memory_order_release);
  }

  static void put32(uint8_t* to, uint32_t value) {
    value = htobe32(value);
    std::memcpy(to, &value, sizeof value);
  }
  static void put64(uint8_t* to, uint64_t value) {
    value = htobe64(value);
    std::memcpy(to, &value, sizeof value);
  }

 private:
  CompletionRing completions_;
  ibv_qp* queue_ = nullptr;
  mlx5dv_qp ring_{};
  uint16_t index_ = 0;
};

// A receive queue that gets all frames of its port, and whose entries are written by hand.
class ReceiveRingByHand {
 public:
  // `only` above 0: not all frames, but those for a MAC address of such bytes.
  ReceiveRingByHand(ibv_pd* domain, uint32_t entries, uint32_t segments = 1, uint8_t only = 0)
      : completions_(domain->context, static_cast<int>(entries)) {
    ibv_wq_init_attr wish{};
    wish.wq_type = IBV_WQT_RQ;
    wish.max_wr = entries;
    wish.max_sge = segments;
    wish.pd = domain;
    wish.cq = completions_.verbs();
    queue_ = ibv_create_wq(domain->context, &wish);
    mlx5dv_obj object{};
    object.rwq = {queue_, &ring_};
    EXPECT_EQ(mlx5dv_init_obj(&object, MLX5DV_OBJ_RWQ), 0);
    ibv_rwq_ind_table_init_attr table{};
    table.ind_tbl = &queue_;
    table_ = ibv_create_rwq_ind_table(domain->context, &table);
    ibv_qp_init_attr_ex pair{};
    pair.qp_type = IBV_QPT_RAW_PACKET;
    pair.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    pair.pd = domain;
    pair.rwq_ind_tbl = table_;
    pair.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, kHashKey.size(),
                         const_cast<uint8_t*>(kHashKey.data()), 0};
    pair_ = ibv_create_qp_ex(domain->context, &pair);
    struct {
      ibv_flow_attr all{};
      ibv_flow_spec_eth ethernet{};
    } rule;
    rule.all.type = only == 0 ? IBV_FLOW_ATTR_ALL_DEFAULT : IBV_FLOW_ATTR_NORMAL;
    rule.all.size = sizeof rule;
    rule.all.num_of_specs = only == 0 ? 0 : 1;
    rule.all.port = 1;
    rule.ethernet.type = IBV_FLOW_SPEC_ETH;
    rule.ethernet.size = sizeof rule.ethernet;
    std::memset(rule.ethernet.val.dst_mac, only, sizeof rule.ethernet.val.dst_mac);
    std::memset(rule.ethernet.mask.dst_mac, 0xff, sizeof rule.ethernet.mask.dst_mac);
    flow_ = ibv_create_flow(pair_, &rule.all);
    EXPECT_NE(flow_, nullptr);
    restart();
  }
  ~ReceiveRingByHand() {
    EXPECT_EQ(ibv_destroy_flow(flow_), 0);
    EXPECT_EQ(ibv_destroy_qp(pair_), 0);
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table_), 0);
    EXPECT_EQ(ibv_destroy_wq(queue_), 0);
  }
  ReceiveRingByHand(const ReceiveRingByHand&) = delete;
  ReceiveRingByHand& operator=(const ReceiveRingByHand&) = delete;

  void restart() {
    EXPECT_EQ(modify(IBV_WQS_RESET), 0);
    EXPECT_EQ(modify(IBV_WQS_RDY), 0);
    index_ = 0;
  }
  int modify(ibv_wq_state state) {
    ibv_wq_attr attributes{};
    attributes.attr_mask = IBV_WQ_ATTR_STATE;
    attributes.wq_state = state;
    return ibv_modify_wq(queue_, &attributes);
  }

  ibv_qp* pair() const { return pair_; }
  CompletionRing& completions() { return completions_; }
  uint32_t entries() const { return ring_.wqe_cnt; }
  uint32_t stride() const { return ring_.stride; }
  uint8_t* bytes() const { return static_cast<uint8_t*>(ring_.buf); }

  // Posts an entry; of its data segments the first is this one.
  void post(const void* data, uint32_t length, uint32_t key) {
    uint8_t* entry = bytes() + size_t{ring_.stride} * (index_ & (ring_.wqe_cnt - 1));
    std::memset(entry, 0, ring_.stride);
    SendRingByHand::put32(entry, length);
    SendRingByHand::put32(entry + 4, key);
    SendRingByHand::put64(entry + 8, reinterpret_cast<uintptr_t>(data));
    set_record(static_cast<uint16_t>(index_ + 1));
  }
  void set_record(uint16_t index) {
    index_ = index;
    std::atomic_ref<__be32>(ring_.dbrec[0]).store(htobe32(index), std::memory_order_release);
  }

 private:
  CompletionRing completions_;
  ibv_wq* queue_ = nullptr;
  mlx5dv_rwq ring_{};
  ibv_rwq_ind_table* table_ = nullptr;
  ibv_qp* pair_ = nullptr;
  ibv_flow* flow_ = nullptr;
  uint16_t index_ = 0;
};

// Memory in pages of its own, with nothing mapped behind it.
class Pages {
 public:
  static constexpr size_t kPage = 4096;

  explicit Pages(size_t pages);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

// Two ports on one cable, a domain and memory on each.
class Verbs : public ::testing::Test {
 protected:
  static constexpr int kWritable = IBV_ACCESS_LOCAL_WRITE;

  void SetUp() override;
  void TearDown() override;

  // The error of a call that must give no object.
  template <typename Call>
  static int error_of(Call&& call) {
    errno = 0;
    EXPECT_EQ(call(), nullptr);
    return errno;
  }

  Context near_;  // of the sender
  Context far_;   // of the receiver
  ibv_pd* near_domain_ = nullptr;
  ibv_pd* far_domain_ = nullptr;
  std::unique_ptr<Pages> out_;  // a frame, and more
  std::unique_ptr<Pages> in_;
  ibv_mr* out_region_ = nullptr;
  ibv_mr* in_region_ = nullptr;
};

}  // namespace nearpool::connectx4::test
