#include "data/corpus/permutation.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace attend {

DrawnOrder draw_order(std::span<const std::int32_t> ids, const MaskVocabulary& vocabulary, RandomStream random) {
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
    const std::size_t place = order[static_cast<std::size_t>(t)];
    drawn.ranks[place] = t + 1;
    if (t >= known) drawn.predicted.push_back({.place = place, .label = ids[place]});
  }
  std::ranges::sort(drawn.predicted, {}, &MaskedToken::place);
  return drawn;
}

}  // namespace attend
