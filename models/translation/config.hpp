// The kind of a translation model and its sizes: everything that the factory needs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/options.hpp"
#include "models/attention/kinds.hpp"
#include "models/layers/blocks.hpp"

namespace attend {

enum class ModelKind { transformer, luong };
template <>
struct EnumNames<ModelKind> {
  static constexpr std::array names{std::pair{ModelKind::transformer, std::string_view("transformer")},
                                    std::pair{ModelKind::luong, std::string_view("luong")}};
};

// Options of one family are refused by name for others. Training resolves those left to auto
// (train/translation/defaults.hpp) before a model is built.
struct ModelConfig {
  ModelKind model = ModelKind::transformer;
  std::optional<std::int64_t> encoder_layers;
  std::optional<std::int64_t> decoder_layers;
  std::optional<std::int64_t> width;
  std::optional<std::int64_t> heads;         // transformer; auto: about width / 64
  std::optional<std::int64_t> feed_forward;  // transformer; auto: 4 * width
  NormPlace norm = NormPlace::post;          // transformer
  ScoreKind score = ScoreKind::general;      // luong
  bool bidirectional = true;                 // luong: the encoder reads both ways
  bool input_feeding = true;                 // luong: the attentional vector is fed back (arXiv 1508.04025, 3.3)
  bool tie_embeddings =
      true;  // source, target and output tables are one (one joint vocabulary), else only target and output
  std::optional<double> dropout;
  double attention_dropout = 0.0;   // transformer: on the attention weights
  double activation_dropout = 0.0;  // transformer: inside the feed-forward
  double initial_deviation = 0.0;   // transformer: of the weights

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("model", self.model, {.help = "model family"});
    visit("encoder-layers", self.encoder_layers,
          {.help = "layers of the encoder; auto: from the size of the data", .min = 1, .max = 96});
    visit("decoder-layers", self.decoder_layers,
          {.help = "layers of the decoder; auto: from the size of the data", .min = 1, .max = 96});
    visit("width", self.width,
          {.help = "size of embeddings and hidden states; auto: from the size of the data", .min = 2, .max = 16384});
    visit("heads", self.heads,
          {.help = "transformer: attention heads; auto: heads of about 64 columns", .min = 1, .max = 256});
    visit("feed-forward", self.feed_forward,
          {.help = "transformer: inner size of the feed-forward; auto: 4 x width", .min = 1, .max = 65536});
    visit("norm", self.norm, {.help = "transformer: layer norm after (post) or before (pre) each sub-layer"});
    visit("score", self.score,
          {.help = "luong: how well a source position answers the decoder; with dot and scaled-dot, each direction of "
                   "a bidirectional "
                   "encoder has half the width"});
    visit("bidirectional", self.bidirectional, {.help = "luong: the encoder reads both ways"});
    visit("input-feeding", self.input_feeding, {.help = "luong: feed the attentional vector back into the next step"});
    visit("tie-embeddings", self.tie_embeddings, {.help = "one table for source, target and output"});
    visit("dropout", self.dropout,
          {.help = "dropout on embeddings and sub-layer outputs; auto: from the size of the data",
           .min = 0,
           .max = 0.95});
    visit("attention-dropout", self.attention_dropout,
          {.help = "transformer: dropout on attention weights", .min = 0, .max = 0.95});
    visit("activation-dropout", self.activation_dropout,
          {.help = "transformer: dropout inside the feed-forward", .min = 0, .max = 0.95});
    visit("initial-deviation", self.initial_deviation,
          {.help = "transformer: standard deviation of the truncated normal initialisation; 0: Xavier's rule",
           .min = 0,
           .max = 1});
  }
};

}  // namespace attend
