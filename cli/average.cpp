// attend average: averages the weights of checkpoints.
#include "train/average.hpp"

#include "cli/command.hpp"

namespace attend {

Command average_command() {
  return make_command<AverageConfig>(
      "average", "average the weights of checkpoints",
      [](const AverageConfig& config, const OptionOrigins&) { average_checkpoints(config); },
      "runs/rnn --last 3 --output runs/mean");
}

}  // namespace attend
