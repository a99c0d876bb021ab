// Attention and its replacements.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eval/attention.hpp"
#include "models/attention/multi_head.hpp"
#include "models/attention/parts.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

// Properties of self-attention and its replacements: selected tokens equal those of the
// whole, linear attention equals that by its weights, and without positions and parameters the
// order of a sentence has no influence; a window hides what is beyond it.

using torch::Tensor;

constexpr std::int64_t kWidth = 12;

MultiHeadAttention attention_with(const BlockOptions& options, AttentionPlace place = AttentionPlace::encoder,
                                  std::int64_t heads = 3) {
  const auto root = std::make_shared<torch::nn::Module>();
  MultiHeadAttention attention(options, AttentionShape{.place = place, .width = kWidth, .heads = heads, .longest = 6});
  root->register_module("attention", attention);
  initialise(*root, 3);
  attention->to(test_device());
  return attention;
}

void expect_near(const Tensor& found, const Tensor& expected, const std::string& name) {
  EXPECT_TRUE(at::allclose(found, expected, 1e-4, 1e-4)) << name << ": " << (found - expected).abs().max();
}

// The kinds that are made of attention, with tables shorter than the longest sentence.
std::vector<SelfAttentionKind> stand_ins() {
  std::vector<SelfAttentionKind> kinds;
  for (const auto& [kind, name] : kEnumNames<SelfAttentionKind>) {
    if (kind != SelfAttentionKind::fourier) kinds.push_back(kind);
  }
  return kinds;
}

TEST(SelfAttention, OfSelectedTokensIsThatOfTheWhole) {
  const at::NoGradGuard no_grad;
  const Layout layout = layout_of({7, 3, 4});
  const Tensor x = at::randn({14, kWidth}).to(test_device());
  const Selection selected = select({0, 5, 6, 8, 12}, layout, test_device());
  for (const SelfAttentionKind kind : stand_ins()) {
    const MultiHeadAttention attention = attention_with({.self_attention = kind});
    Pass pass = Pass::inference();
    expect_near(attention->within(x, layout, &selected, 0, pass),
                selected.of(attention->within(x, layout, nullptr, 0, pass)), std::string(name_of(kind)));
  }
}

// An observer, which makes attention compute its weights.
struct Weights final : Observer {
  void on_attention(AttentionPlace /*place*/, std::int64_t /*layer*/, const Tensor& /*weights_BNTS*/) override {}
};

// The output of one batch and its gradients by the input and every parameter.
template <class F>
std::vector<Tensor> with_gradients(MultiHeadAttention attention, std::vector<Tensor> inputs, Observer* observer,
                                   const F& forward) {
  for (Tensor& input : inputs) input = input.detach().requires_grad_();
  Pass pass = Pass::inference(observer);
  std::vector<Tensor> result{forward(inputs, pass)};
  attention->zero_grad();
  (result[0] * at::arange(result[0].numel(), result[0].options()).view_as(result[0]).cos()).sum().backward();
  for (const Tensor& input : inputs) result.push_back(input.grad().clone());
  for (const Tensor& parameter : attention->parameters()) result.push_back(parameter.grad().clone());
  return result;
}

TEST(SelfAttention, LinearAttentionHasTheOutputsAndGradientsOfItsWeights) {
  const Layout layout = layout_of({7, 1, 9, 5}), memory = layout_of({11, 13, 0, 6});
  const Tensor x = at::randn({22, kWidth}).to(test_device()), y = at::randn({30, kWidth}).to(test_device());
  for (const AttentionPlace place : {AttentionPlace::encoder, AttentionPlace::cross}) {
    const MultiHeadAttention attention = attention_with({.score = ScoreKind::elu1, .attention_dropout = 0.5}, place);
    const auto forward = [&](const std::vector<Tensor>& inputs, Pass& pass) {
      if (place == AttentionPlace::encoder) return attention->within(inputs[0], layout, nullptr, 0, pass);
      return attention->to_memory(inputs[0], layout, {{attention->keys_values(inputs[1])}, memory}, 0, pass);
    };
    std::vector<Tensor> inputs{x};
    if (place == AttentionPlace::cross) inputs.push_back(y);
    Weights observer;
    const std::vector<Tensor> expected = with_gradients(attention, inputs, &observer, forward);
    const std::vector<Tensor> found = with_gradients(attention, inputs, nullptr, forward);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) expect_near(found[i], expected[i], std::to_string(i));
  }
}

