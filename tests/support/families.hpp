// The families of Seq2Seq that tests of models cover, at odd and unequal sizes. A new one needs a line here and a
// parity fixture.
#pragma once

#include <string>
#include <vector>

#include "models/translation/factory.hpp"
#include "tests/support/device.hpp"
#include "tests/support/sentences.hpp"

namespace attend {

struct Family {
  std::string name;  // of its fixture, too
  ModelConfig config;
};

// True if norms keep the size of states from layer to layer, without running statistics.
inline bool has_norms(const ModelConfig& model) {
  return model.block.norm != NormPlace::none && model.block.norm_kind != NormKind::batch;
}

inline std::vector<Family> families(double dropout) {
  using enum PositionKind;
  using enum SelfAttentionKind;
  using enum FeedForwardKind;
  ModelConfig post;
  post.encoder_layers = 2;
  post.decoder_layers = 3;
  post.width = 12;
  post.block.heads = 3;
  post.block.feed_forward = 19;
  post.dropout = dropout;
  ModelConfig pre = post;
  pre.block.norm = NormPlace::pre;
  pre.tie_embeddings = false;
  ModelConfig luong;
  luong.model = ModelKind::luong;
  luong.encoder_layers = 2;
  luong.decoder_layers = 2;
  luong.width = 13;
  luong.dropout = dropout;
  ModelConfig one_way = luong;
  one_way.encoder_layers = 1;
  one_way.encoder = Direction::forward;
  one_way.input_feeding = false;
  one_way.tie_embeddings = false;
  const auto changed = [](ModelConfig model, auto... changes) {
    (changes(model), ...);
    return model;
  };
  const auto score = [](ScoreKind kind) { return [=](ModelConfig& model) { model.score = kind; }; };
  const auto block = [](BlockOptions options) {  // with the sizes of the others
    return [=](ModelConfig& model) {
      const BlockOptions sizes = model.block;
      model.block = options;
      model.block.heads = options.heads ? options.heads : sizes.heads;
      model.block.feed_forward = options.feed_forward ? options.feed_forward : sizes.feed_forward;
    };
  };
  const auto table = [](ModelConfig& model) { model.max_positions = 5; };  // shorter than some sentences
  const auto in = [](StackChoice stack) { return [=](ModelConfig& model) { model.self_attention_in = stack; }; };
  const auto untied = [](ModelConfig& model) { model.tie_embeddings = false; };
  const auto cell = [](CellKind kind) { return [=](ModelConfig& model) { model.cell = kind; }; };
  const auto local = [](ScopeKind kind) { return [=](ModelConfig& model) { model.scope = kind, model.window = 2; }; };
  const auto even = [](ModelConfig& model) { model.width = 14; };
  const auto shallow = [](ModelConfig& model) { model.encoder_layers = model.decoder_layers = 1; };
  ModelConfig bahdanau = luong;
  bahdanau.model = ModelKind::bahdanau;
  ModelConfig fixed = luong;
  fixed.model = ModelKind::fixed;
  return {
      {"transformer_post", post},
      {"transformer_pre", pre},
      {"luong", luong},
      {"luong_one_way", one_way},
      {"luong_dot", changed(luong, even, score(ScoreKind::dot))},
      {"luong_scaled_dot", changed(luong, even, score(ScoreKind::scaled_dot))},
      {"luong_additive", changed(luong, score(ScoreKind::additive))},
      {"luong_location",
       changed(luong, score(ScoreKind::location), [](ModelConfig& model) { model.longest_source = 8; })},
      {"luong_rbf", changed(luong, score(ScoreKind::rbf))},
      {"luong_elu1", changed(luong, score(ScoreKind::elu1))},
      {"luong_cosine", changed(luong, even, score(ScoreKind::cosine))},
      {"luong_gru", changed(luong, cell(CellKind::gru))},
      {"luong_tanh", changed(luong, cell(CellKind::tanh))},
      {"luong_local_m", changed(luong, local(ScopeKind::local_m))},
      {"luong_local_p", changed(luong, local(ScopeKind::local_p))},
      {"luong_memory", changed(luong,
                               [](ModelConfig& model) {
                                 model.encoder_layers = 1;
                                 model.encoder = Direction::forward;
                                 model.keys = model.values = StateKind::cell;
                               })},
      {"luong_coverage",
       changed(luong, score(ScoreKind::additive), [](ModelConfig& model) { model.coverage = CoverageKind::additive; })},
      {"bahdanau", changed(bahdanau, shallow)},
      {"bahdanau_lstm", changed(bahdanau, cell(CellKind::lstm), score(ScoreKind::general),
                                [](ModelConfig& model) { model.encoder = Direction::reversed; })},
      {"transformer_cosine", changed(post, score(ScoreKind::cosine))},
      {"transformer_alibi", changed(post, block({.positions = alibi}))},
      {"transformer_dot",
       changed(post, score(ScoreKind::dot), block({.projections = ProjectionKind::shared_qk, .activation = gelu}))},
      {"transformer_general",
       changed(post, score(ScoreKind::general), block({.attention_bias = false, .activation = gelu_tanh}))},
      {"transformer_additive",
       changed(post, score(ScoreKind::additive), block({.positions = learned, .activation = swish}), table)},
      {"transformer_rbf", changed(post, score(ScoreKind::rbf),
                                  block({.norm = NormPlace::pre, .norm_kind = NormKind::rms, .activation = geglu}))},
      {"transformer_elu1",
       changed(post, score(ScoreKind::elu1), block({.norm_kind = NormKind::batch, .activation = gelu}))},
      {"transformer_values_only", changed(post, untied,
                                          block({.projections = ProjectionKind::values_only,
                                                 .norm = NormPlace::pre,
                                                 .norm_kind = NormKind::batch,
                                                 .activation = swish}))},
      {"transformer_parameter_free",
       changed(post, untied, block({.positions = learned, .projections = ProjectionKind::none}), table)},
      {"transformer_no_norm", changed(post, block({.feed_forward = 7,
                                                   .positions = PositionKind::none,
                                                   .self_attention = uniform,
                                                   .norm = NormPlace::none}))},
      {"transformer_no_residual", changed(post, block({.feed_forward = 0, .self_window = 2, .residual = false}))},
      {"transformer_relative", changed(post, block({.positions = relative, .activation = swiglu}))},
      {"transformer_t5", changed(post, block({.positions = t5, .self_window = 11}))},
      {"transformer_xl", changed(post, block({.positions = transformer_xl, .self_window = 11, .activation = gelu}))},
      {"transformer_modern", changed(post, block({.positions = rotary,
                                                  .attention_bias = false,
                                                  .norm = NormPlace::pre,
                                                  .norm_kind = NormKind::rms,
                                                  .activation = swiglu}))},
      {"transformer_dense", changed(post, block({.positions = PositionKind::none, .self_attention = dense}), table)},
      {"transformer_random", changed(post, block({.self_attention = random, .self_window = 2}), table)},
      {"transformer_fixed_random",
       changed(post, block({.self_attention = fixed_random}), table, in(StackChoice::decoder))},
      {"transformer_dense_attention",
       changed(post, block({.positions = alibi, .self_attention = dense_attention}), table)},
      {"transformer_random_attention",
       changed(
           post, score(ScoreKind::general), table,
           block({.positions = rotary, .self_attention = random_attention, .projections = ProjectionKind::shared_qk}))},
      {"transformer_patterns", changed(post, score(ScoreKind::general), in(StackChoice::encoder),
                                       block({.heads = 9, .feed_forward = 5, .self_attention = patterns}),
                                       [](ModelConfig& model) { model.width = 18; })},
      {"transformer_output_bias",
       changed(post, block({.activation = swish}), [](ModelConfig& model) { model.output_bias = true; })},
      {"transformer_fourier",
       changed(post, in(StackChoice::encoder), block({.self_attention = fourier, .norm = NormPlace::pre}))},
      {"fixed", changed(fixed, [](ModelConfig& model) { model.encoder = Direction::reversed; })},
      {"fixed_every",
       changed(fixed, cell(CellKind::gru), [](ModelConfig& model) { model.context = ContextUse::every; })},
  };
}

// A model of these options for the words of sentences.hpp, on the device of the tests.
inline Seq2Seq with_weights_of_seed_7(const ModelConfig& config) {
  const Seq2Seq model = make_seq2seq(config, {.src = kVocabulary, .tgt = kVocabulary}, 7);
  model->to(test_device());
  return model;
}

}  // namespace attend
