// Which tokens of a sequence an encoder is to predict, and what it reads in their place (arXiv 1810.04805,
// section 3.1).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/options.hpp"
#include "core/random.hpp"
#include "data/tokenizer/tokenizer.hpp"

namespace attend {

struct MaskingConfig {
  double mask_rate = 0.15;
  double masked = 0.8;
  double replaced = 0.1;
  bool whole_words = false;
  std::optional<std::int64_t> max_predictions = {};
  std::optional<std::int64_t> duplicates = {};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& visit) {
    visit("mask-rate", self.mask_rate,
          {.help = "share of the tokens that are predicted, one of a sequence at least", .min = 0, .max = 1});
    visit("masked", self.masked, {.help = "share of these that become [MASK]", .min = 0, .max = 1});
    visit("replaced", self.replaced,
          {.help = "share of these that become a random piece; the others stay as they are", .min = 0, .max = 1});
    visit("whole-words", self.whole_words, {.help = "choose words, and predict all of their pieces"});
    visit("max-predictions", self.max_predictions,
          {.help = "most tokens predicted in a sequence; auto: no limit", .min = 1, .max = 65535});
    visit("duplicates", self.duplicates,
          {.help = "ways in which a sequence is masked, gone through in turn; auto: another one in every epoch",
           .min = 1,
           .max = 1e6});
  }
};

// What masking must know of a tokenizer.
class MaskVocabulary {
 public:
  // The tokenizer has all three.
  explicit MaskVocabulary(const Tokenizer& tokenizer);

  std::int32_t size() const { return static_cast<std::int32_t>(begins_word_.size()); }
  bool begins_word(std::int32_t id) const { return begins_word_[id]; }
  std::int32_t cls, sep, mask;

 private:
  std::vector<bool> begins_word_;
};

// A token that is predicted.
struct MaskedToken {
  std::size_t place = 0;
  std::int32_t label = 0;  // what stood there
};

// Chooses tokens of `ids` ([CLS] a [SEP] b [SEP]) and puts what is to be read in their place; never cls or sep. As many
// as min(max_predictions, max(1, round(n * mask_rate))) of n tokens, halves rounded to even; fewer only where whole
// words do not fit. In order of their places.
std::vector<MaskedToken> mask_tokens(std::span<std::int32_t> ids, const MaskVocabulary& vocabulary,
                                     const MaskingConfig& config, RandomStream random);

}  // namespace attend