TEST(SelfAttention, WithoutParametersAndPositionsSeesNoOrder) {
  const at::NoGradGuard no_grad;
  const Layout layout = layout_of({7, 6});
  const Tensor x = at::randn({13, kWidth}).to(test_device());
  const Tensor order = at::tensor({3, 0, 6, 1, 5, 2, 4, 12, 7, 9, 8, 11, 10}).to(test_device());
  for (const ScoreKind score : {ScoreKind::scaled_dot, ScoreKind::cosine}) {
    const MultiHeadAttention attention =
        attention_with({.score = score, .positions = PositionKind::none, .projections = ProjectionKind::none});
    Pass pass = Pass::inference();
    const Tensor y = attention->within(x, layout, nullptr, 0, pass);
    expect_near(attention->within(x.index_select(0, order), layout, nullptr, 0, pass), y.index_select(0, order),
                std::string(name_of(score)));
    EXPECT_GT((y.index_select(0, order) - y).abs().max().item<double>(), 0.01);
  }
}

TEST(SelfAttention, OfAWindowIgnoresTokensBeyondItWhateverThePositions) {
  const at::NoGradGuard no_grad;
  const Layout layout = layout_of({9});
  const Tensor x = at::randn({9, kWidth}).to(test_device());
  const Tensor other = at::cat({x.narrow(0, 0, 8), x.narrow(0, 8, 1) + 1});
  for (const auto& [positions, name] : kEnumNames<PositionKind>) {
    const MultiHeadAttention attention = attention_with({.positions = positions, .self_window = 2});
    Pass pass = Pass::inference();
    const Tensor change_T =
        (attention->within(other, layout, nullptr, 0, pass) - attention->within(x, layout, nullptr, 0, pass))
            .abs()
            .amax(1);
    EXPECT_LT(change_T.narrow(0, 0, 6).max().item<double>(), 1e-5) << name;
    EXPECT_GT(change_T.narrow(0, 6, 3).min().item<double>(), 1e-4) << name;
  }
}

// softmax(x xᵀ / sqrt(d)) x
TEST(SelfAttention, WithoutParametersAveragesTheTokensThemselves) {
  const at::NoGradGuard no_grad;
  const MultiHeadAttention attention =
      attention_with({.projections = ProjectionKind::none}, AttentionPlace::encoder, /*heads=*/1);
  EXPECT_TRUE(attention->parameters().empty());
  const Tensor x = at::randn({5, kWidth}).to(test_device());
  Pass pass = Pass::inference();
  expect_near(attention->within(x, layout_of({5}), nullptr, 0, pass),
              at::softmax(x.mm(x.t()) / std::sqrt(static_cast<double>(kWidth)), -1).mm(x), "parameter-free");
}

// The attention weights that models show are those that they compute with: distributions over the tokens that may be
// seen; and a Transformer recomputed in fp64, with the shown weights in place of its queries and keys, has the same
// hidden states.

constexpr std::int64_t kPieces = 37;

Sequences tokens_of(const std::vector<std::int64_t>& lengths) {
  Sequences tokens{.ids_M = {}, .layout = layout_of(lengths)};
  tokens.ids_M = (torch::arange(tokens.layout.num_tokens()) * 11 + 5) % kPieces;
  tokens.ids_M = tokens.ids_M.to(test_device());
  return tokens;
}

const LayerAttention& shown(const AttentionRecorder& recorder, AttentionPlace place, std::int64_t layer) {
  const auto found = std::ranges::find_if(
      recorder.layers, [&](const LayerAttention& seen) { return seen.place == place && seen.layer == layer; });
  EXPECT_NE(found, recorder.layers.end());
  return *found;
}

// Layers 0 … of a place, each once, are distributions over real keys; those of a decoder are over what was read.
void expect_distributions(const AttentionRecorder& recorder, AttentionPlace place, std::int64_t layers,
                          std::int64_t heads, const Layout& queries, const Layout& keys) {
  EXPECT_EQ(std::ranges::count(recorder.layers, place, &LayerAttention::place), layers);
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const Tensor weights_BNTS = shown(recorder, place, layer).weights;
    ASSERT_EQ(weights_BNTS.scalar_type(), at::kFloat);
    ASSERT_EQ(weights_BNTS.sizes(), at::IntArrayRef({queries.size(), heads, queries.max_length, keys.max_length}));
    EXPECT_GE(weights_BNTS.min().item<double>(), 0);
    for (std::int64_t b = 0; b < queries.size(); ++b) {
      const Tensor real = weights_BNTS[b].narrow(1, 0, queries.length(b)).narrow(2, 0, keys.length(b));
      EXPECT_TRUE(at::allclose(real.sum(-1), at::ones_like(real.select(-1, 0)), 1e-5, 1e-5));
      EXPECT_EQ(weights_BNTS[b].count_nonzero().item<std::int64_t>(), real.count_nonzero().item<std::int64_t>());
      if (place == AttentionPlace::decoder) {
        EXPECT_EQ(real.triu(1).count_nonzero().item<std::int64_t>(), 0);
      }
    }
  }
}

