#include "models/transformer/block_options.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace attend {
namespace {

// The number of attention heads of about 64 columns each that divides the width.
std::int64_t default_heads(std::int64_t width) {
  std::int64_t heads = std::max<std::int64_t>(1, width / 64);
  while (width % heads != 0) --heads;
  return heads;
}

[[noreturn]] void refuse_without_feed_forward(const std::string& what) {
  throw UserError(what + ", but feed-forward is 0, which leaves out the layer that it is for",
                  "drop it, or leave --feed-forward at auto");
}

void check_self_attention(const BlockOptions& options, std::int64_t heads, const OptionPlace& place) {
  const SelfAttentionRecipe recipe = recipe_of(options.self_attention);
  const std::string kind = " self-attention is " + std::string(name_of(options.self_attention));
  const bool lacks_maps = (options.projections == ProjectionKind::shared_qk && !recipe.reads_keys) ||
                          (options.projections == ProjectionKind::values_only && !recipe.reads_queries) ||
                          (options.projections == ProjectionKind::none && !recipe.has_weights());
  if (lacks_maps) {
    throw UserError(place("projections") + " is " + std::string(name_of(options.projections)) + ", but" + kind +
                        ", which has no such projections to change",
                    "drop it, or choose --self-attention attention");
  }
  if (options.self_window > 0 && recipe.looks_ahead) {
    throw UserError(place("self-window") + " is given, but" + kind + ", which reads the whole sentence",
                    "drop it, or choose --self-attention attention");
  }
  if (recipe.most_fixed > 0 && heads == 1) {
    throw UserError(place("self-attention") + " is " + std::string(name_of(options.self_attention)) +
                        ", which fixes all heads but one, but there is one head",
                    "give at least two: --heads 2");
  }
}

std::vector<HeadPlace> pruned_heads(const BlockOptions& options, std::int64_t heads, const OptionPlace& place) {
  std::vector<HeadPlace> pruned;
  for (const std::string& name : options.pruned_heads) {
    const auto head = parse_head(name);
    if (!head || head->head >= heads || std::ranges::find(pruned, *head) != pruned.end()) {
      throw UserError(place("pruned-heads") + ": \"" + name +
                          "\", expected PLACE.LAYER.HEAD, each head once, a place of "
                          "encoder, decoder and cross, and a head from 0 to " +
                          std::to_string(heads - 1),
                      "write it like encoder.0.3");
    }
    pruned.push_back(*head);
  }
  return pruned;
}

}  // namespace

void resolve_sizes(BlockOptions& options, std::int64_t width) {
  if (!options.heads) options.heads = default_heads(width);
  if (!options.feed_forward) options.feed_forward = 4 * width;
}

bool is_prunable(const BlockOptions& options) {
  const SelfAttentionRecipe recipe = recipe_of(options.self_attention);
  return options.projections != ProjectionKind::none && recipe.has_weights() && recipe.most_fixed == 0;
}

void check_prunable(const BlockOptions& options, const std::string& what) {
  if (is_prunable(options)) return;
  if (options.projections == ProjectionKind::none) {
    throw UserError(what + ", but projections is none, which leaves no matrix to cut", "choose --projections all");
  }
  throw UserError(what + ", but self-attention is " + std::string(name_of(options.self_attention)) +
                      ", whose heads cannot be pruned",
                  "choose --self-attention attention");
}

void check_activation(const BlockOptions& options, FeedForwardKind usual, const OptionPlace& place) {
  if (options.feed_forward == 0 && options.activation != usual) {
    refuse_without_feed_forward(place("activation") + " is " + std::string(name_of(options.activation)));
  }
}

void check_pruned_heads(const BlockConfig& block, std::initializer_list<LayersOfPlace> model,
                        const OptionPlace& place) {
  for (const HeadPlace& head : block.pruned) {
    const auto* const found = std::ranges::find(model, head.place, &LayersOfPlace::place);
    if (found == model.end() || head.layer >= found->layers) {
      throw UserError(place("pruned-heads") + ": the model has no head " + to_text(head), "leave it out");
    }
    if (found->self_attention != nullptr) {
      check_prunable(*found->self_attention, place("pruned-heads") + " names " + to_text(head));
    }
    if (!kept_heads(block.pruned, head.place, head.layer, block.heads).empty()) continue;
    throw UserError(place("pruned-heads") + ": all heads of layer " + std::to_string(head.layer) + " of place " +
                        std::string(name_of(head.place)) + " are named, but one must stay",
                    "leave one of them out");
  }
}

BlockConfig block_config(BlockOptions options, std::int64_t width, const OptionPlace& place) {
  resolve_sizes(options, width);
  const std::int64_t heads = *options.heads;
  if (width % heads != 0) {
    throw UserError(
        place("heads") + ": " + std::to_string(heads) + " heads do not divide the width " + std::to_string(width),
        "choose another number of heads, or another width");
  }
  if (options.positions == PositionKind::rotary && width / heads % 2 != 0) {
    throw UserError(place("positions") + " is rotary, which turns pairs of columns, but a head has " +
                        std::to_string(width / heads) + " of them, an odd number",
                    "choose another number of heads, or another width");
  }
  if (options.positions == PositionKind::rotary && options.self_attention == SelfAttentionKind::dense_attention) {
    throw UserError(place("positions") +
                        " is rotary, which turns queries, but self-attention is dense-attention, whose "
                        "Synthesizer reads them as they are",
                    "choose --self-attention random-attention, or other --positions");
  }
  check_self_attention(options, heads, place);
  if (options.feed_forward == 0 && options.activation_dropout > 0) {
    refuse_without_feed_forward(place("activation-dropout") + " is given");
  }
  return {.width = width,
          .heads = heads,
          .pruned = pruned_heads(options, heads, place),
          .positions = options.positions,
          .self_attention = options.self_attention,
          .self_window = options.self_window,
          .projections = options.projections,
          .attention_bias = options.attention_bias,
          .feed_forward = *options.feed_forward,
          .activation = options.activation,
          .norm = options.norm,
          .norm_kind = options.norm_kind,
          .residual = options.residual,
          .attention_dropout = options.attention_dropout,
          .activation_dropout = options.activation_dropout,
          .layer_drop = options.layer_drop};
}

}  // namespace attend
