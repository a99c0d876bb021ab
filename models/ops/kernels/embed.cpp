#include "models/ops/kernels/embed.hpp"

#include <algorithm>

#define ATTEND_LOOPS "models/ops/kernels/embed_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNEL(embed, forward, Embed<float>)
ATTEND_KERNEL(embed, forward, Embed<Bf16>)
ATTEND_KERNEL(embed_backward, backward, EmbedBackward<float>)
ATTEND_KERNEL(embed_backward, backward, EmbedBackward<Bf16>)

}  // namespace attend::ops::kernels
