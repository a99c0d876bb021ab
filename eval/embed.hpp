// Embeddings of texts from a pretrained encoder.
#pragma once

#include <string>
#include <vector>

#include "core/progress.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"
#include "models/text/sentence.hpp"

namespace attend {

// A vector for every text. Texts longer than the options allow, or than the encoder reads, are cut and counted.
// `progress` counts embedded texts.
struct TextVectors {
  std::vector<std::vector<float>> vectors;
  std::int64_t num_cut = 0;
};
TextVectors embed(const BertImpl& bert, const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  const SentenceOptions& options, WorkProgress* progress = nullptr);

// a · b / (|a| |b|); 0 if either is 0.
double cosine(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace attend
