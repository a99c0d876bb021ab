// Embeddings of texts from a trained encoder.
//
// Legend: docs/architecture.md.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "data/batch/batch.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/pass.hpp"
#include "models/text/sentence.hpp"

namespace attend {

// The encoder of the texts, each read as [CLS] text [SEP].
struct SentenceEncoder {
  // The hidden states of all tokens, [M, H], or of the selected ones, [K, H].
  std::function<torch::Tensor(const SegmentedSequences&, Pass&, const std::optional<Selection>&)> states;
  std::int64_t longest = 0;  // maximum tokens
  torch::Device device = torch::kCPU;

  static SentenceEncoder of(const Bert& bert);
};

// A vector for every text. Texts longer than the options allow, or than the encoder reads, are cut and counted.
// `progress` counts embedded texts. Throws UserError if the options allow more tokens than the encoder reads, and
// Interrupted when a signal requests a stop.
struct TextVectors {
  std::vector<std::vector<float>> vectors;
  std::int64_t num_cut = 0;
};
TextVectors embed(const SentenceEncoder& encoder, const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  const SentenceOptions& options, WorkProgress* progress = nullptr);

// a · b / (|a| |b|); 0 if either is 0.
double cosine(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace attend
