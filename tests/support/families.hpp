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
  post.heads = 3;
  post.feed_forward = 19;
  post.dropout = dropout;
  ModelConfig pre = post;
  pre.norm = NormPlace::pre;
  pre.tie_embeddings = false;
  ModelConfig luong;
  luong.model = ModelKind::luong;
  luong.encoder_layers = 2;
  luong.decoder_layers = 2;
  luong.width = 13;
  luong.dropout = dropout;
  ModelConfig one_way = luong;
  one_way.encoder_layers = 1;
  one_way.encoder = Reading::forward;
  one_way.input_feeding = false;
  one_way.tie_embeddings = false;
  // A score, in a model of even width.
  const auto with_score = [&](ScoreKind score) {
    ModelConfig model = luong;
    model.score = score;
    model.width = 14;
    return model;
  };
  return {{"transformer_post", post},
          {"transformer_pre", pre},
          {"luong", luong},
          {"luong_one_way", one_way},
          {"luong_dot", with_score(ScoreKind::dot)},
          {"luong_scaled_dot", with_score(ScoreKind::scaled_dot)}};
}

}  // namespace attend
