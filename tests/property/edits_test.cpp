// Edits of attention weights: a threshold cuts the right part of a distribution; every family edits equally in
// `forward` and `step`, and computes with the weights that it shows; replaced weights are as specified in every
// sentence of a batch; and silencing a head equals not reading its output, also in search. Also: hidden states that
// observers receive.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "eval/attention.hpp"
#include "eval/translate.hpp"
#include "models/attention/edits.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/layout.hpp"
#include "tests/support/model_properties.hpp"

namespace attend {
namespace {

using torch::Tensor;

constexpr std::int64_t kEditedPieces = 37;

void expect_weights(const std::vector<float>& weights, double threshold, const std::vector<float>& expected) {
  const Tensor cut = cut_weights(at::tensor(weights).unsqueeze(0), threshold)[0];
  EXPECT_TRUE(at::allclose(cut, at::tensor(expected), 1e-6, 1e-7)) << at::tensor(weights) << cut;
}

TEST(CutWeights, KeepsProportionsTheSumAndTheLargest) {
  expect_weights({0.5F, 0.3F, 0.16F, 0.04F}, 0.05, {0.5F / 0.96F, 0.3F / 0.96F, 0.16F / 0.96F, 0});
  expect_weights({0.5F, 0.3F, 0.16F, 0.04F}, 0.2, {0.625F, 0.375F, 0, 0});
  expect_weights({0.5F, 0.3F, 0.2F}, 0.6, {1, 0, 0});
  expect_weights({0.2F, 0.4F, 0.4F}, 0.5, {0, 1, 0});  // the first of equal ones
  expect_weights({0.25F, 0.75F}, 0.25, {0.25F, 0.75F});
  expect_weights({0.3F, 0.1F, 0}, 0.2, {0.4F, 0, 0});  // of a local scope, whose weights sum to less than 1
  expect_weights({0, 0, 0}, 0.2, {0, 0, 0});
  expect_weights({0.9F, 0.1F}, 0, {0.9F, 0.1F});
}

Sequences tokens_of(const std::vector<std::int64_t>& lengths, std::int64_t shift) {
  Sequences tokens{.ids_M = {}, .layout = layout_of(lengths)};
  tokens.ids_M = ((torch::arange(tokens.layout.num_tokens()) * 11 + shift) % kEditedPieces).to(test_device());
  return tokens;
}

class Edits : public testing::TestWithParam<Family> {
 protected:
  Edits() {
    model_->to(test_device());
    if (!has_norms(GetParam().config)) return;  // its states would grow with every layer
    // Of random models the weights are nearly equal; larger parameters make them differ.
    const at::NoGradGuard no_grad;
    for (Tensor& parameter : model_->parameters()) parameter.mul_(3);
  }

  bool has_attention() const { return GetParam().config.model != ModelKind::fixed; }

  Tensor forward(const AttentionEdit& edit, Observer* observer = nullptr) const {
    Pass pass = Pass::inference(observer);
    pass.edit_attention(edit);
    return model_->forward(batch_, pass);
  }
  Tensor forward(double threshold, Observer* observer = nullptr) const {
    return forward(CutWeights(threshold), observer);
  }

  // The logits of repeated steps with rows that end and are reordered are those of `forward`.
  void expect_steps_are_forward(const AttentionEdit& edit) const;

