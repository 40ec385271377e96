// SPDX-License-Identifier: BSD-3-Clause
// Telemetry while pools and arenas come and go: clients ask, the control thread makes and destroys.
// Under ThreadSanitizer this shows that what an answer is made of is never touched meanwhile.
#include <rte_eal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "pool_fixture.hpp"

namespace nearpool::test {
namespace {

class Client {
 public:
  Client() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = std::string(rte_eal_get_runtime_dir()) + "/dpdk_telemetry.v2";
    std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", path.c_str());
    socket_ = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_EQ(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
        << path << ": " << std::strerror(errno);
    receive();  // who answers
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // One asks at a time: DPDK 22.11 takes a request apart with strtok(), so two at once are a race
  // of its own, in which one gets the other's answer.
  std::string ask(const std::string& command) {
    const std::lock_guard one_at_a_time(asking_);
    EXPECT_EQ(send(socket_, command.data(), command.size(), 0),
              static_cast<ssize_t>(command.size()));
    return receive();
  }

 private:
  std::string receive() {
    const ssize_t bytes = recv(socket_, buffer_.data(), buffer_.size(), 0);
    return bytes <= 0 ? std::string() : std::string(buffer_.data(), static_cast<size_t>(bytes));
  }
  static inline std::mutex asking_;
  int socket_ = -1;
  std::array<char, 16384> buffer_{};
};

// The numbers of {"/page_pool/list":[1,2]}.
std::vector<unsigned> ids(const std::string& answer) {
  std::vector<unsigned> found;
  for (std::size_t at = answer.find('['); at != std::string::npos && at + 1 < answer.size();
       at = answer.find(',', at + 1)) {
    if (answer[at + 1] != ']')
      found.push_back(static_cast<unsigned>(std::strtoul(&answer[at + 1], nullptr, 10)));
  }
  return found;
}

class TelemetryTest : public PoolTest {};

TEST_F(TelemetryTest, ListsWhatThereIs) {
  Client client;
  EXPECT_EQ(client.ask("/page_pool/list"), "{\"/page_pool/list\":[]}");
  page_pool* pool = make_pool(defaults(make_arena(), "seen"));
  const std::vector<unsigned> listed = ids(client.ask("/page_pool/list"));
  ASSERT_EQ(listed, std::vector<unsigned>{stats(pool).id});
  const std::string id = std::to_string(listed.front());
  const std::string info = client.ask("/page_pool/info," + id);
  EXPECT_NE(info.find("\"name\":\"seen\""), std::string::npos) << info;
  EXPECT_NE(info.find("\"kind\":\"queue\""), std::string::npos) << info;
  {
    const AsLcore other(kOther);
    const Pages pages = take(pool, 10);
    const std::string answer = client.ask("/page_pool/stats," + id);
    EXPECT_NE(answer.find("\"inflight\":10,"), std::string::npos) << answer;
    put(pool, pages);
    page_pool_flush_returns(pool);
  }
  EXPECT_EQ(ids(client.ask("/page_arena/list")), (std::vector<unsigned>{kNear, kFar}));
  for (const char* wrong : {"/page_pool/info,4000000", "/page_pool/info,x", "/page_pool/stats",
                            "/page_arena/info,3", "/page_arena/info,-1"}) {
    const std::string answer = client.ask(wrong);
    EXPECT_NE(answer.find("null"), std::string::npos) << answer;
  }
}

TEST_F(TelemetryTest, AnswersWhilePoolsAndArenasComeAndGo) {
  std::atomic<bool> over{false};
  std::atomic<unsigned> pools_seen{0};
  std::atomic<unsigned> rounds{0};
  const auto hammer = [&] {
    while (!over) {
      Client client;
      for (int i = 0; i < 20 && !over; ++i) {
        for (const unsigned id : ids(client.ask("/page_pool/list"))) {
          // It may have gone since it was listed; then both are null.
          const std::string info = client.ask("/page_pool/info," + std::to_string(id));
          const std::string books = client.ask("/page_pool/stats," + std::to_string(id));
          EXPECT_FALSE(info.empty() || books.empty());
          if (info.find("\"id\":" + std::to_string(id)) != std::string::npos) ++pools_seen;
        }
        for (const unsigned node : ids(client.ask("/page_arena/list")))
          EXPECT_FALSE(client.ask("/page_arena/info," + std::to_string(node)).empty());
      }
      ++rounds;
    }
  };
  std::thread first(hammer);
  std::thread second(hammer);
  for (unsigned round = 0; round < 40 || pools_seen < 50 || rounds < 4; ++round) {
    ASSERT_LT(round, 20000u) << "clients see no pools";
    page_arena* arena = make_arena({.near_pages = 400, .far_pages = 400});
    page_pool* pool = make_pool(defaults(arena, "queue"));
    rte_mempool* shared =
        rte_pktmbuf_pool_create_by_ops("shared", 512, 32, 0, 2176, 0, "page_pool");
    ASSERT_NE(shared, nullptr);
    {
      const AsLcore consumer(kConsumer);
      page_pool_nid_changed(pool, round % 2 == 0 ? kNear : kFar);
      put(pool, take(pool, 64));
      page_pool_release(pool);
    }
    rte_mempool_free(shared);
    std::erase(pools_, pool);
    EXPECT_EQ(page_pool_destroy(pool), 0);
    EXPECT_EQ(page_arena_destroy(arena), 0) << page_pool_error();
    arena_ = nullptr;
  }
  over = true;
  first.join();
  second.join();
  Client client;
  EXPECT_EQ(client.ask("/page_pool/list"), "{\"/page_pool/list\":[]}");
  EXPECT_EQ(client.ask("/page_arena/list"), "{\"/page_arena/list\":[]}");
}

}  // namespace
}  // namespace nearpool::test
