// Several models, and what chooses among their translations.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/random.hpp"
#include "eval/metrics/bayes_risk.hpp"
#include "eval/postprocess.hpp"
#include "eval/score.hpp"
#include "eval/search/ensemble.hpp"
#include "eval/search/search.hpp"
#include "eval/translate.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/sentences.hpp"
#include "tests/support/small_run.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

// Reranking and minimum Bayes risk: scores and orders computed by hand.

Translation scored_text(const std::string& text, double score) {
  std::vector<float> token_log_probs;
  if (!text.empty()) token_log_probs.push_back(-1);
  return {.text = text, .hypothesis = {.ids = {}, .token_log_probs = token_log_probs, .score = score}};
}

double by_piece(const TranslationRun& run, const std::string& source, const std::string& target) {
  const std::vector<std::string> sources = {source};
  const TextScore found = score(run, sources, std::vector{target}, {}).front();
  return found.log_prob() / static_cast<double>(found.pieces.size());
}

TEST(Reranking, AddsTheWeightedLogProbabilityByPiece) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog sees a cat", ""};
  const std::vector<std::string> targets = {"birds", "a cat and 7 birds sees the number 12"};
  for (const RerankDirection direction : {RerankDirection::same, RerankDirection::reverse}) {
    std::vector<double> q;
    for (const std::string& target : targets) {
      q.push_back(direction == RerankDirection::same ? by_piece(run, lines[0], target)
                                                     : by_piece(run, target, lines[0]));
    }
    ASSERT_NE(q[0], q[1]);
    const std::size_t better = q[0] > q[1] ? 0 : 1, worse = 1 - better;
    const double gap = q[better] - q[worse];
    // Search prefers the other by `gap`: half a weight keeps its order, twice the weight turns it round.
    for (const double weight : {0.0, 0.5, 2.0}) {
      std::vector<std::vector<Translation>> found = {
          {scored_text(targets[worse], -1), scored_text(targets[better], -1 - gap)}, {scored_text("", 0)}};
      const RerankConfig config{.rerank_weight = weight, .rerank_direction = direction};
      rerank(run, config, {.workers = 1}, lines, found);
      const std::size_t first = weight > 1 ? better : worse;
      EXPECT_EQ(found[0][0].text, targets[first]) << weight;
      EXPECT_EQ(found[0][1].text, targets[1 - first]) << weight;
      EXPECT_NEAR(found[0][0].hypothesis.score, (first == better ? -1 - gap : -1) + weight * q[first], 1e-4);
      ASSERT_EQ(found[1].size(), 1U);
      EXPECT_EQ(found[1][0].hypothesis.score, 0) << "a blank line is not rescored";
    }
  }
}

TEST(Reranking, SeesTheWholeBeamAndReturnsWhatIsWanted) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog", "", "a cat and 7 birds"};
  TranslatorConfig config{.search = {.beam = 5, .nbest = 2, .max_length = 6}, .workers = 1};
  Translator translator(*run.model, run.tokenizers, config);
  EXPECT_EQ(translator.translate(lines)[0].size(), 2U);
  std::size_t seen = 0;
  translator.rescore_with([&](const std::vector<std::string>& read, std::vector<std::vector<Translation>>& found) {
    EXPECT_EQ(read.back(), lines.back());
    seen = found[0].size();
    for (auto& of_line : found) std::ranges::reverse(of_line);
  });
  config.search.nbest = 5;
  const auto all = Translator(*run.model, run.tokenizers, config).translate(lines);
  const auto found = translator.translate(lines);
  EXPECT_EQ(seen, 5U);
  ASSERT_EQ(found[0].size(), 2U);
  EXPECT_EQ(found[0][0].text, all[0][4].text);
  EXPECT_EQ(found[0][1].text, all[0][3].text);
  EXPECT_EQ(found[1].size(), 1U);
}

TEST(BayesRiskSearch, ReturnsTheHypothesisOfHighestUtility) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog", "", "a cat and 7 birds", "number 12"};
  TranslatorConfig config{.search = {.beam = 6, .nbest = 6, .max_length = 6}, .workers = 2};
  const auto all = Translator(*run.model, run.tokenizers, config).translate(lines);
  config.mbr = 6;
  for (const metrics::Utility utility : {metrics::Utility::chrf, metrics::Utility::bleu}) {
    config.utility = utility;
    const auto found = Translator(*run.model, run.tokenizers, config).translate(lines);
    ASSERT_EQ(found.size(), lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ASSERT_EQ(found[i].size(), 1U);
      if (lines[i].empty()) continue;
      std::vector<std::string> texts;
      for (const Translation& translation : all[i]) texts.push_back(translation.text);
      const metrics::RankedText best = metrics::rank_by_utility(texts, utility).front();
      EXPECT_EQ(found[i][0].text, texts[best.first]);
      EXPECT_EQ(found[i][0].hypothesis.score, best.utility);
    }
  }
}

