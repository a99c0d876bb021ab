// The options of a translation model.
#pragma once

#include <cstdint>
#include <optional>

#include "core/options.hpp"
#include "models/attention/parts.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/recurrent.hpp"
#include "models/transformer/stack_options.hpp"

namespace attend {

enum class ModelKind { transformer, luong, bahdanau, fixed };
template <>
inline constexpr auto kEnumNames<ModelKind> = std::to_array<EnumName<ModelKind>>({
    {ModelKind::transformer, "transformer"},
    {ModelKind::luong, "luong"},
    {ModelKind::bahdanau, "bahdanau"},
    {ModelKind::fixed, "fixed"},
});

// The part of an LSTM's state that is used: its hidden state h or its cell state c.
enum class StateKind { hidden, cell };
template <>
inline constexpr auto kEnumNames<StateKind> = std::to_array<EnumName<StateKind>>({{StateKind::hidden, "hidden"},
                                                                                  {StateKind::cell, "cell"}});

// The steps at which a decoder without attention reads its context.
enum class ContextUse { once, every };
template <>
inline constexpr auto kEnumNames<ContextUse> = std::to_array<EnumName<ContextUse>>({{ContextUse::once, "once"},
                                                                                    {ContextUse::every, "every"}});

// The stacks of a translation model that an option changes.
enum class StackChoice { both, encoder, decoder };
template <>
inline constexpr auto kEnumNames<StackChoice> = std::to_array<EnumName<StackChoice>>(
    {{StackChoice::both, "both"}, {StackChoice::encoder, "encoder"}, {StackChoice::decoder, "decoder"}});

// Training resolves options left at auto (train/translation/config.hpp) before a model is built.
struct ModelConfig {
  ModelKind model = ModelKind::transformer;
  bool reverse_target = false;
  std::optional<std::int64_t> encoder_layers;
  std::optional<std::int64_t> decoder_layers;
  std::optional<std::int64_t> width;
  BlockOptions block = {};                            // transformer
  std::optional<std::int64_t> max_positions;          // transformer, tables of positions; auto: max-length + 1
  StackChoice self_attention_in = StackChoice::both;  // transformer
  std::optional<double> prune_heads;                  // transformer: penalty of an open gate; auto: no gates
  std::optional<CellKind> cell;                       // recurrent; auto: gru for bahdanau, else lstm
  Direction encoder = Direction::both;                // recurrent
  std::optional<ScoreKind> score;              // not fixed; auto: scaled-dot, or general (luong), additive (bahdanau)
  std::optional<std::int64_t> longest_source;  // of the location score; auto: max-length + 1
  ScopeKind scope = ScopeKind::global;
  std::optional<std::int64_t> window;  // half the width of a local scope
  ChoiceKind attention = ChoiceKind::soft;
  double soft_share = 0.5;  // hard attention
  StateKind keys = StateKind::hidden;
  StateKind values = StateKind::hidden;
  CoverageKind coverage = CoverageKind::none;
  bool input_feeding = true;              // luong: feed the attentional vector back (arXiv 1508.04025, 3.3)
  ContextUse context = ContextUse::once;  // fixed
  bool tie_embeddings =
      true;  // source, target and output tables are one (one joint vocabulary), else only target and output
  bool output_bias = false;  // transformer
  std::optional<double> dropout;
  double word_dropout = 0;
  double initial_deviation = 0.0;  // transformer: standard deviation of initial weights; 0: Xavier's rule
  InitialiserConfig initial = {};

