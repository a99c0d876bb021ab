// What the options of fine-tuning do: freezing, layer-wise decay and label weights, by their effect.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "models/layers/layers.hpp"
#include "models/layers/weights_io.hpp"
#include "tests/support/tokenizer.hpp"
#include "train/finetuning/job.hpp"

namespace attend {
namespace {

const Tokenizer& characters() {
  static const Tokenizer tokenizer = letters_of("abcdefgh\n");
  return tokenizer;
}

class Finetuning : public testing::TestWithParam<TextEncoderKind> {
 protected:
  Finetuning() {
    config_.model.encoder.layers = 3;
    config_.model.encoder.width = 16;
    config_.model.encoder.dropout = 0;
    config_.model.head_dropout = 0;
    config_.batch_size = 6;
    config_.run.device = "cpu";
    config_.optimiser.weight_decay = 0;
    config_.optimiser.clip_norm = 0;
  }

  // Samples of a task with three labels, the first of which is as frequent as the others together.
  TaskSplit samples(TaskKind kind) const {
    TaskSplit split{.file = "train.tsv"};
    SampleMaker maker(characters(), {.length = 16});
    const std::vector<std::string> texts = {"ab", "bcd", "c", "defa", "fgh", "ha"};
    const std::vector<std::size_t> labels = {0, 0, 0, 1, 2, 1};
    for (std::size_t i = 0; i < texts.size(); ++i) {
      LabelledText text{.line = i + 1, .first = texts[i]};
      if (kind == TaskKind::classification) text.gold.label = labels[i];
      if (kind == TaskKind::multi_label) {
        text.gold.labels = {1, 0, 0};
        text.gold.labels[labels[i]] = 1;
      }
      split.texts.push_back(text);
      split.samples.push_back(maker.of_text(text, static_cast<std::int64_t>(i)));
      if (kind == TaskKind::tags) {
        split.samples.back().words = {1, 2};
        split.samples.back().tags = {0, static_cast<std::int64_t>(labels[i])};
      }
    }
    return split;
  }

  FinetuningTask make(TaskKind kind = TaskKind::classification) {
    task_ = {.kind = kind, .labels = {"x", "y", "z"}};
    model_ = TextModel(config_.model, task_, characters().size());
    initialise(*model_, 5);
    return {model_, task_, characters(), config_, samples(kind), {}};
  }

  // One update; how far each parameter moved.
  std::map<std::string, torch::Tensor> moves(FinetuningTask task) {
    std::map<std::string, torch::Tensor> result;
    for (const auto& [name, parameter] : parameters_of(*model_)) result[name] = parameter.detach().clone();
    Optimiser optimiser(*model_, config_.optimiser, [&](const std::string& name) { return task.rate_of(name); });
    task.seek({}, {});
    const MicroBatch batch = task.next();
    Pass pass = Pass::train(1);
    (batch.forward(pass)[0].loss / static_cast<double>(batch.terms[0].count)).backward();
    optimiser.step(0.01, optimiser.gradient_norm().item<double>());
    for (const auto& [name, parameter] : parameters_of(*model_)) result[name] = parameter.detach() - result[name];
    return result;
  }

