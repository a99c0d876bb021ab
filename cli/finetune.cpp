#include "cli/command.hpp"
#include "cli/training.hpp"
#include "train/finetuning/job.hpp"

namespace attend {

Command finetune_command() {
  return make_command<FinetuningCommand>("finetune", "fine-tune an encoder on a labelled task",
                                         [](const FinetuningCommand& config, const OptionOrigins& origins) {
                                           finetune(config, origins, training_process());
                                         });
}

}  // namespace attend
