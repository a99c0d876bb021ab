// A bias of the logits (--output-bias) is added wherever they are computed: in search, in forced decoding, in training.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "eval/score.hpp"
#include "eval/translate.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/families.hpp"
#include "tests/support/sentences.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

constexpr std::int64_t kPiece = 7;

Seq2Seq biased_model() {
  ModelConfig config = families(/*dropout=*/0)[0].config;
  config.output_bias = true;
  const Seq2Seq model = make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary}, 3);
  EXPECT_EQ(model->output_bias().count_nonzero().item<std::int64_t>(), 0);
  model->to(test_device());
  const at::NoGradGuard no_grad;
  model->output_bias()[kPiece] = 100;
  return model;
}

TEST(OutputBias, DecidesWhatIsProduced) {
  const Seq2Seq model = biased_model();
  const SearchConfig config{.max_length = 5};
  const TargetIds ids{.bos = kBegin, .eos = 3, .pad = 0};
  const auto found = translate({.model = *model, .ids = ids, .config = config}, some_batch().src);
  for (const std::vector<Hypothesis>& best : found) {
    EXPECT_EQ(best.front().ids, std::vector<std::int32_t>(5, kPiece));
    EXPECT_NEAR(best.front().log_prob, 0, 1e-6);
  }
  for (const std::vector<ForcedPiece>& sentence : force(*model, some_batch())) {
    for (const ForcedPiece& piece : sentence) {
      EXPECT_EQ(piece.is_best, piece.id == kPiece);
      EXPECT_NEAR(piece.best_log_prob, 0, 1e-6);
    }
  }
}

TEST(OutputBias, IsTrained) {
  const Seq2Seq model = biased_model();
  const TranslationObjective objective(model, {.label_smoothing = 0}, /*samples=*/false);
  Pass pass = Pass::train(1);
  const Batch batch = some_batch();
  objective.losses(batch, pass).front().loss.backward();
  // The gradient of a logit is p - 1 for the label: every position has p = 1 for the piece, and a label of its own.
  const at::Tensor expected = -at::bincount(batch.labels_M, /*weights=*/{}, kVocabulary).to(at::kFloat);
  expected[kPiece] += batch.labels_M.numel();
  EXPECT_TRUE(at::allclose(model->output_bias().grad(), expected, 0, 1e-4));
}

}  // namespace
}  // namespace attend
