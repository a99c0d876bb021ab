#include "models/transformer/stack_options.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "models/attention/parts.hpp"

namespace attend {
namespace {

struct Size {
  std::int64_t layers, width;
};

Size size_of(StackShape shape) {
  constexpr std::array<std::pair<StackShape, Size>, 6> kSizes = {{{StackShape::tiny, {2, 128}},
                                                                  {StackShape::mini, {4, 256}},
                                                                  {StackShape::small, {4, 512}},
                                                                  {StackShape::medium, {8, 512}},
                                                                  {StackShape::base, {12, 768}},
                                                                  {StackShape::large, {24, 1024}}}};
  return std::ranges::find(kSizes, shape, &std::pair<StackShape, Size>::first)->second;
}

// The number of attention heads of about 64 columns each that divides the width.
std::int64_t default_heads(std::int64_t width) {
  std::int64_t heads = std::max<std::int64_t>(1, width / 64);
  while (width % heads != 0) --heads;
  return heads;
}

// "is NAME, but self-attention is KIND", the beginning of many contradictions.
template <class E>
std::string with_self_attention(E value, const BlockOptions& options) {
  return " is " + std::string(name_of(value)) + ", but self-attention is " +
         std::string(name_of(options.self_attention));
}

// What a stack must not read.
std::string hidden_from(StackUse use) {
  switch (use) {
    case StackUse::permuted: return "the tokens that --objective permuted is to predict";
    case StackUse::causal: return "the text that a language model is to predict";
    case StackUse::target: return "later positions, which a decoder has not generated yet";
    case StackUse::masked:
    case StackUse::source: break;
  }
  return {};
}

// Throws UserError unless the width is divided into heads that the other options allow.
void check_heads(const BlockOptions& options, std::int64_t width, const OptionPlace& place) {
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
  if (recipe_of(options.self_attention).most_fixed > 0 && heads == 1) {
    throw UserError(place("self-attention") + " is " + std::string(name_of(options.self_attention)) +
                        ", which fixes all heads but one, but there is one head",
                    "give at least two: --heads 2");
  }
  for (auto name = options.pruned_heads.begin(); name != options.pruned_heads.end(); ++name) {
    const auto head = parse_head(*name);
    if (head && head->head < heads && std::find(options.pruned_heads.begin(), name, *name) == name) continue;
    throw UserError(place("pruned-heads") + ": \"" + *name +
                        "\", expected PLACE.LAYER.HEAD, each head once, a place of "
                        "encoder, decoder and cross, and a head from 0 to " +
                        std::to_string(heads - 1),
                    "write it like encoder.0.3");
  }
}

// Throws UserError for options that contradict the kind of self-attention.
void check_self_attention(const BlockOptions& options, const OptionPlace& place) {
  const SelfAttentionRecipe recipe = recipe_of(options.self_attention);
  if (options.positions == PositionKind::rotary && options.self_attention == SelfAttentionKind::dense_attention) {
    throw UserError(place("positions") +
                        " is rotary, which turns queries, but self-attention is dense-attention, whose "
                        "Synthesizer reads them as they are",
                    "choose --self-attention random-attention, or other --positions");
  }
  const bool lacks_maps = (options.projections == ProjectionKind::shared_qk && !recipe.reads_keys) ||
                          (options.projections == ProjectionKind::values_only && !recipe.reads_queries) ||
                          (options.projections == ProjectionKind::none && !recipe.has_weights());
  if (lacks_maps) {
    throw UserError(place("projections") + with_self_attention(options.projections, options) +
                        ", which has no such projections to change",
                    "drop it, or choose --self-attention attention");
  }
  if (options.self_window > 0 && recipe.looks_ahead) {
    throw UserError(place("self-window") + " is given, but self-attention is " +
                        std::string(name_of(options.self_attention)) + ", which reads the whole sentence",
                    "drop it, or choose --self-attention attention");
  }
}

// Throws UserError for options that would change nothing in a model without any other attention.
void refuse_without_effect(const BlockOptions& options, const OptionPlace& place) {
  const SelfAttentionRecipe recipe = recipe_of(options.self_attention);
  if (options.score != ScoreKind::scaled_dot && !recipe.reads_keys) {
    throw UserError(place("score") + with_self_attention(options.score, options) + ", which has no score",
                    "drop it, or choose --self-attention attention");
  }
  const PositionRecipe positions = recipe_of(options.positions);
  const bool in_attention = !positions.is_added() && options.positions != PositionKind::none;
  if ((in_attention && !recipe.has_weights()) || (positions.turns && !recipe.reads_keys)) {
    throw UserError(place("positions") + with_self_attention(options.positions, options) +
                        ", which leaves nothing that they could change",
                    "choose --positions learned or sinusoidal");
  }
}

// Throws UserError for options that contradict what the stack is to predict from what.
void check_use(const BlockOptions& options, StackUse use, const OptionPlace& place) {
  if (use == StackUse::permuted && options.positions == PositionKind::none) {
    throw UserError(
        place("positions") + " is none, but with --objective permuted a query knows by its position what it asks for",
        "choose --positions learned, rotary or another kind");
  }
  const bool to_target = use == StackUse::target;
  const bool of_any_length = to_target || use == StackUse::source || use == StackUse::causal;
  if (const std::string hidden = hidden_from(use); !hidden.empty() && recipe_of(options.self_attention).looks_ahead) {
    throw UserError(
        place("self-attention") + " is " + std::string(name_of(options.self_attention)) + ", which reads " + hidden,
        to_target ? "add --self-attention-in encoder" : "choose --self-attention attention");
  }
  if (of_any_length && options.score == ScoreKind::location) {
    throw UserError(place("score") + " is location, which needs a maximum length, but texts of a Transformer have none",
                    use == StackUse::causal ? "choose another score" : "choose another score, or --model luong");
  }
  // That of BERT is also the activation of its head.
  const FeedForwardKind usual = use == StackUse::causal ? StackOptions().block.activation : BlockOptions().activation;
  if (options.feed_forward == 0 && of_any_length && options.activation != usual) {
    throw UserError(place("activation") + " is " + std::string(name_of(options.activation)) +
                        ", but feed-forward is 0, which leaves out the layer that it is for",
                    "drop it, or leave --feed-forward at auto");
  }
}

// Throws UserError if layers with one block differ.
void check_shared(const StackOptions& options, const OptionPlace& place) {
  if (!options.share_layers) return;
  if (options.block.norm_kind == NormKind::batch) {
    throw UserError(
        place("norm-kind") + " is batch, which keeps the statistics of one layer, but share-layers uses a norm in all",
        "choose --norm-kind layer, or drop --share-layers");
  }
  if (!options.block.pruned_heads.empty()) {
    throw UserError(place("pruned-heads") + " is given, but share-layers uses a block in all layers",
                    "drop one of them");
  }
}

}  // namespace

std::vector<HeadPlace> BlockOptions::pruned() const {
  std::vector<HeadPlace> places;
  for (const std::string& name : pruned_heads) places.push_back(parse_head(name).value());
  return places;
}

double StackOptions::deviation() const {
  return initial_deviation.value_or(0.5 / std::sqrt(static_cast<double>(width_of(*this))));
}

std::int64_t width_of(const StackOptions& options) { return options.width.value_or(size_of(options.shape).width); }
std::int64_t layers_of(const StackOptions& options) { return options.layers.value_or(size_of(options.shape).layers); }

BlockOptions sized(BlockOptions options, std::int64_t width) {
  if (!options.heads) options.heads = default_heads(width);
  if (!options.feed_forward) options.feed_forward = 4 * width;
  return options;
}

StackOptions sized(StackOptions options) {
  options.width = width_of(options), options.layers = layers_of(options);
  if (!options.embedding_width) options.embedding_width = options.width;
  options.block = sized(options.block, *options.width);
  return options;
}

void name_sizes(StackOptions& options, const OptionOrigins& given) {
  StackOptions known = sized(options);
  const BoundOptions ours = bind(options), theirs = bind(known);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (given.given(ours[i].name)) ours[i].set(theirs[i].get());
  }
}

