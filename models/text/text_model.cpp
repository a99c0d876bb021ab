#include "models/text/text_model.hpp"

#include <string>

#include "core/error.hpp"
#include "data/task/record_format.hpp"

namespace attend {
namespace {

Pooling chosen_pooling(const TextModelOptions& options, const LabelledTask& task) {
  const Pooling pooling = options.pooling_of_run();
  const std::string name = "--pooling " + std::string(name_of(pooling));
  if (pooling == Pooling::last && options.model != TextEncoderKind::lstm) {
    throw UserError(name + " needs a recurrent encoder: BERT has no last state",
                    "choose another pooling, or --model lstm");
  }
  if (pooling == Pooling::alignment && task.text.size() != 2) {
    throw UserError(name + " compares two texts, and the task reads one", "choose another --pooling");
  }
  return pooling;
}

}  // namespace

std::vector<std::string_view> foreign_options(const TextModelOptions& options, TaskKind task) {
  std::vector<std::string_view> names = format_of(task).foreign_options();
  if (options.model == TextEncoderKind::lstm) {
    names.insert(names.end(), {"heads", "feed-forward", "embedding-width", "positions", "share-layers", "norm", "gelu",
                               "attention-dropout", "initial-deviation", "initial-positions"});
  }
  return names;
}

TextModelImpl::TextModelImpl(const TextModelOptions& options, const LabelledTask& task, std::int64_t vocabulary)
    : encoder_(make_text_encoder(*this, options, vocabulary)) {
  HeadConfig config{.width = encoder_->width(),
                    .labels = std::ssize(task.labels),
                    .deviation = encoder_->deviation(),
                    .dropout = options.head_dropout.value_or(options.encoder.dropout)};
  refuse_changed(options, foreign_options(options, task.kind),
                 "the model " + std::string(name_of(options.model)) + " for " + std::string(name_of(task.kind)));
  if (is_of_sequences(task.kind)) config.pooling = chosen_pooling(options, task);
  head_ = make_head(*this, task.kind, config);
}

torch::Tensor TextModelImpl::logits(const LabelledBatch& batch, Pass& pass) const {
  return head_->logits(encoder_->forward(batch.input, pass, head_->wanted(batch)), batch.input, pass);
}

}  // namespace attend
