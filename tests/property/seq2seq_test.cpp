// Properties of every Seq2Seq, at odd and unequal sizes.
#include "models/translation/seq2seq.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/layers/layers.hpp"
#include "models/ops/dispatch.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/model_properties.hpp"
#include "tests/support/sentences.hpp"

namespace attend {
namespace {

void expect_unrolled_is_fused(const Seq2SeqImpl& model, const std::vector<Precision>& precisions) {
  const Batch batch = some_batch();
  {
    // At first all weights of attention are alike, and gradients that vanish there are all rounding.
    const at::NoGradGuard no_grad;
    for (const auto& parameter : model.parameters()) parameter.mul_(3);
  }
  for (const Precision precision : precisions) {
    visit_weights(model, [&](ops::Weight& weight) { weight.set_precision(precision); });
    const auto run = [&] {
      Pass pass = Pass::train(3);
      for (const auto& parameter : model.parameters()) parameter.mutable_grad() = torch::Tensor();
      std::vector<torch::Tensor> all = {model.forward(batch, pass)};
      at::manual_seed(17);
      (all[0].to(torch::kFloat) * torch::randn(all[0].sizes()).to(test_device())).sum().backward();
      for (const auto& parameter : model.parameters()) {
        if (parameter.grad().defined()) all.push_back(parameter.grad());
      }
      return all;
    };
    const auto fused = run();
    const ops::Unrolled unrolled;
    const auto step_by_step = run();
    ASSERT_EQ(fused.size(), step_by_step.size());
    for (std::size_t i = 0; i < fused.size(); ++i) {
      SCOPED_TRACE("tensor " + std::to_string(i));
      const auto norm = [](const torch::Tensor& x) { return x.to(torch::kDouble).norm().item<double>(); };
      EXPECT_GT(norm(step_by_step[i]), 0);
      // Sums in another order in fp32; numbers of 8 bits rounded at other places, over and over, in bf16.
      EXPECT_LE(norm(fused[i] - step_by_step[i]), (precision == Precision::fp32 ? 1e-5 : 0.05) * norm(step_by_step[i]));
    }
  }
}

class Seq2SeqProperties : public testing::TestWithParam<Family> {
 protected:
  Seq2SeqProperties() { model_->to(test_device()); }

