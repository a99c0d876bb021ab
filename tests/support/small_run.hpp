// A run as if it were loaded, without a directory: random weights and the vocabulary of a small tokenizer.
#pragma once

#include <cstdint>
#include <string>

#include "models/run/run.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/tokenizer.hpp"

namespace attend {

inline std::string small_text() {
  std::string text;
  for (int i = 0; i < 120; ++i) {
    text += "the dog number " + std::to_string(i) + " sees a cat and " + std::to_string(i * 7) + " birds\n";
  }
  return text;
}

inline Tokenizer small_tokenizer(const TokenizerConfig& config) { return tokenizer_of(small_text(), config); }

inline TranslationRun small_run(const ModelConfig& config, std::uint64_t seed) {
  static const Tokenizer tokenizer = small_tokenizer({.size = 64});
  const Seq2Seq model = make_seq2seq(config, {.src = tokenizer.size(), .tgt = tokenizer.size()}, seed);
  model->eval();
  return {.options = config, .tokenizers = {.src = tokenizer, .tgt = tokenizer}, .model = model};
}

}  // namespace attend
