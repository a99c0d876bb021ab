// The pseudo-log-likelihood of texts under a BERT (Salazar et al. 2020, arXiv 1910.14659, eq. 1 and 2): each piece in
// turn is masked, and predicted from all others.
//
//   PLL(x) = Σ_t log p(x_t | x without x_t)
//
//   x = "a dog"     [CLS] [MASK] ▁dog [SEP] -0.90     [CLS] ▁a [MASK] [SEP] -3.10     PLL(x) = -4.00
//
// It is not the logarithm of a probability of x, but ranks texts. The pieces of any word of several pieces are likely,
// since the others give each away; `within_word` therefore masks the pieces to the right in the same word, too
// (PLL-word-l2r of Kauf and Ivanova 2023, arXiv 2305.10588).
//
// With --objective permuted, a query asks for the piece instead, from all others or, `within_word`, from those that are
// not masked.
//
// A line longer than the encoder reads is not cut: each piece is predicted from as many others as it reads, the masked
// piece in the middle of them wherever the line has enough on either side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/progress.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/language_score.hpp"
#include "models/run/bert_run.hpp"

namespace attend {

// One copy of a text that the encoder reads between [CLS] and [SEP]: its pieces begin … end - 1, of which first …
// last - 1 are masked and `first` is predicted.
struct MaskedCopy {
  std::int64_t begin = 0, end = 0;
  std::int64_t first = 0, last = 0;

  bool operator==(const MaskedCopy&) const = default;
};

// The copy that predicts piece `piece` of a text, for an encoder that reads `longest` tokens, at least 3. A word ends
// before the next piece that begins one (Tokenizer::begins_word): with SentencePiece, at white space.
MaskedCopy masked_copy(std::span<const std::int32_t> ids, std::int64_t piece, std::int64_t longest,
                       const Tokenizer& tokenizer, bool within_word);

// The score of every line, in order; without its end. The run must fill masks (BertRun::fills_masks). An empty line has
// no pieces, and the sum 0. The sums depend on batches only by rounding. `progress` counts lines. Interrupted after
// SIGINT or SIGTERM.
std::vector<LanguageScore> pseudo_log_likelihood(const BertRun& run, std::span<const std::string> lines,
                                                 bool within_word, const ScoreConfig& config,
                                                 WorkProgress* progress = nullptr);

}  // namespace attend
