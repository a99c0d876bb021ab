#include "cli/command.hpp"
#include "train/finetuning/job.hpp"

namespace attend {

Command finetune_command() {
  return make_command<FinetuningCommand>("finetune", "teach an encoder a task of labelled texts", finetune);
}

}  // namespace attend
