// SPDX-License-Identifier: BSD-3-Clause
#include "secondary.hpp"

#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "page_arena/log.hpp"
#include "page_pool/arena_list.hpp"
#include "page_pool/registry.hpp"
#include "registration.hpp"

namespace nearpool::secondary {

namespace {

constexpr char kAttach[] = "page_pool_attach";  // secondary to primary, answered
constexpr char kArena[] = "page_pool_arena";    // primary to secondaries
constexpr uint32_t kVersion = 2;
constexpr time_t kPatienceSeconds = 5;

struct Span {
  uint64_t address;
  uint64_t bytes;
};
struct AttachRequest {
  uint32_t version;
  uint32_t first;  // arenas to leave out, since one message has room for few
};
struct AttachReply {
  uint32_t version;
  int32_t ops_index;
  int32_t other_ops;  // number of other mempool drivers
  uint32_t pools;
  uint32_t arenas;  // all there are
  uint32_t count;   // of these, in this message, one descriptor each
  std::array<Span, RTE_MP_MAX_FD_NUM> spans;
};
static_assert(sizeof(AttachReply) <= RTE_MP_MAX_PARAM_LEN);

int own_ops_index = -1;
int own_other_ops = 0;

template <typename Content>
rte_mp_msg message(const char* name, const Content& content) {
  rte_mp_msg text{};
  std::snprintf(text.name, sizeof(text.name), "%s", name);
  std::memcpy(text.param, &content, sizeof(content));
  text.len_param = sizeof(content);
  return text;
}

template <typename Content>
bool read(const rte_mp_msg& text, Content& content) {
  if (text.len_param != sizeof(content)) return false;
  std::memcpy(&content, text.param, sizeof(content));
  return true;
}

Span span_of(const ArenaHandle& arena) {
  return {reinterpret_cast<uint64_t>(arena.memory().base()), arena.memory().bytes()};
}

// ---- primary

int answer(const rte_mp_msg* request, const void* peer) {
  AttachRequest asked{};
  if (!read(*request, asked)) return -1;
  AttachReply reply{};
  reply.version = kVersion;
  reply.ops_index = own_ops_index;
  reply.other_ops = own_other_ops;
  Registry::instance().walk([&](QueuePool* /*pool*/) { ++reply.pools; });
  std::array<int, RTE_MP_MAX_FD_NUM> descriptors{};
  // The arenas stay while this runs, and so do their descriptors until the message is on its way.
  ArenaList::instance().walk([&](page_arena* arena) {
    const uint32_t place = reply.arenas++;
    if (place < asked.first || reply.count == reply.spans.size()) return;
    reply.spans[reply.count] = span_of(*arena->handle);
    descriptors[reply.count++] = dup(arena->handle->memory().fd());
  });
  rte_mp_msg text = message(kAttach, reply);
  text.num_fds = static_cast<int>(reply.count);
  std::copy(descriptors.begin(), descriptors.end(), text.fds);
  const int sent = rte_mp_reply(&text, static_cast<const char*>(peer));
  for (uint32_t i = 0; i < reply.count; ++i)
    close(descriptors[i]);
  return sent;
}

void tell(const ArenaHandle& arena) {
  rte_mp_msg text = message(kArena, span_of(arena));
  text.num_fds = 1;
  text.fds[0] = arena.memory().fd();
  if (rte_mp_sendmsg(&text) != 0) {
    NEARPOOL_LOG(WARNING, "arena %s: secondary processes could not be told of it: %s",
                 arena.arena().name(), rte_strerror(rte_errno));
  }
}

// ---- secondary

std::mutex mapped_lock;
std::vector<Span> mapped;

// Closes the descriptor; a mapping needs it no more.
bool map_arena(const Span& span, int descriptor) {
  const std::lock_guard guard(mapped_lock);
  const bool known = std::any_of(mapped.begin(), mapped.end(), [&](const Span& other) {
    return other.address == span.address && other.bytes == span.bytes;
  });
  void* const wanted = reinterpret_cast<void*>(span.address);
  void* got = wanted;
  if (!known) {
    // An arena that is gone in the primary may have been here before.
    std::erase_if(mapped, [&](const Span& other) {
      const bool overlaps =
          other.address < span.address + span.bytes && span.address < other.address + other.bytes;
      if (overlaps) munmap(reinterpret_cast<void*>(other.address), other.bytes);
      return overlaps;
    });
    got = mmap(wanted, span.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
               descriptor, 0);
  }
  const int error_number = errno;
  close(descriptor);
  if (got == wanted) {
    if (!known) mapped.push_back(span);
    return true;
  }
  if (got != MAP_FAILED) munmap(got, span.bytes);
  NEARPOOL_LOG(ERR,
               "the %zu bytes of an arena of the primary process at %p cannot be mapped here (%s); "
               "start this process again, or with address randomisation off (setarch -R)",
               static_cast<std::size_t>(span.bytes), wanted,
               got == MAP_FAILED ? rte_strerror(error_number) : "the place is taken");
  return false;
}

int hear_of_arena(const rte_mp_msg* text, const void* /*peer*/) {
  Span span{};
  if (!read(*text, span) || text->num_fds != 1) return -1;
  return map_arena(span, text->fds[0]) ? 0 : -1;
}

// Asks for arenas from `first` on. False: the primary does not answer.
bool ask(uint32_t first, AttachReply& reply) {
  rte_mp_msg request = message(kAttach, AttachRequest{kVersion, first});
  struct rte_mp_reply answers {};
  const timespec patience{kPatienceSeconds, 0};
  if (rte_mp_request_sync(&request, &answers, &patience) != 0) return false;
  bool good = answers.nb_received == 1 && read(answers.msgs[0], reply);
  for (int i = 0; answers.nb_received == 1 && i < answers.msgs[0].num_fds; ++i) {
    if (good && i < static_cast<int>(reply.count)) {
      map_arena(reply.spans[static_cast<unsigned>(i)], answers.msgs[0].fds[i]);
    } else {
      close(answers.msgs[0].fds[i]);
    }
  }
  ::free(answers.msgs);
  return good;
}

void attach() {
  AttachReply reply{};
  uint32_t first = 0;
  do {
    // A primary that does not know the plugin has no page pools either.
    if (!ask(first, reply)) return;
    if (reply.version != kVersion) {
      rte_exit(EXIT_FAILURE,
               "page_pool: the primary process has another version of this plugin (%u, here %u): "
               "load the one that it uses (-d)\n",
               reply.version, kVersion);
    }
    first += reply.count;
  } while (first < reply.arenas && reply.count != 0);
  if (reply.other_ops == own_other_ops && reply.ops_index <= own_other_ops) {
    // Nothing here has used a mempool yet.
    if (reply.ops_index != own_ops_index) exchange_places(own_ops_index, reply.ops_index);
    own_ops_index = reply.ops_index;
  } else if (reply.pools != 0) {
    rte_exit(EXIT_FAILURE,
             "page_pool: this process has %d mempool drivers besides the page pool, the primary "
             "has %d, so that page pools could be taken for another driver's: load the same "
             "drivers in both (-d, and the EAL's driver directory)\n",
             own_other_ops, reply.other_ops);
  }
}

}  // namespace

void start(int ops_index, int others) {
  own_ops_index = ops_index;
  own_other_ops = others;
  if (ops_index < 0) return;
  if (rte_eal_process_type() == RTE_PROC_PRIMARY) {
    // ENOTSUP: there are no secondary processes.
    if (rte_mp_action_register(kAttach, answer) == 0) ArenaList::instance().on_added(tell);
    return;
  }
  rte_mp_action_register(kArena, hear_of_arena);
  attach();
}

bool has_pages_of(const QueuePool& pool) {
  const auto page = reinterpret_cast<uint64_t>(pool.arena()->chunks().front().range.lo);
  const std::lock_guard guard(mapped_lock);
  return std::any_of(mapped.begin(), mapped.end(), [page](const Span& span) {
    return page >= span.address && page - span.address < span.bytes;
  });
}

}  // namespace nearpool::secondary
