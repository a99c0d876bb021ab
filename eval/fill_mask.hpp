// Words for the gaps of a text, out of the head for masked tokens.
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

// For every [MASK] of a text the `count` likeliest pieces, best first; with ## before a piece that does not begin a
// word. A text longer than the encoder reads is cut: a [MASK] behind the cut gets none.
struct FilledText {
  std::vector<std::int32_t> ids;  // what the encoder read; nothing without a [MASK]
  std::vector<std::vector<Filling>> masks;
  bool cut = false;
};
FilledText fill_masks(const BertForPretrainingImpl& model, const Tokenizer& tokenizer, std::string_view text,
                      std::int64_t count);

}  // namespace attend
