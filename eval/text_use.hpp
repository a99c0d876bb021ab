// What a pretrained encoder can be asked without a task: vectors of texts, and words for a gap.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/options.hpp"
#include "data/tokenizer/tokenizer.hpp"
#include "models/bert/bert.hpp"

namespace attend {

enum class SentencePooling { mean, cls };
template <>
struct EnumNames<SentencePooling> {
  static constexpr std::array names{std::pair{SentencePooling::mean, std::string_view("mean")},
                                    std::pair{SentencePooling::cls, std::string_view("cls")}};
};

// A vector for every text: the mean of the hidden states of its pieces, or the state of [CLS]. Texts longer than the
// encoder reads are cut, and counted.
struct TextVectors {
  std::vector<std::vector<float>> vectors;
  std::int64_t num_cut = 0;
};
TextVectors embed(const BertImpl& bert, const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  SentencePooling pooling);

// a · b / (|a| |b|); 0 where one of them is 0.
double cosine(const std::vector<float>& a, const std::vector<float>& b);

// The likeliest pieces for every [MASK] of a text, `count` of them, best first; with ## before a piece that does not
// begin a word. UserError naming `place` when the text has none, or is longer than the encoder reads.
struct Filling {
  std::string word;
  double probability = 0;
};
std::vector<std::vector<Filling>> fill_masks(const BertForPretrainingImpl& model, const Tokenizer& tokenizer,
                                             const std::string& text, const std::string& place, std::int64_t count);

}  // namespace attend