// A Transformer's blocks in fp64, given the weights of every layer.
class Recomputed {
 public:
  Recomputed(const torch::nn::Module& model, const AttentionRecorder& recorder, NormPlace norm, double norm_eps)
      : recorder_(recorder), norm_(norm), norm_eps_(norm_eps) {
    for (const auto& parameter : model.named_parameters()) {
      parameters_[parameter.key()] = parameter.value().detach().cpu().to(at::kDouble);
    }
  }

  const Tensor& operator[](const std::string& name) const { return parameters_.at(name); }

  Tensor linear(const Tensor& x, const std::string& name) const {
    return at::linear(x, parameters_.at(name + ".weight"), parameters_.at(name + ".bias"));
  }
  Tensor norm(const Tensor& x, const std::string& name) const {
    return at::layer_norm(x, {x.size(1)}, parameters_.at(name + ".weight"), parameters_.at(name + ".bias"), norm_eps_);
  }

  // Rows of a table, [M, H].
  Tensor embed(const std::string& table, const Tensor& ids_M) const {
    return parameters_.at(table + ".weight").index_select(0, ids_M.cpu());
  }

  // `stack`.layers.N over x, where one block may be all layers.
  Tensor encode(const std::string& stack, Tensor x_MH, const Layout& layout, std::int64_t layers, std::int64_t distinct,
                ops::Activation activation) const {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::string block = stack + ".layers." + std::to_string(layer % distinct) + ".";
      x_MH = sub_layer(x_MH, block + "norm1", [&](const Tensor& x) {
        return attend_within({AttentionPlace::encoder, layer}, x, layout, block + "self_attn.");
      });
      x_MH = sub_layer(x_MH, block + "norm2", [&](const Tensor& x) { return feed_forward(x, block, activation); });
    }
    return norm_ == NormPlace::pre ? norm(x_MH, stack + ".norm") : x_MH;
  }

  Tensor decode(Tensor x_MH, const Layout& target, const Tensor& memory_MH, const Layout& source,
                std::int64_t layers) const {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::string block = "decoder.layers." + std::to_string(layer) + ".";
      x_MH = sub_layer(x_MH, block + "norm1", [&](const Tensor& x) {
        return attend_within({AttentionPlace::decoder, layer}, x, target, block + "self_attn.");
      });
      x_MH = sub_layer(x_MH, block + "norm2", [&](const Tensor&) {
        const Tensor v_MH = values(memory_MH, block + "multihead_attn.kv_proj");
        return linear(attended({AttentionPlace::cross, layer}, v_MH, target, source),
                      block + "multihead_attn.out_proj");
      });
      x_MH = sub_layer(x_MH, block + "norm3",
                       [&](const Tensor& x) { return feed_forward(x, block, ops::Activation::relu); });
    }
    return norm_ == NormPlace::pre ? norm(x_MH, "decoder.norm") : x_MH;
  }

 private:
  struct Where {
    AttentionPlace place;
    std::int64_t layer;
  };

  template <class F>
  Tensor sub_layer(const Tensor& x, const std::string& norm_name, const F& f) const {
    return norm_ == NormPlace::post ? norm(x + f(x), norm_name) : x + f(norm(x, norm_name));
  }

  Tensor feed_forward(const Tensor& x, const std::string& block, ops::Activation activation) const {
    const Tensor inner = linear(x, block + "linear1");
    return linear(activation == ops::Activation::gelu ? at::gelu(inner) : at::relu(inner), block + "linear2");
  }

  // Without projections, x in place of the values and of their output.
  Tensor attend_within(Where where, const Tensor& x, const Layout& layout, const std::string& name) const {
    const auto has = [&](const std::string& map) { return parameters_.contains(name + map + ".weight"); };
    Tensor v_MH = x;
    if (has("in_proj")) v_MH = values(x, name + "in_proj");
    if (has("v_proj")) v_MH = linear(x, name + "v_proj");
    const Tensor context_MH = attended(where, v_MH, layout, layout);
    return has("out_proj") ? linear(context_MH, name + "out_proj") : context_MH;
  }

  // The last H columns of a fused product.
  Tensor values(const Tensor& x, const std::string& name) const { return linear(x, name).slice(1, -x.size(1)); }

  // weights v of every sentence and head, [M, H].
  Tensor attended(Where where, const Tensor& v_MH, const Layout& queries, const Layout& keys) const {
    const Tensor weights_BNTS = shown(recorder_, where.place, where.layer).weights.cpu().to(at::kDouble);
    const std::int64_t heads = weights_BNTS.size(1);
    std::vector<Tensor> sentences;
    for (std::int64_t b = 0; b < queries.size(); ++b) {
      const Tensor v_NSD =
          v_MH.narrow(0, keys.offsets[b], keys.length(b)).view({keys.length(b), heads, -1}).transpose(0, 1);
      const Tensor weights_NTS = weights_BNTS[b].narrow(1, 0, queries.length(b)).narrow(2, 0, keys.length(b));
      sentences.push_back(weights_NTS.matmul(v_NSD).transpose(0, 1).reshape({queries.length(b), -1}));
    }
    return at::cat(sentences);
  }

  const AttentionRecorder& recorder_;
  NormPlace norm_;
  double norm_eps_;
  std::map<std::string, Tensor> parameters_;
};

