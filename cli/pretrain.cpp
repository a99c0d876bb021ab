#include "cli/command.hpp"
#include "train/pretraining/job.hpp"

namespace attend {

Command pretrain_command() {
  return make_command<PretrainingConfig>("pretrain", "pretrain an encoder of BERT's kind on raw text", pretrain);
}

}  // namespace attend
