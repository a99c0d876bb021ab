// Random sentences in batches for tests of translation models, at odd and unequal lengths.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "data/batch/batch.hpp"
#include "tests/support/device.hpp"

namespace attend {

inline constexpr std::int64_t kVocabulary = 37;
inline constexpr std::int64_t kBegin = 2;

inline torch::Tensor tokens(const std::vector<std::int64_t>& ids) {
  return torch::tensor(ids, torch::kLong).to(test_device());
}

inline Sequences sequences_of(const std::vector<std::vector<std::int64_t>>& sentences) {
  Sequences result;
  std::vector<std::int64_t> ids;
  for (const auto& sentence : sentences) {
    ids.insert(ids.end(), sentence.begin(), sentence.end());
    result.layout.append(std::ssize(sentence));
  }
  result.ids_M = tokens(ids);
  return result;
}

inline std::vector<std::vector<std::int64_t>> random_sentences(const std::vector<std::int64_t>& lengths,
                                                               std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::vector<std::int64_t>> sentences;
  for (const auto length : lengths) {
    auto& sentence = sentences.emplace_back();
    for (std::int64_t i = 0; i < length; ++i) sentence.push_back(4 + static_cast<std::int64_t>(random.below(30)));
  }
  return sentences;
}

// Targets begin with bos; labels are arbitrary, since no test depends on them.
inline Batch make_batch(const std::vector<std::vector<std::int64_t>>& src, std::vector<std::vector<std::int64_t>> tgt) {
  for (auto& sentence : tgt) sentence.insert(sentence.begin(), kBegin);
  Batch batch{.src = sequences_of(src), .tgt = sequences_of(tgt), .labels_M = {}, .examples = {}};
  batch.labels_M = (batch.tgt.ids_M * 5 + 1) % kVocabulary;
  return batch;
}

inline const std::vector<std::int64_t> kSourceLengths = {5, 1, 7, 3, 6};
inline const std::vector<std::int64_t> kTargetLengths = {2, 6, 1, 5, 5};

inline Batch some_batch() {
  return make_batch(random_sentences(kSourceLengths, 1), random_sentences(kTargetLengths, 2));
}

}  // namespace attend
