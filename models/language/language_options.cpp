#include "models/language/language_options.hpp"

#include "core/error.hpp"
#include "models/language/causal_transformer.hpp"
#include "models/language/recurrent_language.hpp"

namespace attend {
namespace {

CellKind kind_of(LanguageCell cell) {
  switch (cell) {
    case LanguageCell::gru: return CellKind::gru;
    case LanguageCell::tanh: return CellKind::tanh;
    case LanguageCell::lstm:
    case LanguageCell::transformer: break;
  }
  return CellKind::lstm;
}

LanguageModel make_transformer(const BertConfig& config, const BlockOptions& options) {
  if (recipe_of(options.self_attention).looks_ahead) {
    throw UserError("self-attention is " + std::string(name_of(options.self_attention)) +
                        ", which reads the text that a language model is to predict",
                    "choose --self-attention attention");
  }
  if (config.embedding_width != config.block.width) {
    throw UserError("embedding-width is " + std::to_string(config.embedding_width) +
                        ", but the output table of a language model is that of the embeddings, of width " +
                        std::to_string(config.block.width),
                    "drop it");
  }
  return CausalTransformer(CausalTransformerConfig{.vocabulary = config.vocabulary,
                                                   .max_length = config.max_length,
                                                   .layers = config.layers,
                                                   .share_layers = config.share_layers,
                                                   .sinusoids = config.sinusoids,
                                                   .block = config.block})
      .ptr();
}

}  // namespace

LanguageModel make_language_model(const LanguageOptions& options, std::int64_t vocabulary) {
  BertConfig stack = bert_config(options.stack, vocabulary);
  stack.block.norm_eps = kLanguageNormEps;
  if (!options.is_recurrent()) return make_transformer(stack, options.stack.block);
  return RecurrentLanguage(RecurrentLanguageConfig{.vocabulary = vocabulary,
                                                   .width = stack.block.width,
                                                   .layers = stack.layers,
                                                   .cell = kind_of(options.cell),
                                                   .dropout = options.stack.dropout})
      .ptr();
}

}  // namespace attend
