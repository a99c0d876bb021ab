#include "models/translation/factory.hpp"

#include <string>
#include <utility>

#include "core/error.hpp"
#include "models/attention/recurrent_attention.hpp"
#include "models/layers/initialise.hpp"
#include "models/translation/recurrent_families.hpp"
#include "models/translation/transformer.hpp"

namespace attend {
namespace {

template <class T>
T chosen(const std::optional<T>& value, const char* option) {
  if (value) return *value;
  throw UserError("option " + std::string(option) + " is auto, which requires training data", "set a number");
}

// The options of a stack, which a translation model has under names of its own.
StackOptions stack_of(const ModelConfig& config, StackChoice side) {
  StackOptions stack{.layers = side == StackChoice::encoder ? config.encoder_layers : config.decoder_layers,
                     .width = chosen(config.width, "width"),
                     .max_positions = config.max_positions.value_or(0),
                     .block = block_of(config, side),
                     .dropout = config.dropout.value_or(0),
                     .initial_deviation = config.initial_deviation,
                     .initialiser = config.initial.matrices};
  stack.block.score = score_of(config);
  return stack;
}

void check_transformer(const ModelConfig& config, const OptionPlace& place) {
  const StackOptions encoder = resolve_stack(stack_of(config, StackChoice::encoder), StackUse::source, place),
                     decoder = resolve_stack(stack_of(config, StackChoice::decoder), StackUse::target, place);
  if (!config.block.pruned_heads.empty()) {
    const std::int64_t decoder_layers = chosen(config.decoder_layers, "decoder-layers");
    check_pruned_heads(encoder.block,
                       {{AttentionPlace::encoder, chosen(config.encoder_layers, "encoder-layers"), &encoder.block},
                        {AttentionPlace::decoder, decoder_layers, &decoder.block},
                        {AttentionPlace::cross, decoder_layers}},
                       place);
  }
  const SelfAttentionKind kind = config.block.self_attention;
  if (recipe_of(config.block.positions).turns && !recipe_of(kind).reads_keys &&
      config.self_attention_in == StackChoice::both) {
    throw UserError(place("positions") + " is rotary, which turns queries and keys, but self-attention is " +
                        std::string(name_of(kind)) + ", which has no keys",
                    "choose --positions sinusoidal");
  }
  if (config.self_attention_in != StackChoice::both && kind == SelfAttentionKind::attention &&
      config.block.self_window == 0 && config.block.projections == ProjectionKind::all) {
    throw UserError(place("self-attention-in") + " is " + std::string(name_of(config.self_attention_in)) +
                        ", but no option changes self-attention",
                    "drop it, or choose --self-attention, --self-window or --projections");
  }
  if (config.max_positions && !has_tables(config)) {
    throw UserError(place("max-positions") + " is given, but no part of the model has a table of positions",
                    "drop it, or choose one, such as --positions learned or --self-attention dense");
  }
}

// True if each direction of the encoder has half the width.
bool halves_encoder(const ModelConfig& config) {
  return recipe_of(score_of(config)).needs_equal_widths && config.encoder == Direction::both;
}

void check_attention(const ModelConfig& config, const OptionPlace& place) {
  const ScoreKind score = score_of(config);
  const bool local = config.scope != ScopeKind::global;
  if (local && !config.window) {
    throw UserError(place("scope") + " is " + std::string(name_of(config.scope)) + ", but window is not given",
                    "say how many positions on each side it covers: --window 10");
  }
  if (local && score == ScoreKind::location) {
    throw UserError(place("score") + " is location, which weighs all positions by their number, but scope is local",
                    "choose another score, or --scope global");
  }
  if (config.coverage != CoverageKind::none && !recipe_of(score).takes_coverage) {
    throw UserError(place("coverage") + " is added to the keys of a score, but score " + std::string(name_of(score)) +
                        " has none that it can change",
                    "choose another score");
  }
  if (config.keys == StateKind::cell && score == ScoreKind::location) {
    throw UserError(place("keys") + " is cell, but score is location, which reads no keys",
                    "drop it, or choose another score");
  }
  const std::int64_t width = chosen(config.width, "width");
  if (halves_encoder(config) && width % 2 != 0) {
    throw UserError(place("width") + ": " + std::to_string(width) + " is odd, but with --score " +
                        std::string(name_of(score)) + " each direction of the encoder has half of it",
                    "choose an even width, another score, or --encoder forward");
  }
}

void check_recurrent(const ModelConfig& config, const OptionPlace& place) {
  const CellKind cell = cell_of(config);
  for (const auto& [option, kind] : {std::pair("keys", config.keys), std::pair("values", config.values)}) {
    if (kind != StateKind::cell || cell == CellKind::lstm) continue;
    throw UserError(place(option) + " is cell, but only an lstm has a memory cell, not a " + std::string(name_of(cell)),
                    "choose --cell lstm, or --" + std::string(option) + " hidden");
  }
  if (config.model != ModelKind::fixed) check_attention(config, place);
}

Seq2Seq make_transformer(const ModelConfig& config, const VocabularySizes& vocabulary) {
  chosen(config.encoder_layers, "encoder-layers"), chosen(config.decoder_layers, "decoder-layers");
  chosen(config.dropout, "dropout");
  if (has_tables(config)) chosen(config.max_positions, "max-positions");
  return std::make_shared<TransformerImpl>(TransformerConfig{.src_vocabulary = vocabulary.src,
                                                             .tgt_vocabulary = vocabulary.tgt,
                                                             .tie_embeddings = config.tie_embeddings,
                                                             .output_bias = config.output_bias,
                                                             .encoder = sized(stack_of(config, StackChoice::encoder)),
                                                             .decoder = sized(stack_of(config, StackChoice::decoder)),
                                                             .head_gates = config.prune_heads.has_value(),
                                                             .word_dropout = config.word_dropout});
}

RecurrentConfig recurrent_config(const ModelConfig& config, const VocabularySizes& vocabulary) {
  return {.src_vocabulary = vocabulary.src,
          .tgt_vocabulary = vocabulary.tgt,
          .width = chosen(config.width, "width"),
          .encoder_width = chosen(config.width, "width"),
          .encoder_layers = chosen(config.encoder_layers, "encoder-layers"),
          .decoder_layers = chosen(config.decoder_layers, "decoder-layers"),
          .cell = cell_of(config),
          .reading = config.encoder,
          .keys = config.keys,
          .values = config.values,
          .tie_embeddings = config.tie_embeddings,
          .dropout = chosen(config.dropout, "dropout"),
          .word_dropout = config.word_dropout};
}

// Makes luong and bahdanau models.
Seq2Seq make_with_attention(const ModelConfig& config, const VocabularySizes& vocabulary) {
  RecurrentConfig recurrent = recurrent_config(config, vocabulary);
  const ScoreKind score = score_of(config);
  if (halves_encoder(config)) recurrent.encoder_width = recurrent.width / 2;
  Attention attention({.score = score,
                       .longest_source = score == ScoreKind::location ? chosen(config.longest_source, "longest-source")
                                                                      : std::int64_t{0},
                       .scope = config.scope,
                       .half_width = config.window.value_or(0),
                       .choice = config.attention,
                       .soft_share = config.soft_share,
                       .coverage = config.coverage,
                       .query_width = recurrent.width,
                       .memory_width = recurrent.memory_width()});
  if (config.model == ModelKind::bahdanau) return std::make_shared<BahdanauImpl>(recurrent, std::move(attention));
  return std::make_shared<LuongImpl>(recurrent, std::move(attention), config.input_feeding);
}

}  // namespace

void check_model(const ModelConfig& config, const OptionPlace& place) {
  config.model == ModelKind::transformer ? check_transformer(config, place) : check_recurrent(config, place);
}

VocabularySizes sizes_of(const TokenizerPair& tokenizers) {
  return {.src = tokenizers.src.size(), .tgt = tokenizers.tgt.size()};
}

void check_vocabularies(const ModelConfig& config, const VocabularySizes& vocabulary) {
  if (!config.tie_embeddings || vocabulary.src == vocabulary.tgt) return;
  throw UserError("tie-embeddings needs one vocabulary, but the source has " + std::to_string(vocabulary.src) +
                      " pieces and the target " + std::to_string(vocabulary.tgt),
                  "use one joint tokenizer, or --tie-embeddings false");
}

Seq2Seq make_seq2seq(const ModelConfig& config, const VocabularySizes& vocabulary, std::optional<std::uint64_t> seed) {
  refuse_inapplicable(config, option_place);
  check_model(config, option_place);
  check_vocabularies(config, vocabulary);
  Seq2Seq model;
  switch (config.model) {
    case ModelKind::transformer: model = make_transformer(config, vocabulary); break;
    case ModelKind::luong:
    case ModelKind::bahdanau: model = make_with_attention(config, vocabulary); break;
    case ModelKind::fixed:
      model = std::make_shared<FixedImpl>(recurrent_config(config, vocabulary), config.context);
      break;
  }
  if (seed) initialise(*model, config.initial, *seed);
  return model;
}

}  // namespace attend
