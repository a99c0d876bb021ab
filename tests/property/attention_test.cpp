// The attention weights that models show are those that they compute with: distributions over the tokens that may be
// seen; and a Transformer recomputed in fp64, with the shown weights in place of its queries and keys, has the same
// hidden states.
#include "eval/attention.hpp"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "models/attention/parts.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/layers.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/families.hpp"
#include "tests/support/layout.hpp"

namespace attend {
namespace {

using torch::Tensor;

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