StackOptions resolve_stack(StackOptions options, StackUse use, const OptionPlace& place) {
  options = sized(std::move(options));
  const BlockOptions& block = options.block;
  const bool alone = use != StackUse::source && use != StackUse::target;
  if (alone) refuse_without_effect(block, place);
  check_use(block, use, place);
  if (options.initial_deviation.value_or(0) > 0 && options.initialiser != Initialiser::of_family) {
    throw UserError(
        place("initial-deviation") + " is given, but initialiser is " + std::string(name_of(options.initialiser)),
        "drop one of them");
  }
  check_heads(block, *options.width, place);
  check_self_attention(block, place);
  if (*options.embedding_width > *options.width) {
    throw UserError(place("embedding-width") + " " + std::to_string(*options.embedding_width) + " is above width " +
                        std::to_string(*options.width),
                    "lower it to at most the width");
  }
  check_shared(options, place);
  if (alone) {
    const AttentionPlace of = use == StackUse::causal ? AttentionPlace::decoder : AttentionPlace::encoder;
    check_pruned_heads(block, {{of, *options.layers, &block}}, place);
  }
  return options;
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

void check_pruned_heads(const BlockOptions& options, std::initializer_list<LayersOfPlace> model,
                        const OptionPlace& place) {
  for (const HeadPlace& head : options.pruned()) {
    const auto* const found = std::ranges::find(model, head.place, &LayersOfPlace::place);
    if (found == model.end() || head.layer >= found->layers) {
      throw UserError(place("pruned-heads") + ": the model has no head " + to_text(head), "leave it out");
    }
    if (found->self_attention != nullptr) {
      check_prunable(*found->self_attention, place("pruned-heads") + " names " + to_text(head));
    }
    if (!options.kept(head.place, head.layer).empty()) continue;
    throw UserError(place("pruned-heads") + ": all heads of layer " + std::to_string(head.layer) + " of place " +
                        std::string(name_of(head.place)) + " are named, but one must stay",
                    "leave one of them out");
  }
}

}  // namespace attend
