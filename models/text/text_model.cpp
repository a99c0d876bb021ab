#include "models/text/text_model.hpp"

#include <string>

#include "core/conditions.hpp"
#include "core/error.hpp"

namespace attend {
namespace {

Pooling chosen_pooling(const TextModelOptions& options, const LabelledTask& task) {
  const Pooling pooling = options.pooling_of_run();
  const std::string name = "--pooling " + std::string(name_of(pooling));
  if (pooling == Pooling::last && options.model == TextEncoderKind::bert) {
    throw UserError(name + " needs an encoder that reads in a direction: BERT has no last state",
                    "choose another pooling, or --model lstm");
  }
  if (pooling == Pooling::cls && options.model == TextEncoderKind::language) {
    throw UserError(name + " reads the state of the first token, which in a language model has not read the text",
                    "choose --pooling last");
  }
  if (pooling == Pooling::alignment && task.text.size() != 2) {
    throw UserError(name + " compares two texts, and the task reads one", "choose another --pooling");
  }
  return pooling;
}

}  // namespace

TextModelImpl::TextModelImpl(const TextModelOptions& options, const LabelledTask& task, std::int64_t vocabulary)
    : encoder_(make_text_encoder(*this, options, vocabulary)) {
  HeadConfig config{.width = encoder_->width(),
                    .labels = std::ssize(task.labels),
                    .deviation = encoder_->deviation(),
                    .dropout = options.head_dropout.value_or(options.encoder.dropout)};
  refuse_inapplicable(options, option_place, facts_of(task.kind));
  if (is_of_sequences(task.kind)) config.pooling = chosen_pooling(options, task);
  head_ = make_head(*this, task.kind, config);
}

torch::Tensor TextModelImpl::logits(const LabelledBatch& batch, Pass& pass) const {
  return head_->logits(encoder_->forward(batch.input, pass, head_->selected(batch)), batch.input, pass);
}

}  // namespace attend