TEST(BayesRiskSearch, ChoosesFromTheGivenHypothesesOrFromSamples) {
  const TranslatorConfig of_beam{.search = {.beam = 6, .nbest = 4}, .mbr = 4};
  EXPECT_EQ(of_beam.candidates().sample, 0);
  const TranslatorConfig of_given{.search = {.sample = 4, .top_p = 0.9}, .mbr = 4};
  EXPECT_FALSE(of_given.candidates().epsilon);
  const TranslatorConfig of_samples{.search = {}, .mbr = 4};
  EXPECT_EQ(of_samples.candidates().sample, 4);
  EXPECT_EQ(of_samples.candidates().epsilon, 0.02);
  const TranslatorConfig truncated{.search = {.top_k = 3}, .mbr = 4};
  EXPECT_EQ(truncated.candidates().sample, 4);
  EXPECT_FALSE(truncated.candidates().epsilon);
  const TranslatorConfig whole{.search = {.epsilon = 0}, .mbr = 4};
  EXPECT_EQ(whole.candidates().epsilon, 0) << "what is given holds";
  for (TranslatorConfig config : {of_beam, of_given, of_samples}) {
    config.mbr = 5;
    EXPECT_EQ(config.candidates().sample == 5, config.search.rows() == 1) << "only what is not given follows --mbr";
  }
}

TEST(BayesRiskSearch, SamplesAreChosenFromToo) {
  const TranslationRun run = small_run(families(0)[0].config, 9);
  const std::vector<std::string> lines = {"the dog", "a cat and 7 birds"};
  TranslatorConfig config{.search = {.max_length = 5, .sample = 9, .epsilon = 0.02}, .workers = 1};
  const auto samples = Translator(*run.model, run.tokenizers, config).translate(lines);
  const TranslatorConfig chooses{.search = {.max_length = 5}, .mbr = 9, .workers = 1};
  const auto found = Translator(*run.model, run.tokenizers, chooses).translate(lines);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> texts;
    for (const Translation& sample : samples[i]) texts.push_back(sample.text);
    ASSERT_EQ(texts.size(), 9U);
    ASSERT_EQ(found[i].size(), 1U);
    EXPECT_EQ(found[i][0].text, texts[metrics::rank_by_utility(texts, metrics::Utility::chrf).front().first]);
  }
}

// Ensembles: the means of scripted distributions computed plainly, a model with itself, and a recurrent model with a
// Transformer beside their forward passes.

constexpr std::int64_t kScripted = 7;  // tokens, of which 0 is pad, 2 bos, 3 eos
constexpr TargetIds kScriptedIds{.bos = 2, .eos = 3, .pad = 0};

// Logits that are a hash of a seed and what a row has read, its sentence first.
class ScriptedSteps final : public StepModel {
 public:
  explicit ScriptedSteps(std::int64_t seed, std::int64_t sequences = 3) : seed_(seed), sequences_(sequences) {}

  std::unique_ptr<DecoderState> start() const override {
    auto state = std::make_unique<Read>();
    for (std::int64_t s = 0; s < sequences_; ++s) state->rows.push_back({seed_, s});
    return state;
  }
  torch::Tensor step(DecoderState& state, const torch::Tensor& previous_R, Pass& /*pass*/) const override {
    auto& rows = own<Read>(state).rows;
    std::vector<torch::Tensor> logits;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      rows[r].push_back(previous_R[static_cast<std::int64_t>(r)].item<std::int64_t>());
      logits.push_back(logits_after(rows[r]));
    }
    return at::stack(logits);
  }
  torch::Device device() const override { return torch::kCPU; }

  static torch::Tensor logits_after(const std::vector<std::int64_t>& read) {
    std::uint64_t key = 1;
    for (const std::int64_t id : read) key = combine_keys(key, id);
    RandomStream random(key);
    torch::Tensor logits_V = at::empty({kScripted});
    for (std::int64_t v = 0; v < kScripted; ++v) logits_V[v] = static_cast<float>(4 * random.uniform());
    return logits_V;
  }

 private:
  struct Read : DecoderState {
    std::vector<std::vector<std::int64_t>> rows;
    void select(std::span<const std::int64_t> chosen) override {
      std::vector<std::vector<std::int64_t>> kept;
      for (const std::int64_t row : chosen) kept.push_back(rows.at(row));
      rows = kept;
    }
  };
  std::int64_t seed_, sequences_;
};

