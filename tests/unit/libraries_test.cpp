// What third_party/torch.cmake sees to: LibTorch and SentencePiece in one process do not stand on each other's
// variables, and loops of LibTorch's headers run in parallel.
#include <ATen/Parallel.h>
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "tests/support/tokenizer.hpp"

namespace attend {
namespace {

TEST(Libraries, SentencePieceLeavesTheFlagsOfLibTorchAlone) {
  letters_of("a line of text\nand another line\n");
  EXPECT_FALSE(FLAGS_caffe2_use_fatal_for_enforce);
  // Were the flag overwritten, this would abort the process instead.
  EXPECT_THROW(c10::GetCPUAllocator()->allocate(std::numeric_limits<std::size_t>::max() / 4), c10::Error);
}

TEST(Libraries, LoopsAreShared) {
  const int before = at::get_num_threads();
  at::set_num_threads(2);
  std::atomic<int> parts = 0;
  at::parallel_for(0, 2, 1, [&](std::int64_t, std::int64_t) { ++parts; });
  at::set_num_threads(before);
  EXPECT_EQ(parts, 2);
}

}  // namespace
}  // namespace attend
