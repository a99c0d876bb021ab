// What attention explains: attributions beside it, and other weights in its place.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/explanations.hpp"
#include "analysis/faithfulness.hpp"
#include "analysis/report/faithfulness_sections.hpp"
#include "analysis/token_importance.hpp"
#include "core/json.hpp"
#include "data/batch/batch.hpp"
#include "eval/metrics/ngram_metrics.hpp"
#include "eval/translate.hpp"
#include "models/attention/edits.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/families.hpp"
#include "tests/support/small_run.hpp"
#include "tests/support/user_error.hpp"

namespace attend {
namespace {

// Explanations of predictions: against SciPy and NumPy (tests/parity/make_fixtures_explanations.py), on a network whose
// flow is known, against finite differences, and on models whose attention says or changes nothing.

using torch::Tensor;

const nlohmann::json& explanations_fixture() {
  static const nlohmann::json content = read_json(ATTEND_SOURCE_DIR "/tests/parity/fixtures/explanations.json");
  return content;
}

using Rows = std::vector<std::vector<double>>;

Tensor matrix_of(const Rows& rows) {
  std::vector<Tensor> tensors;
  for (const std::vector<double>& row : rows) tensors.push_back(at::tensor(row, at::kDouble));
  return at::stack(tensors);
}

TEST(Explanations, KendallIsThatOfSciPy) {
  for (const auto& known : explanations_fixture().at("kendall")) {
    const auto a = known.at("a").get<std::vector<double>>(), b = known.at("b").get<std::vector<double>>();
    const RankAgreement found = kendall_tau_b(a, b);
    EXPECT_NEAR(found.tau, known.at("tau"), 1e-12) << known;
    EXPECT_NEAR(found.p, known.at("p"), 1e-12) << known;
  }
  const std::vector<double> constant = {0.5, 0.5, 0.5}, rising = {1, 2, 3};
  EXPECT_TRUE(std::isnan(kendall_tau_b(constant, rising).tau));
  EXPECT_TRUE(std::isnan(kendall_tau_b(std::span(rising).first(1), std::span(rising).first(1)).tau));
}

TEST(Explanations, RolloutIsThatOfNumPy) {
  const auto& known = explanations_fixture().at("rollout");
  std::vector<Tensor> layers_TT;
  for (const auto& layer : known.at("layers")) layers_TT.push_back(matrix_of(layer.get<Rows>()));
  EXPECT_TRUE(at::allclose(attention_rollout(layers_TT), matrix_of(known.at("rollout").get<Rows>()), 1e-9, 1e-12));
}

// Half a unit reaches token 2 by each of two ways, of which the first one found takes an edge that the other needs.
TEST(Explanations, FlowIsTheMaximum) {
  const std::vector<Tensor> layers_TT = {matrix_of({{0, 0, 1}, {0, 0, 0}, {0, 0, 0}}),
                                         matrix_of({{0, 0, 1}, {1, 0, 0}, {0, 0, 0}}),
                                         matrix_of({{0, 1, 0}, {0, 0, 0}, {0, 0, 0}})};
  const std::vector<double> flows = attention_flow(layers_TT, 0);
  ASSERT_EQ(flows.size(), 3u);
  EXPECT_NEAR(flows[0], 0.5, 1e-9);
  EXPECT_NEAR(flows[1], 0.5, 1e-9);
  EXPECT_NEAR(flows[2], 1, 1e-9);
}

// ---- texts

constexpr SpecialIds kSpecialOfTexts{.cls = 1, .sep = 2};

class ExplainedTexts : public testing::TestWithParam<TextEncoderKind> {
 protected:
  ExplainedTexts() {
    initialise(*model_, 5);
    model_->eval();
    const at::NoGradGuard no_grad;
    for (Tensor& parameter : model_->parameters()) parameter.mul_(GetParam() == TextEncoderKind::bert ? 5 : 2);
  }

  static TextModelOptions options() {
    TextModelOptions options{.model = GetParam(), .encoder = {.layers = 2, .width = 16, .dropout = 0}};
    if (GetParam() == TextEncoderKind::lstm) {
      options.pooling = Pooling::attention;
    } else {
      options.encoder.block.heads = 2;
      options.encoder.block.attention_dropout = 0;
    }
    return options;
  }
  static LabelledTask task() { return {.text = {"a", "b"}, .labels = {"x", "y", "z"}}; }

  ExplainedClassifier classifier() const { return {*model_, options(), kSpecialOfTexts, "run"}; }

  Tensor log_probs(const Sample& text) const {
    const at::NoGradGuard no_grad;
    const Sample* const alone = &text;
    Pass pass = Pass::inference();
    return at::log_softmax(model_->logits(make_labelled_batch({&alone, 1}), pass), 1)[0].to(at::kDouble);
  }
  // Makes scores of the query of attention equal.
  void make_uniform() {
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters_of(*model_)) {
      if (name == "pooler.query.weight") Tensor(parameter).zero_();
      if (name.find("layers.1.self_attn.in_proj") != std::string::npos) Tensor(parameter).slice(0, 0, 32).zero_();
    }
  }
  std::vector<PerturbedText> perturbed(bool adversarial) const {
    const std::vector<const Sample*> texts = {&text_, &shorter_};
    return classifier().perturb(texts, 1, adversarial);
  }

