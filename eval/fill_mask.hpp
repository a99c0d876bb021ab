// Predictions for the masked words of a text, by the head for masked tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"

namespace attend {

struct Filling {
  std::string word;
  double probability = 0;
};

// For every [MASK] of a text, the `count` most likely pieces, best first; ## marks a piece that does not begin a word.
// A text longer than the maximum of the encoder is cut; a [MASK] after the cut has no predictions.
struct FilledText {
  std::vector<std::vector<Filling>> masks;
  bool cut = false;
};
FilledText fill_masks(const BertForPretrainingImpl& model, const Tokenizer& tokenizer, std::string_view text,
                      std::int64_t count);

}  // namespace attend
