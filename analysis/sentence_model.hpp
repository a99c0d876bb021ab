// A trained model as a reader of single sentences, whatever its kind.
#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "data/batch/batch.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/layers/initialise.hpp"
#include "models/layers/pass.hpp"
#include "models/run/run.hpp"

namespace attend {

// The encoder of a translation model (x1 … xn </s>), a language model (</s> x1 … xn), or an encoder of texts ([CLS] x1
// … xn [SEP]), as which a hybrid language model is read.
struct SentenceModel {
  std::string description = {};  // "the encoder of a translation model (transformer)"
  Tokenizer tokenizer;
  std::int32_t begin = -1, end = -1;         // the pieces around a sentence; -1: none
  std::optional<std::int64_t> longest = {};  // the most pieces that it reads, with those around the sentence
  std::shared_ptr<torch::nn::Module> module = {};
  InitialiserConfig initial = {};  // of its weights
  std::function<void(const Sequences&, Pass&)> read = {};

  static SentenceModel of(const TranslationRun& run);
  static SentenceModel of(const BertRun& run);
  static SentenceModel of(const TextRun& run);
  static SentenceModel of(const LanguageRun& run);

  // Any run.
  static SentenceModel load(const std::string& run, const std::string& checkpoint, torch::Device device);

  // Replaces all weights by the initial ones of a training with this seed.
  void randomise(std::uint64_t seed) const;

  torch::Device device() const { return module->parameters().front().device(); }
};

}  // namespace attend
