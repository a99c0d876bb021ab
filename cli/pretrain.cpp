#include "cli/command.hpp"
#include "cli/training.hpp"
#include "train/pretraining/job.hpp"

namespace attend {

Command pretrain_command() {
  return make_command<PretrainingConfig>("pretrain", "pretrain a BERT encoder on raw text",
                                         [](const PretrainingConfig& config, const OptionOrigins& origins) {
                                           pretrain(config, origins, training_process());
                                         });
}

}  // namespace attend