  Seq2Seq model_ = make_seq2seq(GetParam().config, {.src = kVocabulary, .tgt = kVocabulary}, 7);
  Pass inference_ = Pass::inference();
};

TEST_P(Seq2SeqProperties, RepeatedStepIsForward) { expect_steps_are_forward(*model_); }

TEST_P(Seq2SeqProperties, PlainOpsGiveTheSameSteps) { expect_plain_ops_give_the_same_steps(*model_); }

TEST_P(Seq2SeqProperties, ABatchIsItsSentences) { expect_a_batch_is_its_sentences(*model_); }

// In bf16, too, steps are forward, and a batch is its sentences: up to some roundings, of 2^-9 each.
TEST_P(Seq2SeqProperties, HoldInBf16) {
  visit_weights(*model_, [](ops::Weight& weight) { weight.set_precision(Precision::bf16); });
  const double tolerance = GetParam().config.cell == CellKind::tanh ? 0.02 : 0.01;  // its states have no gates
  const auto expect_near = [&](const torch::Tensor& a, const torch::Tensor& b) {
    EXPECT_LE((a.to(torch::kFloat32) - b.to(torch::kFloat32)).norm().item<double>(),
              tolerance * b.to(torch::kFloat32).norm().item<double>());
  };
  const auto src = random_sentences(kSourceLengths, 1);
  const auto tgt = random_sentences(kTargetLengths, 2);
  const Batch batch = make_batch(src, tgt);
  {
    const at::NoGradGuard no_grad;
    const auto hidden = model_->forward(batch, inference_);
    const auto forward = logits_of(*model_, hidden);
    const auto memory = model_->encode(batch.src, inference_);
    for (std::int64_t b = 0; b < batch.tgt.layout.size(); ++b) {
      const std::int64_t begin = batch.tgt.layout.offsets[b], length = batch.tgt.layout.length(b);
      expect_near(model_->forward(make_batch({src[b]}, {tgt[b]}), inference_), hidden.narrow(0, begin, length));
      const auto state = model_->start(*memory, std::vector<std::int64_t>{b});
      for (std::int64_t row = begin; row < begin + length; ++row) {
        expect_near(model_->step(*memory, *state, batch.tgt.ids_M.narrow(0, row, 1), inference_)[0], forward[row]);
      }
    }
  }
  backward(*model_);
  expect_every_gradient(*model_);
}

TEST_P(Seq2SeqProperties, SelectPermutesSplitsAndDrops) {
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  const auto memory = model_->encode(batch.src, inference_);
  const auto state = model_->start(*memory, std::vector<std::int64_t>{0, 1, 2, 3});
  model_->step(*memory, *state, tokens({2, 2, 2, 2}), inference_);
  model_->step(*memory, *state, tokens({8, 9, 10, 11}), inference_);
  state->select(std::vector<std::int64_t>{3, 1, 1});
  model_->step(*memory, *state, tokens({12, 13, 14}), inference_);
  state->select(std::vector<std::int64_t>{2, 0, 2, 1});
  const auto selected = model_->step(*memory, *state, tokens({15, 16, 17, 18}), inference_);

  const std::vector<std::vector<std::int64_t>> histories = {
      {1, 2, 9, 14, 15}, {3, 2, 11, 12, 16}, {1, 2, 9, 14, 17}, {1, 2, 9, 13, 18}};
  for (std::size_t r = 0; r < histories.size(); ++r) {
    const auto alone = model_->start(*memory, std::vector<std::int64_t>{histories[r][0]});
    torch::Tensor logits;
    for (std::size_t t = 1; t < histories[r].size(); ++t) {
      logits = model_->step(*memory, *alone, tokens({histories[r][t]}), inference_);
    }
    expect_close(selected[r], logits[0]);
  }
}

// The fused op of a recurrent decoder beside the step that it replaces: values and all gradients, with dropout, in fp32
// and bf16. Recurrent models without a fused form are compared with themselves.
TEST_P(Seq2SeqProperties, UnrolledIsFused) {
  if (GetParam().config.model == ModelKind::transformer) GTEST_SKIP() << "no recurrence";
  expect_unrolled_is_fused(*model_, {Precision::fp32, Precision::bf16});
}

TEST_P(Seq2SeqProperties, DropoutIsAFunctionOfTheKey) {
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  const auto run = [&](std::uint64_t key) {
    Pass pass = Pass::train(key);
    return model_->forward(batch, pass);
  };
  EXPECT_TRUE(torch::equal(run(3), run(3)));
  EXPECT_FALSE(torch::equal(run(3), run(4)));
  EXPECT_FALSE(torch::equal(run(3), model_->forward(batch, inference_)));
}

TEST_P(Seq2SeqProperties, TheSeedIsTheModel) {
  const VocabularySizes sizes{.src = kVocabulary, .tgt = kVocabulary};
  const auto again = make_seq2seq(GetParam().config, sizes, 7)->named_parameters();
  const auto other = make_seq2seq(GetParam().config, sizes, 8)->named_parameters();
  bool differs = false;
  for (const auto& parameter : model_->named_parameters()) {
    const torch::Tensor value = parameter.value().cpu();
    EXPECT_TRUE(torch::equal(value, again[parameter.key()])) << parameter.key();
    differs |= !torch::equal(value, other[parameter.key()]);
  }
  EXPECT_TRUE(differs);
}

TEST_P(Seq2SeqProperties, FrozenStepsAreTheSame) {
  const at::NoGradGuard no_grad;
  const Batch batch = some_batch();
  const auto run = [&] {
    const auto memory = model_->encode(batch.src, inference_);
    const auto state = model_->start(*memory, std::vector<std::int64_t>{0, 1, 2, 3, 4});
    return model_->step(*memory, *state, tokens({kBegin, kBegin, kBegin, kBegin, kBegin}), inference_);
  };
  const auto before = run();
  visit_weights(*model_, [](ops::Weight& weight) { weight.freeze(Precision::fp32); });
  expect_close(run(), before);
  if (!test_device().is_cpu()) return;  // 8-bit products run on the CPU
  visit_weights(*model_, [](ops::Weight& weight) { weight.freeze(Precision::int8); });
  const auto in_8_bits = run();
  // Weights and activations are off by at most 1/254 of the largest of their row; a few layers add up to per cents.
  EXPECT_LT((in_8_bits - before).norm().item<double>(), 0.1 * before.norm().item<double>());
  EXPECT_FALSE(torch::equal(in_8_bits, before));
}

TEST_P(Seq2SeqProperties, SearchOfABatchIsThatOfItsSentencesInAnyOrder) {
  const auto src = random_sentences(kSourceLengths, 5);
  for (const std::int64_t beam : {1, 4}) {
    const SearchConfig config{.beam = beam, .max_length = 8};
    const auto run = [&](const std::vector<std::vector<std::int64_t>>& sentences) {
      return translate({.model = *model_, .ids = {.bos = kBegin, .eos = 3, .pad = 0}, .config = config},
                       sequences_of(sentences));
    };
    const auto together = run(src);
    const auto reversed = run({src.rbegin(), src.rend()});
    for (std::size_t b = 0; b < src.size(); ++b) {
      EXPECT_EQ(together[b][0].ids, run({src[b]})[0][0].ids);
      EXPECT_EQ(together[b][0].ids, reversed[src.size() - 1 - b][0].ids);
    }
  }
}

TEST_P(Seq2SeqProperties, ABeamOfOneIsGreedyAndItsScoreThatOfForward) {
  const at::NoGradGuard no_grad;
  const auto src = random_sentences(kSourceLengths, 5);
  const SearchConfig config{.max_length = 8};
  const auto found =
      translate({.model = *model_, .ids = {.bos = kBegin, .eos = 3, .pad = 0}, .config = config}, sequences_of(src));
  for (std::size_t b = 0; b < src.size(); ++b) {
    const std::vector<std::int64_t> ids(found[b][0].ids.begin(), found[b][0].ids.end());
    const auto log_p =
        torch::log_softmax(logits_of(*model_, model_->forward(make_batch({src[b]}, {ids}), inference_)), -1);
    double total = 0;
    for (std::size_t t = 0; t < ids.size(); ++t) {
      auto row = log_p[static_cast<std::int64_t>(t)].clone();
      row[0] = row[kBegin] = -100;
      EXPECT_EQ(row.argmax().item<std::int64_t>(), ids[t]);
      total += row[ids[t]].item<double>();
    }
    if (ids.size() < 8) total += log_p[static_cast<std::int64_t>(ids.size())][3].item<double>();
    EXPECT_NEAR(found[b][0].log_prob, total, 1e-3);
  }
}

TEST_P(Seq2SeqProperties, TheCoverageOfASearchIsThatOfForward) {
  const at::NoGradGuard no_grad;
  const auto src = random_sentences(kSourceLengths, 5);
  const SearchConfig config{.beam = 3, .nbest = 3, .coverage_penalty = 0.5, .max_length = 8};
  const auto search_all = [&] {
    return translate({.model = *model_, .ids = {.bos = kBegin, .eos = 3, .pad = 0}, .config = config},
                     sequences_of(src));
  };
  if (GetParam().config.model == ModelKind::fixed) {
    EXPECT_THROW(search_all(), UserError);
    return;
  }
  const auto found = search_all();
  for (std::size_t b = 0; b < src.size(); ++b) {
    for (const Hypothesis& hypothesis : found[b]) {
      const Batch batch = make_batch({src[b]}, {{hypothesis.ids.begin(), hypothesis.ids.end()}});
      AttentionRecorder recorder(AttentionPlace::cross);
      Pass pass = Pass::inference(&recorder);
      model_->forward(batch, pass);
      const auto layers = recorder.of_sentence(0, batch.src.layout, batch.tgt.layout);
      const auto steps = static_cast<std::int64_t>(hypothesis.token_log_probs.size());
      const auto received_S = layers.back().weights.to(torch::kDouble).mean(0).narrow(0, 0, steps).sum(0);
      const double coverage = received_S.clamp(1e-6, 1).log().sum().item<double>();
      // Weights have a relative error of 1e-5, a rounding of their energies.
      EXPECT_NEAR(hypothesis.score, hypothesis.log_prob / static_cast<double>(steps) + 0.5 * coverage, 1e-3);
    }
  }
}

// What the options of recurrent models allow together; of some thousand combinations every `stride`th. A prime stride
// that divides no number of kinds leaves every pair of kinds in.
std::vector<Family> combinations(std::size_t stride) {
  std::vector<Family> all;
  const auto each = [](auto kinds, const auto& f) {
    for (const auto& [kind, name] : kinds) f(kind, name);
  };
  ModelConfig config;
  config.width = 6;
  config.encoder_layers = config.decoder_layers = 1;
  config.dropout = 0.1;
  std::string name;
  std::size_t count = 0;
  const auto add = [&] {
    if (count++ % stride != 0) return;
    try {
      make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary}, 7);
      all.push_back({name, config});
    } catch (const UserError&) {  // refused, with the reason
    }
  };
  const auto with_memories = [&](const auto& f) {
    for (const StateKind keys : {StateKind::hidden, StateKind::cell}) {
      for (const StateKind values : {StateKind::hidden, StateKind::cell}) {
        config.keys = keys, config.values = values;
        f();
      }
    }
    config.keys = config.values = StateKind::hidden;
  };
  each(kEnumNames<CellKind>, [&](CellKind cell, std::string_view cell_name) {
    each(kEnumNames<Direction>, [&](Direction reading, std::string_view reading_name) {
      config.cell = cell, config.encoder = reading;
      const std::string parts = std::string(cell_name) + " " + std::string(reading_name);
      config.model = ModelKind::fixed;
      for (const ContextUse use : {ContextUse::once, ContextUse::every}) {
        config.context = use;
        name = "fixed " + parts;
        add();
      }
      config.context = ContextUse::once;
      for (const ModelKind kind : {ModelKind::luong, ModelKind::bahdanau}) {
        config.model = kind;
        each(kEnumNames<ScoreKind>, [&](ScoreKind score, std::string_view score_name) {
          each(kEnumNames<ScopeKind>, [&](ScopeKind scope, std::string_view scope_name) {
            for (const ChoiceKind choice : {ChoiceKind::soft, ChoiceKind::hard}) {
              for (const CoverageKind coverage : {CoverageKind::none, CoverageKind::additive}) {
                config.score = score, config.scope = scope, config.attention = choice, config.coverage = coverage;
                config.longest_source.reset();
                if (score == ScoreKind::location) config.longest_source = 8;
                config.window.reset();
                if (scope != ScopeKind::global) config.window = 2;
                name = std::string(name_of(kind)) + " " + parts + " " + std::string(score_name) + " " +
                       std::string(scope_name) + " " + std::string(name_of(choice)) + " coverage " +
                       std::string(name_of(coverage));
                with_memories(add);
              }
            }
          });
        });
        config.score.reset(), config.longest_source.reset(), config.window.reset();
        config.scope = ScopeKind::global, config.attention = ChoiceKind::soft, config.coverage = CoverageKind::none;
      }
    });
  });
  return all;
}

