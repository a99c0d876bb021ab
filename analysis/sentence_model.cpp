#include "analysis/sentence_model.hpp"

#include <ATen/ATen.h>
#include <spdlog/fmt/fmt.h>

#include "models/layers/layers.hpp"

namespace attend {
namespace {

SegmentedSequences one_segment(const Sequences& tokens) {
  return {.tokens = tokens, .segments_M = at::zeros_like(tokens.ids_M)};
}

}  // namespace

SentenceModel SentenceModel::of(const TranslationRun& run) {
  return {.description = fmt::format("the encoder of a translation model ({})", name_of(run.options.model)),
          .tokenizer = run.tokenizers.src,
          .end = run.tokenizers.src.special().eos,
          .longest = run.model->longest_source(),
          .module = run.model,
          .initial = run.options.initial,
          .read = [model = run.model](const Sequences& tokens, Pass& pass) { model->encode(tokens, pass); }};
}

SentenceModel SentenceModel::of(const BertRun& run) {
  const Bert bert = run.model->bert;
  return {.description = "a BERT",
          .tokenizer = run.tokenizer,
          .begin = run.tokenizer.special().cls,
          .end = run.tokenizer.special().sep,
          .longest = bert->options().max_positions,
          .module = run.model.ptr(),
          .initial = {.matrices = run.options.initialiser},
          .read = [bert](const Sequences& tokens, Pass& pass) { bert->forward(one_segment(tokens), pass); }};
}

SentenceModel SentenceModel::of(const TextRun& run) {
  return {.description = fmt::format("a fine-tuned encoder ({})", name_of(run.options.model)),
          .tokenizer = run.tokenizer,
          .begin = run.tokenizer.special().cls,
          .end = run.tokenizer.special().sep,
          .longest = run.options.longest(),
          .module = run.model.ptr(),
          .initial = {.matrices = run.options.encoder.initialiser},
          .read = [model = run.model](const Sequences& tokens, Pass& pass) {
            model->encoder().forward(one_segment(tokens), pass, /*selected=*/{});
          }};
}

SentenceModel SentenceModel::of(const LanguageRun& run) {
  const SpecialIds& special = run.tokenizer.special();
  const bool hybrid = run.model->is_hybrid();
  return {.description = fmt::format("a language model ({})", hybrid ? "hybrid" : name_of(run.options.cell)),
          .tokenizer = run.tokenizer,
          .begin = hybrid ? special.cls : special.eos,
          .end = hybrid ? special.sep : -1,
          .longest = run.model->longest(),
          .module = run.model,
          .initial = {.matrices = run.options.stack.initialiser},
          .read = [model = run.model](const Sequences& tokens, Pass& pass) {
            if (model->is_hybrid()) {
              model->read_both_sides(tokens, pass, /*selected=*/{});
            } else {
              model->forward(tokens, pass);
            }
          }};
}

SentenceModel SentenceModel::load(const std::string& run, const std::string& checkpoint, torch::Device device) {
  return std::visit([](const auto& any) { return of(any); }, load_run(run, checkpoint, device));
}

void SentenceModel::randomise(std::uint64_t seed) const {
  const torch::Device its_device = device();
  module->to(torch::kCPU);
  initialise(*module, initial, seed);
  module->to(its_device);
  refresh_weights(*module);
}

}  // namespace attend
