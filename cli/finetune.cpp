#include "cli/command.hpp"
#include "train/finetuning/job.hpp"

namespace attend {

Command finetune_command() {
  return make_command<FinetuningCommand>("finetune", "fine-tune an encoder on a labelled task", finetune);
}

}  // namespace attend
