// SPDX-License-Identifier: BSD-3-Clause
// What the calls of the Verbs library and of libmlx5 answer where they refuse: the values are those
// of the real libraries and of the kernel's driver behind them.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <fstream>

#include "verbs_fixture.hpp"

namespace nearpool::connectx4::test {
namespace {

class Answers : public Verbs {};

TEST_F(Answers, MemoryThatIsNotThereIsNotRegistered) {
  const auto refused = [this](const void* address, size_t length, unsigned access) {
    return error_of([&] {
      return ibv_reg_mr_iova2(far_domain_, const_cast<void*>(address), length,
                              reinterpret_cast<uintptr_t>(address), access);
    });
  };
  Pages pages(4);
  EXPECT_EQ(refused(pages.data(), pages.size() + 1, kWritable), EFAULT);
  EXPECT_EQ(refused(pages.data() + pages.size(), 1, kWritable), EFAULT);
  EXPECT_EQ(refused(nullptr, 4096, kWritable), EFAULT);
  EXPECT_EQ(refused(pages.data(), 0, kWritable), EINVAL);
  EXPECT_EQ(refused(pages.data(), ~size_t{0}, kWritable), EINVAL);
  EXPECT_EQ(refused(pages.data(), 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL)
      << "others may write what this side may not";
  ASSERT_EQ(mprotect(pages.data(), Pages::kPage, PROT_READ), 0);
  EXPECT_EQ(refused(pages.data(), pages.size(), kWritable), EFAULT);
  // For sending, memory that cannot be written will do.
  ibv_mr* region = ibv_reg_mr_iova2(far_domain_, pages.data(), pages.size(), 0, 0);
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(ibv_dereg_mr(region), 0);
}

TEST_F(Answers, ObjectsInUseAreBusy) {
  EXPECT_EQ(ibv_dealloc_pd(near_domain_), EBUSY) << "a region";
  ibv_comp_channel* channel = ibv_create_comp_channel(near_.get());
  ibv_cq* queue = ibv_create_cq(near_.get(), 16, nullptr, channel, 0);
  ASSERT_NE(queue, nullptr);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), EBUSY);
  {
    ibv_wq_init_attr wish{};
    wish.wq_type = IBV_WQT_RQ;
    wish.max_wr = 16;
    wish.max_sge = 1;
    wish.pd = near_domain_;
    wish.cq = queue;
    ibv_wq* receive = ibv_create_wq(near_.get(), &wish);
    ASSERT_NE(receive, nullptr);
    EXPECT_EQ(ibv_destroy_cq(queue), EBUSY);
    ibv_rwq_ind_table_init_attr entries{};
    entries.ind_tbl = &receive;
    ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(near_.get(), &entries);
    EXPECT_EQ(ibv_destroy_wq(receive), EBUSY);
    ibv_qp_init_attr_ex pair_wish{};
    pair_wish.qp_type = IBV_QPT_RAW_PACKET;
    pair_wish.comp_mask =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    pair_wish.pd = near_domain_;
    pair_wish.rwq_ind_tbl = table;
    pair_wish.rx_hash_conf = {IBV_RX_HASH_FUNC_TOEPLITZ, 40, const_cast<uint8_t*>(kHashKey.data()),
                              0};
    ibv_qp* pair = ibv_create_qp_ex(near_.get(), &pair_wish);
    ASSERT_NE(pair, nullptr);
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table), EBUSY);
    ibv_flow_attr all{};
    all.type = IBV_FLOW_ATTR_ALL_DEFAULT;
    all.port = 1;
    ibv_flow* flow = ibv_create_flow(pair, &all);
    ASSERT_NE(flow, nullptr);
    EXPECT_EQ(ibv_destroy_qp(pair), EBUSY);
    EXPECT_EQ(ibv_destroy_flow(flow), 0);
    EXPECT_EQ(ibv_destroy_qp(pair), 0);
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
    EXPECT_EQ(ibv_destroy_wq(receive), 0);
  }
  EXPECT_EQ(ibv_destroy_cq(queue), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

TEST_F(Answers, CompletionQueues) {
  const auto plain = [this](int entries, int vector) {
    return error_of([&] { return ibv_create_cq(near_.get(), entries, nullptr, nullptr, vector); });
  };
  EXPECT_EQ(plain(0, 0), EINVAL);
  EXPECT_EQ(plain(-1, 0), EINVAL);
  EXPECT_EQ(plain(1 << 24, 0), EINVAL);
  EXPECT_EQ(plain(16, 1), EINVAL);
  const auto extended = [this](auto change) {
    ibv_cq_init_attr_ex wish{};
    mlx5dv_cq_init_attr own{};
    wish.cqe = 16;
    change(wish, own);
    return error_of([&] { return mlx5dv_create_cq(near_.get(), &wish, &own); });
  };
  EXPECT_EQ(extended([](auto& wish, auto&) { wish.comp_mask = 1u << 7; }), EINVAL);
  EXPECT_EQ(extended([](auto& wish, auto&) { wish.comp_vector = 1; }), EINVAL);
  EXPECT_EQ(extended([](auto& wish, auto&) {
              wish.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
              wish.flags = 1u << 9;
            }),
            EINVAL);
  EXPECT_EQ(extended([](auto& wish, auto&) { wish.wc_flags = uint64_t{1} << 40; }), EOPNOTSUPP);
  EXPECT_EQ(extended([](auto&, auto& own) { own.comp_mask = uint64_t{1} << 20; }), EINVAL);
  EXPECT_EQ(extended([](auto&, auto& own) {
              own.comp_mask = MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;
              own.cqe_size = 128;
            }),
            EINVAL);
}

class AnswersToQueues : public Answers {
 protected:
  void SetUp() override {
    Answers::SetUp();
    completions_ = ibv_create_cq(near_.get(), 16, nullptr, nullptr, 0);
    ASSERT_NE(completions_, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(ibv_destroy_cq(completions_), 0);
    Answers::TearDown();
  }
  ibv_wq_init_attr receive_wish() const {
    ibv_wq_init_attr wish{};
    wish.wq_type = IBV_WQT_RQ;
    wish.max_wr = 16;
    wish.max_sge = 1;
    wish.pd = near_domain_;
    wish.cq = completions_;
    return wish;
  }

  ibv_cq* completions_ = nullptr;
};

TEST_F(AnswersToQueues, ReceiveQueues) {
  const auto refused = [this](auto change) {
    ibv_wq_init_attr wish = receive_wish();
    mlx5dv_wq_init_attr own{};
    change(wish, own);
    return error_of([&] { return mlx5dv_create_wq(near_.get(), &wish, &own); });
  };
  EXPECT_EQ(refused([](auto& wish, auto&) { wish.max_wr = 0; }), EINVAL);
  EXPECT_EQ(refused([](auto& wish, auto&) { wish.max_wr = 1 << 20; }), EINVAL);
  EXPECT_EQ(refused([](auto& wish, auto&) { wish.max_sge = 1000; }), EINVAL);
  EXPECT_EQ(refused([](auto&, auto& own) { own.comp_mask = uint64_t{1} << 20; }), EINVAL);
  EXPECT_EQ(refused([](auto& wish, auto&) {
              wish.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
              wish.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
            }),
            EOPNOTSUPP);

  // No segment is one segment, and no ring is below 64 bytes.
  ibv_wq_init_attr small = receive_wish();
  small.max_wr = 1;
  small.max_sge = 0;
  ibv_wq* queue = ibv_create_wq(near_.get(), &small);
  ASSERT_NE(queue, nullptr);
  mlx5dv_rwq ring{};
  mlx5dv_obj object{};
  object.rwq = {queue, &ring};
  ASSERT_EQ(mlx5dv_init_obj(&object, MLX5DV_OBJ_RWQ), 0);
  EXPECT_EQ(ring.stride, 16u);
  EXPECT_EQ(ring.wqe_cnt, 4u);

  const auto modify = [queue](ibv_wq_state to, int from = -1) {
    ibv_wq_attr change{};
    change.attr_mask = IBV_WQ_ATTR_STATE;
    change.wq_state = to;
    if (from >= 0) {
      change.attr_mask |= IBV_WQ_ATTR_CURR_STATE;
      change.curr_wq_state = static_cast<ibv_wq_state>(from);
    }
    return ibv_modify_wq(queue, &change);
  };
  EXPECT_EQ(modify(IBV_WQS_RDY, IBV_WQS_ERR), EINVAL) << "it is in reset";
  EXPECT_EQ(modify(IBV_WQS_RDY, IBV_WQS_RESET), 0);
  EXPECT_EQ(modify(IBV_WQS_ERR), 0);
  EXPECT_EQ(modify(IBV_WQS_RDY), EINVAL) << "not without a reset";
  EXPECT_EQ(modify(IBV_WQS_RESET), 0);
  EXPECT_EQ(modify(static_cast<ibv_wq_state>(9)), EINVAL);
  EXPECT_EQ(ibv_destroy_wq(queue), 0);
}

TEST_F(AnswersToQueues, HashesThatDoNotExist) {
  ibv_wq_init_attr wish = receive_wish();
  ibv_wq* queues[2] = {};
  for (ibv_wq*& queue : queues)
    queue = ibv_create_wq(near_.get(), &wish);
  ibv_rwq_ind_table_init_attr entries{};
  entries.log_ind_tbl_size = 1;
  entries.ind_tbl = queues;
  ibv_rwq_ind_table* table = ibv_create_rwq_ind_table(near_.get(), &entries);
  ASSERT_NE(table, nullptr);
  const auto with = [&](uint8_t function, uint8_t key_length, uint64_t fields) {
    ibv_qp_init_attr_ex pair{};
    pair.qp_type = IBV_QPT_RAW_PACKET;
    pair.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE | IBV_QP_INIT_ATTR_RX_HASH;
    pair.pd = near_domain_;
    pair.rwq_ind_tbl = table;
    pair.rx_hash_conf = {function, key_length, const_cast<uint8_t*>(kHashKey.data()), fields};
    errno = 0;
    ibv_qp* made = ibv_create_qp_ex(near_.get(), &pair);
    const int error = errno;
    if (made == nullptr) return error;
    EXPECT_EQ(ibv_destroy_qp(made), 0);
    return 0;
  };
  constexpr uint8_t kToeplitz = IBV_RX_HASH_FUNC_TOEPLITZ;
  EXPECT_EQ(with(kToeplitz, 40, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_PORT_TCP), 0);
  EXPECT_EQ(with(2, 40, IBV_RX_HASH_SRC_IPV4), EOPNOTSUPP);
  EXPECT_EQ(with(kToeplitz, 39, IBV_RX_HASH_SRC_IPV4), EINVAL);
  EXPECT_EQ(with(kToeplitz, 40, 0), EINVAL) << "two queues, and nothing to choose by";
  EXPECT_EQ(with(kToeplitz, 40, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV6), EINVAL);
  EXPECT_EQ(with(kToeplitz, 40,
                 IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP),
            EINVAL);
  EXPECT_EQ(with(kToeplitz, 40, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_INNER), EOPNOTSUPP);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  for (ibv_wq* queue : queues)
    EXPECT_EQ(ibv_destroy_wq(queue), 0);
}

TEST_F(AnswersToQueues, QueuePairs) {
  const auto wish = [this] {
    ibv_qp_init_attr attributes{};
    attributes.send_cq = attributes.recv_cq = completions_;
    attributes.qp_type = IBV_QPT_RAW_PACKET;
    attributes.cap.max_send_wr = 16;
    attributes.cap.max_send_sge = 1;
    return attributes;
  };
  ibv_qp_init_attr many = wish();
  many.cap.max_send_wr = 32768;
  many.cap.max_send_sge = 30;
  EXPECT_EQ(error_of([&] { return ibv_create_qp(near_domain_, &many); }), EINVAL);
  ibv_qp_init_attr wide = wish();
  wide.cap.max_send_sge = 31;
  EXPECT_EQ(error_of([&] { return ibv_create_qp(near_domain_, &wide); }), EINVAL);

  ibv_qp_init_attr good = wish();
  ibv_qp* pair = ibv_create_qp(near_domain_, &good);
  ASSERT_NE(pair, nullptr);
  // A 64-byte entry, less its control and Ethernet segments and the length of the data.
  EXPECT_EQ(good.cap.max_inline_data, 64u - 32 - 4);
  for (const ibv_qp_state state : {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD}) {
    EXPECT_EQ(set_queue_pair(pair, state), EINVAL) << "from reset to " << state;
  }
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_INIT), 0);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_RTR), 0);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_RTS), 0);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_ERR), 0);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_RTS), EINVAL);
  EXPECT_EQ(pair->state, IBV_QPS_ERR);
  EXPECT_EQ(set_queue_pair(pair, IBV_QPS_RESET), 0);
  EXPECT_EQ(ibv_destroy_qp(pair), 0);
}

TEST_F(Answers, WaitingForEventsBlocksUnlessAskedNotTo) {
  EXPECT_EQ(fcntl(near_->async_fd, F_GETFL) & O_NONBLOCK, 0);
  ibv_comp_channel* channel = ibv_create_comp_channel(near_.get());
  EXPECT_EQ(fcntl(channel->fd, F_GETFL) & O_NONBLOCK, 0);
  ASSERT_EQ(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  EXPECT_EQ(ibv_get_cq_event(channel, &queue, &context), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
}

// No room for a thread's stack: an error, and the next attempt is as good as any.
TEST(AnswersToOpening, WithoutAThreadThereIsNoPort) {
  std::ifstream statistics("/proc/self/statm");
  uint64_t pages = 0;
  ASSERT_TRUE(statistics >> pages);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = pages * 4096 + (uint64_t{1} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &tight), 0);
  {
    const Context refused = open_port(0);
    const int error = errno;
    ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_EQ(refused, nullptr);
    EXPECT_TRUE(error == EAGAIN || error == ENOMEM) << error;
  }
  EXPECT_NE(open_port(0), nullptr);
}

}  // namespace
}  // namespace nearpool::connectx4::test
