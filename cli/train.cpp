#include "cli/command.hpp"
#include "cli/training.hpp"
#include "train/translation/job.hpp"

namespace attend {

Command train_command() {
  return make_command<TranslationConfig>("train", "train a translation model",
                                         [](const TranslationConfig& config, const OptionOrigins& origins) {
                                           train_translation(config, origins, training_process());
                                         });
}

}  // namespace attend