Ensemble scripted_ensemble(const std::vector<std::int64_t>& seeds, const std::vector<double>& weights,
                           EnsembleKind kind, std::int64_t sequences = 3) {
  std::vector<Ensemble::Member> members;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    members.push_back({.model = std::make_unique<ScriptedSteps>(seeds[i], sequences), .weight = weights[i]});
  }
  return {std::move(members), kind};
}

// The rows are permuted, split and dropped between the steps, in all members.
TEST(Ensembles, AreMeansOfProbabilitiesOrOfTheirLogarithms) {
  Pass pass = Pass::inference();
  const std::vector<std::int64_t> seeds = {11, 12, 13};
  const std::vector<double> weights = {0.2, 0.5, 0.3};
  for (const EnsembleKind kind : {EnsembleKind::linear, EnsembleKind::log_linear}) {
    const Ensemble ensemble = scripted_ensemble(seeds, weights, kind);
    const auto state = ensemble.start();
    ensemble.step(*state, at::tensor({2, 2, 2}, at::kLong), pass);
    state->select(std::vector<std::int64_t>{2, 0, 2, 2});
    ensemble.step(*state, at::tensor({4, 5, 6, 1}, at::kLong), pass);
    state->select(std::vector<std::int64_t>{3, 1});
    const torch::Tensor found_RV = at::softmax(ensemble.step(*state, at::tensor({5, 4}, at::kLong), pass), -1);
    const std::vector<std::vector<std::int64_t>> read = {{2, 2, 1, 5}, {0, 2, 5, 4}};
    for (std::int64_t r = 0; r < 2; ++r) {
      torch::Tensor mean_V = kind == EnsembleKind::linear ? at::zeros({kScripted}) : at::ones({kScripted});
      for (std::size_t i = 0; i < seeds.size(); ++i) {
        std::vector<std::int64_t> all = {seeds[i]};
        all.insert(all.end(), read[r].begin(), read[r].end());
        const torch::Tensor p_V = at::softmax(ScriptedSteps::logits_after(all), 0);
        mean_V = kind == EnsembleKind::linear ? mean_V + weights[i] * p_V : mean_V * p_V.pow(weights[i]);
      }
      expect_close(found_RV[r], mean_V / mean_V.sum(), 1e-6);
    }
  }
}

TEST(Ensembles, OfOneModelTwiceAreTheModel) {
  Pass pass = Pass::inference();
  const std::vector<Wanted> wanted(5, {.longest = 9});
  const SearchConfig config{.beam = 4, .nbest = 4, .max_length = 9};
  const ScriptedSteps model(7, 5);
  const auto expected = search({.model = model, .wanted = wanted, .ids = kScriptedIds, .config = config}, pass);
  for (const EnsembleKind kind : {EnsembleKind::linear, EnsembleKind::log_linear}) {
    const Ensemble twice = scripted_ensemble({7, 7}, {0.25, 0.75}, kind, 5);
    const auto found = search({.model = twice, .wanted = wanted, .ids = kScriptedIds, .config = config}, pass);
    for (std::size_t s = 0; s < wanted.size(); ++s) {
      ASSERT_EQ(found[s].size(), expected[s].size());
      for (std::size_t n = 0; n < found[s].size(); ++n) {
        EXPECT_EQ(found[s][n].ids, expected[s][n].ids);
        EXPECT_NEAR(found[s][n].score, expected[s][n].score, 1e-5);
      }
    }
    const Ensemble other = scripted_ensemble({7, 8}, {0.25, 0.75}, kind, 5);
    const auto changed = search({.model = other, .wanted = wanted, .ids = kScriptedIds, .config = config}, pass);
    std::size_t same = 0;
    for (std::size_t s = 0; s < wanted.size(); ++s) same += changed[s][0].ids == expected[s][0].ids;
    EXPECT_LT(same, wanted.size()) << "another member has a say";
  }
}

const Family& family_of(const std::vector<Family>& all, ModelKind kind) {
  return *std::ranges::find_if(all, [&](const Family& family) { return family.config.model == kind; });
}

