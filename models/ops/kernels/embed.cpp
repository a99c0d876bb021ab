#include "models/ops/kernels/embed.hpp"

#include <algorithm>

#define ATTEND_LOOPS "models/ops/kernels/embed_loops.hpp"
#include "models/ops/kernels/levels.hpp"

namespace attend::ops::kernels {

ATTEND_KERNELS(embed, forward, Embed)
ATTEND_KERNELS(embed_backward, backward, EmbedBackward)

}  // namespace attend::ops::kernels
