// Draws the order of the tokens of a sequence (XLNet, Yang et al. 2019, arXiv 1906.08237, section 2.2). Only the last
// 1 / K of them are predicted, K = 6 (section 2.3, "Partial Prediction"), at least one. [CLS] and [SEP] come first, at
// the same time.
//
//   [CLS] the old dog barks [SEP]:  ranks 0 3 1 4 2 0,  dog is predicted
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "data/corpus/masking.hpp"

namespace attend {

inline constexpr std::int64_t kPartsOfOrder = 6;  // K

struct DrawnOrder {
  std::vector<std::int64_t> ranks;     // of every token; a token is predicted from those of lower ranks
  std::vector<MaskedToken> predicted;  // in order of position
};

// A pure function of the ids ([CLS] a [SEP], with at least one token between) and the stream.
DrawnOrder draw_order(std::span<const std::int32_t> ids, const MaskVocabulary& vocabulary, RandomStream random);

}  // namespace attend