  TextModel model_{options(), task(), 31};
  Sample text_{.ids = {1, 7, 9, 2, 12, 20, 5, 2}, .first = 4, .example = 0, .gold = {.label = 0}};
  Sample shorter_{.ids = {1, 9, 2, 12, 2}, .first = 3, .example = 1, .gold = {.label = 1}};
};

TEST_P(ExplainedTexts, LeaveOneOutRemovesATokenOfItsText) {
  const TokenImportance found = classifier().importance(text_);
  ASSERT_EQ(found.leave_one_out.size(), 5u) << "the tokens that are not special";
  for (const std::vector<double>& explanation : found.explanations) EXPECT_EQ(explanation.size(), 5u);
  EXPECT_EQ(found.explanations.size(), classifier().names().size());
  const auto change = [&](const Sample& without) {
    return (log_probs(without).exp() - log_probs(text_).exp()).abs().sum().item<double>() / 2;
  };
  EXPECT_NEAR(found.leave_one_out[0], change({.ids = {1, 9, 2, 12, 20, 5, 2}, .first = 3, .gold = text_.gold}), 1e-5);
  EXPECT_NEAR(found.leave_one_out[3], change({.ids = {1, 7, 9, 2, 12, 5, 2}, .first = 4, .gold = text_.gold}), 1e-5);
  EXPECT_GT(found.leave_one_out[0], 1e-4);
}

TEST_P(ExplainedTexts, UniformAttentionRanksNothingAndChangesNothing) {
  EXPECT_GT(perturbed(false)[0].permuted, 1e-4);
  EXPECT_GT(perturbed(false)[1].uniform, 1e-4);
  make_uniform();
  const TokenImportance found = classifier().importance(text_);
  EXPECT_TRUE(std::isnan(kendall_tau_b(found.explanations[0], found.gradient).tau));
  for (const PerturbedText& text : perturbed(false)) {
    EXPECT_LT(text.permuted, 1e-5);
    EXPECT_LT(text.uniform, 1e-5);
  }
  EXPECT_NEAR(perturbed(false)[0].largest, 1.0 / 8, 1e-5);
  EXPECT_NEAR(perturbed(false)[1].largest, 1.0 / 5, 1e-5);
}

TEST_P(ExplainedTexts, AnOutputThatIgnoresAttentionAllowsAnyWeights) {
  for (const PerturbedText& text : perturbed(true)) EXPECT_LE(*text.change, kAdversarialChange);
  {
    const at::NoGradGuard no_grad;
    for (const auto& [name, parameter] : parameters_of(*model_)) {
      if (name == "classifier.weight") Tensor(parameter).zero_();
    }
  }
  for (const PerturbedText& text : perturbed(true)) {
    EXPECT_EQ(text.permuted, 0);
    EXPECT_EQ(text.uniform, 0);
    EXPECT_EQ(*text.change, 0);
    EXPECT_GT(*text.divergence, 0.3) << "of at most 0.69; 0.42 from equal weights of five tokens";
  }
}

INSTANTIATE_TEST_SUITE_P(Encoders, ExplainedTexts, testing::Values(TextEncoderKind::lstm, TextEncoderKind::bert),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

// The input is a multiple of the embedding: its scale is that of the row, which occurs once.
class ExplainedLstm : public ExplainedTexts {};

TEST_P(ExplainedLstm, GradientTimesInputIsTheChangeWithItsScale) {
  const TokenImportance found = classifier().importance(text_);
  const Tensor table = model_->encoder().table().master();
  const auto best = log_probs(text_).argmax().item<std::int64_t>();
  const std::vector<std::int64_t> ids = {7, 9, 12, 20, 5};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto scaled = [&](double scale) {
      const at::NoGradGuard no_grad;
      const Tensor before = table[ids[i]].clone();
      table[ids[i]].mul_(scale);
      const double result = log_probs(text_)[best].item<double>();
      table[ids[i]].copy_(before);
      return result;
    };
    const double expected = std::abs(scaled(1.01) - scaled(0.99)) / 0.02;
    EXPECT_NEAR(found.gradient[i], expected, 1e-3 + 1e-2 * expected) << i;
  }
  EXPECT_GT(std::ranges::max(found.gradient), 0.01);
}

INSTANTIATE_TEST_SUITE_P(Lstm, ExplainedLstm, testing::Values(TextEncoderKind::lstm));

TEST(ExplainedRuns, NeedAQueryOfAttention) {
  const TextModelOptions options{.model = TextEncoderKind::lstm, .encoder = {.layers = 1, .width = 8}};
  const LabelledTask task{.text = {"a"}, .labels = {"x", "y"}};
  const TextModel model(options, task, 31);
  const std::string said = user_error_of([&] { ExplainedClassifier(*model, options, kSpecialOfTexts, "runs/last"); });
  EXPECT_NE(said.find("runs/last: its --pooling is last"), std::string::npos) << said;
}

// ---- translations

PiecePair pair_of_ids() {
  PiecePair pair{.source = "", .source_pieces = {}, .target = "", .target_ids = {8, 11}, .target_bytes = {}};
  for (const std::int32_t id : {7, 9, 12, 20}) pair.source_pieces.push_back({.id = id, .text = ""});
  return pair;
}

TEST(ExplainedTranslations, HaveTheNumbersOfEveryPosition) {
  for (const Family& family : families(/*dropout=*/0)) {
    if (family.name != "luong_one_way" && family.name != "transformer_pre") continue;
    SCOPED_TRACE(family.name);
    const auto run = small_run(family.config, 3);
    const std::vector<TokenImportance> found = importance_of_source(run, pair_of_ids());
    ASSERT_EQ(found.size(), 3u) << "two pieces and the end of sentence";

    // log p of every next piece, after a source.
    const auto log_probs = [&](const std::vector<std::int32_t>& source, Observer* observer = nullptr) {
      const at::NoGradGuard no_grad;
      const std::vector<std::int32_t> target = {8, 11};
      const Batch batch = batch_of_pairs({source}, {target}, batch_ids(run.tokenizers));
      Pass pass = Pass::inference(observer);
      const Tensor hidden_TH = run.model->forward(batch, pass);
      return at::log_softmax(ops::logits(hidden_TH, run.model->output_table(), run.model->output_bias()), 1)
          .to(at::kDouble);
    };
    const std::vector<std::int32_t> source = {7, 9, 12, 20};
    AttentionRecorder recorder(AttentionPlace::cross);
    const Tensor whole_TV = log_probs(source, &recorder), without_TV = log_probs({7, 12, 20});
    const Tensor table = run.model->source_table().master();
    for (std::int64_t t = 0; t < 3; ++t) {
      const TokenImportance& position = found[static_cast<std::size_t>(t)];
      EXPECT_NEAR(position.leave_one_out[1], (without_TV[t].exp() - whole_TV[t].exp()).abs().sum().item<double>() / 2,
                  1e-6);
      const Tensor weights_S = recorder.layers.back().weights[0].mean(0)[t];
      for (std::int64_t s = 0; s < 4; ++s) {
        EXPECT_NEAR(position.explanations[0][static_cast<std::size_t>(s)], weights_S[s].item<double>(), 1e-6);
      }
      if (family.config.model != ModelKind::luong) continue;  // positions are added to the embeddings
      const auto scaled = [&](double scale) {
        const at::NoGradGuard no_grad;
        const Tensor before = table[9].clone();
        table[9].mul_(scale);
        const double result = log_probs(source)[t][whole_TV[t].argmax()].item<double>();
        table[9].copy_(before);
        return result;
      };
      const double expected = std::abs(scaled(1.1) - scaled(0.9)) / 0.2;
      EXPECT_NEAR(position.gradient[1], expected, 3e-5 + 2e-2 * expected) << t;
    }
  }
}

// Other weights in place of attention: those of given links, and what a translation model loses with them.

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

TEST(CutLinks, LeaveTheOtherWeightsOfTheirQueryInProportion) {
  const at::Tensor own_BNTS = at::tensor({0.6F, 0.3F, 0.1F}).expand({1, 2, 2, 3}).contiguous();
  const Places places{.padding_1S = at::zeros({1, 1, 1, 3}, at::kBool), .first = 4};
  const CutLinks cut({{AttentionPlace::cross, {{.src = 0, .tgt = 5}, {.src = 2, .tgt = 5}, {.src = 1, .tgt = 9}}}});
  EXPECT_FALSE(cut.edits(AttentionPlace::encoder, 0));
  EXPECT_EQ(cut.unused(), AttentionPlace::cross);
  const at::Tensor found_BNTS = cut.edit(AttentionPlace::cross, 0, own_BNTS, places);
  EXPECT_EQ(cut.unused(), std::nullopt);
  for (std::int64_t head = 0; head < 2; ++head) {
    EXPECT_TRUE(at::equal(found_BNTS[0][head][0], own_BNTS[0][head][0])) << "query 4";
    EXPECT_TRUE(at::allclose(found_BNTS[0][head][1], at::tensor({0.F, 1.F, 0.F}))) << "query 5";
  }
  const CutLinks all({{AttentionPlace::cross, {{.src = 0, .tgt = 4}, {.src = 1, .tgt = 4}, {.src = 2, .tgt = 4}}}});
  EXPECT_EQ(all.edit(AttentionPlace::cross, 0, own_BNTS, places)[0][0][0].abs().max().item<float>(), 0);
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
  const std::vector<HeadGradient> heads = {{.head = {.place = AttentionPlace::cross, .layer = 0, .head = 1}},
                                           {.head = {.place = AttentionPlace::decoder, .layer = 0, .head = 0}}};
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
    const SilencedHeads silenced({&heads[h].head, 1});
    const double bleu = metrics::evaluate(metric, translations(&silenced), references).value();
    ASSERT_TRUE(silencing.heads[h].bleu.has_value());
    EXPECT_EQ(silencing.heads[h].bleu->change.value, bleu - whole.value());
  }
}

}  // namespace
}  // namespace attend