// Every score of a Transformer, of several heads and of one.
std::vector<Family> transformers() {
  std::vector<Family> all;
  for (const auto& [score, name] : kEnumNames<ScoreKind>) {
    if (score == ScoreKind::location) continue;
    for (const std::int64_t heads : {3, 1}) {
      ModelConfig config = families(/*dropout=*/0.1)[heads == 1 ? 1 : 0].config;
      config.score = score, config.block.heads = heads;
      all.push_back({"transformer " + std::string(name) + " heads " + std::to_string(heads), config});
    }
  }
  return all;
}

TEST(Seq2SeqCombinations, HoldWhatEveryModelHolds) {
  std::vector<Family> all = combinations(23);
  EXPECT_GT(all.size(), 50U) << "the options allow less than they did";
  std::ranges::move(transformers(), std::back_inserter(all));
  for (const Family& family : all) {
    SCOPED_TRACE(family.name);
    const Seq2Seq model = make_seq2seq(family.config, {.src = kVocabulary, .tgt = kVocabulary}, 7);
    model->to(test_device());
    expect_steps_are_forward(*model);
    backward(*model);
    expect_every_gradient(*model);
    // In bf16 a position at the edge of a predicted window may fall on either side of it.
    if (family.config.model != ModelKind::transformer) expect_unrolled_is_fused(*model, {Precision::fp32});
    if (testing::Test::HasFailure()) return;
  }
}