// Each token's place in its sentence.
Tensor places(const Layout& layout) {
  std::vector<Tensor> places;
  for (std::int64_t b = 0; b < layout.size(); ++b) places.push_back(at::arange(layout.length(b), at::kLong));
  return at::cat(places);
}

class AttentionOfFamilies : public testing::TestWithParam<Family> {
 protected:
  AttentionOfFamilies() {
    model_->to(test_device());
    batch_.labels_M = batch_.tgt.ids_M;
  }

  const ModelConfig& config() const { return GetParam().config; }

  Seq2Seq model_ = make_seq2seq(GetParam().config, {.src = kPieces, .tgt = kPieces}, 7);
  Batch batch_{.src = tokens_of({5, 1, 7, 3, 6}), .tgt = tokens_of({2, 6, 1, 5, 5}), .labels_M = {}, .examples = {}};
  AttentionRecorder recorder_;
};

TEST_P(AttentionOfFamilies, IsADistributionInEveryLayerAndHead) {
  const at::NoGradGuard no_grad;
  const Layout &source = batch_.src.layout, &target = batch_.tgt.layout;
  for (const bool frozen : {false, true}) {
    if (frozen) visit_weights(*model_, [](ops::Weight& weight) { weight.freeze(Precision::bf16); });
    recorder_.layers.clear();
    Pass pass = Pass::inference(&recorder_);
    model_->forward(batch_, pass);
    if (config().model == ModelKind::transformer) {
      const std::int64_t heads = *config().block.heads;
      const bool attends = config().block.self_attention != SelfAttentionKind::fourier;
      expect_distributions(recorder_, AttentionPlace::encoder, attends ? *config().encoder_layers : 0, heads, source,
                           source);
      expect_distributions(recorder_, AttentionPlace::decoder, *config().decoder_layers, heads, target, target);
      expect_distributions(recorder_, AttentionPlace::cross, *config().decoder_layers, heads, target, source);
    } else if (config().model == ModelKind::fixed) {
      EXPECT_TRUE(recorder_.layers.empty());
    } else {
      EXPECT_EQ(recorder_.layers.size(), 1);
      // Its Gaussian scales weights, so that they need not sum to 1.
      if (config().scope == ScopeKind::local_p) continue;
      expect_distributions(recorder_, AttentionPlace::cross, 1, 1, target, source);
    }
  }
}

TEST_P(AttentionOfFamilies, IsNotChangedByBeingObserved) {
  const at::NoGradGuard no_grad;
  Pass seen = Pass::inference(&recorder_), unseen = Pass::inference();
  const Tensor hidden = model_->forward(batch_, seen);
  EXPECT_LE((hidden - model_->forward(batch_, unseen)).abs().max().item<double>(), 2e-5);
}

INSTANTIATE_TEST_SUITE_P(Families, AttentionOfFamilies, testing::ValuesIn(families(/*dropout=*/0.1)),
                         [](const auto& instance) { return instance.param.name; });

// The parts around attention are those of the paper, and values have nothing added.
bool is_recomputed(const ModelConfig& config) {
  return config.model == ModelKind::transformer && has_norms(config) && config.block.norm_kind == NormKind::layer &&
         config.block.residual && config.block.feed_forward != 0 && config.block.activation == FeedForwardKind::relu &&
         config.block.positions != PositionKind::relative && config.block.self_attention != SelfAttentionKind::fourier;
}

