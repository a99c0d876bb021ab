// attend train, pretrain and finetune, and the average of their checkpoints.
#include <string>

#include "cli/command.hpp"
#include "core/log.hpp"
#include "core/process.hpp"
#include "models/ops/fast/products.hpp"
#include "train/average.hpp"
#include "train/finetuning/job.hpp"
#include "train/memory_limit.hpp"
#include "train/pretraining/job.hpp"
#include "train/session.hpp"
#include "train/translation/job.hpp"

namespace attend {
namespace {

// Installs signal handlers, limits memory on a CPU, and sizes oneDNN's cache for the model.
ProcessHooks training_process() {
  signals::install();
  const Launch launch = Launch::from_environment();
  if (launch.rank > 0) log::speak_as("rank " + std::to_string(launch.rank));
  return {.begin =
              [processes = launch.local_size](const RunConfig& config) {
                if (config.device == "cpu") refuse_memory_beyond_machine(processes);
              },
          .model_built = ops::products::set_primitive_cache,
          .launch = launch};
}

}  // namespace

Command train_command() {
  return make_command<TranslationConfig>(
      "train", "train a translation model",
      [](const TranslationConfig& config, const OptionOrigins& origins) {
        train_translation(config, origins, training_process());
      },
      "--config recipes/toy_luong.toml --train corpus/train.en corpus/train.de --run runs/rnn");
}

Command pretrain_command() {
  return make_command<PretrainingConfig>(
      "pretrain", "pretrain a BERT encoder or a language model on raw text",
      [](const PretrainingConfig& config, const OptionOrigins& origins) {
        pretrain(config, origins, training_process());
      },
      "--config recipes/toy_encoder.toml --train corpus/documents.train.txt --run runs/tiny");
}

Command finetune_command() {
  return make_command<FinetuningCommand>(
      "finetune", "fine-tune an encoder on a labelled task",
      [](const FinetuningCommand& config, const OptionOrigins& origins) {
        finetune(config, origins, training_process());
      },
      "--task sentiment --data corpus/sentiment --init-from runs/tiny --run runs/sentiment");
}

Command average_command() {
  return make_command<AverageConfig>(
      "average", "average the weights of checkpoints",
      [](const AverageConfig& config, const OptionOrigins&) { average_checkpoints(config); },
      "runs/rnn --last 3 --output runs/mean");
}

}  // namespace attend