// More tokens than a table of sinusoids keeps: what a sentence has after a token changes nothing of it, nor do the
// neighbours in a batch, and every step is that of forward.
TEST(Alibi, ReadsLongSentences) {
  const at::NoGradGuard no_grad;
  Pass inference = Pass::inference();
  ModelConfig config = families(/*dropout=*/0)[0].config;
  config.block.positions = PositionKind::alibi;
  const Seq2Seq model = make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary}, 7);
  model->to(test_device());
  const auto src = random_sentences({1100, 3}, 1), tgt = random_sentences({1100, 5}, 2);
  const auto together = model->forward(make_batch(src, tgt), inference);
  EXPECT_TRUE(together.isfinite().all().item<bool>());
  const std::vector<std::int64_t> begin(tgt[0].begin(), tgt[0].begin() + 6);
  const Batch batch = make_batch({src[0]}, {begin});
  const auto hidden = model->forward(batch, inference);
  expect_close(hidden, together.narrow(0, 0, 7));
  const auto memory = model->encode(batch.src, inference);
  const auto state = model->start(*memory, std::vector<std::int64_t>{0});
  for (std::int64_t t = 0; t < 7; ++t) {
    const auto logits = model->step(*memory, *state, batch.tgt.ids_M.narrow(0, t, 1), inference);
    expect_close(logits[0], logits_of(*model, hidden)[t]);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Seq2SeqProperties, testing::ValuesIn(families(/*dropout=*/0.1)),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace attend
