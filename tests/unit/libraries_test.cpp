// LibTorch and SentencePiece in one process: neither may stand on the other's variables (third_party/torch.cmake).
#include <c10/core/CPUAllocator.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/files.hpp"
#include "data/text/tokenizer_trainer.hpp"
#include "tests/support/temporary.hpp"

namespace attend {
namespace {

TEST(Libraries, SentencePieceLeavesTheFlagsOfLibTorchAlone) {
  const TemporaryDirectory directory;
  write_file_atomic(directory / "text", "a line of text\nand another line\n");
  train_tokenizer({(directory / "text").string()}, {.type = TokenizerType::character});
  EXPECT_FALSE(FLAGS_caffe2_use_fatal_for_enforce);
  // Were the flag overwritten, this would abort the process instead.
  EXPECT_THROW(c10::GetCPUAllocator()->allocate(std::numeric_limits<std::size_t>::max() / 4), c10::Error);
}

}  // namespace
}  // namespace attend