  FinetuningConfig config_;
  LabelledTask task_;
  TextModel model_ = nullptr;
};

// 0 the embeddings, then the layers, 4 what is above the encoder.
std::int64_t depth(const std::string& parameter) {
  if (parameter.find("embedding") != std::string::npos) return 0;
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    if (parameter.find("layers." + std::to_string(layer) + ".") != std::string::npos) return layer + 1;
    if (parameter.find("_l" + std::to_string(layer)) != std::string::npos) return layer + 1;
  }
  return 4;
}

TEST_P(Finetuning, FrozenParametersDoNotMove) {
  config_.model.model = GetParam();
  config_.freeze = 2;
  std::map<std::int64_t, int> moved, still;
  for (const auto& [name, by] : moves(make())) {
    const bool frozen = depth(name) < 2;
    EXPECT_EQ(by.abs().max().item<double>() == 0, frozen) << name;
    ++(frozen ? still : moved)[depth(name)];
  }
  EXPECT_EQ(still.size(), 2u);
  EXPECT_EQ(moved.size(), 3u);
}

// The first update of AdamW is the rate times the gradient over its absolute value: without and with decay the same but
// for the rate.
TEST_P(Finetuning, EachLayerMovesByTheDecayTimesTheOneAbove) {
  config_.model.model = GetParam();
  const auto evenly = moves(make());
  config_.layer_decay = 0.5;
  const auto decayed = moves(make());
  for (const auto& [name, by] : evenly) {
    const torch::Tensor ratio = (decayed.at(name) / by).masked_select(by.abs() > 1e-4);
    ASSERT_GT(ratio.numel(), 0) << name;
    const double expected = std::pow(0.5, 4 - depth(name));
    EXPECT_NEAR(ratio.min().item<double>(), expected, 2e-3 * expected) << name;
    EXPECT_NEAR(ratio.max().item<double>(), expected, 2e-3 * expected) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Encoders, Finetuning,
                         testing::Values(TextEncoderKind::bert, TextEncoderKind::lstm, TextEncoderKind::language,
                                         TextEncoderKind::hybrid),
                         [](const auto& instance) { return std::string(name_of(instance.param)); });

class LabelWeights : public Finetuning {
 protected:
  LabelWeights() { config_.model.encoder.block.attention_dropout = 0; }

  // The loss of the first batch over what it is a sum of, and in closed form with these weights.
  void expect_weighted(TaskKind kind, const std::vector<std::string>& option, const std::vector<double>& weights) {
    config_.label_weights = option;
    FinetuningTask task = make(kind);
    const torch::NoGradGuard no_grad;
    task.seek({}, {});
    const MicroBatch batch = task.next();
    Pass pass = Pass::train(1);
    const auto found = batch.forward(pass)[0].loss.item<double>() / static_cast<double>(batch.terms[0].count);

    const TaskSplit split = samples(kind);
    double sum = 0;
    std::int64_t count = 0;
    for (const Sample& sample : split.samples) {
      Pass inference = Pass::inference();
      const std::vector<const Sample*> alone = {&sample};
      const torch::Tensor logits = model_->logits(make_labelled_batch(alone), inference).to(at::kDouble);
      const torch::Tensor log_p = at::log_softmax(logits, 1);
      if (kind == TaskKind::classification) {
        sum -= weights[*sample.gold.label] * log_p[0][*sample.gold.label].item<double>();
        ++count;
      }
      for (std::size_t word = 0; word < sample.tags.size(); ++word, ++count) {
        sum -= weights[sample.tags[word]] * log_p[word][sample.tags[word]].item<double>();
      }
      if (kind != TaskKind::multi_label) continue;
      ++count;
      for (std::size_t label = 0; label < weights.size(); ++label) {
        const double x = logits[0][label].item<double>();
        const double nll = std::log1p(std::exp(sample.gold.labels[label] > 0 ? -x : x));
        sum += weights[label] * nll / 3;
      }
    }
    EXPECT_NEAR(found, sum / static_cast<double>(count), 1e-5) << name_of(kind);
  }
};

TEST_F(LabelWeights, WeighTheErrorsOnEachLabel) {
  for (const TaskKind kind : {TaskKind::classification, TaskKind::multi_label, TaskKind::tags}) {
    expect_weighted(kind, {}, {1, 1, 1});
    expect_weighted(kind, {"0.5", "0", "3"}, {0.5, 0, 3});
  }
}

TEST_F(LabelWeights, BalancedIsByHowRareEachIs) {
  expect_weighted(TaskKind::classification, {"balanced"}, {6.0 / (3 * 3), 6.0 / (3 * 2), 6.0 / (3 * 1)});
  expect_weighted(TaskKind::tags, {"balanced"}, {12.0 / (3 * 9), 12.0 / (3 * 2), 12.0 / (3 * 1)});
  expect_weighted(TaskKind::multi_label, {"balanced"}, {9.0 / (3 * 6), 9.0 / (3 * 2), 9.0 / (3 * 1)});
}

TEST_F(LabelWeights, AreOneForEveryLabel) {
  config_.label_weights = {"1", "2"};
  EXPECT_THROW(make(), UserError);
  config_.label_weights = {"0", "0", "0"};
  EXPECT_THROW(make(), UserError);
}

}  // namespace
}  // namespace attend
