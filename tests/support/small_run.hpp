// A run as it would be loaded, without a directory: random weights over the vocabulary of a small tokenizer.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "data/tokenizer/tokenizer_trainer.hpp"
#include "models/run/run.hpp"
#include "models/translation/factory.hpp"
#include "tests/support/temporary.hpp"

namespace attend {

inline void write_small_text(const std::string& file) {
  std::ofstream out(file);
  for (int i = 0; i < 120; ++i) out << "the dog number " << i << " sees a cat and " << i * 7 << " birds\n";
}

inline Tokenizer small_tokenizer(const TokenizerConfig& config) {
  const TemporaryDirectory directory;
  const std::string text = (directory / "text").string();
  write_small_text(text);
  return train_tokenizer({text}, config);
}

inline Run small_run(const ModelConfig& config, std::uint64_t seed) {
  static const Tokenizer tokenizer = small_tokenizer({.size = 64});
  const Seq2Seq model = make_seq2seq(config, {.src = tokenizer.size(), .tgt = tokenizer.size()}, seed);
  model->eval();
  return {.config = config, .tokenizers = {.src = tokenizer, .tgt = tokenizer}, .model = model};
}

}  // namespace attend
