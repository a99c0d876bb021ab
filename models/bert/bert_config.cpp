#include "models/bert/bert_config.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/error.hpp"

namespace attend {
namespace {

struct Size {
  std::int64_t layers, width;
};

Size size_of(BertShape shape) {
  constexpr std::array<std::pair<BertShape, Size>, 6> kSizes = {{{BertShape::tiny, {2, 128}},
                                                                 {BertShape::mini, {4, 256}},
                                                                 {BertShape::small, {4, 512}},
                                                                 {BertShape::medium, {8, 512}},
                                                                 {BertShape::base, {12, 768}},
                                                                 {BertShape::large, {24, 1024}}}};
  return std::ranges::find(kSizes, shape, &std::pair<BertShape, Size>::first)->second;
}

// Throws UserError for options that would change nothing.
void refuse_without_effect(const BertOptions& options) {
  const SelfAttentionRecipe recipe = recipe_of(options.block.self_attention);
  const std::string kind = "self-attention is " + std::string(name_of(options.block.self_attention));
  if (options.score != ScoreKind::scaled_dot && !recipe.reads_keys) {
    throw UserError("score is " + std::string(name_of(options.score)) + ", but " + kind + ", which has no score",
                    "drop it, or choose --self-attention attention");
  }
  const PositionRecipe positions = recipe_of(options.block.positions);
  const bool in_attention = !positions.is_added() && options.block.positions != PositionKind::none;
  if ((in_attention && !recipe.has_weights()) || (positions.turns && !recipe.reads_keys)) {
    throw UserError("positions is " + std::string(name_of(options.block.positions)) + ", but " + kind +
                        ", which leaves nothing that they could change",
                    "choose --positions learned or sinusoidal");
  }
  if (options.initial_deviation && options.initialiser != Initialiser::of_family) {
    throw UserError("initial-deviation is given, but initialiser is " + std::string(name_of(options.initialiser)),
                    "drop one of them");
  }
}

// Throws UserError for options with which queries cannot predict tokens.
void refuse_without_queries(const BlockOptions& options) {
  if (options.positions == PositionKind::none) {
    throw UserError("positions is none, but with --objective permuted a query knows by its position what it asks for",
                    "choose --positions learned, rotary or another kind");
  }
  if (recipe_of(options.self_attention).looks_ahead) {
    throw UserError("self-attention is " + std::string(name_of(options.self_attention)) +
                        ", which reads the tokens that --objective permuted is to predict",
                    "choose --self-attention attention");
  }
}

}  // namespace

std::int64_t width_of(const BertOptions& options) { return options.width.value_or(size_of(options.shape).width); }
std::int64_t layers_of(const BertOptions& options) { return options.layers.value_or(size_of(options.shape).layers); }

void name_sizes(BertOptions& options, const OptionOrigins& given) {
  BertOptions sized = options;
  sized.width = width_of(options), sized.layers = layers_of(options);
  if (!sized.embedding_width) sized.embedding_width = sized.width;
  resolve_sizes(sized.block, *sized.width);
  const BoundOptions ours = bind(options), theirs = bind(sized);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (given.given(ours[i].name)) ours[i].set(theirs[i].get());
  }
}

BertConfig bert_config(const BertOptions& options, std::int64_t vocabulary, AttentionPlace place,
                       std::optional<std::int64_t> query) {
  const std::int64_t width = width_of(options);
  refuse_without_effect(options);
  if (query) refuse_without_queries(options.block);
  BlockConfig block = block_config(options.block, width, option_place);
  block.score = options.score;
  block.longest = options.max_positions;
  block.norm_eps = 1e-12;
  block.score_deviation = options.initial_deviation.value_or(0);
  block.deviation = options.initial_deviation.value_or(0.5 / std::sqrt(static_cast<double>(width)));
  block.dropout = options.dropout;
  const std::int64_t embedding_width = options.embedding_width.value_or(width);
  if (embedding_width > width) {
    throw UserError("embedding-width " + std::to_string(embedding_width) + " is above width " + std::to_string(width),
                    "lower it to at most the width");
  }
  if (options.share_layers && block.norm_kind == NormKind::batch) {
    throw UserError("norm-kind is batch, which keeps the statistics of one layer, but share-layers uses a norm in all",
                    "choose --norm-kind layer, or drop --share-layers");
  }
  const std::int64_t layers = layers_of(options);
  check_pruned_heads(block, {{place, layers, &options.block}}, option_place);
  if (options.share_layers && !block.pruned.empty()) {
    throw UserError("pruned-heads is given, but share-layers uses a block in all layers", "drop one of them");
  }
  return {.vocabulary = vocabulary,
          .max_length = options.max_positions,
          .layers = layers,
          .embedding_width = embedding_width,
          .share_layers = options.share_layers,
          .sinusoids = options.initial_positions == InitialPositions::sinusoids,
          .query = query,
          .block = block};
}

}  // namespace attend
