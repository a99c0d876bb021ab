#include "train/translation/job.hpp"

#include "cli/command.hpp"

namespace attend {

Command train_command() {
  return make_command<TranslationConfig>("train", "train a translation model", train_translation);
}

}  // namespace attend
