// Training of recurrent models, by independent formulations: whether a decoder is one fused op, which positions hard
// attention samples, and which words scheduled sampling feeds.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_set>
#include <vector>

#include "eval/attention.hpp"
#include "models/attention/weights.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/dispatch.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/sentences.hpp"
#include "train/translation/objective.hpp"

namespace attend {
namespace {

using torch::Tensor;

// Initial weights of attention are nearly alike, and so are the words that a model prefers.
void widen(const Seq2SeqImpl& model) {
  for (const Tensor& parameter : model.parameters()) parameter.mul_(3);
  visit_weights(model, [](ops::Weight& weight) { weight.set_precision(Precision::fp32); });
}

ModelConfig small_luong() {
  ModelConfig config;
  config.model = ModelKind::luong;
  config.encoder_layers = config.decoder_layers = 1;
  config.width = 14;
  config.dropout = 0;
  return config;
}

// The number of functions in the graph of a tensor.
std::size_t graph_size(const Tensor& made) {
  std::unordered_set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> waiting = {made.grad_fn().get()};
  while (!waiting.empty()) {
    torch::autograd::Node* const node = waiting.back();
    waiting.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    for (const auto& edge : node->next_edges()) waiting.push_back(edge.function.get());
  }
  return seen.size();
}

std::size_t graph_size(const Seq2SeqImpl& model, std::int64_t target_length) {
  const Batch batch = make_batch(random_sentences({5, 3}, 1), random_sentences({target_length, target_length}, 2));
  Pass pass = Pass::train(3);
  return graph_size(model.forward(batch, pass));
}

// A fused form is one function, however long the target; step by step there are some for each word.
bool runs_fused(const Seq2SeqImpl& model) { return graph_size(model, 3) == graph_size(model, 9); }

std::string expected_unfused(const ModelConfig& config) {
  if (config.model == ModelKind::fixed) return "";
  const std::vector<ScoreKind> fused = {ScoreKind::dot, ScoreKind::scaled_dot, ScoreKind::general, ScoreKind::additive};
  const ScoreKind score = score_of(config);
  if (std::ranges::find(fused, score) == fused.end()) return "--score " + std::string(name_of(score));
  if (config.attention == ChoiceKind::hard) return "--attention hard";
  return config.coverage == CoverageKind::additive ? "--coverage additive" : "";
}

void expect_fused_where_it_says_so(const ModelConfig& config) {
  const Seq2Seq model = with_weights_of_seed_7(config);
  EXPECT_EQ(model->unfused_option(), expected_unfused(config));
  EXPECT_EQ(runs_fused(*model), expected_unfused(config).empty());
  const ops::Unrolled unrolled;
  EXPECT_FALSE(runs_fused(*model));
}

TEST(RecurrentTraining, IsFusedWhereTheModelSaysSo) {
  if (!ops::may_fuse_sequences(at::zeros({1, 1}).to(test_device()))) GTEST_SKIP() << "no fused forms on this device";
  for (const Family& family : families(/*dropout=*/0.1)) {
    if (family.config.model == ModelKind::transformer) continue;
    SCOPED_TRACE(family.name);
    expect_fused_where_it_says_so(family.config);
  }
  for (const ModelKind kind : {ModelKind::luong, ModelKind::bahdanau}) {
    for (const auto& [score, score_name] : kEnumNames<ScoreKind>) {
      for (const auto& [scope, scope_name] : kEnumNames<ScopeKind>) {
        for (const ChoiceKind choice : {ChoiceKind::soft, ChoiceKind::hard}) {
          if (score == ScoreKind::location && scope != ScopeKind::global) continue;
          ModelConfig config = small_luong();
          config.model = kind, config.score = score, config.scope = scope, config.attention = choice;
          if (score == ScoreKind::location) config.longest_source = 8;
          if (scope != ScopeKind::global) config.window = 2;
          SCOPED_TRACE(std::string(name_of(kind)) + " " + std::string(score_name) + " " + std::string(scope_name));
          expect_fused_where_it_says_so(config);
        }
      }
    }
  }
}

// Rows of weights and what the ends of the interval of draws take of them: no position without weight, be it padding
// behind a sentence or what a local scope leaves out before and behind its window.
TEST(HardAttention, TakesPositionsWithWeightAtBothEndsOfTheInterval) {
  // RandomStream(key)'s first draw is mix_bits(key ^ mix_bits(0)), and a pass's first key is combine_keys of its own
  // and 1; both are bijections, of which these are the inverse images.
  constexpr std::uint64_t kLargest = 0xc4278346ca6629b4ULL, kSmallest = 0x4f715a0f80ec86f8ULL;
  ASSERT_EQ(Pass::train(kLargest).random()(), std::numeric_limits<std::uint64_t>::max());
  ASSERT_EQ(Pass::train(kSmallest).random()(), 0);
  const std::vector<std::vector<float>> rows = {
      {0.2F, 0.3F, 0.5F, 0, 0}, {0, 0, 0.05F, 0.3F, 0}, {1, 0, 0, 0, 0}, {0.1F, 0.2F, 0.2F, 0.2F, 0.3F}};
  const std::vector<std::pair<std::int64_t, std::int64_t>> first_and_last = {{0, 2}, {2, 3}, {0, 0}, {0, 4}};
  const Tensor values_SW = at::arange(5, at::kFloat).view({5, 1});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Tensor weights_TS = at::tensor(rows[r]).unsqueeze(0);
    for (const bool largest : {false, true}) {
      Pass pass = Pass::train(largest ? kLargest : kSmallest);
      SampledChoices sampled;
      const Tensor context = HardChoice(/*soft_share=*/0).context(weights_TS, values_SW, pass, sampled);
      const std::int64_t position = largest ? first_and_last[r].second : first_and_last[r].first;
      EXPECT_EQ(context.item<float>(), static_cast<float>(position)) << "row " << r;
      const double weight = rows[r][static_cast<std::size_t>(position)];
      EXPECT_NEAR(sampled.log_probability_R.item<double>(), std::log(weight / weights_TS.sum().item<double>()), 1e-6);
    }
  }
}

// Without input feeding and dropout, weights depend on neither samples nor training, so that inference shows those that
// training samples from.
TEST(RecurrentTraining, HardAttentionSamplesWhatItsScopeWeighs) {
  for (const auto& [scope, name] : kEnumNames<ScopeKind>) {
    SCOPED_TRACE(name);
    ModelConfig config = small_luong();
    config.attention = ChoiceKind::hard;
    config.soft_share = 0;
    config.input_feeding = false;
    config.scope = scope;
    if (scope != ScopeKind::global) config.window = 1;
    const Seq2Seq model = with_weights_of_seed_7(config);
    const at::NoGradGuard no_grad;
    widen(*model);
    const Batch batch = some_batch();
    AttentionRecorder recorder;
    Pass inference = Pass::inference(&recorder);
    model->forward(batch, inference);
    const Tensor weights_BTS = recorder.layers.at(0).weights.select(1, 0).cpu().to(at::kDouble);
    std::vector<Tensor> rows;  // of each target word, the probabilities of positions
    for (std::int64_t b = 0; b < batch.tgt.layout.size(); ++b) {
      for (std::int64_t t = 0; t < batch.tgt.layout.length(b); ++t) {
        const Tensor weights_S = weights_BTS[b][t];
        ASSERT_EQ(weights_S.slice(0, batch.src.layout.length(b)).count_nonzero().item<std::int64_t>(), 0);
        rows.push_back(weights_S / weights_S.sum());
      }
    }
    const Tensor p_MS = at::stack(rows), log_p_MS = p_MS.clamp_min(1e-30).log();
    const Tensor entropy_M = -(p_MS * log_p_MS).sum(1);
    const std::int64_t passes = 400;
    std::vector<Tensor> sampled_log_p;
    for (std::int64_t key = 0; key < passes; ++key) {
      Pass pass = Pass::train(static_cast<std::uint64_t>(key));
      SampledChoices sampled;
      pass.record_choices(sampled);
      model->forward(batch, pass);
      ASSERT_TRUE(at::allclose(sampled.entropy_R.cpu().to(at::kDouble), entropy_M, 1e-4, 1e-5));
      const Tensor log_p_M = sampled.log_probability_R.cpu().to(at::kDouble);
      const Tensor distance_MS = (log_p_MS - log_p_M.unsqueeze(1)).abs().masked_fill(p_MS.eq(0), 1);
      ASSERT_LT(distance_MS.amin(1).max().item<double>(), 1e-4) << "no position has this probability";
      sampled_log_p.push_back(log_p_M);
    }
    // The mean log-probability of what is sampled is the negative entropy.
    const Tensor all = at::stack(sampled_log_p);
    const Tensor error_M = all.std(0) / std::sqrt(static_cast<double>(passes));
    EXPECT_TRUE(((all.mean(0) + entropy_M).abs() <= 5 * error_M + 1e-4).all().item<bool>())
        << all.mean(0) + entropy_M << error_M;
    EXPECT_GT(error_M.max().item<double>(), 0.005) << "nothing to choose between";
  }
}

// Words that the decoder was fed: those preferred by the step before, of those that differ from the true ones.
struct Retraced {
  std::int64_t own = 0, told_apart = 0;
};

// Retraces one sentence of a batch step by step: the word fed at each step is found by the logits that it gives.
void retrace(const Seq2SeqImpl& model, const Memory& memory, const Batch& batch, std::int64_t b,
             const Tensor& logits_MV, Retraced& counts) {
  Pass inference = Pass::inference();
  const std::int64_t begin = batch.tgt.layout.offsets[b];
  const Tensor true_M = batch.tgt.ids_M;
  std::vector<Tensor> fed = {true_M.narrow(0, begin, 1)};
  const auto logits_after = [&](const std::vector<Tensor>& words) {
    const auto state = model.start(memory, std::vector<std::int64_t>{b});
    Tensor logits_1V;
    for (const Tensor& word : words) logits_1V = model.step(memory, *state, word, inference);
    return logits_1V[0];
  };
  for (std::int64_t t = 0; t < batch.tgt.layout.length(b); ++t) {
    const auto is_found = [&](const std::vector<Tensor>& words) {
      return (logits_after(words) - logits_MV[begin + t]).abs().max().item<double>() < 1e-4;
    };
    if (t == 0) {
      ASSERT_TRUE(is_found(fed)) << "the first word is always the true one";
      continue;
    }
    std::vector<Tensor> with_true = fed, with_own = fed;
    with_true.push_back(true_M.narrow(0, begin + t, 1));
    with_own.push_back(logits_MV[begin + t - 1].argmax().view({1}));
    const bool is_true = is_found(with_true), is_own = is_found(with_own);
    ASSERT_TRUE(is_true || is_own) << "sentence " << b << ", word " << t << " is neither";
    if (is_true != is_own) {
      counts.told_apart += 1;
      counts.own += is_own;
    }
    fed = is_own ? with_own : with_true;
  }
}

TEST(RecurrentTraining, OwnWordsAreThoseOfTheSameSentenceAtTheirShare) {
  ModelConfig bahdanau = small_luong();
  bahdanau.model = ModelKind::bahdanau;
  for (const ModelConfig& config : {small_luong(), bahdanau}) {
    const Seq2Seq model = with_weights_of_seed_7(config);
    const at::NoGradGuard no_grad;
    widen(*model);
    const Batch batch = some_batch();
    Pass inference = Pass::inference();
    const auto memory = model->encode(batch.src, inference);
    for (const double share : {0.0, 0.3, 1.0}) {
      Retraced counts;
      for (std::uint64_t key = 0; key < 20; ++key) {
        Pass pass = Pass::train(key);
        pass.feed_predictions(share);
        const Tensor logits_MV = ops::logits(model->forward(batch, pass), model->output_table(), {});
        for (std::int64_t b = 0; b < batch.tgt.layout.size(); ++b)
          retrace(*model, *memory, batch, b, logits_MV, counts);
        if (HasFatalFailure()) return;
      }
      ASSERT_GT(counts.told_apart, 300);
      const auto n = static_cast<double>(counts.told_apart);
      EXPECT_NEAR(static_cast<double>(counts.own) / n, share, 4 * std::sqrt(share * (1 - share) / n));
    }
  }
}

TEST(RecurrentTraining, TheObjectiveFeedsOwnWordsAsFarAsTheTrainingHasCome) {
  const Seq2Seq model = with_weights_of_seed_7(small_luong());
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  const auto loss = [&](double sampling, double done) {
    const TranslationObjective objective(model, {.scheduled_sampling = sampling}, /*samples=*/false);
    Pass pass = Pass::train(3, done);
    return objective.losses(batch, pass)[0].loss.item<double>();
  };
  EXPECT_NE(loss(1, 0.5), loss(0, 0));
  EXPECT_NE(loss(1, 1), loss(1, 0.5));
  const TranslationObjective objective(model, {.scheduled_sampling = 1}, /*samples=*/false);
  Pass inference = Pass::inference();
  EXPECT_EQ(objective.losses(batch, inference)[0].loss.item<double>(), loss(0, 0)) << "validation reads true words";
}

TEST(ScheduledSampling, TheShareOfOwnWordsGrowsAsAnInverseSigmoid) {
  const auto share = [](double done) { return own_word_share({.scheduled_sampling = 0.8}, done); };
  EXPECT_DOUBLE_EQ(share(0.5), 0.4);
  EXPECT_NEAR(share(0), 0, 0.002);
  EXPECT_NEAR(share(1), 0.8, 0.002);
}

// A loss that is not finite, or an update that is not made, must leave the baseline as it was.
TEST(TranslationObjective, ALossDoesNotMoveTheBaseline) {
  ModelConfig config = small_luong();
  config.attention = ChoiceKind::hard;
  const Seq2Seq model = with_weights_of_seed_7(config);
  TranslationObjective objective(model, {}, /*samples=*/true);
  const auto baseline = [&] { return objective.state().at(0).second.clone(); };
  objective.update_made(std::vector<double>{2.5, 0.1});
  const Tensor before = baseline();
  EXPECT_NEAR((before[0] / before[1]).item<double>(), -2.5, 1e-6);
  const Batch batch = some_batch();
  Pass sound = Pass::train(3);
  EXPECT_TRUE(objective.losses(batch, sound)[1].loss.isfinite().item<bool>());
  model->parameters().front().detach().fill_(std::nan(""));
  Pass spoilt = Pass::train(3);
  EXPECT_FALSE(objective.losses(batch, spoilt)[0].loss.isfinite().item<bool>());
  EXPECT_TRUE(at::equal(baseline(), before));
}

}  // namespace
}  // namespace attend
