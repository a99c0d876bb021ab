// Options of a stack of a Transformer's blocks with its tables: a named shape, overrides of its sizes, and the blocks.
// They describe BERT and language models; those of a translation model are made from its own options.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/conditions.hpp"
#include "core/options.hpp"
#include "models/attention/block_options.hpp"
#include "models/layers/initialise.hpp"

namespace attend {

// Layers / width: 2/128, 4/256, 4/512, 8/512, 12/768 (Turc et al. 2019, arXiv 1908.08962) and 24/1024 (1810.04805);
// with heads of 64 columns and a feed-forward layer of four times the width.
enum class StackShape { tiny, mini, small, medium, base, large };
template <>
inline constexpr auto kEnumNames<StackShape> = std::to_array<EnumName<StackShape>>({
    {StackShape::tiny, "tiny"},
    {StackShape::mini, "mini"},
    {StackShape::small, "small"},
    {StackShape::medium, "medium"},
    {StackShape::base, "base"},
    {StackShape::large, "large"},
});

// Initialisation of the learned position table: random (BERT), or sinusoids, in which a shift by one position is the
// same linear map everywhere, as attention to neighbours needs.
enum class InitialPositions { random, sinusoids };
template <>
inline constexpr auto kEnumNames<InitialPositions> = std::to_array<EnumName<InitialPositions>>(
    {{InitialPositions::random, "random"}, {InitialPositions::sinusoids, "sinusoids"}});

// The layers of a model, on which options depend.
inline constexpr Fact kModelsWith{"models with"};
inline constexpr std::string_view kTransformerLayers = "Transformer layers", kRecurrentLayers = "recurrent layers";

struct StackOptions {
  StackShape shape = StackShape::mini;
  std::optional<std::int64_t> layers = {}, width = {}, embedding_width = {};
  std::int64_t max_positions = 512;
  bool share_layers = false;
  BlockOptions block = {
      .positions = PositionKind::learned, .activation = FeedForwardKind::gelu, .attention_dropout = 0.1};
  double dropout = 0.1;
  std::optional<double> initial_deviation = {};
  InitialPositions initial_positions = InitialPositions::random;
  Initialiser initialiser = Initialiser::of_family;

  static constexpr Condition kBlocks = {kModelsWith, {kTransformerLayers}};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("shape", self.shape,
          {.help = "layers/width by name: 2/128, 4/256, 4/512, 8/512, 12/768 or 24/1024", .common = true});
    visit("layers", self.layers, {.help = "layers; auto: from the shape", .min = 1, .max = 96, .common = true});
    visit("width", self.width,
          {.help = "size of hidden states; auto: from the shape", .min = 2, .max = 16384, .common = true});
    visit("score", self.block.score, {.help = "score of a position", .only = kBlocks});
    BlockOptions::visit(self.block, visit, kBlocks);
    visit("embedding-width", self.embedding_width,
          {.help = "size of the embeddings, if different from the width (ALBERT); auto: the width",
           .min = 2,
           .max = 16384,
           .only = kBlocks});
    visit("max-positions", self.max_positions,
          {.help = "maximum length of a sequence, in tokens", .min = 8, .max = 65535, .only = kBlocks});
    visit("share-layers", self.share_layers, {.help = "all layers share one block (ALBERT)", .only = kBlocks});
    visit("dropout", self.dropout,
          {.help = "dropout on embeddings and on outputs of sub-layers or recurrent layers",
           .min = 0,
           .max = 0.95,
           .is_adopted = false});
    visit("initial-deviation", self.initial_deviation,
          {.help = "standard deviation of the truncated normal initialisation; auto: half of width^-0.5, which "
                   "is BERT's 0.02 at its own width, and Xavier's rule for maps of a score",
           .min = 1e-6,
           .max = 1,
           .only = kBlocks});
    visit("initial-positions", self.initial_positions,
          {.help = "initialisation of the learned position table: random or sinusoids",
           .only = {"positions", {"learned"}}});
    visit(
        "initialiser", self.initialiser,
        {.help = "initialisation of matrices: normal with --initial-deviation (default), a rule based on their sizes, "
                 "or uniform in ±0.1 including the embeddings",
         .only = kBlocks});
  }

  // Standard deviations of initial weights, and of those of maps in a score; 0: Xavier's rule.
  double deviation() const;
  double score_deviation() const { return initial_deviation.value_or(0); }
};

// What a stack is to predict: masked tokens, or tokens in a permuted order, by queries (BERT); the next token (language
// models); or in a translation model, which has attention to a memory as well, nothing (source) or the target.
enum class StackUse { masked, permuted, causal, source, target };

// The options with the sizes that are auto. Throws UserError if they contradict each other or the use, or in a model
// without other attention would change nothing.
StackOptions resolve_stack(StackOptions options, StackUse use, const OptionPlace& place = option_place);

// The same without checks.
StackOptions sized(StackOptions options);
BlockOptions sized(BlockOptions options, std::int64_t width);
// The options width and layers, or else those of the shape.
std::int64_t width_of(const StackOptions& options);
std::int64_t layers_of(const StackOptions& options);
// Sets the sizes among `given` that are auto to those that follow from the shape.
void name_sizes(StackOptions& options, const OptionOrigins& given);

// True if heads of self-attention can be pruned; the other throws UserError naming the option because of which they
// cannot, where `what` begins the message.
bool is_prunable(const BlockOptions& options);
void check_prunable(const BlockOptions& options, const std::string& what);

// Throws UserError if a pruned head is in none of these layers or cannot be pruned, or if all heads of a layer are.
struct LayersOfPlace {
  AttentionPlace place = AttentionPlace::encoder;
  std::int64_t layers = 0;
  const BlockOptions* self_attention = nullptr;  // null: attention to a memory
};
void check_pruned_heads(const BlockOptions& options, std::initializer_list<LayersOfPlace> model,
                        const OptionPlace& place);

}  // namespace attend
