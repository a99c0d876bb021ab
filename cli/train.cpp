#include "train/train.hpp"

#include "cli/command.hpp"

namespace attend {

Command train_command() { return make_command<TrainConfig>("train", "train a translation model", train_translation); }

}  // namespace attend
