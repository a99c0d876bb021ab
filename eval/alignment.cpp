#include "eval/alignment.hpp"

#include <ATen/ATen.h>

#include <algorithm>

#include "eval/metrics/text.hpp"

namespace attend {

PiecesOfWords pieces_of_words(std::string_view text, const std::vector<PieceBytes>& pieces) {
  const std::vector<std::string_view> words = metrics::split_words(text);
  const auto begin_of = [&](std::size_t word) { return static_cast<std::size_t>(words[word].data() - text.data()); };
  const auto end_of = [&](std::size_t word) { return begin_of(word) + words[word].size(); };
  const auto is_punctuation = [&](std::int64_t piece, std::size_t word) {
    const auto [begin, end] = pieces[static_cast<std::size_t>(piece)];
    const std::size_t first = std::max(begin, begin_of(word)), last = std::min(end, end_of(word));
    return first < last && !metrics::has_word_character(text.substr(first, last - first));
  };
  PiecesOfWords result(words.size());
  std::size_t word = 0;  // the first that ends after the start of the piece
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    while (word < words.size() && end_of(word) <= pieces[piece].begin) ++word;
    for (std::size_t w = word; w < words.size() && (w == word || begin_of(w) < pieces[piece].end); ++w) {
      result[w].push_back(static_cast<std::int64_t>(piece));
    }
  }
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (!metrics::has_word_character(words[w])) continue;
    std::erase_if(result[w], [&](std::int64_t piece) { return is_punctuation(piece, w); });
  }
  return result;
}

std::vector<PieceBytes> decoded_bytes(const Tokenizer& tokenizer, std::span<const std::int32_t> ids) {
  // The text of the first n pieces is a prefix of the whole text, unless they end within a character.
  std::vector<PieceBytes> result(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) result[i].end = tokenizer.decode(ids.first(i + 1)).size();
  for (std::size_t i = ids.size(); i-- > 1;)
    result[i].begin = result[i - 1].end = std::min(result[i - 1].end, result[i].end);
  return result;
}

std::vector<Link> align_words(const torch::Tensor& weights_TS, const PiecesOfWords& source,
                              const PiecesOfWords& target) {
  const auto weights = weights_TS.accessor<float, 2>();
  std::vector<Link> links;
  for (std::size_t j = 0; j < target.size(); ++j) {
    // The mean over the target word's pieces has the same maximum as their sum.
    std::vector<double> merged(source.size());
    for (std::size_t i = 0; i < source.size(); ++i) {
      for (const std::int64_t t : target[j]) {
        for (const std::int64_t s : source[i]) merged[i] += weights[t][s];
      }
    }
    const auto best = std::ranges::max_element(merged);
    if (best == merged.end() || target[j].empty()) continue;
    links.push_back({.src = best - merged.begin(), .tgt = static_cast<std::int64_t>(j)});
  }
  std::ranges::sort(links);
  return links;
}

}  // namespace attend
