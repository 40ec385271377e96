// SPDX-License-Identifier: BSD-3-Clause
#include "verbs_fixture.hpp"

#include <sys/mman.h>

namespace nearpool::connectx4::test {

Pages::Pages(size_t pages) : size_(pages * kPage) {
  void* memory = mmap(nullptr, size_ + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory, size_, PROT_READ | PROT_WRITE) != 0) {
    ADD_FAILURE() << "no memory";
    return;
  }
  data_ = static_cast<uint8_t*>(memory);
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, size_ + kPage);
}

void Verbs::SetUp() {
  near_ = open_port(0);
  far_ = open_port(1);
  ASSERT_NE(near_, nullptr);
  ASSERT_NE(far_, nullptr);
  near_domain_ = ibv_alloc_pd(near_.get());
  far_domain_ = ibv_alloc_pd(far_.get());
  out_ = std::make_unique<Pages>(8);
  in_ = std::make_unique<Pages>(8);
  for (size_t i = 0; i < out_->size(); ++i)
    out_->data()[i] = static_cast<uint8_t>(i * 7 + i / 256);
  out_region_ = ibv_reg_mr(near_domain_, out_->data(), out_->size(), kWritable);
  in_region_ = ibv_reg_mr(far_domain_, in_->data(), in_->size(), kWritable);
  ASSERT_NE(out_region_, nullptr);
  ASSERT_NE(in_region_, nullptr);
}

void Verbs::TearDown() {
  if (in_region_ == nullptr) return;
  EXPECT_EQ(ibv_dereg_mr(out_region_), 0);
  EXPECT_EQ(ibv_dereg_mr(in_region_), 0);
  EXPECT_EQ(ibv_dealloc_pd(near_domain_), 0);
  EXPECT_EQ(ibv_dealloc_pd(far_domain_), 0);
}

}  // namespace nearpool::connectx4::test
