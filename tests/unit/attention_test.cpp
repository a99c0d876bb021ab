// The parts of recurrent attention: the examples at the head of each score's file, and the rows that a step reads.
#include <gtest/gtest.h>
#include <torch/types.h>

#include <vector>

#include "models/attention/dot.hpp"
#include "models/attention/general.hpp"
#include "models/attention/memory_rows.hpp"
#include "models/attention/scaled_dot.hpp"
#include "models/ops/padded.hpp"

namespace attend {
namespace {

using torch::Tensor;

// (1 0), (0 1) and a sentence of one position.
const Tensor kMemory = torch::tensor({{1.0f, 0.0f}, {0.0f, 1.0f}, {5.0f, 5.0f}});
const Layout kLayout{.offsets = {0, 2, 3}, .max_length = 2};

// The weights of query (1 2) over each sentence.
Tensor weights_of(const Score& score) {
  const Keys keys{.keys_SA = score.prepare(kMemory), .values_SW = kMemory, .layout = kLayout};
  const MemoryRows rows(keys, {0, 1});
  const Tensor energies = score.energies(torch::tensor({{1.0f, 2.0f}, {1.0f, 2.0f}}), rows.keys_RSA());
  return ops::masked_softmax(energies, rows.padding_RS());
}

TEST(Scores, DotHasTheWeightsOfItsExample) {
  const Tensor expected = torch::tensor({{0.26894143f, 0.73105857f}, {1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(weights_of(DotScore()), expected, 1e-6, 1e-6));
}

TEST(Scores, ScaledDotHasTheWeightsOfItsExample) {
  const Tensor expected = torch::tensor({{0.33023845f, 0.66976155f}, {1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(weights_of(ScaledDotScore()), expected, 1e-6, 1e-6));
}

TEST(Scores, GeneralHasTheWeightsOfItsExample) {
  const at::NoGradGuard no_grad;
  GeneralScore score(2, 2);
  score.named_parameters()["key.weight"].copy_(torch::tensor({{0.0f, 1.0f}, {1.0f, 0.0f}}));
  const Tensor expected = torch::tensor({{0.73105857f, 0.26894143f}, {1.0f, 0.0f}});
  EXPECT_TRUE(torch::allclose(weights_of(score), expected, 1e-6, 1e-6));
}

TEST(MemoryRows, AreSelectedAndKept) {
  const Keys keys{.keys_SA = kMemory, .values_SW = 2 * kMemory, .layout = kLayout};
  MemoryRows rows = MemoryRows(keys, {0, 1}).select(std::vector<std::int64_t>{1, 0, 1});
  EXPECT_EQ(rows.sentences(), (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_TRUE(torch::equal(rows.keys_RSA()[0], torch::tensor({{5.0f, 5.0f}, {0.0f, 0.0f}})));
  EXPECT_TRUE(torch::equal(rows.values_RSW()[1], torch::tensor({{2.0f, 0.0f}, {0.0f, 2.0f}})));
  EXPECT_TRUE(torch::equal(rows.padding_RS()[2], torch::tensor({false, true})));
  rows.keep_first(1);
  EXPECT_EQ(rows.sentences(), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(rows.padding_RS().size(0), 1);
}

}  // namespace
}  // namespace attend