  Seq2Seq model_ = make_seq2seq(GetParam().config, {.src = kEditedPieces, .tgt = kEditedPieces}, 7);
  Batch batch_{
      .src = tokens_of({5, 1, 7, 3, 6}, 5), .tgt = tokens_of({2, 6, 1, 5, 5}, 8), .labels_M = {}, .examples = {}};
};

TEST_P(Edits, AThresholdUnderEveryWeightChangesNothing) {
  const at::NoGradGuard no_grad;
  expect_close(forward(1e-30), forward(0));
}

TEST_P(Edits, AThresholdCutsTheWeightsThatAreShownAndUsed) {
  if (!has_attention()) GTEST_SKIP() << "no attention";
  const at::NoGradGuard no_grad;
  for (const double threshold : {0.15, 0.999}) {
    AttentionRecorder recorder(AttentionPlace::cross);
    const Tensor hidden = forward(threshold, &recorder);
    EXPECT_LE((hidden - forward(threshold)).abs().max().item<double>(), 2e-5);
    EXPECT_GT((hidden - forward(0)).abs().max().item<double>(), 1e-3);
    EXPECT_FALSE(recorder.layers.empty());
    for (const LayerAttention& layer : recorder.layers) {
      for (std::int64_t b = 0; b < batch_.tgt.layout.size(); ++b) {
        const Tensor real_NTS = layer.weights[b].narrow(1, 0, batch_.tgt.layout.length(b));
        const Tensor num_kept_NT = real_NTS.gt(0).sum(-1);
        EXPECT_LE(num_kept_NT.max().item<std::int64_t>(), static_cast<std::int64_t>(1 / threshold));
        if (GetParam().config.scope == ScopeKind::global) {
          EXPECT_GE(num_kept_NT.min().item<std::int64_t>(), 1);
          EXPECT_TRUE(at::allclose(real_NTS.sum(-1), at::ones_like(real_NTS.select(-1, 0)), 1e-5, 1e-5));
        }
        EXPECT_TRUE(
            real_NTS.gt(0).logical_and(real_NTS.lt(threshold)).sum(-1).le(num_kept_NT.eq(1)).all().item<bool>());
      }
    }
  }
}

void Edits::expect_steps_are_forward(const AttentionEdit& edit) const {
  const at::NoGradGuard no_grad;
  Pass pass = Pass::inference();
  pass.edit_attention(edit);
  const auto logits = [&](const Tensor& hidden_MH) {
    return ops::logits(hidden_MH, model_->output_table(), model_->output_bias());
  };
  const Tensor whole = logits(model_->forward(batch_, pass));
  const double tolerance = 1e-4 * whole.abs().max().item<double>();  // the parameters are large, and so are logits
  const auto memory = model_->encode(batch_.src, pass);
  const Layout& target = batch_.tgt.layout;
  const std::vector<std::int64_t> sentences = {4, 1, 0, 3, 1, 2};
  const auto state = model_->start(*memory, sentences);
  std::vector<std::int64_t> rows = sentences;
  for (std::int64_t t = 0; !rows.empty(); ++t) {
    std::vector<std::int64_t> places;
    for (const std::int64_t sentence : rows) places.push_back(target.offsets[sentence] + t);
    const Tensor index = at::tensor(places).to(test_device());
    const Tensor step = model_->step(*memory, *state, batch_.tgt.ids_M.index_select(0, index), pass);
    EXPECT_LE((step - whole.index_select(0, index)).abs().max().item<double>(), tolerance) << "step " << t;
    std::vector<std::int64_t> left, continued;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (target.length(rows[r]) <= t + 1) continue;
      left.push_back(static_cast<std::int64_t>(r));
      continued.push_back(rows[r]);
    }
    rows = continued;
    if (!rows.empty()) state->select(left);
  }
}

TEST_P(Edits, StepsAreForward) { expect_steps_are_forward(CutWeights(0.15)); }

TEST_P(Edits, ReplacedWeightsAreThoseOfEverySentence) {
  if (!has_attention()) GTEST_SKIP() << "no attention";
  const at::NoGradGuard no_grad;
  const auto expect_weights_of = [&](const AttentionEdit& edit, const auto& expected_TS) {
    expect_steps_are_forward(edit);
    AttentionRecorder recorder(AttentionPlace::cross);
    forward(edit, &recorder);
    ASSERT_FALSE(recorder.layers.empty());
    for (const LayerAttention& layer : recorder.layers) {
      for (std::int64_t b = 0; b < batch_.tgt.layout.size(); ++b) {
        const std::int64_t T = batch_.tgt.layout.length(b), S = batch_.src.layout.length(b);
        Tensor expected = at::zeros_like(layer.weights[b]);  // nothing at padding
        expected.narrow(1, 0, T).narrow(2, 0, S).copy_(expected_TS(T, S));
        EXPECT_TRUE(at::allclose(layer.weights[b], expected)) << layer.weights[b] << expected;
      }
    }
  };
  expect_weights_of(UniformWeights(), [](std::int64_t T, std::int64_t S) { return at::ones({T, S}) / S; });
  expect_weights_of(DiagonalWeights(), [](std::int64_t T, std::int64_t S) {
    return at::one_hot(at::arange(T).clamp_max(S - 1), S).to(at::kFloat);
  });
}

class TransformerEdits : public Edits {};

// The best hypothesis of each sentence, of eight pieces.
std::vector<Hypothesis> edited_search(const Seq2SeqImpl& model, const Sequences& src, const AttentionEdit* edit) {
  const SearchConfig config{.beam = 3, .min_length = 8, .max_length = 8};
  std::vector<Hypothesis> best;
  for (const auto& found :
       translate({.model = model, .ids = {.bos = 2, .eos = 3, .pad = 0}, .config = config, .edit = edit}, src)) {
    best.push_back(found.front());
  }
  return best;
}

TEST_P(TransformerEdits, SearchWithoutAHeadIsThatOfAModelThatDoesNotReadIt) {
  const at::NoGradGuard no_grad;
  const std::int64_t columns = *GetParam().config.width / *GetParam().config.block.heads;
  const HeadPlace head{AttentionPlace::cross, /*layer=*/1, /*head=*/2};
  const SilencedHeads silenced({&head, 1});
  const auto whole = edited_search(*model_, batch_.src, nullptr);
  const auto edited = edited_search(*model_, batch_.src, &silenced);
  Tensor read = model_->named_parameters()["decoder.layers.1.multihead_attn.out_proj.weight"];
  read.narrow(1, 2 * columns, columns).zero_();
  const auto expected = edited_search(*model_, batch_.src, nullptr);
  double changed = 0;
  for (std::size_t b = 0; b < whole.size(); ++b) {
    EXPECT_EQ(edited[b].ids, expected[b].ids);
    EXPECT_NEAR(edited[b].log_prob, expected[b].log_prob, 1e-4 * std::max(1.0, std::abs(expected[b].log_prob)));
    changed = std::max(changed, std::abs(edited[b].log_prob - whole[b].log_prob));
  }
  EXPECT_GT(changed, 1e-3);
}

TEST_P(TransformerEdits, ASilencedHeadIsOneWhoseOutputIsNotRead) {
  const at::NoGradGuard no_grad;
  const Tensor whole = forward(0);
  const std::int64_t heads = *GetParam().config.block.heads, columns = *GetParam().config.width / heads, layer = 1,
                     head = 2;
  for (const auto& [place, name] :
       {std::pair(AttentionPlace::encoder, "encoder.layers.1.self_attn.out_proj.weight"),
        std::pair(AttentionPlace::decoder, "decoder.layers.1.self_attn.out_proj.weight"),
        std::pair(AttentionPlace::cross, "decoder.layers.1.multihead_attn.out_proj.weight")}) {
    if (!model_->named_parameters().contains(name)) continue;  // of a parameter-free self-attention, or none
    const HeadPlace silent{place, layer, head};
    const SilencedHeads silenced({&silent, 1});
    const Tensor edited = forward(silenced);
    EXPECT_GT((edited - whole).abs().max().item<double>(), 1e-3) << name;
    expect_steps_are_forward(silenced);
    Tensor read = model_->named_parameters()[name].narrow(1, head * columns, columns);
    const Tensor kept = read.clone();
    read.zero_();
    expect_close(edited, forward(0));
    read.copy_(kept);
  }
}

// The hidden states that an observer receives, by the place of their stack.
class HiddenRecorder final : public Observer {
 public:
  void on_attention(AttentionPlace, std::int64_t, const Tensor&) override {}
  void on_hidden(AttentionPlace place, std::int64_t layer, const Tensor& x_MH) override {
    std::vector<Tensor>& own = place == AttentionPlace::encoder ? encoder : decoder;
    ASSERT_EQ(layer, std::ssize(own));
    own.push_back(x_MH);
  }
  std::vector<Tensor> encoder, decoder;
};

TEST_P(TransformerEdits, HiddenStatesOfAllLayersAreObserved) {
  const at::NoGradGuard no_grad;
  HiddenRecorder recorder;
  const Tensor hidden = forward(0, &recorder);
  ASSERT_EQ(std::ssize(recorder.encoder), *GetParam().config.encoder_layers + 1);
  ASSERT_EQ(std::ssize(recorder.decoder), *GetParam().config.decoder_layers + 1);
  EXPECT_TRUE(at::equal(recorder.decoder.back(), hidden));
  EXPECT_EQ(recorder.encoder.front().size(0), batch_.src.layout.num_tokens());
  EXPECT_FALSE(at::allclose(recorder.encoder[0], recorder.encoder[1]));
}

// The rows of a recurrent decoder are in another order while it runs.
TEST_P(Edits, HiddenStatesOfEachSentenceAreThoseOfItAlone) {
  const at::NoGradGuard no_grad;
  const auto observed = [&](const Batch& batch) {
    HiddenRecorder recorder;
    Pass pass = Pass::inference(&recorder);
    model_->forward(batch, pass);
    return recorder;
  };
  const auto only = [](const Sequences& all, std::int64_t b) {
    Sequences one{.ids_M = all.ids_M.narrow(0, all.layout.offsets[b], all.layout.length(b)), .layout = {}};
    one.layout.append(all.layout.length(b));
    return one;
  };
  const HiddenRecorder whole = observed(batch_);
  ASSERT_EQ(std::ssize(whole.encoder), *GetParam().config.encoder_layers + 1);
  ASSERT_EQ(std::ssize(whole.decoder), *GetParam().config.decoder_layers + 1);
  for (std::int64_t b = 0; b < batch_.src.layout.size(); ++b) {
    const HiddenRecorder alone =
        observed({.src = only(batch_.src, b), .tgt = only(batch_.tgt, b), .labels_M = {}, .examples = {}});
    const auto expect_equal = [&](const Tensor& all, const Tensor& one, const Layout& layout) {
      ASSERT_EQ(one.size(0), layout.length(b));
      SCOPED_TRACE("sentence " + std::to_string(b));
      expect_close(all.narrow(0, layout.offsets[b], layout.length(b)), one);
    };
    for (std::size_t l = 0; l < alone.encoder.size(); ++l) {
      expect_equal(whole.encoder[l], alone.encoder[l], batch_.src.layout);
    }
    for (std::size_t l = 0; l < alone.decoder.size(); ++l) {
      expect_equal(whole.decoder[l], alone.decoder[l], batch_.tgt.layout);
    }
  }
}

std::vector<Family> transformer_families() {
  std::vector<Family> chosen = families(/*dropout=*/0.1);
  std::erase_if(chosen, [](const Family& family) { return family.config.model != ModelKind::transformer; });
  return chosen;
}

INSTANTIATE_TEST_SUITE_P(Families, Edits, testing::ValuesIn(families(/*dropout=*/0.1)),
                         [](const auto& instance) { return instance.param.name; });
INSTANTIATE_TEST_SUITE_P(Families, TransformerEdits, testing::ValuesIn(transformer_families()),
                         [](const auto& instance) { return instance.param.name; });

}  // namespace
}  // namespace attend
