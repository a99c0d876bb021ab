#include "data/batch/batch.hpp"

#include <algorithm>

namespace attend {

Sequences concatenate(const std::vector<std::span<const std::int32_t>>& sentences, std::int32_t begin,
                      std::int32_t end) {
  Sequences sequences;
  auto& [offsets, max_length] = sequences.layout;
  offsets.reserve(sentences.size() + 1);
  for (const auto sentence : sentences) {
    const auto length = static_cast<std::int64_t>(sentence.size()) + (begin >= 0) + (end >= 0);
    offsets.push_back(offsets.back() + length);
    max_length = std::max(max_length, length);
  }
  sequences.ids_M = torch::empty({offsets.back()}, torch::kLong);
  auto* id = sequences.ids_M.data_ptr<std::int64_t>();
  for (const auto sentence : sentences) {
    if (begin >= 0) *id++ = begin;
    id = std::copy(sentence.begin(), sentence.end(), id);
    if (end >= 0) *id++ = end;
  }
  return sequences;
}

}  // namespace attend
