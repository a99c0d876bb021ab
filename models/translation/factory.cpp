#include "models/translation/factory.hpp"

#include <string>

#include "core/error.hpp"
#include "models/attention/attention.hpp"
#include "models/layers/blocks.hpp"
#include "models/layers/layers.hpp"
#include "models/translation/luong.hpp"
#include "models/translation/transformer.hpp"

namespace attend {
namespace {

template <class T>
T chosen(const std::optional<T>& value, const char* option) {
  if (value) return *value;
  throw UserError("option " + std::string(option) + " is auto, but there is no data to choose it from", "set a number");
}

Seq2Seq make_transformer(const ModelConfig& config, const VocabularySizes& vocabulary) {
  const std::int64_t width = chosen(config.width, "width");
  const std::int64_t heads = config.heads.value_or(default_heads(width));
  if (width % heads != 0) {
    throw UserError("width " + std::to_string(width) + " is not a multiple of heads " + std::to_string(heads),
                    "choose heads that divide the width");
  }
  return std::make_shared<TransformerImpl>(
      TransformerConfig{.src_vocabulary = vocabulary.src,
                        .tgt_vocabulary = vocabulary.tgt,
                        .encoder_layers = chosen(config.encoder_layers, "encoder-layers"),
                        .decoder_layers = chosen(config.decoder_layers, "decoder-layers"),
                        .norm = config.norm,
                        .tie_embeddings = config.tie_embeddings,
                        .block = {.width = width,
                                  .heads = heads,
                                  .feed_forward = config.feed_forward.value_or(4 * width),
                                  .deviation = config.initial_deviation,
                                  .dropout = chosen(config.dropout, "dropout"),
                                  .attention_dropout = config.attention_dropout,
                                  .activation_dropout = config.activation_dropout}});
}

Seq2Seq make_luong(const ModelConfig& config, const VocabularySizes& vocabulary) {
  const ScoreRecipe score = recipe_of(config.score);
  const bool halved = score.needs_equal_widths && config.bidirectional;
  const std::int64_t width = chosen(config.width, "width");
  if (halved && width % 2 != 0) {
    throw UserError("width " + std::to_string(width) + " is odd, but with --score " +
                        std::string(name_of(config.score)) + " each direction of the encoder has half of it",
                    "choose an even width, another score, or --bidirectional false");
  }
  const RecurrentConfig recurrent{.src_vocabulary = vocabulary.src,
                                  .tgt_vocabulary = vocabulary.tgt,
                                  .width = width,
                                  .encoder_width = halved ? width / 2 : width,
                                  .encoder_layers = chosen(config.encoder_layers, "encoder-layers"),
                                  .decoder_layers = chosen(config.decoder_layers, "decoder-layers"),
                                  .bidirectional = config.bidirectional,
                                  .tie_embeddings = config.tie_embeddings,
                                  .dropout = chosen(config.dropout, "dropout")};
  return std::make_shared<LuongImpl>(recurrent,
                                     Attention{.score = score.make(width, recurrent.memory_width()),
                                               .scope = std::make_shared<GlobalScope>(),
                                               .choice = std::make_shared<SoftChoice>()},
                                     config.input_feeding);
}

}  // namespace

std::vector<std::string_view> foreign_options(ModelKind kind) {
  switch (kind) {
    case ModelKind::transformer:
      return {"score", "bidirectional", "input-feeding"};
    case ModelKind::luong:
      return {"heads", "feed-forward", "norm", "attention-dropout", "activation-dropout", "initial-deviation"};
  }
  return {};
}

Seq2Seq make_seq2seq(const ModelConfig& config, const VocabularySizes& vocabulary, std::optional<std::uint64_t> seed) {
  refuse_changed(config, foreign_options(config.model), "the model " + std::string(name_of(config.model)));
  if (config.tie_embeddings && vocabulary.src != vocabulary.tgt) {
    throw UserError("tie-embeddings needs one vocabulary, but the source has " + std::to_string(vocabulary.src) +
                        " pieces and the target " + std::to_string(vocabulary.tgt),
                    "use one joint tokenizer, or --tie-embeddings false");
  }
  Seq2Seq model;
  switch (config.model) {
    case ModelKind::transformer:
      model = make_transformer(config, vocabulary);
      break;
    case ModelKind::luong:
      model = make_luong(config, vocabulary);
      break;
  }
  if (seed) initialise(*model, *seed);
  return model;
}

}  // namespace attend
