#include "data/corpus/masking.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace attend {

MaskVocabulary::MaskVocabulary(const Tokenizer& tokenizer)
    : cls(tokenizer.special().cls), sep(tokenizer.special().sep), mask(tokenizer.special().mask) {
  ensure(cls >= 0 && sep >= 0 && mask >= 0, "the tokenizer has [CLS], [SEP] and [MASK]");
  for (std::int32_t id = 0; id < tokenizer.size(); ++id) begins_word_.push_back(tokenizer.begins_word(id));
}

std::vector<MaskedToken> mask_tokens(std::span<std::int32_t> ids, const MaskVocabulary& vocabulary,
                                     const MaskingConfig& config, RandomStream random) {
  struct Range {
    std::size_t begin, end;
  };
  std::vector<Range> candidates;  // tokens, or words
  bool inside = false;            // a word may continue
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == vocabulary.cls || ids[i] == vocabulary.sep) {
      inside = false;
    } else if (config.whole_words && inside && !vocabulary.begins_word(ids[i])) {
      candidates.back().end = i + 1;
    } else {
      candidates.push_back({i, i + 1});
      inside = true;
    }
  }
  shuffle(candidates, random);

  // nearbyint rounds halves to even, like Python's round.
  const auto wanted =
      std::max<std::int64_t>(1, std::llround(std::nearbyint(static_cast<double>(ids.size()) * config.mask_rate)));
  std::vector<MaskedToken> chosen;
  for (const Range& range : candidates) {
    if (std::ssize(chosen) >= wanted) break;
    if (std::ssize(chosen) + static_cast<std::int64_t>(range.end - range.begin) > wanted) continue;
    for (std::size_t i = range.begin; i < range.end; ++i) {
      chosen.push_back({.place = i, .label = ids[i]});
      const double draw = random.uniform();
      if (draw < config.masked) {
        ids[i] = vocabulary.mask;
      } else if (draw < config.masked + config.replaced) {
        ids[i] = static_cast<std::int32_t>(random.below(vocabulary.size()));
      }
    }
  }
  std::ranges::sort(chosen, {}, &MaskedToken::place);
  return chosen;
}

DrawnOrder draw_order(std::span<const std::int32_t> ids, const MaskVocabulary& vocabulary, RandomStream random) {
  constexpr std::int64_t kPartsOfOrder = 6;  // K
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != vocabulary.cls && ids[i] != vocabulary.sep) order.push_back(i);
  }
  ensure(!order.empty(), "a sequence has tokens");
  shuffle(order, random);
  DrawnOrder drawn{.ranks = std::vector<std::int64_t>(ids.size(), 0), .predicted = {}};
  const std::int64_t count = std::ssize(order);
  const std::int64_t known = count - std::max<std::int64_t>(1, (count + kPartsOfOrder / 2) / kPartsOfOrder);
  for (std::int64_t t = 0; t < count; ++t) {
    const std::size_t place = order[t];
    drawn.ranks[place] = t + 1;
    if (t >= known) drawn.predicted.push_back({.place = place, .label = ids[place]});
  }
  std::ranges::sort(drawn.predicted, {}, &MaskedToken::place);
  return drawn;
}

}  // namespace attend