TEST(Attention, GivesTheTransformerItsHiddenStates) {
  const at::NoGradGuard no_grad;
  const Batch batch{
      .src = tokens_of({5, 1, 7, 3, 6}), .tgt = tokens_of({2, 6, 1, 5, 5}), .labels_M = {}, .examples = {}};
  for (const Family& family : families(/*dropout=*/0.1)) {
    const ModelConfig& config = family.config;
    if (!is_recomputed(config)) continue;
    const Seq2Seq model = make_seq2seq(config, {.src = kPieces, .tgt = kPieces}, 7);
    model->to(test_device());
    AttentionRecorder recorder;
    Pass pass = Pass::inference(&recorder);
    const Tensor hidden_MH = model->forward(batch, pass).cpu().to(at::kDouble);
    const Recomputed recomputed(*model, recorder, config.block.norm, 1e-5);
    const auto embed = [&](const std::string& table, const Sequences& tokens) {
      const double scale = std::sqrt(static_cast<double>(*config.width));
      const Tensor words_MH = recomputed.embed(table, tokens.ids_M) * scale, place_M = places(tokens.layout);
      if (recipe_of(config.block.positions).adds_table) {
        const std::string side = &tokens == &batch.src ? "src" : "tgt";
        return words_MH + recomputed.embed(side + "_position_embedding", place_M.clamp_max(*config.max_positions - 1));
      }
      if (!recipe_of(config.block.positions).adds_sinusoids) return words_MH;
      return words_MH + sinusoids(0, 7, *config.width).to(at::kDouble).index_select(0, place_M);
    };
    const std::string src_table = config.tie_embeddings ? "tgt_embedding" : "src_embedding";
    const Tensor memory_MH = recomputed.encode("encoder", embed(src_table, batch.src), batch.src.layout,
                                               *config.encoder_layers, *config.encoder_layers, ops::Activation::relu);
    const Tensor expected_MH = recomputed.decode(embed("tgt_embedding", batch.tgt), batch.tgt.layout, memory_MH,
                                                 batch.src.layout, *config.decoder_layers);
    EXPECT_LE((hidden_MH - expected_MH).abs().max().item<double>(), 2e-5) << family.name;
  }
}

// Also with one block in every layer, and where the last layer is computed for some tokens alone.
TEST(Attention, GivesBertItsHiddenStates) {
  const at::NoGradGuard no_grad;
  StackOptions post{.layers = 3, .width = 12, .max_positions = 9, .initial_deviation = 0.3};
  post.block.heads = 3;
  post.block.feed_forward = 19;
  StackOptions pre = post, shared = post, factorised = post;
  pre.block.norm = NormPlace::pre;
  shared.share_layers = true;
  factorised.embedding_width = 5;
  const Sequences tokens = tokens_of({5, 1, 7, 3, 6});
  const SegmentedSequences input{.tokens = tokens, .segments_M = tokens.ids_M % 2};
  const Selection wanted = select({0, 3, 5, 14, 21}, tokens.layout, test_device());
  for (const StackOptions& config : {post, pre, shared, factorised}) {
    Bert model(config, kPieces);
    initialise(*model, 3);
    model->to(test_device());
    for (const bool some : {false, true}) {
      AttentionRecorder recorder;
      Pass pass = Pass::inference(&recorder);
      const Tensor hidden = model->forward(input, pass, some ? std::optional(wanted) : std::nullopt);
      EXPECT_EQ(recorder.layers.size(), 3);
      expect_distributions(recorder, AttentionPlace::encoder, 3, 3, tokens.layout, tokens.layout);

      const Recomputed recomputed(*model, recorder, config.block.norm, 1e-12);
      Tensor x = recomputed.norm(recomputed.embed("embeddings.word_embeddings", tokens.ids_M) +
                                     recomputed.embed("embeddings.token_type_embeddings", input.segments_M) +
                                     recomputed.embed("embeddings.position_embeddings", places(tokens.layout)),
                                 "embeddings.LayerNorm");
      if (config.embedding_width) x = recomputed.linear(x, "embeddings.projection");
      x = recomputed.encode("encoder", x, tokens.layout, 3, config.share_layers ? 1 : 3, ops::Activation::gelu);
      if (some) x = x.index_select(0, wanted.rows_K.cpu());
      EXPECT_LE((hidden.cpu() - x).abs().max().item<double>(), 2e-5);
    }
  }
}

}  // namespace
}  // namespace attend
