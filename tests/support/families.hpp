// The families of Seq2Seq that every test of models goes through, at odd and unequal sizes. A new one joins by one
// line.
#pragma once

#include <string>
#include <vector>

#include "models/translation/factory.hpp"

namespace attend {

struct Family {
  std::string name;  // as its fixture is called
  ModelConfig config;
};

inline std::vector<Family> families(double dropout) {
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
      {"transformer_alibi", changed(post, [](ModelConfig& model) { model.block.positions = PositionKind::alibi; })},
      {"fixed", changed(fixed, [](ModelConfig& model) { model.encoder = Direction::reversed; })},
      {"fixed_every",
       changed(fixed, cell(CellKind::gru), [](ModelConfig& model) { model.context = ContextUse::every; })},
      {"fixed_cell", changed(fixed,
                             [](ModelConfig& model) {
                               model.context = ContextUse::every;
                               model.context_from = StateKind::cell;
                             })},
  };
}

}  // namespace attend