  static constexpr Condition kTransformer = {"model", {"transformer"}}, kAttention = {"model", {"luong", "bahdanau"}},
                             kRecurrent = {"model", {"luong", "bahdanau", "fixed"}}, kFixed = {"model", {"fixed"}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("model", self.model, {.help = "model family", .common = true});
    visit("reverse-target", self.reverse_target,
          {.help = "read and write the target from its last token to its first; text is printed in its own order"});
    visit("encoder-layers", self.encoder_layers,
          {.help = "layers of the encoder; auto: from the size of the data", .min = 1, .max = 96, .common = true});
    visit("decoder-layers", self.decoder_layers,
          {.help = "layers of the decoder; auto: from the size of the data", .min = 1, .max = 96, .common = true});
    visit("width", self.width,
          {.help = "size of embeddings and hidden states; auto: from the size of the data",
           .min = 2,
           .max = 16384,
           .common = true});
    BlockOptions::visit(self.block, visit, kTransformer);
    visit("self-attention-in", self.self_attention_in,
          {.help = "stacks to which --self-attention, --self-window and --projections apply", .only = kTransformer});
    visit("prune-heads", self.prune_heads,
          {.help = "learn a gate for each attention head, and add this penalty, such as 0.01, for each open gate to "
                   "the loss per target piece, so that the gates of heads that help less close; auto: no gates",
           .min = 0,
           .max = 1000,
           .only = kTransformer});
    visit("max-positions", self.max_positions,
          {.help = "rows of each table of positions; the last stands for all later positions; auto: max-length + 1",
           .min = 1,
           .max = 1e5,
           .only = kTransformer});
    visit("cell", self.cell, {.help = "kind of cell; auto: gru for bahdanau, else lstm", .only = kRecurrent});
    visit("encoder", self.encoder,
          {.help = "the encoder reads the source in both directions, forward, or reversed", .only = kRecurrent});
    visit(
        "score", self.score,
        {.help = "score of a position; auto: scaled-dot for transformer, general for luong, additive for bahdanau; in "
                 "recurrent models with dot, scaled-dot and cosine, each direction of a bidirectional encoder has half "
                 "the width",
         .only = {"model", {"transformer", "luong", "bahdanau"}}});
    visit("longest-source", self.longest_source,
          {.help = "maximum length of a source in pieces, end of sentence included; auto: max-length + 1",
           .min = 1,
           .max = 1e5,
           .only = {"score", {"location"}}});
    visit("scope", self.scope,
          {.help = "attend to all positions (global), or to a window that moves by one position per step "
                   "(local-m) or has a predicted centre (local-p)",
           .only = kAttention});
    visit("window", self.window,
          {.help = "positions on each side of the centre",
           .min = 1,
           .max = 1e5,
           .only = {"scope", {"local-m", "local-p"}}});
    visit(
        "attention", self.attention,
        {.help = "average the values (soft), or sample one of them (hard, trained by REINFORCE)", .only = kAttention});
    visit("soft-share", self.soft_share,
          {.help = "share of target positions that average the values in training, which lowers the variance",
           .min = 0,
           .max = 1,
           .only = {"attention", {"hard"}}});
    visit("keys", self.keys,
          {.help = "keys from the encoder's hidden states or its LSTM cell states", .only = kAttention});
    visit("values", self.values,
          {.help = "values from the encoder's hidden states or its LSTM cell states", .only = kAttention});
    visit("coverage", self.coverage,
          {.help = "add the sum of a position's past weights to its key (additive)", .only = kAttention});
    visit("input-feeding", self.input_feeding,
          {.help = "feed the attentional vector back into the next step", .only = {"model", {"luong"}}});
    visit("context", self.context,
          {.help = "the decoder reads the encoder's final state only at the start (once), or at every step (every)",
           .only = kFixed});
    visit("tie-embeddings", self.tie_embeddings, {.help = "one table for source, target and output"});
    visit("output-bias", self.output_bias, {.help = "add a learnt bias to the logits", .only = kTransformer});
    visit("dropout", self.dropout,
          {.help = "dropout on embeddings and sub-layer outputs; auto: from the size of the data",
           .min = 0,
           .max = 0.95,
           .is_adopted = false,
           .common = true});
    visit("word-dropout", self.word_dropout,
          {.help = "word dropout: share of source words and decoder inputs whose whole embedding is zero in training",
           .min = 0,
           .max = 0.95,
           .is_adopted = false});
    visit("initial-deviation", self.initial_deviation,
          {.help = "standard deviation of the truncated normal initialisation; 0: Xavier's rule",
           .min = 0,
           .max = 1,
           .only = kTransformer});
    InitialiserConfig::visit(self.initial, visit);
  }
};

// True for a Transformer with a table of positions, which has max-positions rows.
inline bool has_tables(const ModelConfig& config) {
  return config.model == ModelKind::transformer && have_tables(config.block.positions, config.block.self_attention);
}

// The blocks of a Transformer's encoder or decoder, with the usual self-attention where self-attention-in excludes it.
inline BlockOptions block_of(const ModelConfig& config, StackChoice stack) {
  BlockOptions block = config.block;
  if (config.self_attention_in == StackChoice::both || config.self_attention_in == stack) return block;
  block.self_attention = SelfAttentionKind::attention;
  block.self_window = 0;
  block.projections = ProjectionKind::all;
  return block;
}

// The cell and the score, with auto resolved.
inline CellKind cell_of(const ModelConfig& config) {
  return config.cell.value_or(config.model == ModelKind::bahdanau ? CellKind::gru : CellKind::lstm);
}
inline ScoreKind score_of(const ModelConfig& config) {
  return config.score.value_or(config.model == ModelKind::transformer ? ScoreKind::scaled_dot
                               : config.model == ModelKind::bahdanau  ? ScoreKind::additive
                                                                      : ScoreKind::general);
}

// Resolves the options of a Transformer that follow from its width, if that is known, and its score.
inline void resolve_transformer(ModelConfig& config) {
  if (config.model != ModelKind::transformer) return;
  config.score = score_of(config);
  if (config.width) config.block = sized(config.block, *config.width);
}

}  // namespace attend
