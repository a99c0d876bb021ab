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

}  // namespace

BlockConfig block_config(const BlockOptions& options, std::int64_t width, const OptionPlace& place) {
  const std::int64_t heads = options.heads.value_or(default_heads(width));
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
  return {.width = width,
          .heads = heads,
          .positions = options.positions,
          .self_attention = options.self_attention,
          .self_window = options.self_window,
          .projections = options.projections,
          .attention_bias = options.attention_bias,
          .feed_forward = options.feed_forward.value_or(4 * width),
          .activation = options.activation,
          .norm = options.norm,
          .norm_kind = options.norm_kind,
          .residual = options.residual,
          .attention_dropout = options.attention_dropout,
          .activation_dropout = options.activation_dropout};
}

}  // namespace attend