// Sentences that are complete leave, as in search.
TEST(Ensembles, OfARecurrentModelAndATransformerStepAsTheirForwardPasses) {
  const at::NoGradGuard no_grad;
  const std::vector<Family> all = families(0);
  std::vector<Seq2Seq> models;
  for (const ModelKind kind : {ModelKind::luong, ModelKind::transformer}) {
    const VocabularySizes sizes{.src = kVocabulary, .tgt = kVocabulary};
    models.push_back(make_seq2seq(family_of(all, kind).config, sizes, 7));
    models.back()->to(test_device());
    models.back()->eval();
  }
  Pass pass = Pass::inference();
  const Batch batch = some_batch();
  const Layout& layout = batch.tgt.layout;
  const auto forward = [&](const Seq2Seq& model) {
    return at::log_softmax(logits_of(*model, model->forward(batch, pass)), -1);
  };
  const torch::Tensor expected_MV = (forward(models[0]).exp() * 0.4 + forward(models[1]).exp() * 0.6).log();

  std::vector<Ensemble::Member> members;
  members.push_back({.model = std::make_unique<EncodedSource>(*models[0], batch.src, pass), .weight = 0.4});
  members.push_back({.model = std::make_unique<EncodedSource>(*models[1], batch.src, pass), .weight = 0.6});
  const Ensemble ensemble(std::move(members), EnsembleKind::linear);
  const auto state = ensemble.start();
  std::vector<std::int64_t> sentences(layout.size());
  std::iota(sentences.begin(), sentences.end(), 0);
  for (std::int64_t t = 0; t < layout.max_length; ++t) {
    std::vector<std::int64_t> kept, next, rows;
    for (std::int64_t r = 0; r < std::ssize(sentences); ++r) {
      if (layout.length(sentences[r]) <= t) continue;
      kept.push_back(r);
      next.push_back(sentences[r]);
      rows.push_back(layout.offsets[sentences[r]] + t);
    }
    state->select(kept);
    sentences = next;
    const torch::Tensor rows_R = tokens(rows);
    expect_close(ensemble.step(*state, batch.tgt.ids_M.index_select(0, rows_R), pass),
                 expected_MV.index_select(0, rows_R));
  }
}

// Weights decide whose translations an ensemble makes.
TEST(Ensembles, TranslateLines) {
  const std::vector<Family> all = families(0);
  const std::vector<std::string> lines = {"the dog", "", "a cat and 7 birds", "number 12 sees birds"};
  const TranslatorConfig config{.search = {.beam = 2, .max_length = 7}, .batch_size = 2, .workers = 2};
  const TranslationRun first = small_run(family_of(all, ModelKind::luong).config, 3);
  const TranslationRun second = small_run(family_of(all, ModelKind::transformer).config, 4);
  const auto texts = [&](const TranslationRun& run, std::optional<std::vector<double>> weights) {
    Translator translator(*run.model, run.tokenizers, config);
    if (weights) {
      translator.add_models(
          {.models = {{.model = second.model.get(), .src = second.tokenizers.src}}, .weights = *weights});
    }
    std::vector<std::string> found;
    for (const auto& translations : translator.translate(lines)) found.push_back(translations.at(0).text);
    return found;
  };
  const auto alone = texts(first, {}), other = texts(second, {});
  ASSERT_NE(alone, other);
  EXPECT_EQ(texts(first, std::vector{1 - 1e-9, 1e-9}), alone);
  EXPECT_EQ(texts(first, std::vector{1e-9, 1 - 1e-9}), other);
}

TEST(Ensembles, WeightsSumToOne) {
  const OptionOrigins origins;
  EXPECT_EQ(EnsembleConfig{}.weights_of(4, origins), std::vector<double>(4, 0.25));
  EXPECT_EQ((EnsembleConfig{.weights = {"3", "1"}}.weights_of(2, origins)), (std::vector{0.75, 0.25}));
  EXPECT_EQ((EnsembleConfig{.weights = {"1e308", "1e308"}}.weights_of(2, origins)), (std::vector{0.5, 0.5}));
  EXPECT_THROW((EnsembleConfig{.weights = {"1", "1"}}.weights_of(3, origins)), UserError);
  for (const char* wrong : {"0", "-1", "x", ""}) {
    EXPECT_THROW((EnsembleConfig{.weights = {"1", wrong}}.weights_of(2, origins)), UserError) << wrong;
  }
  EXPECT_EQ(EnsembleConfig{}.weights_of(1, origins), std::vector<double>{1});
}

// A bias of the logits (--output-bias) is added wherever they are computed: in search, in forced decoding, in training.

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
