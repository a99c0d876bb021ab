// The tokens that an encoder predicts: masked ones, or all in a drawn order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/options.hpp"
#include "core/random.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

// Selects the tokens of a sequence to predict and their replacements in the input (arXiv 1810.04805, section 3.1).

// What attend pretrain predicts: BERT's masked tokens, XLNet's tokens in a permuted order, each token from those before
// it, or GPT-BERT's mixture of the latter with masked tokens.
enum class PretrainingKind { masked, permuted, causal, hybrid };
template <>
inline constexpr auto kEnumNames<PretrainingKind> =
    std::to_array<EnumName<PretrainingKind>>({{PretrainingKind::masked, "masked"},
                                              {PretrainingKind::permuted, "permuted"},
                                              {PretrainingKind::causal, "causal"},
                                              {PretrainingKind::hybrid, "hybrid"}});

// Conditions of options for masked tokens, for BERT's alone, and for both objectives of an encoder.
inline constexpr Condition kMaskedTokens = {"objective", {"masked", "hybrid"}};
inline constexpr Condition kOfMasked = {"objective", {"masked"}};
inline constexpr Condition kEncoderSequences = {"objective", {"masked", "permuted"}};

struct MaskingConfig {
  double mask_rate = 0.15;
  double masked = 0.8;
  double replaced = 0.1;
  bool whole_words = false;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("mask-rate", self.mask_rate,
          {.help = "fraction of tokens to predict, at least one per sequence",
           .min = 0,
           .max = 1,
           .only = kMaskedTokens});
    visit("masked", self.masked,
          {.help = "fraction of these replaced by [MASK]", .min = 0, .max = 1, .only = kMaskedTokens});
    visit("replaced", self.replaced,
          {.help = "fraction of these replaced by a random piece; the rest stay unchanged",
           .min = 0,
           .max = 1,
           .only = kMaskedTokens});
    visit("whole-words", self.whole_words,
          {.help = "select whole words and predict all of their pieces", .only = kMaskedTokens});
  }
};

// The special pieces and the range of random replacements of a tokenizer.
class MaskVocabulary {
 public:
  // The tokenizer must have [CLS], [SEP] and [MASK].
  explicit MaskVocabulary(const Tokenizer& tokenizer);

  std::int32_t size() const { return static_cast<std::int32_t>(begins_word_.size()); }
  bool begins_word(std::int32_t id) const { return begins_word_[id]; }
  std::int32_t cls, sep, mask;

 private:
  std::vector<bool> begins_word_;
};

// A token to predict.
struct MaskedToken {
  std::size_t place = 0;
  std::int32_t label = 0;  // the original id
};

// Selects max(1, round(n * mask_rate)) of the n tokens of `ids` ([CLS] a [SEP] b [SEP]), never
// cls or sep (halves round to even; fewer only if whole words do not fit), and replaces them. Returns them in order of
// position.
std::vector<MaskedToken> mask_tokens(std::span<std::int32_t> ids, const MaskVocabulary& vocabulary,
                                     const MaskingConfig& config, RandomStream random);

// Draws the order of the tokens of a sequence (XLNet, Yang et al. 2019, arXiv 1906.08237, section 2.2). Only the last
// 1 / K of them are predicted, K = 6 (section 2.3, "Partial Prediction"), at least one. [CLS] and [SEP] come first, at
// the same time.
//
//   [CLS] the old dog barks [SEP]:  ranks 0 3 1 4 2 0,  dog is predicted

struct DrawnOrder {
  std::vector<std::int64_t> ranks;     // of every token; a token is predicted from those of lower ranks
  std::vector<MaskedToken> predicted;  // in order of position
};

// A pure function of the ids ([CLS] a [SEP], with at least one token between) and the stream.
DrawnOrder draw_order(std::span<const std::int32_t> ids, const MaskVocabulary& vocabulary, RandomStream random);

}  // namespace attend
