// Other weights in place of attention: those of given links, and what a translation model loses with them.
#include "analysis/faithfulness.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "eval/metrics/ngram_metrics.hpp"
#include "eval/translate.hpp"
#include "models/attention/edits.hpp"
#include "tests/support/small_run.hpp"

namespace attend {
namespace {

// Two heads, three queries of which the first is number `first`, four positions.
at::Tensor edited_by_links(const std::vector<Link>& links, std::int64_t first) {
  const at::Tensor own = at::arange(24).to(at::kFloat).view({1, 2, 3, 4}).softmax(-1);
  const Places places{.padding_1S = at::zeros({1, 1, 1, 4}, at::kBool), .first = first};
  return GivenWeights(links).edit(AttentionPlace::cross, 0, own, places) - own;
}

TEST(GivenWeights, AreSpreadEvenlyOverTheLinkedPiecesAndOthersKeepTheirOwn) {
  const std::vector<Link> links = {
      {.src = 0, .tgt = 1}, {.src = 2, .tgt = 1}, {.src = 2, .tgt = 1}, {.src = 3, .tgt = 4}};
  const at::Tensor own = at::arange(4).to(at::kFloat).softmax(0);  // of every query
  const at::Tensor change = edited_by_links(links, 0), later = edited_by_links(links, 3);
  for (std::int64_t head = 0; head < 2; ++head) {
    EXPECT_EQ(change[0][head][0].abs().max().item<float>(), 0);
    EXPECT_TRUE(at::allclose(change[0][head][1] + own, at::tensor({0.5F, 0.F, 0.5F, 0.F})));
    EXPECT_EQ(change[0][head][2].abs().max().item<float>(), 0);
    EXPECT_TRUE(at::allclose(later[0][head][1] + own, at::tensor({0.F, 0.F, 0.F, 1.F}))) << "target piece 4";
    EXPECT_EQ(later[0][head][2].abs().max().item<float>(), 0);
  }
  EXPECT_EQ(GivenWeights(links).linked(), 2);
}

ModelConfig replaced_config() {
  ModelConfig config;
  config.model = ModelKind::luong;
  config.score = ScoreKind::general;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 14;
  config.dropout = 0;
  return config;
}

GivenTranslations replaced_pairs() {
  GivenTranslations given;
  for (int i = 0; i < 12; ++i) {
    given.sources.push_back({"the dog number " + std::to_string(i) + " sees a cat"});
    given.targets.push_back(std::to_string(i) + " birds");
  }
  return given;
}

TEST(ReplacedAttention, ThatIsUniformAlreadyLosesNothingByUniformWeights) {
  const TranslationRun run = small_run(replaced_config(), 3);
  const at::NoGradGuard no_grad;
  for (auto& parameter : run.model->named_parameters()) {
    if (parameter.key().starts_with("attention.")) parameter.value().zero_();  // energies of 0
  }
  const GivenTranslations given = replaced_pairs();
  const Replacement found = replace_attention(run, given, {.workers = 1});
  EXPECT_EQ(found.sentences, 12);
  ASSERT_EQ(found.weights.size(), 2U);
  const ReplacedAttention &uniform = found.weights[0], &diagonal = found.weights[1];
  EXPECT_EQ(uniform.weights, "uniform");
  EXPECT_NEAR(uniform.loss_change.change.value, 0, 1e-6);
  EXPECT_EQ(uniform.bleu, found.bleu);
  ASSERT_TRUE(uniform.bleu_change.has_value());
  EXPECT_EQ(uniform.bleu_change->change.value, 0);
  EXPECT_EQ(uniform.bleu_change->p, 1);
  EXPECT_EQ(diagonal.weights, "diagonal");
  EXPECT_GT(std::abs(diagonal.loss_change.change.value), 1e-5);
  EXPECT_NEAR(diagonal.loss_change.change.value, diagonal.loss - found.loss, 1e-12);
}

TEST(ReplacedAttention, LinksChangeTheSentencesThatHaveThem) {
  const TranslationRun run = small_run(replaced_config(), 3);
  GivenTranslations given = replaced_pairs();
  given.links.resize(given.sources.size());
  const Replacement without = replace_attention(run, given, {.workers = 1});
  ASSERT_EQ(without.weights.size(), 3U);
  EXPECT_EQ(without.weights[2].weights, "given alignment");
  EXPECT_NEAR(without.weights[2].loss_change.change.value, 0, 1e-5);
  EXPECT_FALSE(without.weights[2].bleu.has_value());
  EXPECT_EQ(without.linked_pieces, 0);

  given.links[4] = {{.src = 3, .tgt = 0}, {.src = 5, .tgt = 1}};
  const Replacement with = replace_attention(run, given, {.workers = 1});
  EXPECT_GE(with.linked_pieces, 2);
  EXPECT_GT(std::abs(with.weights[2].loss - without.weights[2].loss), 1e-6);
  EXPECT_EQ(with.weights[1].loss, without.weights[1].loss);
}

// Of translations scored against the model's own.
TEST(ReplacedAttention, BleuWithoutAHeadIsThatOfTranslationsWithoutIt) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 12;
  config.dropout = 0;
  config.block.heads = 2;
  const TranslationRun run = small_run(config, 5);
  {
    const at::NoGradGuard no_grad;
    for (at::Tensor& parameter : run.model->parameters()) parameter.mul_(3);  // so that heads differ
  }
  const std::vector<HeadPlace> heads = {{.place = AttentionPlace::cross, .layer = 0, .head = 1},
                                        {.place = AttentionPlace::decoder, .layer = 0, .head = 0}};
  GivenTranslations given = replaced_pairs();
  const auto translations = [&](const AttentionEdit* edit) {
    TranslatorConfig greedy;
    greedy.workers = 1;
    greedy.edit = edit;
    std::vector<std::string> texts;
    for (const auto& found : Translator(*run.model, run.tokenizers, greedy).translate(given.sources)) {
      texts.push_back(found.front().text);
    }
    return texts;
  };
  given.targets = translations(nullptr);
  const metrics::Bleu metric;
  const std::vector<std::vector<std::string>> references = {given.targets};
  const metrics::Tally whole = metrics::evaluate(metric, given.targets, references);
  Silencing silencing;
  silencing.heads.resize(2);
  add_bleu(silencing, heads, run, given, {.workers = 1});
  EXPECT_EQ(silencing.bleu, whole.value());
  EXPECT_EQ(silencing.bleu_signature, whole.signature());
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const SilencedHeads silenced({&heads[h], 1});
    const double bleu = metrics::evaluate(metric, translations(&silenced), references).value();
    ASSERT_TRUE(silencing.heads[h].bleu.has_value());
    EXPECT_EQ(silencing.heads[h].bleu->change.value, bleu - whole.value());
  }
}

}  // namespace
}  // namespace attend
