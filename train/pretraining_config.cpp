#include "train/pretraining_config.hpp"

#include "core/error.hpp"

namespace attend {

void PretrainingConfig::validate(const OptionOrigins& origins) const {
  run.validate(origins);
  if (tokenizer.size() > 1) {
    throw UserError(origins("tokenizer") + ": " + std::to_string(tokenizer.size()) + " files, expected one");
  }
  if (instances.length > model.positions) {
    throw UserError(origins("length") + ": " + std::to_string(instances.length) + " tokens, but the model has " +
                        std::to_string(model.positions) + " positions",
                    "raise --positions or lower --length");
  }
  if (masking.masked + masking.replaced > 1) {
    throw UserError(origins("masked") + " and replaced are more than all together", "their sum is at most 1");
  }
  if (trainer.best_metric != "loss" && trainer.best_metric != "accuracy") {
    throw UserError(origins("best-metric") + ": pretraining knows loss and accuracy", "use one of them");
  }
  if (trainer.patience && valid.empty()) {
    throw UserError(origins("patience") + ": there is nothing to validate on", "give --valid FILE");
  }
}

}  // namespace attend
