// What a trained encoder says of texts: embeddings, words for masks, and pseudo-log-likelihoods.
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.hpp"
#include "data/batch/batch.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "eval/score.hpp"
#include "models/bert/bert.hpp"
#include "models/layers/pass.hpp"
#include "models/run/run.hpp"
#include "models/text/pooling.hpp"

namespace attend {

// Embeddings of texts from a trained encoder.
//
// Legend: docs/architecture.md.

// The encoder of the texts, each read as [CLS] text [SEP].
struct SentenceEncoder {
  // The hidden states of all tokens, [M, H], or of the selected ones, [K, H].
  std::function<torch::Tensor(const SegmentedSequences&, Pass&, const std::optional<Selection>&)> states;
  std::int64_t longest = 0;  // maximum tokens
  torch::Device device = torch::kCPU;

  static SentenceEncoder of(const Bert& bert);
  static SentenceEncoder of(const LanguageRun& hybrid);
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

// Predictions for the masked words of a text, by a BERT's head for masked tokens, or by a hybrid language model from
// the tokens before them.
struct MaskFiller {
  // The logits of the `masked` rows, ascending, which are [MASK] in the input: [K, V].
  std::function<torch::Tensor(const SegmentedSequences&, const std::vector<std::int64_t>& masked, Pass&)> logits;
  std::int64_t longest = 0;  // maximum tokens
  torch::Device device = torch::kCPU;

  static MaskFiller of(const BertForPretraining& model);
  static MaskFiller of(const LanguageRun& hybrid);
};

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
FilledText fill_masks(const MaskFiller& filler, const Tokenizer& tokenizer, std::string_view text, std::int64_t count);

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
std::vector<TextScore> pseudo_log_likelihood(const BertRun& run, std::span<const std::string> lines, bool within_word,
                                             const ScoreConfig& config, WorkProgress* progress = nullptr);

}  // namespace attend
